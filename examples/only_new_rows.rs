//! Prints the submissions that no earlier run has printed. The argument is the id of the form; the
//! state between two runs is in `rows.sync`.

use formsvc_client::{Client, SyncPoint};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let form = std::env::args().nth(1).ok_or("usage: only_new_rows FORM_ID")?;
    let point = SyncPoint::load_if_exists("rows.sync")?.unwrap_or_default();
    let mut new = Client::from_env()?.form(form).submissions().sync_from(&point);
    while let Some(submission) = new.try_next().await? {
        println!("{} {}", submission.id, submission.data.as_json());
    }
    // Saved after the submissions are stored: an interrupted run repeats them, and loses none.
    new.sync_point().save("rows.sync")?;
    Ok(())
}
