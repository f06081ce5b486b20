//! Who tells those that share a commit what became of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::fault::{NotCommitted, closed};
use super::job::Job;
use super::submit::Submit;
use crate::store::StoreError;

pub(super) type Reply<T> = oneshot::Sender<Told<T>>;

/// What one caller is told, and those in the same commit whom it may tell.
pub(super) struct Told<T> {
    pub(super) own: Result<T, StoreError>,
    others: Option<Arc<Others>>,
}

impl<T> Told<T> {
    pub(super) fn new(own: Result<T, StoreError>, others: Option<Arc<Others>>) -> Self {
        Self { own, others }
    }
}

/// Waits for what is told, and passes it on.
pub(super) async fn heard<T>(answer: oneshot::Receiver<Told<T>>) -> Result<T, StoreError> {
    let Ok(told) = answer.await else { return Err(closed()) };
    if let Some(others) = &told.others {
        others.tell();
    }
    told.own
}

/// Writes of one commit.
#[derive(Default)]
pub(super) struct Batch {
    /// Accepted together, before the jobs.
    pub(super) submits: Vec<Submit>,
    pub(super) jobs: Vec<Box<dyn Job>>,
}

impl Batch {
    pub(super) fn len(&self) -> usize {
        self.submits.len() + self.jobs.len()
    }
}

/// Those of a commit who were not told yet. The writer tells one of them and lets go of its processor for a
/// moment: to wake a runtime from outside, once for each, costs as much as to write a submission, and who was
/// told wakes the others from within. Whom nobody has told by then, the writer tells.
pub(super) struct Others {
    batch: Mutex<Batch>,
    committed: Result<(), NotCommitted>,
}

impl Others {
    fn tell(&self) {
        let batch = std::mem::take(&mut *self.batch.lock().unwrap_or_else(PoisonError::into_inner));
        for submit in batch.submits {
            contained(|| submit.answer(self.committed.clone(), None));
        }
        for job in batch.jobs {
            contained(|| job.answer(self.committed.clone(), None));
        }
    }
}

/// Tells everybody what became of a commit, and leaves the batch empty.
pub(super) fn tell_all(batch: &mut Batch, committed: Result<(), NotCommitted>) {
    let mut rest = std::mem::take(batch);
    let (submit, job) = match rest.submits.pop() {
        Some(submit) => (Some(submit), None),
        None => (None, rest.jobs.pop()),
    };
    let others = (rest.len() > 0)
        .then(|| Arc::new(Others { batch: Mutex::new(rest), committed: committed.clone() }));
    if let Some(submit) = submit {
        contained(|| submit.answer(committed, others.clone()));
    } else if let Some(job) = job {
        contained(|| job.answer(committed, others.clone()));
    }
    if let Some(others) = others {
        std::thread::yield_now();
        others.tell();
    }
}

/// An answer wakes a task of the caller's, whose waker is not ours to trust.
fn contained(answer: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(answer));
}

#[cfg(test)]
mod tests {
    use super::super::job::job;
    use super::*;

    type Waiting = Vec<oneshot::Receiver<Told<u8>>>;

    /// Jobs that were done, and those who wait for them.
    fn batch(jobs: u8) -> (Batch, Waiting) {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        let (replies, waiting): (Vec<_>, Waiting) = (0..jobs).map(|_| oneshot::channel()).unzip();
        let done = |(n, reply)| {
            let mut job = job(move |_| Ok(n), reply);
            job.run(&db).unwrap();
            job
        };
        let jobs = (0..jobs).zip(replies).map(done).collect();
        (Batch { submits: Vec::new(), jobs }, waiting)
    }

    #[test]
    fn everybody_is_told_though_nobody_listens_yet() {
        for jobs in 0..4 {
            let (mut batch, waiting) = batch(jobs);
            tell_all(&mut batch, Ok(()));
            assert_eq!(batch.len(), 0);
            let told =
                waiting.into_iter().map(|mut answer| answer.try_recv().unwrap().own.unwrap());
            assert_eq!(told.collect::<Vec<_>>(), (0..jobs).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn who_is_told_first_tells_the_others() {
        let (rest, mut waiting) = batch(2);
        let others = Arc::new(Others { batch: Mutex::new(rest), committed: Ok(()) });
        let (reply, first) = oneshot::channel();
        reply.send(Told::new(Ok(7), Some(others))).ok().unwrap();
        assert!(waiting.iter_mut().all(|answer| answer.try_recv().is_err()));
        assert_eq!(heard(first).await.unwrap(), 7);
        assert!(waiting.iter_mut().all(|answer| answer.try_recv().is_ok()));
    }
}
