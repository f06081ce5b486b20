//! Appends every submission of a form to `rows.ndjson`, and continues after any interruption, also a
//! power failure. The argument is the id of the form.
//!
//! An interruption can cut the last line, and repeats at most one page: readers of the file skip
//! lines that are not JSON, and repeated ids.

use std::error::Error;
use std::fs::File;
use std::io::Write;

use formsvc_client::{Client, ResumeToken};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let form = std::env::args().nth(1).ok_or("usage: resume FORM_ID")?;
    let mut query = Client::from_env()?.form(form).submissions();
    if let Some(token) = ResumeToken::load_if_exists("rows.token")? {
        query = query.resume_from(token);
    }
    let mut file = File::options().create(true).append(true).open("rows.ndjson")?;
    // Ends a line that was cut.
    file.write_all(b"\n")?;
    let mut pages = query.pages();
    while let Some(page) = pages.try_next().await? {
        let mut lines = Vec::new();
        for submission in &page {
            serde_json::to_writer(&mut lines, submission)?;
            lines.push(b'\n');
        }
        file.write_all(&lines)?;
        // The rows must be on the disk before the token that leads past them.
        file.sync_data()?;
        pages.resume_token().save("rows.token")?;
        println!("{} rows", page.len());
    }
    Ok(())
}
