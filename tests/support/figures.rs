//! Compares the ledgers of a run: accepted submissions, arrived deliveries, duplicates and delays.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use crate::receiver::Receiver;

/// Results of a run, formatted as one line.
#[derive(Debug)]
pub struct Figures {
    what: String,
    /// Submissions answered with 201.
    pub accepted: usize,
    /// Arrived deliveries of accepted submissions, over all endpoints, without duplicates.
    pub delivered: usize,
    /// Repeated arrivals of the same delivery.
    pub duplicates: usize,
    /// Number of server deaths.
    pub deaths: usize,
    /// Maximum number of deliveries of one endpoint that were in flight when a server died.
    pub on_their_way: usize,
    /// Time from sending each submission to its arrival, sorted.
    lags: Vec<Duration>,
    others: Vec<(&'static str, String)>,
}

impl Figures {
    /// Compares the accepted submissions with the arrivals at some receivers.
    pub fn of<'a>(
        what: impl Into<String>,
        accepted: &HashMap<String, Instant>,
        receivers: impl IntoIterator<Item = &'a Receiver>,
    ) -> Self {
        let (mut delivered, mut duplicates, mut lags) = (0, 0, Vec::new());
        for receiver in receivers {
            let arrivals = receiver.arrivals();
            for (submission, arrival) in arrivals.iter() {
                duplicates += arrival.count as usize - 1;
                if let Some(sent) = accepted.get(submission) {
                    delivered += 1;
                    lags.push(arrival.first.saturating_duration_since(*sent));
                }
            }
        }
        lags.sort_unstable();
        let (what, accepted) = (what.into(), accepted.len());
        Self {
            what,
            accepted,
            delivered,
            duplicates,
            deaths: 0,
            on_their_way: 0,
            lags,
            others: Vec::new(),
        }
    }

    /// Adds the figures of another run of the same test.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.accepted += other.accepted;
        self.delivered += other.delivered;
        self.duplicates += other.duplicates;
        self.deaths += other.deaths;
        self.on_their_way = self.on_their_way.max(other.on_their_way);
        self.lags.extend(other.lags);
        self.lags.sort_unstable();
        self
    }

    /// Adds a figure with a label.
    #[must_use]
    pub fn with(mut self, what: &'static str, figure: impl fmt::Display) -> Self {
        self.others.push((what, figure.to_string()));
        self
    }

    /// Returns the time within which this percentage of the deliveries arrived.
    pub fn lag(&self, percent: usize) -> Duration {
        let at = (self.lags.len() * percent).div_ceil(100);
        self.lags.get(at.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// Formats a table row. It starts with the word `ledger`, so that it can be found in the output of a test.
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, accepted, delivered, duplicates, .. } = self;
        let [half, most, all] = [50, 99, 100].map(|percent| self.lag(percent).as_millis());
        write!(f, "ledger | {what} | {accepted} | {delivered} | {duplicates} | ")?;
        write!(f, "{half} / {most} / {all} |")?;
        let deaths = [("deaths", self.deaths), ("most in flight", self.on_their_way)];
        let deaths = deaths.into_iter().filter(|_| self.deaths > 0);
        let others = deaths.map(|(what, count)| format!("{what} {count}"));
        let others =
            others.chain(self.others.iter().map(|(what, figure)| format!("{what} {figure}")));
        write!(f, " {} |", others.collect::<Vec<_>>().join(", "))
    }
}
