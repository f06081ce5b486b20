//! Lists as iterators.

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};

use formsvc_protocol::Submission;
use futures_core::FusedStream;
use serde::de::DeserializeOwned;

use super::runtime::Runtime;
use crate::error::AnswersError;
use crate::operation::SUBMISSIONS;
use crate::{Error, ResumeToken, Row, SubmissionPage, TypedSubmission};

/// The submissions of a list, as an iterator that asks for a page when it is needed: the blocking
/// form of [`Submissions`](crate::Submissions). After an error it ends.
#[must_use = "iterators do nothing unless they are consumed"]
#[derive(Debug)]
pub struct Submissions(Lent<crate::Submissions>);

/// The submissions of a list with the answers read as a `T`, as an iterator: the blocking form of
/// [`TypedSubmissions`](crate::TypedSubmissions).
///
/// ```no_run
/// # fn example(form: formsvc_client::blocking::FormHandle) -> Result<(), formsvc_client::Error> {
/// # type Contact = serde_json::Value;
/// for item in form.submissions_as::<Contact>() {
///     match item? {
///         Ok(submission) => println!("{}", submission.data),
///         Err(error) => eprintln!("left out: {error}"),
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "iterators do nothing unless they are consumed"]
pub struct TypedSubmissions<T> {
    items: Submissions,
    of: PhantomData<fn() -> T>,
}

/// The pages of a list, as an iterator: the blocking form of
/// [`SubmissionPages`](crate::SubmissionPages). After an error it ends.
///
/// With [`prefetch`](super::ListSubmissions::prefetch) the request for the next page is on its way
/// before a page is handed on.
#[must_use = "iterators do nothing unless they are consumed"]
#[derive(Debug)]
pub struct SubmissionPages(Lent<crate::SubmissionPages>);

const NOT_LOST: &str = "a panic while waiting is passed on, and a list is not used after one";

/// A stream that the runtime borrows while it waits.
#[derive(Debug)]
struct Lent<S> {
    /// Gone for good when a wait panicked.
    stream: Option<S>,
    runtime: Arc<Runtime>,
}

impl<S: Send + 'static> Lent<S> {
    fn new(stream: S, runtime: Arc<Runtime>) -> Self {
        Self { stream: Some(stream), runtime }
    }

    fn get(&self) -> &S {
        self.stream.as_ref().expect(NOT_LOST)
    }

    fn get_mut(&mut self) -> &mut S {
        self.stream.as_mut().expect(NOT_LOST)
    }

    fn wait<R: Send + 'static>(
        &mut self,
        poll: fn(&mut S, &mut Context<'_>) -> Poll<R>,
    ) -> Result<R, Error> {
        self.runtime.check(SUBMISSIONS)?;
        let mut stream = self.stream.take().expect(NOT_LOST);
        let (stream, result) = self.runtime.run(async move {
            let result = std::future::poll_fn(|cx| poll(&mut stream, cx)).await;
            (stream, result)
        });
        self.stream = Some(stream);
        Ok(result)
    }
}

impl Submissions {
    pub(super) fn new(items: crate::Submissions, runtime: Arc<Runtime>) -> Self {
        Self(Lent::new(items, runtime))
    }

    /// Where to go on after the submissions yielded so far; see
    /// [`Submissions::resume_token`](crate::Submissions::resume_token).
    pub fn resume_token(&self) -> ResumeToken {
        self.0.get().resume_token()
    }

    fn next_row<R>(
        &mut self,
        read: impl FnOnce(&SubmissionPage, Row<'_>) -> R,
    ) -> Option<Result<R, Error>> {
        // The runtime is asked once a page, not once a row.
        if !self.0.get().is_ready() {
            if self.0.get().is_terminated() {
                return None;
            }
            match self.0.wait(crate::Submissions::poll_ready).flatten() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        self.0.get_mut().take_row(read).map(Ok)
    }
}

impl Iterator for Submissions {
    type Item = Result<Submission, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_row(|_, row| row.to_submission())
    }
}

impl FusedIterator for Submissions {}

impl<T: DeserializeOwned> TypedSubmissions<T> {
    pub(super) fn new(items: Submissions) -> Self {
        Self { items, of: PhantomData }
    }

    /// Where to go on; see
    /// [`TypedSubmissions::resume_token`](crate::TypedSubmissions::resume_token).
    pub fn resume_token(&self) -> ResumeToken {
        self.items.resume_token()
    }
}

impl<T: DeserializeOwned> Iterator for TypedSubmissions<T> {
    type Item = Result<Result<TypedSubmission<T>, AnswersError>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.items.next_row(SubmissionPage::typed)
    }
}

impl<T: DeserializeOwned> FusedIterator for TypedSubmissions<T> {}

impl<T> std::fmt::Debug for TypedSubmissions<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TypedSubmissions").field(&self.items).finish()
    }
}

impl SubmissionPages {
    pub(super) fn new(pages: crate::SubmissionPages, runtime: Arc<Runtime>) -> Self {
        Self(Lent::new(pages, runtime))
    }

    /// Where to go on after the pages yielded so far; see
    /// [`SubmissionPages::resume_token`](crate::SubmissionPages::resume_token).
    pub fn resume_token(&self) -> ResumeToken {
        self.0.get().resume_token()
    }
}

impl Iterator for SubmissionPages {
    type Item = Result<SubmissionPage, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.get().is_terminated() {
            return None;
        }
        match self.0.wait(crate::SubmissionPages::poll_page) {
            Ok(page) => page,
            Err(error) => Some(Err(error)),
        }
    }
}

impl FusedIterator for SubmissionPages {}
