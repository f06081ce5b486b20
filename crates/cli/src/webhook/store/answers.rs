//! What whoever waits for a commit is told.

use tokio::sync::oneshot;

use super::StoreError;
use crate::webhook::capture::CaptureNumber;

/// What becomes of a request that was to be kept.
pub(super) type Kept = Result<CaptureNumber, StoreError>;

/// Whoever waits for a commit, and may have to tell the others in it.
pub(super) type Reply = oneshot::Sender<Answers>;

/// What became of the requests of one commit. One who waited for it is told by the thread, and by dropping
/// this tells the others: to wake a runtime from outside costs as much as the rest of a commit. So nobody
/// holds it for longer than it takes to read.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) own: Kept,
    others: Vec<(Reply, Kept)>,
}

impl Answers {
    /// Tells whoever waited for a commit.
    pub(super) fn tell(mut answers: Vec<(Reply, Kept)>) {
        while let Some((reply, own)) = answers.pop() {
            let others = std::mem::take(&mut answers);
            match reply.send(Self { own, others }) {
                Ok(()) => return,
                // It has gone, and the next one tells the others.
                Err(mut unheard) => answers = std::mem::take(&mut unheard.others),
            }
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        for (reply, own) in self.others.drain(..) {
            // Who asked may have gone.
            let _ = reply.send(Self { own, others: Vec::new() });
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    /// Who waits for one commit of three, and it.
    fn waiting() -> (Vec<oneshot::Receiver<Answers>>, Vec<(Reply, Kept)>) {
        let (replies, waiting): (Vec<Reply>, Vec<_>) = (0..3).map(|_| oneshot::channel()).unzip();
        (waiting, replies.into_iter().zip([1, 2, 3].map(Ok)).collect())
    }

    async fn told(waiting: Vec<oneshot::Receiver<Answers>>) -> Vec<CaptureNumber> {
        let number = async |answer: oneshot::Receiver<Answers>| answer.await.unwrap().own.clone();
        join_all(waiting.into_iter().map(number)).await.into_iter().map(Result::unwrap).collect()
    }

    #[tokio::test]
    async fn everybody_in_a_commit_is_told_whoever_has_gone() {
        let (all, answers) = waiting();
        Answers::tell(answers);
        assert_eq!(told(all).await, [1, 2, 3]);
        for gone in 0..3 {
            let left: Vec<u64> = (1..4).filter(|number| *number != gone + 1).collect();
            let gone = usize::try_from(gone).unwrap();
            // Before the commit.
            let (mut others, answers) = waiting();
            drop(others.remove(gone));
            Answers::tell(answers);
            assert_eq!(told(others).await, left);
            // After it, having heard nothing.
            let (mut others, answers) = waiting();
            Answers::tell(answers);
            drop(others.remove(gone));
            assert_eq!(told(others).await, left);
        }
    }
}
