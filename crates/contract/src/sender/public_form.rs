//! Submissions to a public form.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use url::Url;

use super::SUBMISSIONS;
use crate::report::excerpt;
use crate::send::{Outgoing, SendError, Sender};

/// A submission was not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// No answer.
    #[error("the public form does not answer")]
    Send(#[from] SendError),
    /// An answer that is neither 2xx nor 3xx.
    #[error("the public form answered {status}: {answer}")]
    Refused {
        /// The status.
        status: u16,
        /// The beginning of the answer, sanitized.
        answer: String,
    },
}

/// Makes the [`SUBMISSIONS`] that the checks need, one after the other. `answers` is the body of an HTML
/// form: `Name=Ada&Message=Hello`.
pub async fn submit(sender: &Sender, form: &Url, answers: &str) -> Result<(), SubmitError> {
    let media_type = HeaderValue::from_static("application/x-www-form-urlencoded");
    let accept = HeaderValue::from_static("application/json");
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, media_type), (ACCEPT, accept)]);
    for _ in 0..SUBMISSIONS {
        let body = Bytes::copy_from_slice(answers.as_bytes());
        let (url, headers) = (form.clone(), headers.clone());
        let outgoing = Outgoing { method: Method::POST, url, headers, body };
        let answer = sender.send(outgoing).await?;
        if !answer.status.is_success() && !answer.status.is_redirection() {
            let (status, answer) = (answer.status.as_u16(), excerpt(&answer.body, &[]));
            return Err(SubmitError::Refused { status, answer });
        }
    }
    Ok(())
}
