//! The stream that a page follows: events as they happen, from where it was.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderName, Response};
use tokio::sync::watch;

use super::feed::{EventNumber, News};
use super::reply::typed;
use super::{Desk, over};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Something is sent so often, so that a browser that is gone is noticed.
const BEAT: Duration = Duration::from_secs(15);
/// How soon a browser comes back, in milliseconds.
const RETRY: &str = "retry: 1000\n\n";

/// Where a stream begins: after the last event that the browser has, or that its address says.
pub(super) fn seen(headers: &HeaderMap, asked: Option<EventNumber>) -> Option<EventNumber> {
    let last = headers.get(LAST_EVENT_ID).and_then(|last| last.to_str().ok()?.parse().ok());
    last.or(asked)
}

/// What a stream is about to do.
enum Step {
    Begin,
    Go,
    End,
}

struct Follower {
    desk: Arc<Desk>,
    seen: EventNumber,
    more: watch::Receiver<EventNumber>,
    stop: watch::Receiver<bool>,
    step: Step,
}

/// Events after one of them, until the page ends or the browser is too slow.
pub(super) fn events(desk: Arc<Desk>, seen: Option<EventNumber>) -> Response<Body> {
    let (more, stop) = (desk.feed.follow(), desk.stop.clone());
    let seen = seen.unwrap_or_else(|| desk.feed.last());
    let follower = Follower { desk, seen, more, stop, step: Step::Begin };
    let pieces = stream::unfold(follower, |mut follower| async move {
        let piece = follower.next().await?;
        Some((Ok::<_, Infallible>(piece), follower))
    });
    typed(Response::new(Body::from_stream(pieces)), "text/event-stream")
}

impl Follower {
    async fn next(&mut self) -> Option<Bytes> {
        match self.step {
            Step::End => return None,
            Step::Begin => {
                self.step = Step::Go;
                if self.desk.feed.after(self.seen) == News::Lost {
                    // It was away for too long: it loads the list, and goes on from here.
                    self.seen = self.desk.feed.last();
                    let anew = format!("{RETRY}id: {}\nevent: anew\ndata: {{}}\n\n", self.seen);
                    return Some(anew.into());
                }
                return Some(RETRY.into());
            }
            Step::Go => {}
        }
        loop {
            self.more.mark_unchanged();
            match self.desk.feed.after(self.seen) {
                News::Events(text, last) => {
                    self.seen = last;
                    return Some(text.into());
                }
                // It comes back by itself, and then loads the list.
                News::Lost => return None,
                News::None => {}
            }
            tokio::select! {
                changed = self.more.changed() => changed.ok()?,
                () = over(&mut self.stop) => {
                    self.step = Step::End;
                    return Some("event: end\ndata: {}\n\n".into());
                }
                () = tokio::time::sleep(BEAT) => return Some(": still here\n\n".into()),
            }
        }
    }
}
