//! Signature test vectors that another implementation computed.

use serde::Deserialize;

use crate::{SigningSecret, VerifyError};

/// A delivery with its signature header, as an implementation in another language made it, and the
/// expected result of its verification.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignatureVector {
    /// The property that the vector tests.
    pub name: String,
    /// The receiver's secrets in order, at least one.
    pub secrets: Vec<String>,
    /// The receiver's time in Unix seconds.
    pub now: u64,
    /// The value of `X-Service-Signature`.
    pub header: String,
    /// The body: any bytes.
    pub body: Vec<u8>,
    /// The expected result.
    pub expected: ExpectedResult,
}

/// The expected result of a [`SignatureVector`], with a tolerance of 300 seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpectedResult {
    /// The signature is valid.
    #[non_exhaustive]
    Valid {
        /// The header's `t`.
        timestamp: u64,
        /// Index of the secret that signed the body.
        secret_index: usize,
    },
    /// The delivery is refused.
    Refused(VerifyError),
}

#[derive(Deserialize)]
struct VectorFile {
    vectors: Vec<VectorRow>,
}

#[derive(Deserialize)]
struct VectorRow {
    name: String,
    secrets: Vec<String>,
    now: u64,
    header: String,
    body_hex: String,
    expect: ExpectRow,
}

#[derive(Deserialize)]
struct ExpectRow {
    unix_seconds: Option<u64>,
    secret_index: Option<usize>,
    refused: Option<String>,
}

/// Returns the vectors with at least one secret whose secrets are all valid for [`SigningSecret`]. The
/// vectors can test receivers in any language.
pub fn signature_vectors() -> Vec<SignatureVector> {
    let file: VectorFile =
        serde_json::from_str(include_str!("signatures.json")).expect("a test reads the file");
    let is_valid = |secret: &String| SigningSecret::try_from(secret.as_str()).is_ok();
    let is_usable = |row: &VectorRow| !row.secrets.is_empty() && row.secrets.iter().all(is_valid);
    file.vectors.into_iter().filter(is_usable).map(VectorRow::into_vector).collect()
}

impl VectorRow {
    fn into_vector(self) -> SignatureVector {
        let Self { name, secrets, now, header, body_hex, expect } = self;
        let body = hex::decode(body_hex).expect("a test reads the file");
        let expected = match expect {
            ExpectRow {
                unix_seconds: Some(timestamp), secret_index: Some(secret_index), ..
            } => ExpectedResult::Valid { timestamp, secret_index },
            ExpectRow { refused, .. } => ExpectedResult::Refused(match refused.as_deref() {
                Some("malformed") => VerifyError::Malformed,
                Some("no_match") => VerifyError::NoMatch,
                Some("too_old") => VerifyError::TooOld,
                Some("in_future") => VerifyError::InFuture,
                other => unreachable!("the file has no result {other:?}"),
            }),
        };
        SignatureVector { name, secrets, now, header, body, expected }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn vectors_equal_the_shared_fixture() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/webhooks/signatures.json");
        let fixture = std::fs::read_to_string(path).unwrap();
        assert!(fixture == include_str!("signatures.json"), "copy the fixture again");
        assert!(signature_vectors().len() > 40, "{}", signature_vectors().len());
    }
}
