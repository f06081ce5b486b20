//! Processes the submissions of a form in four tasks. The channel between them is bounded, so that no
//! page is requested before the tasks are ready for it. The argument is the id of the form.

use std::error::Error;
use std::sync::Arc;

use formsvc_client::{Client, Submission};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let form = std::env::args().nth(1).ok_or("usage: four_tasks FORM_ID")?;
    let mut submissions = Client::from_env()?.form(form).submissions().items();
    let (sender, receiver) = mpsc::channel(100);
    let receiver = Arc::new(Mutex::new(receiver));
    let mut tasks = JoinSet::new();
    for task in 1..=4 {
        let receiver = Arc::clone(&receiver);
        tasks.spawn(async move {
            loop {
                let next: Option<Submission> = receiver.lock().await.recv().await;
                let Some(submission) = next else { break };
                println!("{} task {task}", submission.id);
            }
        });
    }
    while let Some(submission) = submissions.try_next().await? {
        sender.send(submission).await?;
    }
    drop(sender);
    tasks.join_all().await;
    Ok(())
}
