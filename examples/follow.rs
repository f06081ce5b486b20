//! Prints each new submission as it comes, until Ctrl-C. The argument is the id of the form; the state
//! between two runs is in `follow.sync`.

use formsvc_client::{Client, SyncPoint};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let form = std::env::args().nth(1).ok_or("usage: follow FORM_ID")?;
    let query = Client::from_env()?.form(form).follow();
    let mut follow = match SyncPoint::load_if_exists("follow.sync")? {
        Some(point) => query.sync_from(&point),
        None => query.last(3),
    }
    .items();
    while let Some(submission) = follow.try_next().await? {
        println!("{} {}", submission.id, submission.data.as_json());
        // Saved after the submission is stored: an interrupted run repeats it, and loses none.
        follow.sync_point().save("follow.sync")?;
    }
    Ok(())
}
