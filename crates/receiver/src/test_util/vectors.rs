//! Signatures that another implementation computed, with what they must come to.

use serde::Deserialize;

use crate::{SECRET_MIN, VerifyError};

/// A signature vector, computed in another language: a delivery, and what must come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vector {
    /// What it shows.
    pub name: String,
    /// The secrets the receiver holds, in order; at least one.
    pub secrets: Vec<String>,
    /// The receiver's clock, in Unix seconds.
    pub now: u64,
    /// The value of `X-Service-Signature`.
    pub header: String,
    /// The raw body, of any bytes.
    pub body: Vec<u8>,
    /// What must come of it.
    pub expected: Expected,
}

/// What must come of a [`Vector`], with a tolerance of 300 seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The delivery is the service's.
    Accepted {
        /// The header's `t`.
        timestamp: u64,
        /// Which of the secrets signed it, by its place in the list.
        secret_index: usize,
    },
    /// The delivery is refused.
    Refused(VerifyError),
}

#[derive(Deserialize)]
struct File {
    vectors: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    secrets: Vec<String>,
    now: u64,
    header: String,
    body_hex: String,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    unix_seconds: Option<u64>,
    secret_index: Option<usize>,
    refused: Option<String>,
}

/// All vectors, with secrets of at least [`SECRET_MIN`] bytes. They hold for any receiver of this service, in any language.
pub fn vectors() -> Vec<Vector> {
    let file: File = serde_json::from_str(include_str!("signatures.json")).expect("is checked");
    // What holds no secret, or one that is too short, can be tested of functions, but no such receiver can be
    // set up.
    let long = |secret: &String| secret.len() >= SECRET_MIN;
    let can_be = |row: &Row| !row.secrets.is_empty() && row.secrets.iter().all(long);
    let rows = file.vectors.into_iter().filter(can_be);
    rows.map(Row::into_vector).collect()
}

impl Row {
    fn into_vector(self) -> Vector {
        let Self { name, secrets, now, header, body_hex, expect } = self;
        let body = hex::decode(body_hex).expect("the file's bodies are hex");
        let expected = match expect {
            Expect { unix_seconds: Some(timestamp), secret_index: Some(secret_index), .. } => {
                Expected::Accepted { timestamp, secret_index }
            }
            Expect { refused, .. } => Expected::Refused(refusal(refused.as_deref())),
        };
        Vector { name, secrets, now, header, body, expected }
    }
}

fn refusal(word: Option<&str>) -> VerifyError {
    match word {
        Some("malformed") => VerifyError::Malformed,
        Some("no_match") => VerifyError::NoMatch,
        Some("too_old") => VerifyError::TooOld,
        Some("in_future") => VerifyError::InFuture,
        other => unreachable!("the file has no other words than its README: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_vectors_are_those_of_the_fixtures() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/webhooks/signatures.json");
        let fixture = std::fs::read_to_string(path).unwrap();
        assert!(fixture == include_str!("signatures.json"), "copy it again");
        assert!(vectors().len() > 40, "{}", vectors().len());
    }
}
