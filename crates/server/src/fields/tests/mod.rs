//! What fields promise, over all their files.

mod answering;
mod definitions;
mod free_forms;
mod properties;

use super::*;

fn fields(json: &str) -> Fields {
    Fields::parse(json).unwrap()
}

/// What becomes of a body: the answers, or the rules it breaks, each after its field.
fn outcome(fields: &Fields, input: &Input) -> Result<String, Vec<String>> {
    match fields.answer(input) {
        Ok(answers) => Ok(answers.as_json().to_owned()),
        Err(FieldErrors::Whole(rule)) => Err(vec![rule]),
        Err(FieldErrors::Fields(errors)) => {
            Err(errors.iter().map(|error| format!("{} {}", error.field, error.rule)).collect())
        }
    }
}

fn sent(fields: &Fields, body: &str) -> Result<String, Vec<String>> {
    outcome(fields, &Input::from_urlencoded(body.as_bytes()).unwrap())
}

fn sent_json(fields: &Fields, body: &str) -> Result<String, Vec<String>> {
    outcome(fields, &Input::from_json(body.as_bytes()).unwrap())
}
