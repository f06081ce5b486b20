//! The errors of responses that were not expected.

use formsvc_workbench::expectation::ResponseTally;
use formsvc_workbench::forward::advice;

use crate::base::text::count;
use crate::error::{CliError, Code};
use crate::exit::Exit;

/// Returns an error unless every response was expected. `request` is the noun of a request: "delivery". `refused` is
/// the hint for 401 and 403. The body of the response is part of the error unless it was printed.
pub(super) fn check(
    tally: &ResponseTally,
    request: &str,
    is_body_printed: bool,
    refused: &str,
) -> Result<(), CliError> {
    let ResponseTally { expected, sent, unexpected, no_response, .. } = tally;
    if let Some((status, body)) = &tally.first_unexpected {
        let what = format!(
            "expected status {expected}, but {unexpected} of {} had another, such as {status}",
            count(*sent, "response")
        );
        let mut error = CliError::coded(Code::Unmet, what);
        if !body.is_empty() && !is_body_printed {
            error = error.cause(format!("the response is: {body}"));
        }
        return Err(error.hint(match status {
            300..=399 => "the service does not follow redirects; pass the URL of the redirect",
            401 | 403 => refused,
            404 | 405 => "check the path, and that the receiver accepts POST",
            _ => "",
        }));
    }
    let Some(failure) = &tally.first_error else { return Ok(()) };
    let what = format!("no response to {no_response} of {}", count(*sent, request));
    let error = CliError::new(Exit::Network, what).cause(failure.to_string());
    Err(error.hint(advice(failure).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use formsvc_workbench::expectation::StatusSet;

    use super::*;

    #[test]
    fn unexpected_status_error_has_count_body_and_hint() {
        let mut tally = ResponseTally::new(StatusSet::Success);
        tally.add(Ok((204, b"")));
        assert!(check(&tally, "delivery", false, "").is_ok());
        tally.add(Ok((401, format!("v1={}", "ab".repeat(32)).as_bytes())));
        let error =
            |is_body_printed| check(&tally, "delivery", is_body_printed, "fix it").unwrap_err();
        assert_eq!(error(false).exit, Exit::Unmet);
        let text = error(false).to_text();
        assert!(text.contains("1 of 2 responses had another, such as 401"), "{text}");
        assert!(text.contains("response is: v1=abab…") && text.contains("fix it"), "{text}");
        assert!(!error(true).to_text().contains("abab"));
    }

    #[test]
    fn single_unexpected_status_error_names_both_statuses() {
        let mut tally = ResponseTally::new(StatusSet::Class(2));
        tally.add(Ok((302, b"")));
        let text = check(&tally, "delivery", false, "").unwrap_err().to_text();
        assert!(
            text.contains("expected status 2xx, but 1 of 1 response had another, such as 302"),
            "{text}"
        );
    }
}
