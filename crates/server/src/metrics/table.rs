//! The metrics: one table, from which the registry and docs/METRICS.md follow.

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricRow {
    /// Its name, without what all names begin with and without the `_total` of counters.
    pub name: &'static str,
    /// What it is.
    pub kind: MetricKind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// What it counts.
    pub about: &'static str,
}

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only rises, from 0 at the start.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts in buckets, with a sum.
    Histogram,
}

/// What every name begins with.
pub(super) const PREFIX: &str = "formsvc";

impl MetricRow {
    /// The name as it is read: that of a counter ends in `_total`.
    pub fn full_name(&self) -> String {
        let total = if self.kind == MetricKind::Counter { "_total" } else { "" };
        format!("{PREFIX}_{}{total}", self.name)
    }
}

impl MetricKind {
    /// Its word in the format.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

macro_rules! metrics {
    ($( $constant:ident = $kind:ident $name:literal [$( $label:literal ),*] $about:literal; )+) => {
        $( pub(super) const $constant: MetricRow = MetricRow {
            name: $name,
            kind: MetricKind::$kind,
            labels: &[$( $label ),*],
            about: $about,
        }; )+

        /// Every metric.
        pub const METRICS: &[MetricRow] = &[$( $constant ),+];
    };
}

metrics! {
    REQUESTS = Counter "requests" ["route", "status"]
        "Requests, by the template of their path and the class of the answer's status; abandoned when the client went away first";
    RATE_LIMITED = Counter "rate_limited" ["what"]
        "Requests refused because a quota was used up, by whose it was";
    CONNECTIONS = Gauge "connections" []
        "Connections open now";
    ACCEPT_SECONDS = Histogram "accept_seconds" []
        "Time from a submission's arrival at the store to the commit it is in";
    COMMIT_BATCH_SIZE = Histogram "commit_batch_size" []
        "Writes that shared a commit";
    COMMITS_FAILED = Counter "commits_failed" []
        "Commits that failed, with every write in them";
    WRITE_QUEUE = Gauge "write_queue" []
        "Writes that waited for the next commit when the last one had ended; more may wait to be queued";
    FORM_CLOCK_AHEAD_SECONDS = Gauge "form_clock_ahead_seconds" []
        "How far the form of the last accepted submission was ahead of the clock: more than a second under a flood, or after the clock was set back";
    DELIVERIES_UNFINISHED = Gauge "deliveries_unfinished" []
        "Deliveries that are to be attempted: pending and retrying ones, also of disabled endpoints, and finished ones that are to be sent again; counted every 15 s";
    DELIVERIES_IN_FLIGHT = Gauge "deliveries_in_flight" []
        "Attempts under way";
    OLDEST_DUE_AGE_SECONDS = Gauge "oldest_due_age_seconds" []
        "How long the delivery that has waited longest has been due; 0 when none is";
    DELIVERY_ATTEMPTS = Counter "delivery_attempts" ["outcome", "error"]
        "Attempts to deliver, by outcome and, for failures, the code of what went wrong";
    DELIVERY_SECONDS = Histogram "delivery_seconds" ["outcome"]
        "How long attempts took, from looking up the name to the end of the answer";
    DELIVERIES_FINISHED = Counter "deliveries_finished" ["state"]
        "Deliveries that this process brought to an end, by their final state; what the command `webhook remove` cancels itself is not among them";
    LEASES_LOST = Counter "leases_lost" []
        "Outcomes that came too late: the delivery may be attempted again";
    LEASES_EXPIRED = Counter "leases_expired" []
        "Claims taken over because whoever made them did not settle them in time";
    EGRESS_DENIED = Counter "egress_denied" ["class"]
        "Attempts that led to an address deliveries may not reach, by the class of the address";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_distinct_and_plain() {
        let names: BTreeSet<_> = METRICS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), METRICS.len());
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        for row in METRICS {
            assert!(plain(row.name) && row.labels.iter().all(|label| plain(label)), "{row:?}");
            assert!(!row.name.ends_with("_total") && !row.about.ends_with('.'), "{row:?}");
        }
    }
}
