//! The events and errors of a walk.

use http::StatusCode;

use super::SubmissionPage;
use super::walk::{PagingError, PagingWarning};
use crate::error::{Error, ErrorKind, Parts};
use crate::event::emit;
use crate::operation::SUBMISSIONS;
use crate::{Client, ClientEvent};

/// Reports a page.
pub(super) fn report_page(client: &Client, page: &SubmissionPage, duplicates: usize) {
    let event = ClientEvent::PageFetched {
        rows: page.len(),
        duplicates,
        bytes: page.body_len(),
        has_more: page.has_more(),
        elapsed: page.meta().elapsed(),
    };
    emit(&client.shared, &event);
}

/// Returns true if the service may have refused the cursor.
pub(super) fn refuses_cursor(error: &Error) -> bool {
    let refuses = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
    error.status().is_some_and(|status| refuses.contains(&status))
}

/// Reports a reason why rows could be missing.
pub(super) fn report_warning(client: &Client, warning: Option<PagingWarning>) {
    let Some(warning) = warning else { return };
    let event = match warning {
        PagingWarning::FellBack(reason) => ClientEvent::Fallback { reason },
        PagingWarning::Overflow(overflow) => ClientEvent::TieOverflow(overflow),
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
            let unit = overflow.unit();
            let what = format!("more submissions share a {unit} than a page can show: {overflow}");
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
