//! Tests a program without a service: `MockService` is in memory.

use formsvc_client::test_util::{Fault, MockService, form, generate};
use formsvc_client::{Answer, Client, Error, ErrorCode};

/// The code under test.
async fn sum(client: &Client, form: &str) -> Result<i64, Error> {
    let (mut sum, mut items) = (0, client.form(form).submissions().items());
    while let Some(submission) = items.try_next().await? {
        sum += submission.data.get("Number").and_then(Answer::as_i64).unwrap_or_default();
    }
    Ok(sum)
}

/// A form with the submissions 1 to 250, which are three pages.
fn service() -> MockService {
    MockService::new().form(form("frm_1", "Survey")).submissions("frm_1", generate(250))
}

#[tokio::test]
async fn broken_connection_loses_no_rows() -> Result<(), Error> {
    let service = service();
    service.fail_next(Fault::Disconnected);
    assert_eq!(sum(&service.client(), "frm_1").await?, 250 * 251 / 2);
    assert_eq!(service.requests().len(), 4, "one of three pages is requested twice");
    Ok(())
}

#[tokio::test]
async fn revoked_key_is_an_auth_error() {
    let service = service();
    service.fail_next(Fault::Error(ErrorCode::KeyRevoked));
    assert!(sum(&service.client(), "frm_1").await.is_err_and(|error| error.is_auth()));
}
