//! What waits for the thread that writes. The thread is woken when that is worth it, and not for each that
//! comes: to wake it costs as much as to write a request, and one commit is as dear as any.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::StoreError;
use super::answers::Reply;
use crate::webhook::capture::{CaptureNumber, Outcome, Received};

/// Requests that share one commit, at most.
const BATCH_MAX: usize = 256;
/// Requests that are worth a commit, whoever else is about to come.
pub(super) const ENOUGH: usize = 32;
/// How long a thread that is awake waits for the word to begin. One that sleeps is woken by that word, or by
/// as many as are worth a commit.
const BEGIN_PAUSE: Duration = Duration::from_millis(1);
/// How long an outcome waits for a request to share its commit with.
const LINGER: Duration = Duration::from_millis(25);

/// Work on the connection of the thread.
pub(super) type Work = Box<dyn FnOnce(&Connection) + Send>;

/// What the thread takes at once.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) keeps: Vec<(Arc<Received>, Reply)>,
    pub(super) settles: Vec<(CaptureNumber, Arc<Outcome>)>,
    /// For after those.
    pub(super) work: Option<Work>,
}

/// What the thread finds when it looks.
pub(super) enum Next {
    Batch(Batch),
    /// Nothing came for as long as there was time.
    Nothing,
    /// There will be nothing more.
    Closed,
}

/// The queue between those who bring requests and the thread.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    came: Condvar,
}

#[derive(Default)]
struct Waiting {
    keeps: VecDeque<(Arc<Received>, Reply)>,
    /// Whether those who brought them have nobody left to let go first.
    begun: bool,
    settles: Vec<(CaptureNumber, Arc<Outcome>)>,
    /// When the first of those outcomes came.
    settling: Option<Instant>,
    work: VecDeque<Ahead>,
    closed: bool,
    thread: Thread,
    /// How often something was taken: which group those that wait are of.
    group: u64,
}

/// Work, and how many requests came before it: it sees those, and none that came later.
struct Ahead {
    requests: usize,
    work: Work,
}

/// What the thread does, and so what it is woken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Thread {
    #[default]
    Busy,
    /// It sleeps until what waits is due.
    Waits,
    /// It sleeps until that, or until there is an outcome.
    Idle,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.keeps.is_empty() && self.settles.is_empty() && self.work.is_empty()
    }

    /// Whether what waits is taken now.
    fn is_due(&self) -> bool {
        self.begun || self.keeps.len() >= ENOUGH || !self.work.is_empty() || self.closed
    }

    /// Whether there is nothing that the thread is woken for where it is idle.
    fn is_quiet(&self) -> bool {
        !self.is_due() && self.settles.is_empty()
    }

    /// Adds a request; whether that wakes the thread.
    fn keep(&mut self, received: Arc<Received>, reply: Reply) -> bool {
        self.keeps.push_back((received, reply));
        self.keeps.len() == ENOUGH && self.thread != Thread::Busy
    }

    /// Lets the thread begin with the requests there are; whether that wakes it.
    fn begin(&mut self) -> bool {
        let first = !std::mem::replace(&mut self.begun, !self.keeps.is_empty());
        first && self.begun && self.thread != Thread::Busy
    }

    /// Adds an outcome; whether that wakes the thread.
    fn settle(&mut self, number: CaptureNumber, outcome: Arc<Outcome>) -> bool {
        self.settles.push((number, outcome));
        if self.settling.is_some() {
            return false;
        }
        self.settling = Some(Instant::now());
        self.thread == Thread::Idle
    }

    fn take(&mut self) -> Batch {
        self.settling = None;
        self.group += 1;
        let before_work = self.work.front().map_or(usize::MAX, |first| first.requests);
        let most = self.keeps.len().min(BATCH_MAX).min(before_work);
        let keeps = self.keeps.drain(..most).collect();
        self.begun &= !self.keeps.is_empty();
        for later in &mut self.work {
            later.requests -= most;
        }
        let is_next = self.work.front().is_some_and(|first| first.requests == 0);
        let work = if is_next { self.work.pop_front().map(|first| first.work) } else { None };
        Batch { keeps, settles: std::mem::take(&mut self.settles), work }
    }
}

