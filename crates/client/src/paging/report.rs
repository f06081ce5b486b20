//! The errors of a walk.

use http::StatusCode;

use super::walk::PagingError;
use crate::ResponseMeta;
use crate::error::{Error, ErrorKind, Parts};
use crate::operation::SUBMISSIONS;

/// Returns true if the service may have refused the cursor.
pub(super) fn refuses_cursor(error: &Error) -> bool {
    let refuses = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
    error.status().is_some_and(|status| refuses.contains(&status))
}

/// The error of a list that cannot continue.
impl From<PagingError> for Parts {
    fn from(error: PagingError) -> Self {
        match error {
            PagingError::Stuck(why) => Error::parts(ErrorKind::Pagination, SUBMISSIONS, why),
            PagingError::OutOfOrder(at) => {
                let what =
                    "a submission is newer than the one before it, though the list is newest first";
                let json_path = Some(format!("data[{at}].created_at"));
                Parts { json_path, ..Error::parts(ErrorKind::Pagination, SUBMISSIONS, what) }
            }
            PagingError::TooManyTies => Error::parts(
                ErrorKind::TooLarge,
                SUBMISSIONS,
                "more than 100,000 submissions share one `created_at`, so repeated ones cannot be \
                 recognized",
            ),
            PagingError::TieOverflow(overflow) => {
                let unit = overflow.unit();
                let what =
                    format!("more submissions share a {unit} than a page can show: {overflow}");
                Error::parts(ErrorKind::TieOverflow, SUBMISSIONS, what)
            }
        }
    }
}

/// For programs that fetch the pages themselves.
impl From<PagingError> for Error {
    fn from(error: PagingError) -> Self {
        Parts::from(error).into()
    }
}

/// Returns the error with the details of the page.
pub(super) fn walk_error(error: PagingError, meta: &ResponseMeta) -> Error {
    let parts = Parts::from(error).with_answer(meta.status(), meta.headers());
    Parts { attempts: meta.attempts(), ..parts }.into()
}
