//! How long a body may take.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How long the reading of a body may take, and what waits so long.
#[derive(Clone)]
pub(crate) struct ReadLimit {
    limit: Duration,
    sleep: Arc<dyn Fn(Duration) -> Sleep + Send + Sync>,
}

impl ReadLimit {
    pub(crate) fn new<F>(
        limit: Duration,
        sleep: impl Fn(Duration) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self { limit, sleep: Arc::new(move |limit| Box::pin(sleep(limit))) }
    }
}

/// The time that is left for one body. It begins to run when it is asked for the first time, so that a
/// body that is there at once needs no timer.
pub(super) enum TimeLeft {
    Unlimited,
    All(ReadLimit),
    Running(Sleep),
}

impl TimeLeft {
    pub(super) fn new(limit: Option<&ReadLimit>) -> Self {
        limit.map_or(Self::Unlimited, |limit| Self::All(limit.clone()))
    }

    /// Whether it is over; if not, the task is woken when it is.
    pub(super) fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        if let Self::All(ReadLimit { limit, sleep }) = self {
            *self = Self::Running(sleep(*limit));
        }
        match self {
            Self::Running(sleep) => matches!(sleep.as_mut().poll(context), Poll::Ready(())),
            Self::Unlimited | Self::All(_) => false,
        }
    }
}
