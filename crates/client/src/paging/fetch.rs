//! Requests one page, passes it to the walk, and reports both as events and errors.

use formsvc_protocol::{Cursor, FormId};
use http::StatusCode;

use super::page::RawPage;
use super::walk::{NextStep, PagingError, PagingWarning, Walk};
use super::{SubmissionPage, TieOverflow};
use crate::call::call;
use crate::error::{Error, ErrorKind, Parts};
use crate::event::emit;
use crate::operation::SUBMISSIONS;
use crate::{Client, ClientEvent, ResponseMeta};

pub(super) type Fetched = Result<(RawPage, ResponseMeta), Error>;

/// Requests a page.
pub(super) async fn fetch_page(
    client: Client,
    form: FormId,
    rows: u32,
    cursor: Option<Cursor>,
) -> Fetched {
    let cursor = cursor.as_ref().map(Cursor::as_str);
    let address = client.shared.base.submissions(form.as_str(), rows, cursor);
    call(&client.shared, SUBMISSIONS, address, |body| RawPage::parse(body, rows)).await
}

/// Passes a page to the walk and reports it.
pub(super) fn accept_page(
    client: &Client,
    walk: &mut Walk,
    page: RawPage,
    meta: ResponseMeta,
) -> (SubmissionPage, NextStep) {
    let outcome = walk.accept(page.rows(), page.pagination());
    let page = page.keep(&outcome, meta);
    report_warning(client, outcome.warning);
    if outcome.next != NextStep::Retry {
        let event = ClientEvent::PageFetched {
            rows: page.len(),
            duplicates: outcome.duplicates.len(),
            bytes: page.body_len(),
            has_more: page.has_more(),
            elapsed: page.meta().elapsed(),
        };
        emit(&client.shared, &event);
    }
    (page, outcome.next)
}

/// Returns true if the failed request is repeated with another cursor, because the service refused
/// one that it had not issued.
pub(super) fn retries_refused(client: &Client, walk: &mut Walk, error: &Error) -> bool {
    if !refuses_cursor(error) {
        return false;
    }
    let Some(outcome) = walk.refused() else { return false };
    report_warning(client, outcome.warning);
    true
}

/// Returns true if the service may have refused the cursor.
pub(super) fn refuses_cursor(error: &Error) -> bool {
    let refuses = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
    error.status().is_some_and(|status| refuses.contains(&status))
}

fn report_warning(client: &Client, warning: Option<PagingWarning>) {
    let Some(warning) = warning else { return };
    let event = match warning {
        PagingWarning::FellBack(reason) => ClientEvent::Fallback { reason },
        PagingWarning::Overflow(overflow) => ClientEvent::TieOverflow(overflow.into()),
    };
    emit(&client.shared, &event);
}

/// Reports a sync point that keeps fewer than 5 minutes of ids.
pub(super) fn report_short_overlap(client: &Client) {
    emit(&client.shared, &ClientEvent::SyncOverlapShortened);
}

/// Returns the error of a list that cannot continue.
pub(super) fn paging_error(error: PagingError) -> Parts {
    match error {
        PagingError::Stuck(stuck) => {
            Error::parts(ErrorKind::Pagination, SUBMISSIONS, stuck.message())
        }
        PagingError::OutOfOrder => Error::parts(
            ErrorKind::Pagination,
            SUBMISSIONS,
            "a submission is newer than the one before it, though the list is newest first",
        ),
        PagingError::TooManyTies => Error::parts(
            ErrorKind::TooLarge,
            SUBMISSIONS,
            "more than 100,000 submissions share one `created_at`, so repeated ones cannot be \
             recognized",
        ),
        PagingError::TieOverflow(overflow) => {
            let what = format!(
                "more submissions share a {} than a page can show: {}",
                overflow.unit,
                TieOverflow::from(overflow)
            );
            Error::parts(ErrorKind::TieOverflow, SUBMISSIONS, what)
        }
    }
}

/// Returns the same error with the details of the page.
pub(super) fn walk_error(error: PagingError, page: &SubmissionPage) -> Error {
    let mut parts = paging_error(error);
    if error == PagingError::OutOfOrder {
        parts.json_path = page.out_of_order_path();
    }
    let meta = page.meta();
    parts.status = Some(meta.status());
    parts.request_id = meta.request_id().map(str::to_owned);
    parts.attempts = meta.attempts();
    parts.elapsed = meta.elapsed();
    parts.into()
}