impl Queue {
    /// Adds a request. Gives its group where it is the first that waits, and whoever brought it is to
    /// [`begin`](Self::begin). Fails after the end.
    pub(super) fn keep(
        &self,
        received: Arc<Received>,
        reply: Reply,
    ) -> Result<Option<u64>, StoreError> {
        let mut first = None;
        self.add(|waiting| {
            first = waiting.keeps.is_empty().then_some(waiting.group);
            waiting.keep(received, reply)
        })?;
        Ok(first)
    }

    /// How many requests of a group wait; none once it is taken.
    pub(super) fn waiting(&self, group: u64) -> usize {
        let waiting = self.locked();
        if waiting.group == group { waiting.keeps.len() } else { 0 }
    }

    #[cfg(test)]
    pub(super) fn is_due(&self) -> bool {
        self.locked().is_due()
    }

    /// Lets the thread begin with the requests that wait.
    pub(super) fn begin(&self) {
        // After the end there is nothing to begin with.
        let _ = self.add(Waiting::begin);
    }

    /// Adds what was made of a request. Fails after the end.
    pub(super) fn settle(
        &self,
        number: CaptureNumber,
        outcome: Arc<Outcome>,
    ) -> Result<(), StoreError> {
        self.add(|waiting| waiting.settle(number, outcome))
    }

    /// Adds work. Fails after the end.
    pub(super) fn run(&self, work: Work) -> Result<(), StoreError> {
        self.add(|waiting| {
            waiting.work.push_back(Ahead { requests: waiting.keeps.len(), work });
            true
        })
    }

    /// Lets nothing more in. What is there is still taken.
    pub(super) fn close(&self) {
        self.locked().closed = true;
        self.came.notify_one();
    }

    /// Lets nothing more in, and drops what is there: whoever waits for it is told by that.
    pub(super) fn abandon(&self) {
        let end = Waiting { closed: true, ..Waiting::default() };
        let left = std::mem::replace(&mut *self.locked(), end);
        // Not under the lock: it wakes others.
        drop(left);
    }

    /// Takes what waits, or waits for something. With nothing to do there is as much time as `rest` says,
    /// which is asked only then.
    pub(super) fn next(&self, rest: impl FnOnce() -> Duration) -> Next {
        let mut waiting = self.locked();
        if waiting.is_empty() && !waiting.closed {
            drop(waiting);
            let until = Instant::now() + rest();
            waiting = self.wait_while(self.locked(), Thread::Idle, until, Waiting::is_quiet);
        }
        let begin = (!waiting.keeps.is_empty()).then(|| Instant::now() + BEGIN_PAUSE);
        let settle = waiting.settling.map(|since| since + LINGER);
        let until = begin.into_iter().chain(settle).min().unwrap_or_else(Instant::now);
        if !waiting.is_empty() {
            waiting = self.wait_while(waiting, Thread::Waits, until, |waiting| !waiting.is_due());
        }
        match waiting.is_empty() {
            false => Next::Batch(waiting.take()),
            true if waiting.closed => Next::Closed,
            true => Next::Nothing,
        }
    }

    fn add(&self, add: impl FnOnce(&mut Waiting) -> bool) -> Result<(), StoreError> {
        let mut waiting = self.locked();
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        let wakes = add(&mut waiting);
        drop(waiting);
        if wakes {
            self.came.notify_one();
        }
        Ok(())
    }

