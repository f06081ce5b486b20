//! Item by item, the answers read into the caller's type.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use formsvc_protocol::{SubmissionId, Timestamp};
use futures_core::{FusedStream, Stream};
use serde::de::DeserializeOwned;

use super::{ResumeToken, Row, SubmissionPage, Submissions, TieOverflow};
use crate::Error;
use crate::error::AnswersError;

/// A submission whose answers are of the caller's type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TypedSubmission<T> {
    /// Identifier.
    pub id: SubmissionId,
    /// The answers.
    pub data: T,
    /// When it was made.
    pub created_at: Timestamp,
}

impl<T> TypedSubmission<T> {
    /// A submission from its parts.
    pub fn new(id: SubmissionId, data: T, created_at: Timestamp) -> Self {
        Self { id, data, created_at }
    }
}

/// The submissions of a list, each read as a `T`: a stream like [`Submissions`].
///
/// An item is itself a result. Answers that are no `T` are an [`AnswersError`] of that one item,
/// and the list goes on; an [`Error`] ends the list. The caller chooses what becomes of the first:
///
/// ```no_run
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Contact {
///     #[serde(rename = "E-mail")]
///     email: String,
/// }
///
/// # async fn example(form: formsvc_client::FormHandle) -> Result<(), formsvc_client::Error> {
/// let mut items = form.submissions_as::<Contact>();
/// while let Some(item) = items.try_next().await? {
///     match item {
///         Ok(submission) => println!("{}", submission.data.email),
///         Err(error) => eprintln!("left out: {error}"), // or `return Err(error.into())`
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// What `T` makes of numbers is `T`'s affair: a float rounds. [`Row::data`] has the exact text.
#[must_use = "streams do nothing unless polled"]
pub struct TypedSubmissions<T> {
    items: Submissions,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> TypedSubmissions<T> {
    pub(super) fn new(items: Submissions) -> Self {
        Self { items, of: PhantomData }
    }

    /// The next submission; `None` at the end. Cancel safe: a dropped call loses nothing.
    pub async fn try_next(
        &mut self,
    ) -> Result<Option<Result<TypedSubmission<T>, AnswersError>>, Error> {
        std::future::poll_fn(|cx| self.poll_item(cx)).await.transpose()
    }

    /// Where to go on; see [`Submissions::resume_token`]. Items that could not be read as a `T`
    /// count as yielded.
    pub fn resume_token(&self) -> ResumeToken {
        self.items.resume_token()
    }

    /// The milliseconds that could not be proven complete so far: see
    /// [`SubmissionPages::tie_overflows`](super::SubmissionPages::tie_overflows).
    pub fn tie_overflows(&self) -> &[TieOverflow] {
        self.items.tie_overflows()
    }

    #[expect(clippy::type_complexity, reason = "a poll of the item, which is a result in a result")]
    fn poll_item(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Result<TypedSubmission<T>, AnswersError>, Error>>> {
        self.items.poll_row(cx, SubmissionPage::typed)
    }
}

impl SubmissionPage {
    /// The rows, each with its answers read as a `T`. Answers that are none are an error of that
    /// row alone.
    pub fn submissions_as<T: DeserializeOwned>(
        &self,
    ) -> impl ExactSizeIterator<Item = Result<TypedSubmission<T>, AnswersError>> {
        self.rows().map(|row| self.typed(row))
    }

    /// One of its rows; an error tells what came with the page.
    pub(crate) fn typed<T: DeserializeOwned>(
        &self,
        row: Row<'_>,
    ) -> Result<TypedSubmission<T>, AnswersError> {
        row.to_typed().map_err(|error| error.on_page(self.meta()))
    }
}

impl<T: DeserializeOwned> Stream for TypedSubmissions<T> {
    type Item = Result<Result<TypedSubmission<T>, AnswersError>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_item(cx)
    }
}

impl<T: DeserializeOwned> FusedStream for TypedSubmissions<T> {
    fn is_terminated(&self) -> bool {
        self.items.is_terminated()
    }
}

impl<T> std::fmt::Debug for TypedSubmissions<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TypedSubmissions").field(&self.items).finish()
    }
}
