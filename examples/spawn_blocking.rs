//! Writes the submissions of a form to a file with the blocking client, in a program that is async
//! otherwise: `spawn_blocking` runs it on a thread that may block. The argument is the id of the form.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use formsvc_client::blocking::Client;

fn write_rows(form: &str) -> Result<usize, Box<dyn Error + Send + Sync>> {
    let mut file = BufWriter::new(File::create("rows.ndjson")?);
    let mut rows = 0;
    for submission in Client::from_env()?.form(form).submissions().items() {
        serde_json::to_writer(&mut file, &submission?)?;
        file.write_all(b"\n")?;
        rows += 1;
    }
    file.flush()?;
    Ok(rows)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let form = std::env::args().nth(1).ok_or("usage: spawn_blocking FORM_ID")?;
    let rows = tokio::task::spawn_blocking(move || write_rows(&form)).await??;
    println!("{rows} rows");
    Ok(())
}
