//! Estimates the requests and the time of an export from the newest page.

use std::time::Duration;

use formsvc_client::types::RatePolicy;
use formsvc_client::{PAGE_SIZE_MAX, SubmissionPage, Timestamp};

use super::Export;
use crate::error::ExportError;
use crate::format::RenderOptions;

/// How many times the time that a page covers is estimated from the page.
const EXTRAPOLATION_MAX: i64 = 1_000;

/// An estimate of an export.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Estimate {
    /// Number of submissions of the newest page, on which the estimate is based.
    pub sample: u64,
    /// The numbers of the export; `None` if the newest page is no measure for the range.
    pub numbers: Option<EstimatedNumbers>,
    /// Duration of the request.
    pub latency: Duration,
}

/// Estimated numbers of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EstimatedNumbers {
    /// Submissions of the range, up to the limit. A filter is not considered.
    pub rows: u64,
    /// Requests of pages.
    pub requests: u64,
    /// True if the newest page has all submissions of the range; else the numbers are extrapolated from
    /// it to the start of the range, or else to the creation of the form.
    pub is_exact: bool,
}

impl Export {
    /// Requests the newest page and estimates an export with these options. `created` is when the form was
    /// created, if that is known.
    pub async fn estimate(
        &self,
        options: &RenderOptions,
        created: Option<&Timestamp>,
    ) -> Result<Estimate, ExportError> {
        let query = self.client.form(&self.form).submissions().page_size(PAGE_SIZE_MAX);
        // An estimate needs no submission that violates the API.
        let page = query.allow_incomplete(true).pages().try_next().await?;
        let rows = page.as_ref().map_or(&[][..], SubmissionPage::submissions);
        let times: Vec<i64> = rows.iter().map(|row| row.created_at.unix_micros()).collect();
        let has_more = page.as_ref().is_some_and(SubmissionPage::has_more);
        let latency = page.as_ref().map_or(Duration::ZERO, |page| page.meta().elapsed());
        let range = self.pull.range;
        let since = Some(range.since).filter(|since| *since > i64::MIN);
        // Imported submissions can be older than their form; its creation time is no bound for them.
        let created = created.map(Timestamp::unix_micros);
        let created = created.filter(|created| times.last().is_some_and(|last| created < last));
        let rows = match (times.first(), times.last()) {
            (Some(first), Some(last)) if has_more => {
                // The density of a page that covers an instant is no measure for a year.
                let is_near = |oldest: &i64| (last - oldest) / EXTRAPOLATION_MAX <= first - last;
                let oldest = since.or(created).filter(is_near);
                oldest.map(|oldest| EstimatedRows::extrapolate(&times, oldest, range.until))
            }
            _ => Some(EstimatedRows::count(&times, range.since, range.until)),
        };
        let numbers = rows.map(|EstimatedRows { rows, read, is_exact }| {
            let limit = options.limit.unwrap_or(u64::MAX);
            // A filter needs all submissions of the range.
            let read = if options.filter.is_some() { read } else { read.min(limit) };
            let rows_of_page = u64::from(self.pull.rows_per_page().saturating_sub(1)).max(1);
            // Each page but the first repeats a known submission.
            let requests = read.div_ceil(rows_of_page).max(1);
            EstimatedNumbers { rows: rows.min(limit), requests, is_exact }
        });
        Ok(Estimate { sample: times.len() as u64, numbers, latency })
    }
}

impl Estimate {
    /// Returns the time of the export with a rate limit, or without one; `None` without numbers. The first
    /// window of the limit is free.
    pub fn time(&self, limit: Option<RatePolicy>) -> Option<Duration> {
        let requests = self.numbers?.requests;
        let times = |duration: Duration, count| {
            duration.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
        };
        let waits = limit.map_or(Duration::ZERO, |RatePolicy { requests: in_window, window }| {
            times(window, requests.saturating_sub(1) / u64::from(in_window.get()))
        });
        Some(waits.max(times(self.latency, requests)))
    }
}

/// Numbers of submissions.
#[derive(Debug, PartialEq, Eq)]
struct EstimatedRows {
    /// Submissions of the range.
    rows: u64,
    /// Submissions from the newest one to the start of the range, which are all requested.
    read: u64,
    is_exact: bool,
}

impl EstimatedRows {
    /// Counts the submissions of a complete list.
    fn count(times: &[i64], since: i64, until: i64) -> Self {
        let rows = times.iter().filter(|time| (since..until).contains(*time)).count() as u64;
        Self { rows, read: times.len() as u64, is_exact: true }
    }

    /// Extrapolates from the newest page of a longer list to the start of the range.
    fn extrapolate(times: &[i64], oldest: i64, until: i64) -> Self {
        let (Some(first), Some(last)) = (times.first(), times.last()) else {
            return Self::count(times, i64::MIN, i64::MAX);
        };
        if *last < oldest {
            return Self { read: 1, ..Self::count(times, oldest, until) };
        }
        let rows = |span: i64| extrapolate(times.len(), first - last, span);
        let end = until.min(*first);
        let read = rows(first - oldest).max(times.len() as u64);
        let wanted = if end == *first { read } else { rows(end - oldest).min(read) };
        Self { rows: wanted, read, is_exact: false }
    }
}

/// Returns the number of rows in a span of time, at the density of `rows` in `sample`.
fn extrapolate(rows: usize, sample: i64, span: i64) -> u64 {
    let (sample, span) = (sample.max(1).unsigned_abs(), span.max(0).unsigned_abs());
    let product = rows as u128 * u128::from(span) / u128::from(sample);
    u64::try_from(product).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_follows_the_density_of_the_page() {
        let times: Vec<i64> = (0..100).map(|row| 10_000 - row).collect();
        let rows = |oldest, until| EstimatedRows::extrapolate(&times, oldest, until);
        let estimate = |rows, read| EstimatedRows { rows, read, is_exact: false };
        assert_eq!(rows(100, i64::MAX), estimate(10_000, 10_000));
        assert_eq!(rows(100, 1_090), estimate(1_000, 10_000));
        assert_eq!(rows(9_950, i64::MAX), EstimatedRows { rows: 51, read: 1, is_exact: true });
        assert!(!rows(i64::MIN / 2, i64::MAX).is_exact);
        let count = |since, until| EstimatedRows::count(&times, since, until).rows;
        assert_eq!((count(i64::MIN, i64::MAX), count(9_950, 9_960)), (100, 10));
    }

    #[test]
    fn estimated_time_counts_full_windows_of_the_limit() {
        let seconds = |requests, limit: &str| {
            let numbers = Some(EstimatedNumbers { rows: 1, requests, is_exact: true });
            let estimate = Estimate { sample: 1, numbers, latency: Duration::from_millis(1) };
            estimate.time(RatePolicy::parse(limit)).unwrap().as_secs()
        };
        let limit = "\"default\";q=10;w=5";
        assert_eq!([seconds(10, limit), seconds(11, limit), seconds(31, limit)], [0, 5, 15]);
        assert_eq!(seconds(2_000, ""), 2);
    }
}
