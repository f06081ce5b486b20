//! Reads single answers by their labels. The argument is the id of the form.

use formsvc_client::{Answer, Client};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let form = std::env::args().nth(1).ok_or("usage: by_label FORM_ID")?;
    let mut items = Client::from_env()?.form(form).submissions().items();
    while let Some(submission) = items.try_next().await? {
        // `None` if the submission lacks the label, or if the answer has another type.
        let answers = &submission.data;
        let name = answers.get("Name").and_then(Answer::as_str);
        let amount = answers.get("Amount").and_then(Answer::number_text);
        let topics = answers.get("Topics").and_then(Answer::items).unwrap_or_default();
        let topics: Vec<_> = topics.into_iter().filter_map(Answer::as_str).collect();
        println!("{name:?} {amount:?} {topics:?}");
    }
    Ok(())
}
