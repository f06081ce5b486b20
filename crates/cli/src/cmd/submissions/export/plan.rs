//! `--dry-run`: the requests and the time that an export needs.

use std::time::Duration;

use formsvc_client::types::RatePolicy;
use formsvc_client::{PAGE_SIZE_MAX, Timestamp};
use formsvc_protocol::limits::{RATE_LIMIT, RATE_WINDOW};
use indicatif::HumanCount;

use super::super::range::Bounds;
use super::{Export, counted, spools};
use crate::args::Rate;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::FormMatch;
use crate::progress::about;

/// How many times the time that a page covers is estimated from the page.
const EXTRAPOLATION_MAX: i64 = 1_000;

/// Numbers of an export.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// Submissions of the range.
    rows: u64,
    /// Submissions from the newest one to the start of the range, which are all requested.
    read: u64,
    is_exact: bool,
}

impl Export {
    /// Requests the newest page and reports an estimate.
    pub(super) async fn report_plan(
        &self,
        cx: &Context,
        form: &FormMatch,
        bounds: &Bounds,
    ) -> Result<(), CliError> {
        let client = cx.client().await?;
        let query = client.form(form.id.clone()).submissions().page_size(PAGE_SIZE_MAX);
        // An estimate needs no submission that violates the API.
        let page = query.allow_incomplete(true).pages().try_next().await?;
        let page = page.ok_or_else(|| CliError::new(Exit::Failed, "a list has a first page"))?;
        let times: Vec<i64> =
            page.submissions().iter().map(|row| row.created_at.unix_micros()).collect();
        let created = form.listed.as_ref().map(|form| form.created_at.unix_micros());
        let since = bounds.since().as_ref().map(Timestamp::unix_micros);
        let until = bounds.until().as_ref().map(Timestamp::unix_micros);
        // Imported submissions can be older than their form; its creation time is no bound for them.
        let created = created.filter(|created| times.last().is_some_and(|last| created < last));
        let plan = if page.has_more() {
            let span = times.first().zip(times.last()).map_or(0, |(first, last)| first - last);
            let oldest = since.or(created);
            // The density of a page that covers a moment is no measure for a year.
            let is_near = |oldest: &i64| {
                times.last().is_some_and(|last| (last - oldest) / EXTRAPOLATION_MAX <= span)
            };
            oldest.filter(is_near).map(|oldest| Plan::extrapolate(&times, oldest, until))
        } else {
            Some(Plan::count(&times, since, until))
        };
        let text = match plan {
            None => format!(
                "more than {}; their number cannot be estimated from the newest ones{}",
                counted(times.len() as u64, "submission"),
                self.limit.map_or(String::new(), |limit| format!(
                    "; `--limit` allows {}",
                    HumanCount(limit)
                ))
            ),
            Some(plan) => {
                let basis = if since.is_some() { "`--since`" } else { "the creation of the form" };
                let limit = rate_limit(cx.settings.max_rate, client.rate_policy());
                self.describe(&plan, times.len(), page.meta().elapsed(), limit, basis)
            }
        };
        let saved = spools(cx)?.list().unwrap_or_default().into_iter().find_map(|spool| {
            spool.content.ok().filter(|content| {
                content.form_id == form.id.as_str() && content.origin == client.base_url()
            })
        });
        let saved = saved.map_or(String::new(), |content| {
            let rows = counted(content.rows, "submission");
            let use_of_them =
                if self.fresh { "`--fresh` discards" } else { "are not requested again" };
            format!("; an unfinished export saved {rows}, which {use_of_them}")
        });
        cx.progress.remark(&format!("{}: {text}{saved}", form.title));
        Ok(())
    }

    fn describe(
        &self,
        plan: &Plan,
        sample: usize,
        latency: Duration,
        limit: Option<(RatePolicy, String)>,
        basis: &str,
    ) -> String {
        let limit_rows = self.limit.unwrap_or(u64::MAX);
        let rows = plan.rows.min(limit_rows);
        // A filter needs all submissions of the range.
        let read = if self.options.has_filter() { plan.read } else { plan.read.min(limit_rows) };
        // Each page but the first repeats a known submission.
        let requests = read.div_ceil(u64::from(self.page_size - 1).max(1)).max(1);
        let waits = limit.as_ref().map_or(Duration::ZERO, |(policy, _)| waits(requests, *policy));
        let work = latency.saturating_mul(u32::try_from(requests).unwrap_or(u32::MAX));
        let time = about(waits.max(work));
        let limit =
            limit.map_or("without a rate limit".to_owned(), |(_, text)| format!("at {text}"));
        let mark = |is_known: bool| if is_known { "" } else { "~" };
        let (rows, requests) = (counted(rows, "submission"), counted(requests, "request"));
        let numbers = format!(
            "{}{rows} in {}{requests}, {time} {limit}",
            // The filter is not applied.
            mark(plan.is_exact && !self.options.has_filter()),
            mark(plan.is_exact)
        );
        if plan.is_exact {
            return numbers;
        }
        format!("{numbers}; extrapolated from the newest {sample} submissions back to {basis}")
    }
}

