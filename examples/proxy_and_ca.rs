//! Connects through a proxy to a service with a certificate of a private authority.

use std::env;

use formsvc_client::Client;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::builder()
        .base_url(env::var("FORMSVC_BASE_URL")?)
        .api_key(env::var("FORMSVC_API_KEY")?)
        // Such as `http://user:password@proxy.example:3128`, or `socks5h://proxy.example:1080`.
        .proxy(env::var("PROXY_URL")?)
        .add_root_certificate(std::fs::read(env::var("CA_FILE")?)?)
        .build()?;
    println!("{}", client.me().await?.email);
    Ok(())
}
