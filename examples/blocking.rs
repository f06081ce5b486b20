//! Prints every submission of a form without async. The argument is the id of the form.

use formsvc_client::blocking::Client;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let form = std::env::args().nth(1).ok_or("usage: blocking FORM_ID")?;
    for submission in Client::from_env()?.form(form).submissions().items() {
        let submission = submission?;
        println!("{} {}", submission.id, submission.data.as_json());
    }
    Ok(())
}
