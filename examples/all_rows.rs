//! Prints every submission of a form once, newest first. The argument is the id of the form.

use formsvc_client::Client;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let form = std::env::args().nth(1).ok_or("usage: all_rows FORM_ID")?;
    let mut items = Client::from_env()?.form(form).submissions().items();
    while let Some(submission) = items.try_next().await? {
        println!("{} {} {}", submission.id, submission.created_at, submission.data.as_json());
    }
    // Known now, because the list has ended.
    eprintln!("complete: {}", items.completeness().ok_or("the list has not ended")?);
    Ok(())
}