impl Plan {
    /// Counts the submissions of a complete list.
    fn count(times: &[i64], since: Option<i64>, until: Option<i64>) -> Self {
        let is_wanted = |time: &&i64| {
            since.is_none_or(|since| **time >= since) && until.is_none_or(|until| **time < until)
        };
        let rows = times.iter().filter(is_wanted).count() as u64;
        Self { rows, read: times.len() as u64, is_exact: true }
    }

    /// Extrapolates from the newest page of a longer list to the start of the range.
    fn extrapolate(times: &[i64], oldest: i64, until: Option<i64>) -> Self {
        let (Some(first), Some(last)) = (times.first(), times.last()) else {
            return Self::count(times, None, None);
        };
        if *last < oldest {
            return Self { read: 1, ..Self::count(times, Some(oldest), until) };
        }
        let rows = |span: i64| extrapolate(times.len(), first - last, span);
        let end = until.map_or(*first, |until| until.min(*first));
        let read = rows(first - oldest).max(times.len() as u64);
        let wanted = if end == *first { read } else { rows(end - oldest).min(read) };
        Self { rows: wanted, read, is_exact: false }
    }
}

/// The number of rows in a span of time, at the density of `rows` in `sample`.
fn extrapolate(rows: usize, sample: i64, span: i64) -> u64 {
    let (sample, span) = (sample.max(1).unsigned_abs(), span.max(0).unsigned_abs());
    let product = rows as u128 * u128::from(span) / u128::from(sample);
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// The limit that the client keeps to, and its description.
fn rate_limit(rate: Option<Rate>, announced: Option<RatePolicy>) -> Option<(RatePolicy, String)> {
    let per_minute = |requests| RatePolicy { requests, window: RATE_WINDOW };
    match (rate, announced) {
        (Some(Rate::Off), _) => None,
        (Some(Rate::PerMinute(rate)), _) => {
            Some((per_minute(rate), format!("your limit of {rate} requests a minute")))
        }
        (None, Some(policy)) => {
            let (requests, window) = (policy.requests, policy.window.as_secs());
            Some((policy, format!("the service's {requests} requests in {window} s")))
        }
        (None, None) => {
            let policy = per_minute(RATE_LIMIT.try_into().ok()?);
            let text = format!("the usual {RATE_LIMIT} requests a minute (--max-rate)");
            Some((policy, text))
        }
    }
}

/// The waits for a rate limit, if the first window is free.
fn waits(requests: u64, policy: RatePolicy) -> Duration {
    let windows = requests.saturating_sub(1) / u64::from(policy.requests.get());
    policy.window.saturating_mul(u32::try_from(windows).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_follows_the_density_of_the_page() {
        let times: Vec<i64> = (0..100).map(|row| 10_000 - row).collect();
        let plan = |oldest, until| Plan::extrapolate(&times, oldest, until);
        let estimate = |rows, read| Plan { rows, read, is_exact: false };
        assert_eq!(plan(100, None), estimate(10_000, 10_000));
        assert_eq!(plan(100, Some(1_090)), estimate(1_000, 10_000));
        assert_eq!(plan(9_950, None), Plan { rows: 51, read: 1, is_exact: true });
        assert!(!plan(i64::MIN / 2, None).is_exact);
        let count = |since, until| Plan::count(&times, since, until).rows;
        assert_eq!((count(None, None), count(Some(9_950), Some(9_960))), (100, 10));
    }

    #[test]
    fn waits_count_full_windows_of_the_limit() {
        let usual = rate_limit(None, None).unwrap().0;
        assert_eq!(waits(300, usual), Duration::ZERO);
        assert_eq!(waits(301, usual), Duration::from_secs(60));
        let announced = RatePolicy::parse("\"default\";q=10;w=5");
        let (policy, text) = rate_limit(None, announced).unwrap();
        assert_eq!((waits(31, policy).as_secs(), &*text), (15, "the service's 10 requests in 5 s"));
        assert!(rate_limit(Some(Rate::Off), announced).is_none());
    }
}
