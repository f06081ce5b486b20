//! Counting: one method for each thing that happens.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use super::label::{Each, Limit, Outcome, Pairs, status_class};
use super::table::{self, MetricRow};
use crate::delivery::AttemptCode;
use crate::egress::AddressClass;
use crate::store::{Commit, DeliveryState, StoreObserver};
#[cfg(feature = "otel")]
use crate::telemetry::otel;

/// Seconds, from a write to a fast disk to the deadline of a request.
const ACCEPT_BUCKETS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
/// Writes, up to as many as a commit ever has.
const BATCH_BUCKETS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// Seconds, from a neighbour's answer to just beyond the time limit.
const DELIVERY_BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.5];

type GaugeF64 = Gauge<f64, AtomicU64>;

/// The metrics of a service. Shared by whatever counts; a method is a few atomic operations, or an
/// uncontended lock for a histogram.
pub struct Metrics {
    registry: Registry,
    requests: Family<Pairs<2>, Counter>,
    rate_limited: Each<Limit, Counter>,
    connections: Gauge,
    accept_seconds: Histogram,
    commit_batch_size: Histogram,
    commits_failed: Counter,
    write_queue: Gauge,
    form_clock_ahead_seconds: GaugeF64,
    deliveries_unfinished: Gauge,
    deliveries_in_flight: Gauge,
    oldest_due_age_seconds: GaugeF64,
    delivery_attempts: Each<Outcome, Counter>,
    delivery_seconds: [Histogram; 2],
    deliveries_finished: Each<DeliveryState, Counter>,
    leases_lost: Counter,
    leases_expired: Counter,
    egress_denied: Each<AddressClass, Counter>,
}

impl Metrics {
    /// Everything at zero.
    pub fn new() -> Arc<Self> {
        let mut registry = Registry::with_prefix(table::PREFIX);
        let to = &mut registry;
        let delivery_seconds = Family::<Pairs<1>, Histogram, _>::new_with_constructor(
            (|| Histogram::new(DELIVERY_BUCKETS)) as fn() -> Histogram,
        );
        let delivery_seconds = registered(to, table::DELIVERY_SECONDS, delivery_seconds);
        let took = |outcome| delivery_seconds.get_or_create_owned(&[("outcome", outcome)]);
        let seconds = [took("success"), took("failure")];
        Arc::new(Self {
            requests: plain(to, table::REQUESTS),
            rate_limited: Each::of::<1, _>(&plain(to, table::RATE_LIMITED)),
            connections: plain(to, table::CONNECTIONS),
            accept_seconds: histogram(to, table::ACCEPT_SECONDS, ACCEPT_BUCKETS),
            commit_batch_size: histogram(to, table::COMMIT_BATCH_SIZE, BATCH_BUCKETS),
            commits_failed: plain(to, table::COMMITS_FAILED),
            write_queue: plain(to, table::WRITE_QUEUE),
            form_clock_ahead_seconds: plain(to, table::FORM_CLOCK_AHEAD_SECONDS),
            deliveries_unfinished: plain(to, table::DELIVERIES_UNFINISHED),
            deliveries_in_flight: plain(to, table::DELIVERIES_IN_FLIGHT),
            oldest_due_age_seconds: plain(to, table::OLDEST_DUE_AGE_SECONDS),
            delivery_attempts: Each::of::<2, _>(&plain(to, table::DELIVERY_ATTEMPTS)),
            delivery_seconds: seconds,
            deliveries_finished: Each::of::<1, _>(&plain(to, table::DELIVERIES_FINISHED)),
            leases_lost: plain(to, table::LEASES_LOST),
            leases_expired: plain(to, table::LEASES_EXPIRED),
            egress_denied: Each::of::<1, _>(&plain(to, table::EGRESS_DENIED)),
            registry,
        })
    }