    /// Waits for as long as it goes on, until the time is over.
    fn wait_while<'q>(
        &'q self,
        mut waiting: MutexGuard<'q, Waiting>,
        thread: Thread,
        until: Instant,
        goes_on: impl Fn(&Waiting) -> bool,
    ) -> MutexGuard<'q, Waiting> {
        waiting.thread = thread;
        let time = until.saturating_duration_since(Instant::now());
        let waited = self.came.wait_timeout_while(waiting, time, |waiting| goes_on(waiting));
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        waiting.thread = Thread::Busy;
        waiting
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tokio::sync::oneshot;

    use super::super::tests::received;
    use super::*;
    use crate::webhook::capture::AnsweredBy;

    fn request(waiting: &mut Waiting) -> bool {
        let received = Arc::new(received(Timestamp::UNIX_EPOCH, Vec::new()));
        waiting.keep(received, oneshot::channel().0)
    }

    fn outcome(waiting: &mut Waiting) -> bool {
        let by = AnsweredBy::Listener;
        let took = Duration::ZERO;
        let forwards = Vec::new();
        waiting.settle(1, Arc::new(Outcome { status: None, by, took, forwards, decided_by: None }))
    }

    fn nothing() -> Duration {
        panic!("there is something to do")
    }

    #[test]
    fn the_thread_is_woken_once_for_what_it_sleeps_for() {
        let all = |thread, come: fn(&mut Waiting) -> bool| {
            let mut waiting = Waiting { thread, ..Waiting::default() };
            [(); 4].map(|()| come(&mut waiting))
        };
        let begun = |waiting: &mut Waiting| {
            assert!(!request(waiting), "not before somebody says so");
            waiting.begin()
        };
        for thread in [Thread::Busy, Thread::Waits, Thread::Idle] {
            assert_eq!(all(thread, request), [false; 4]);
            assert_eq!(all(thread, Waiting::begin), [false; 4], "with nothing");
            assert_eq!(all(thread, begun), [thread != Thread::Busy, false, false, false]);
        }
        assert_eq!(all(Thread::Busy, outcome), [false; 4]);
        assert_eq!(all(Thread::Waits, outcome), [false; 4]);
        assert_eq!(all(Thread::Idle, outcome), [true, false, false, false]);
    }

    #[test]
    fn as_many_as_are_worth_a_commit_wait_for_nobody() {
        let mut waiting = Waiting { thread: Thread::Idle, ..Waiting::default() };
        let woken: Vec<bool> = (0..=ENOUGH).map(|_| request(&mut waiting)).collect();
        assert_eq!(woken.iter().position(|woken| *woken), Some(ENOUGH - 1));
        assert!(waiting.is_due());
        assert_eq!(waiting.take().keeps.len(), ENOUGH + 1);
        request(&mut waiting);
        assert!(!waiting.is_due(), "the next one waits for the word");
    }

    #[test]
    fn who_begins_with_what_is_taken_already_lets_nobody_else_begin() {
        let queue = Queue::default();
        let received = Arc::new(received(Timestamp::UNIX_EPOCH, Vec::new()));
        let keep = || queue.keep(Arc::clone(&received), oneshot::channel().0).unwrap();
        assert_eq!(keep(), Some(0), "the first is to say when");
        assert_eq!((keep(), queue.waiting(0)), (None, 2));
        queue.locked().take();
        queue.begin();
        assert!(!queue.locked().begun);
        assert_eq!(keep(), Some(1), "the first again");
        assert_eq!((queue.waiting(0), queue.waiting(1)), (0, 1));
        queue.begin();
        assert!(queue.locked().is_due());
    }

    #[test]
    fn a_commit_has_its_bounds_and_work_comes_between_what_came_before_and_after_it() {
        let queue = Queue::default();
        for _ in 0..=BATCH_MAX {
            request(&mut queue.locked());
        }
        outcome(&mut queue.locked());
        queue.run(Box::new(|_| ())).unwrap();
        queue.run(Box::new(|_| ())).unwrap();
        request(&mut queue.locked());
        let batches = [(); 4].map(|()| {
            let Next::Batch(batch) = queue.next(nothing) else { panic!("none") };
            (batch.keeps.len(), batch.settles.len(), batch.work.is_some())
        });
        let wanted = [(BATCH_MAX, 1, false), (1, 0, true), (0, 0, true), (1, 0, false)];
        assert_eq!(batches, wanted);
    }

    #[test]
    fn a_thread_that_is_awake_waits_for_the_word_no_longer_than_it_may() {
        for settles in [0, 1] {
            let queue = Queue::default();
            request(&mut queue.locked());
            for _ in 0..settles {
                outcome(&mut queue.locked());
            }
            let began = Instant::now();
            let Next::Batch(batch) = queue.next(nothing) else { panic!("none") };
            assert_eq!((batch.keeps.len(), batch.settles.len()), (1, settles));
            assert!((BEGIN_PAUSE..Duration::from_secs(5)).contains(&began.elapsed()));
        }
    }

    #[test]
    fn what_is_there_at_the_end_is_taken_and_nothing_after_it() {
        let queue = Queue::default();
        assert!(matches!(queue.next(|| Duration::ZERO), Next::Nothing));
        outcome(&mut queue.locked());
        queue.close();
        assert!(matches!(queue.run(Box::new(|_| ())), Err(StoreError::Closed)));
        let Next::Batch(batch) = queue.next(nothing) else { panic!("none") };
        assert_eq!(batch.settles.len(), 1);
        assert!(matches!(queue.next(nothing), Next::Closed));
    }
}
