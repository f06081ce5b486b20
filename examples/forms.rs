//! Lists the forms of the API key's owner, newest first.

use formsvc_client::Client;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::from_env()?;
    for form in client.forms().await? {
        // Debug escapes control characters, which would act on the terminal.
        println!("{} {} {:?}", form.id, form.status, form.title);
    }
    Ok(())
}
