//! Reads answers into a type. The argument is the id of the form.

use formsvc_client::Client;

#[derive(Debug, serde::Deserialize)]
struct Contact {
    #[serde(rename = "Name")]
    name: String,
    #[serde(rename = "Amount")]
    amount: Option<f64>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let form = std::env::args().nth(1).ok_or("usage: typed FORM_ID")?;
    let mut items = Client::from_env()?.form(form).submissions().items();
    while let Some(submission) = items.try_next().await? {
        match submission.data.to::<Contact>() {
            Ok(Contact { name, amount }) => println!("{name:?} {}", amount.unwrap_or_default()),
            // The path does not quote the answer, so it can be logged.
            Err(error) => eprintln!("{}: no contact at `{}`", submission.id, error.path()),
        }
    }
    Ok(())
}
