//! Live changes as server-sent events: `delivery` (the record of a new or changed delivery, without content),
//! `reload` (the page must load the list again) and `end` (the inspector stops).
//!
//! The subscription starts before the response. So a page that opens the stream first and then loads the list
//! misses no delivery.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::StatusCode;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::Shared;
use super::list::MAX_LIMIT;
use super::reply::Problem;
use crate::delivery::{Delivery, DeliverySummary};
use crate::record::DeliveryRecord;
use crate::store::{CaptureQuery, StoreError};

/// Time between comments in the stream. Comments keep the connection open and detect a closed connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Time between reads of the store if the inspector runs without a listener.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The state of one stream.
struct Follower {
    shared: Arc<Shared>,
    source: Source,
    /// Limits the number of streams.
    _permit: OwnedSemaphorePermit,
}

enum Source {
    Listener(Receiver<Arc<Delivery>>),
    /// The newest stored deliveries when the store was last read.
    Store(Vec<DeliverySummary>),
}

pub(super) async fn events(State(shared): State<Arc<Shared>>) -> Result<Response, Problem> {
    let permit = Arc::clone(&shared.streams).try_acquire_owned().map_err(|_| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many pages receive live changes")
            .hint("Close other tabs of the inspector.")
    })?;
    let source = match &shared.state.live {
        Some(live) => Source::Listener(live.subscribe()),
        None => Source::Store(first_page(&shared).await?),
    };
    let follower = Follower { shared, source, _permit: permit };
    let events = stream::unfold(Some(follower), async |follower| {
        let mut follower = follower?;
        let stop = follower.shared.stop.clone();
        Some(match stop.run_until_cancelled(follower.next()).await {
            Some(event) => (Ok::<_, Infallible>(event), Some(follower)),
            None => (Ok(event("end", "{}")), None),
        })
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

impl Follower {
    async fn next(&mut self) -> Event {
        match &mut self.source {
            Source::Listener(deliveries) => match deliveries.recv().await {
                Ok(delivery) => {
                    let record =
                        DeliveryRecord::of_summary(&delivery.summary, self.shared.state.reveal);
                    let json = serde_json::to_string(&record).expect("a record serializes");
                    event("delivery", &json)
                }
                Err(RecvError::Lagged(_)) => {
                    // Skip the deliveries in the channel, because the list that the page loads contains them.
                    *deliveries = deliveries.resubscribe();
                    event("reload", "{}")
                }
                Err(RecvError::Closed) => std::future::pending().await,
            },
            Source::Store(known) => loop {
                tokio::time::sleep(POLL_INTERVAL).await;
                match first_page(&self.shared).await {
                    Ok(found) if found != *known => {
                        *known = found;
                        return event("reload", "{}");
                    }
                    Ok(_) => {}
                    Err(error) => tracing::debug!(%error, "the inspector cannot read the store"),
                }
            },
        }
    }
}

/// Reads the newest deliveries, as many as the page loads at once. All of them are compared, because the response to an
/// older delivery may be stored later.
pub(super) async fn first_page(shared: &Shared) -> Result<Vec<DeliverySummary>, StoreError> {
    let query = CaptureQuery { limit: Some(MAX_LIMIT), ..CaptureQuery::default() };
    shared.state.store.list(query).await
}

fn event(name: &str, data: &str) -> Event {
    Event::default().event(name).data(data)
}