    /// All metrics as OpenMetrics text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        text::encode(&mut text, &self.registry).expect("writing into a string does not fail");
        text
    }

    /// A request was answered with a status, or abandoned. A route is the template of a path, or `-`.
    pub fn request(&self, route: &'static str, status: Option<StatusCode>) {
        self.requests.get_or_create(&[("route", route), ("status", status_class(status))]).inc();
    }

    /// A request was refused for a quota.
    pub fn rate_limited(&self, what: Limit) {
        self.rate_limited.get(what).inc();
    }

    /// A connection was opened.
    pub fn connection_opened(&self) {
        self.connections.inc();
    }

    /// A connection is closed.
    pub fn connection_closed(&self) {
        self.connections.dec();
    }

    /// An attempt to deliver ended after so long, with an error or without.
    pub fn attempt(&self, error: Option<AttemptCode>, took: Duration) {
        self.count_attempt(error);
        let [success, failure] = &self.delivery_seconds;
        let seconds = if error.is_none() { success } else { failure };
        seconds.observe(took.as_secs_f64());
    }

    /// A delivery failed without an attempt.
    pub fn attempt_not_made(&self, error: AttemptCode) {
        self.count_attempt(Some(error));
    }

    fn count_attempt(&self, error: Option<AttemptCode>) {
        self.delivery_attempts.get(error.map_or(Outcome::Success, Outcome::Failure)).inc();
    }

    /// A delivery came to its end: a final state; others count for nothing.
    pub fn delivery_finished(&self, state: DeliveryState) {
        if !state.is_unfinished() {
            self.deliveries_finished.get(state).inc();
        }
    }

    /// How many deliveries are to be attempted.
    pub fn set_unfinished(&self, deliveries: u64) {
        self.deliveries_unfinished.set(deliveries.try_into().unwrap_or(i64::MAX));
    }

    /// How many attempts are under way.
    pub fn set_in_flight(&self, attempts: u32) {
        self.deliveries_in_flight.set(attempts.into());
    }

    /// How long the delivery that has waited longest has been due.
    pub fn set_oldest_due(&self, age: Duration) {
        self.oldest_due_age_seconds.set(age.as_secs_f64());
    }

    /// So many outcomes came after somebody else had claimed the delivery.
    pub fn leases_lost(&self, outcomes: u64) {
        self.leases_lost.inc_by(outcomes);
    }

    /// So many claims were taken over.
    pub fn leases_expired(&self, claims: u64) {
        self.leases_expired.inc_by(claims);
    }

    /// An attempt led to an address of a class that deliveries may not reach.
    pub fn egress_denied(&self, class: AddressClass) {
        self.egress_denied.get(class).inc();
    }
}

impl StoreObserver for Metrics {
    fn committed(&self, commit: Commit) {
        #[cfg(feature = "otel")]
        otel::commit(commit.writes, commit.succeeded, commit.took);
        if commit.succeeded {
            self.commit_batch_size.observe(f64::from(commit.writes));
        } else {
            self.commits_failed.inc();
        }
        self.write_queue.set(commit.waiting.into());
    }

    fn accepted(&self, took: Duration, ahead: Duration) {
        self.accept_seconds.observe(took.as_secs_f64());
        self.form_clock_ahead_seconds.set(ahead.as_secs_f64());
    }

    fn canceled(&self, deliveries: u64) {
        self.deliveries_finished.get(DeliveryState::Canceled).inc_by(deliveries);
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

/// Registers a metric under its row of the table.
fn registered<M: Metric + Clone>(registry: &mut Registry, row: MetricRow, metric: M) -> M {
    registry.register(row.name, row.about, metric.clone());
    metric
}

fn plain<M: Metric + Clone + Default>(registry: &mut Registry, row: MetricRow) -> M {
    registered(registry, row, M::default())
}

fn histogram<const N: usize>(
    registry: &mut Registry,
    row: MetricRow,
    buckets: [f64; N],
) -> Histogram {
    registered(registry, row, Histogram::new(buckets))
}
