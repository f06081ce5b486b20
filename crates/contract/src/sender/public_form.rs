//! Submissions to a public form.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use url::Url;

use super::SUBMISSIONS;
use crate::report::{excerpt, redirect_target};
use crate::send::{HttpSender, Outgoing, SendError};

/// A submission was not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// No answer.
    #[error("the public form does not answer")]
    Send(#[from] SendError),
    /// An answer that is neither 2xx nor 302 nor 303.
    #[error("the public form answered {status}: {answer}")]
    Refused {
        /// The status.
        status: u16,
        /// The target of a redirect, or the beginning of the answer, sanitized.
        answer: String,
    },
}

/// Makes the [`SUBMISSIONS`] that the checks need, one after the other. `answers` is the body of an HTML
/// form: `Name=Ada&Message=Hello`.
pub async fn submit(sender: &HttpSender, form: &Url, answers: &str) -> Result<(), SubmitError> {
    let media_type = HeaderValue::from_static("application/x-www-form-urlencoded");
    let accept = HeaderValue::from_static("application/json");
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, media_type), (ACCEPT, accept)]);
    for _ in 0..SUBMISSIONS {
        let body = Bytes::copy_from_slice(answers.as_bytes());
        let (url, headers) = (form.clone(), headers.clone());
        let outgoing = Outgoing { method: Method::POST, url, headers, body };
        let answer = sender.send(outgoing).await?;
        // Other redirects repeat the request at another address.
        let is_accepted = [StatusCode::FOUND, StatusCode::SEE_OTHER].contains(&answer.status);
        if !answer.status.is_success() && !is_accepted {
            let status = answer.status.as_u16();
            let answer = match answer.headers.get(LOCATION) {
                Some(to) => {
                    let to = String::from_utf8_lossy(to.as_bytes());
                    format!("a redirect to {}", excerpt(redirect_target(&to).as_bytes(), &[]))
                }
                None => excerpt(&answer.body, &[]),
            };
            return Err(SubmitError::Refused { status, answer });
        }
    }
    Ok(())
}
