//! What happened lately, for browsers that follow: a bounded list that each reads at its own pace.
//!
//! A browser that does not keep up loses its place and is let go; when it comes back, it is told to load
//! the list anew. Nothing waits for a browser.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

/// Events that are remembered.
const REMEMBERED: usize = 1024;
/// Events in one piece of a stream, at most.
const AT_ONCE: usize = 128;

/// The number of an event; the first is 1.
pub(super) type EventNumber = u64;

/// The list.
#[derive(Debug)]
pub(super) struct Feed {
    events: Mutex<Events>,
    last: watch::Sender<EventNumber>,
}

#[derive(Debug, Default)]
struct Events {
    lines: VecDeque<Arc<str>>,
    /// The number of the last one.
    last: EventNumber,
}

/// What there is for a browser.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Events, as a stream has them, and the number of the last of them.
    Events(String, EventNumber),
    /// Nothing yet.
    None,
    /// What it has not seen is no longer known.
    Lost,
}

impl Feed {
    pub(super) fn new() -> Self {
        Self { events: Mutex::default(), last: watch::Sender::new(0) }
    }

    /// Adds an event. Never waits.
    pub(super) fn add(&self, row: &impl Serialize) {
        // A row of ours has nothing that JSON has not.
        let Ok(line) = serde_json::to_string(row) else { return };
        let last = {
            let mut events = self.lock();
            events.last += 1;
            events.lines.push_back(line.into());
            if events.lines.len() > REMEMBERED {
                events.lines.pop_front();
            }
            events.last
        };
        self.last.send_replace(last);
    }

    /// Forgets what happened, since some of it was missed here: everybody loads the list anew.
    pub(super) fn lose(&self) {
        let last = {
            let mut events = self.lock();
            events.last += 1;
            events.lines.clear();
            events.last
        };
        self.last.send_replace(last);
    }

    /// The number of the last event.
    pub(super) fn last(&self) -> EventNumber {
        self.lock().last
    }

    /// Tells when there is more.
    pub(super) fn follow(&self) -> watch::Receiver<EventNumber> {
        self.last.subscribe()
    }

    /// What happened after an event.
    pub(super) fn after(&self, seen: EventNumber) -> News {
        let events = self.lock();
        let Some(unseen) = events.last.checked_sub(seen) else { return News::Lost };
        let unseen = usize::try_from(unseen).unwrap_or(usize::MAX);
        let Some(from) = events.lines.len().checked_sub(unseen) else { return News::Lost };
        if unseen == 0 {
            return News::None;
        }
        let (mut text, mut number) = (String::new(), seen);
        for line in events.lines.range(from..).take(AT_ONCE) {
            number += 1;
            // Writing to a text does not fail.
            let _ = write!(text, "id: {number}\nevent: row\ndata: {line}\n\n");
        }
        News::Events(text, number)
    }

    fn lock(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: u64) -> Feed {
        let feed = Feed::new();
        (1..=count).for_each(|number| feed.add(&number));
        feed
    }

    #[test]
    fn each_reads_on_where_it_was() {
        let feed = filled(3);
        let News::Events(text, last) = feed.after(1) else { panic!("two events") };
        assert_eq!(text, "id: 2\nevent: row\ndata: 2\n\nid: 3\nevent: row\ndata: 3\n\n");
        assert_eq!((last, feed.after(3)), (3, News::None));
    }

    #[test]
    fn many_events_come_in_pieces() {
        let feed = filled(300);
        let (mut seen, mut pieces) = (0, 0);
        while let News::Events(_, last) = feed.after(seen) {
            (seen, pieces) = (last, pieces + 1);
        }
        assert_eq!((seen, pieces), (300, 3));
    }

    #[test]
    fn who_is_too_slow_has_lost_its_place() {
        let feed = filled(REMEMBERED as u64 + 5);
        assert_eq!(feed.after(4), News::Lost);
        assert!(matches!(feed.after(5), News::Events(..)));
        assert_eq!(feed.lock().lines.len(), REMEMBERED);
        // Of another run, which had come further.
        assert_eq!(feed.after(REMEMBERED as u64 + 6), News::Lost);
    }

    #[test]
    fn what_was_missed_here_is_lost_to_everybody() {
        let feed = filled(3);
        feed.lose();
        assert_eq!(feed.after(3), News::Lost);
        assert_eq!(feed.after(feed.last()), News::None);
        feed.add(&4);
        assert!(matches!(feed.after(4), News::Events(_, 5)));
    }

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let feed = Feed::new();
        feed.add(&"a\nid: 9\n\ndata: b\r\u{2028}");
        let News::Events(text, _) = feed.after(0) else { panic!("an event") };
        assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), 3, "{text}");
        assert!(!text.contains('\r'), "{text}");
    }
}
