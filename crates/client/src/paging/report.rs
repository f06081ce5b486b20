//! The errors of a walk.

use formsvc_protocol::{Cursor, FormId};
use http::StatusCode;

use super::walk::{PagingError, PagingWarning};
use crate::ResponseMeta;
use crate::error::{Error, ErrorKind, EscapedText, Parts};
use crate::event::ClientEvent;
use crate::operation::SUBMISSIONS;
use crate::skipped_item::SkippedItem;

/// Returns true if the service may have refused the cursor.
pub(super) fn refuses_cursor(error: &Error) -> bool {
    let refuses = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
    error.status().is_some_and(|status| refuses.contains(&status))
}

impl PagingWarning {
    /// Returns the event of a list of this form.
    pub(super) fn into_event(self, form: Option<FormId>) -> ClientEvent {
        match self {
            Self::Fallback(reason) => ClientEvent::Fallback { form, reason },
            Self::TieOverflow(overflow) => ClientEvent::TieOverflow { form, overflow },
        }
    }
}

/// Returns the error of a list that cannot continue, with the details of the page.
pub(super) fn walk_error(error: PagingError, meta: &ResponseMeta) -> Error {
    let mut json_path = None;
    let (kind, what) = match error {
        PagingError::Stuck(why) => (ErrorKind::Pagination, why.to_owned()),
        PagingError::OutOfOrder(at) => {
            json_path = Some(format!("data[{at}].created_at"));
            let what =
                "a submission is newer than the one before it, though the list is newest first";
            (ErrorKind::Pagination, what.to_owned())
        }
        PagingError::TooManyTies(overflow) => {
            let what = "more submissions share a time than are recognized when they are repeated";
            (ErrorKind::TieOverflow, format!("{what}: {overflow}"))
        }
        PagingError::TieOverflow(overflow) => {
            let unit = overflow.unit();
            let what = format!("more submissions share a {unit} than a page can show: {overflow}");
            (ErrorKind::TieOverflow, what)
        }
    };
    let parts = Error::parts(kind, SUBMISSIONS, what);
    Parts { json_path, ..parts }.with_meta(meta).into()
}

/// Returns the error of a submission that cannot be used, on the page with this number from 1, which was
/// requested with this cursor.
pub(super) fn item_error(
    item: &SkippedItem,
    page: u64,
    cursor: Option<&Cursor>,
    meta: &ResponseMeta,
) -> Error {
    let name = item.id().map_or("a submission without an id".to_owned(), |id| {
        format!("the submission `{}`", EscapedText(id))
    });
    let requested = cursor.map_or_else(String::new, |cursor| {
        format!(", requested with the cursor `{}`", EscapedText(cursor.as_str()))
    });
    let what = format!(
        "{name} violates the API at `{}` of page {page}{requested}",
        EscapedText(item.json_path())
    );
    let mut parts = Error::parts(ErrorKind::InvalidItem, SUBMISSIONS, what);
    parts.json_path = Some(item.json_path().to_owned());
    parts.source = Some(EscapedText(item.reason()).to_string().into());
    parts.with_meta(meta).into()
}
