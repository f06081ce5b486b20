//! Connects to the service and prints the owner of the API key.

use formsvc_client::Client;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Reads FORMSVC_BASE_URL and FORMSVC_API_KEY.
    let client = Client::from_env()?;
    let user = client.me().await?;
    println!("{:?} <{}>", user.name, user.email);
    Ok(())
}
