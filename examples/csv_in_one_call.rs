//! Writes all submissions of a form to `rows.csv`. The argument is the id of the form.

use formsvc_client::Client;
use formsvc_export::Export;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let form = std::env::args().nth(1).ok_or("usage: csv_in_one_call FORM_ID")?;
    let exported = Export::new(Client::from_env()?, form.parse()?).to_file("rows.csv").await?;
    println!("{} rows, {} columns", exported.rendered.rows, exported.rendered.columns);
    Ok(())
}
