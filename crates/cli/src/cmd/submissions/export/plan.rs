//! `--dry-run`: an estimate of the requests and the time.

use std::time::Duration;

use formsvc_client::PAGE_SIZE_MAX;
use indicatif::HumanCount;

use super::super::range::Bounds;
use super::{Export, counted, spools};
use crate::args::Rate;
use crate::context::Context;
use crate::error::CliError;
use crate::form_ref::FormMatch;
use crate::progress::took;

/// Requests per minute that the client sends unless another rate is set.
const USUAL_RATE: u32 = 300;

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
        let page = query.page().await?;
        let micros = |time: &formsvc_client::Timestamp| time.unix_micros();
        let rows = page.submissions();
        let oldest = form.listed.as_ref().map(|form| micros(&form.created_at));
        let since = bounds.since().as_ref().map(micros).or(oldest);
        let estimate = match (rows.first(), rows.last(), since) {
            (Some(first), Some(last), Some(since)) if page.has_more() => {
                let (first, last) = (micros(&first.created_at), micros(&last.created_at));
                Some(extrapolate(rows.len(), first - last, first - since))
            }
            _ if page.has_more() => None,
            _ => Some(rows.len() as u64),
        };
        let about = if page.has_more() { "~" } else { "" };
        let wanted = estimate.map(|rows| self.limit.map_or(rows, |limit| rows.min(limit)));
        let plan = match wanted {
            None => "the number of submissions cannot be estimated".to_owned(),
            Some(rows) => {
                // Each page but the first repeats a known submission.
                let requests = rows.div_ceil(u64::from(self.page_size - 1).max(1)).max(1);
                let time = took(time_of(requests, cx.settings.max_rate));
                let (rows, requests) = (HumanCount(rows), counted(requests, "request"));
                format!("{about}{rows} submissions, {about}{requests}, at least {about}{time}")
            }
        };
        let saved = spools(cx)?.list().unwrap_or_default().into_iter().find_map(|spool| {
            spool.content.ok().filter(|content| content.form_id == form.id.as_str())
        });
        let saved = saved.map_or(String::new(), |content| {
            format!("; {} saved by an unfinished export", counted(content.rows, "submission"))
        });
        cx.progress.remark(&format!("{}: {plan}{saved}", form.title));
        Ok(())
    }
}

/// The rows of a longer time at the density of a page.
fn extrapolate(rows: usize, span: i64, whole: i64) -> u64 {
    let rows = rows as u64;
    let (span, whole) =
        (u64::try_from(span).unwrap_or(0).max(1), u64::try_from(whole).unwrap_or(0));
    let product = u128::from(rows) * u128::from(whole) / u128::from(span);
    u64::try_from(product).unwrap_or(u64::MAX).max(rows)
}

/// The time of so many requests when the first window is free.
fn time_of(requests: u64, rate: Option<Rate>) -> Duration {
    let per_minute = match rate {
        Some(Rate::Off) => return Duration::ZERO,
        Some(Rate::PerMinute(rate)) => rate.get(),
        None => USUAL_RATE,
    };
    let windows = requests.saturating_sub(1) / u64::from(per_minute);
    Duration::from_secs(windows.saturating_mul(60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_follows_the_density_of_the_page() {
        assert_eq!(extrapolate(100, 50, 5_000), 10_000);
        assert_eq!(extrapolate(100, 0, 10), 1_000);
        assert_eq!(extrapolate(100, 50, -1), 100);
    }

    #[test]
    fn time_counts_full_windows_of_the_rate_limit() {
        assert_eq!(time_of(300, None), Duration::ZERO);
        assert_eq!(time_of(301, None), Duration::from_secs(60));
        assert_eq!(time_of(9_999, Some(Rate::Off)), Duration::ZERO);
    }
}
