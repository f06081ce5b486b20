//! Verifies a delivery without a web framework. The signature header is the argument, the body is stdin:
//! `FORMSVC_SIGNING_SECRET=whsec_… cargo run -p formsvc-examples --bin raw_verification -- "t=…,v1=…" < body.json`

use std::error::Error;
use std::io::Read;

use formsvc_receiver::Verifier;

fn main() -> Result<(), Box<dyn Error>> {
    let verifier = Verifier::new(std::env::var("FORMSVC_SIGNING_SECRET")?)?;
    let header =
        std::env::args().nth(1).ok_or("usage: raw_verification SIGNATURE_HEADER < BODY")?;
    let mut body = Vec::new();
    std::io::stdin().take(verifier.max_body() as u64 + 1).read_to_end(&mut body)?;

    let event = verifier.verify(header, body)?;
    // Debug escapes control characters, which would act on the terminal.
    println!("{:?} {:?}", event.kind(), event.as_json());
    Ok(())
}
