//! What others say to whoever looks at the interface. Nobody who says something waits, and what there is no
//! room for is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::model::Input;
use crate::output::Look;
use crate::webhook::mask;

/// Notes that wait to be shown, at most: a stranger can cause any number of them.
const WAITING_MAX: usize = 64;

/// Where others say something.
#[derive(Clone, Debug)]
pub(crate) struct Notes {
    said: Sender<Input>,
    counts: Arc<Counts>,
    reveal: bool,
}

/// What was said, whether it was shown or not.
#[derive(Debug, Default)]
pub(super) struct Counts {
    came: AtomicU64,
    refused: AtomicU64,
    unsaid: AtomicU64,
}

impl Counts {
    /// Deliveries that were answered.
    pub(super) fn came(&self) -> u64 {
        self.came.load(Ordering::Relaxed)
    }

    /// Requests that went no further.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// How many remarks there was no room for, since this was asked last.
    pub(super) fn take_unsaid(&self) -> u64 {
        self.unsaid.swap(0, Ordering::Relaxed)
    }
}

impl Notes {
    /// Notes, and where they come.
    pub(super) fn new(reveal: bool) -> (Self, Receiver<Input>) {
        let (said, notes) = channel(WAITING_MAX);
        (Self { said, counts: Arc::default(), reveal }, notes)
    }

    pub(super) fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Something to know. It is told again once the interface has ended.
    pub(crate) fn say(&self, text: &str) {
        if self.said.try_send(Input::Said(Look::Open, text.to_owned())).is_err() {
            self.counts.unsaid.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A request went no further.
    pub(crate) fn refused(&self, text: String) {
        self.counts.refused.fetch_add(1, Ordering::Relaxed);
        let text = if self.reveal { text } else { mask::text(&text).into_owned() };
        // Where there is no room for it, the count tells of it.
        let _ = self.said.try_send(Input::Said(Look::Past, text));
    }

    /// A delivery was answered.
    pub(crate) fn delivered(&self) {
        self.counts.came.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_no_room_for_is_counted_and_takes_none() {
        let (notes, mut waiting) = Notes::new(false);
        for _ in 0..10_000 {
            notes.refused("GET /?token=abc → 404".to_owned());
            notes.say("a warning");
        }
        let counts = notes.counts();
        assert_eq!(counts.refused(), 10_000);
        let mut shown = 0;
        while let Ok(note) = waiting.try_recv() {
            shown += 1;
            let Input::Said(look, text) = note else { panic!("{note:?}") };
            assert!(look == Look::Open || text == "GET /?token=… → 404", "{text}");
        }
        assert_eq!(shown, WAITING_MAX);
        let said = 10_000 - u64::try_from(WAITING_MAX / 2).unwrap();
        assert_eq!((counts.take_unsaid(), counts.take_unsaid()), (said, 0));
    }
}
