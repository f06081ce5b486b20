//! Lists as iterators.

use std::iter::FusedIterator;
use std::sync::Arc;
use std::task::{Context, Poll};

use formsvc_protocol::Submission;
use futures_core::FusedStream;

use super::runtime::Runtime;
use crate::operation::SUBMISSIONS;
use crate::paging::more_than;
use crate::{Error, ResumeToken, SubmissionPage, TieOverflow};

/// The submissions of a list, as an iterator that asks for a page when it is needed: the blocking
/// form of [`Submissions`](crate::Submissions). After an error it ends, and so it does after a panic of
/// a function given to the client that was caught; its resume token stays good.
#[must_use = "iterators do nothing unless they are consumed"]
#[derive(Debug)]
pub struct Submissions(Lent<crate::Submissions>);

/// The pages of a list, as an iterator: the blocking form of
/// [`SubmissionPages`](crate::SubmissionPages). After an error it ends.
#[must_use = "iterators do nothing unless they are consumed"]
#[derive(Debug)]
pub struct SubmissionPages(Lent<crate::SubmissionPages>);

/// A stream that the runtime borrows while it waits.
#[derive(Debug)]
struct Lent<S> {
    stream: Result<S, Lost>,
    runtime: Arc<Runtime>,
}

/// What is left of a stream that is lent, and for good when the wait panicked: then the list has
/// ended.
#[derive(Clone, Debug)]
struct Lost {
    token: ResumeToken,
    overflows: Vec<TieOverflow>,
}

/// What both streams are.
trait List: FusedStream + Send + 'static {
    fn resume_token(&self) -> ResumeToken;
    fn tie_overflows(&self) -> &[TieOverflow];
}

impl List for crate::Submissions {
    fn resume_token(&self) -> ResumeToken {
        self.resume_token()
    }

    fn tie_overflows(&self) -> &[TieOverflow] {
        self.tie_overflows()
    }
}

impl List for crate::SubmissionPages {
    fn resume_token(&self) -> ResumeToken {
        self.resume_token()
    }

    fn tie_overflows(&self) -> &[TieOverflow] {
        self.tie_overflows()
    }
}

impl<S: List> Lent<S> {
    fn new(stream: S, runtime: Arc<Runtime>) -> Self {
        Self { stream: Ok(stream), runtime }
    }

    fn resume_token(&self) -> ResumeToken {
        match &self.stream {
            Ok(stream) => stream.resume_token(),
            Err(lost) => lost.token.clone(),
        }
    }

    fn tie_overflows(&self) -> &[TieOverflow] {
        match &self.stream {
            Ok(stream) => stream.tie_overflows(),
            Err(lost) => &lost.overflows,
        }
    }

    fn is_terminated(&self) -> bool {
        self.stream.as_ref().map_or(true, FusedStream::is_terminated)
    }

    /// What the poll gives; `None` when the stream was lost.
    fn wait<R: Send + 'static>(
        &mut self,
        poll: fn(&mut S, &mut Context<'_>) -> Poll<R>,
    ) -> Result<Option<R>, Error> {
        self.runtime.check(SUBMISSIONS)?;
        // The place is noted before the wait: a panic leaves nothing that could be asked for it.
        let lost = Lost { token: self.resume_token(), overflows: self.tie_overflows().to_vec() };
        let Ok(mut stream) = std::mem::replace(&mut self.stream, Err(lost)) else {
            return Ok(None);
        };
        let (stream, result) = self.runtime.run(async move {
            let result = std::future::poll_fn(|cx| poll(&mut stream, cx)).await;
            (stream, result)
        });
        self.stream = Ok(stream);
        Ok(Some(result))
    }
}

impl Submissions {
    pub(super) fn new(items: crate::Submissions, runtime: Arc<Runtime>) -> Self {
        Self(Lent::new(items, runtime))
    }

    /// Where to go on after the submissions yielded so far; see
    /// [`Submissions::resume_token`](crate::Submissions::resume_token).
    pub fn resume_token(&self) -> ResumeToken {
        self.0.resume_token()
    }

    /// The units of which submissions may be missing; see
    /// [`Submissions::tie_overflows`](crate::Submissions::tie_overflows).
    pub fn tie_overflows(&self) -> &[TieOverflow] {
        self.0.tie_overflows()
    }

    /// The rest of the list, if it is no more than `max` submissions; see
    /// [`Submissions::try_collect_max`](crate::Submissions::try_collect_max).
    pub fn try_collect_max(&mut self, max: usize) -> Result<Vec<Submission>, Error> {
        let mut all = Vec::new();
        while self.ready()? {
            if all.len() == max {
                return Err(more_than(max));
            }
            all.extend(self.take());
        }
        Ok(all)
    }

    /// Sees to a page with a row that was not yielded; false at the end.
    fn ready(&mut self) -> Result<bool, Error> {
        // The runtime is asked once a page, not once a row.
        if self.0.stream.as_ref().is_ok_and(crate::Submissions::has_ready) {
            return Ok(true);
        }
        if self.0.is_terminated() {
            return Ok(false);
        }
        self.0.wait(crate::Submissions::poll_ready)?.unwrap_or(Ok(false))
    }

    fn take(&mut self) -> Option<Submission> {
        self.0.stream.as_mut().ok()?.take_ready()
    }
}

impl Iterator for Submissions {
    type Item = Result<Submission, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ready().map(|_| self.take()).transpose()
    }
}

impl FusedIterator for Submissions {}

impl SubmissionPages {
    pub(super) fn new(pages: crate::SubmissionPages, runtime: Arc<Runtime>) -> Self {
        Self(Lent::new(pages, runtime))
    }

    /// Where to go on after the pages yielded so far; see
    /// [`SubmissionPages::resume_token`](crate::SubmissionPages::resume_token).
    pub fn resume_token(&self) -> ResumeToken {
        self.0.resume_token()
    }

    /// The units of which submissions may be missing; see
    /// [`SubmissionPages::tie_overflows`](crate::SubmissionPages::tie_overflows).
    pub fn tie_overflows(&self) -> &[TieOverflow] {
        self.0.tie_overflows()
    }
}

impl Iterator for SubmissionPages {
    type Item = Result<SubmissionPage, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_terminated() {
            return None;
        }
        match self.0.wait(crate::SubmissionPages::poll_page) {
            Ok(page) => page.flatten(),
            Err(error) => Some(Err(error)),
        }
    }
}

impl FusedIterator for SubmissionPages {}
