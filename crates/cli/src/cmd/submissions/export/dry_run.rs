//! `--dry-run`: estimates the requests and the time of an export.

use formsvc_client::types::RatePolicy;
use formsvc_export::{Estimate, EstimatedNumbers, Format};
use formsvc_protocol::limits::{RATE_LIMIT, RATE_WINDOW};
use indicatif::HumanCount;

use super::{Export, Run, counted, spools};
use crate::base::text::approximate;
use crate::error::CliError;
use crate::form_ref::FormMatch;
use crate::settings::args::Rate;

impl Export {
    /// Requests the newest page and reports an estimate.
    pub(super) async fn report_estimate(
        &self,
        run: &Run<'_>,
        form: &FormMatch,
    ) -> Result<(), CliError> {
        let Run { cx, client, .. } = run;
        let options = self.options.render(Format::Csv.into(), self.limit)?;
        let created = form.listed.as_ref().map(|form| &form.created_at);
        let estimate = run.engine(form, None).estimate(&options, created).await?;
        let limit = rate_limit(cx.settings.max_rate, client.rate_policy());
        let text = self.describe(&estimate, limit, run.bounds.since.is_some());
        let saved = spools(cx)?.list().unwrap_or_default().into_iter().find_map(|spool| {
            spool.content.ok().filter(|content| {
                content.form_id == form.id.as_str() && content.origin == client.base_url()
            })
        });
        let saved = saved.map_or(String::new(), |content| {
            let rows = counted(content.rows, "submission");
            let effect = if self.fresh { "`--fresh` discards" } else { "are not requested again" };
            format!("; an unfinished export saved {rows}, which {effect}")
        });
        cx.progress.remark(&format!("{}: {text}{saved}", form.title));
        Ok(())
    }

    fn describe(
        &self,
        estimate: &Estimate,
        limit: Option<(RatePolicy, String)>,
        has_since: bool,
    ) -> String {
        let (policy, limit) = limit.unzip();
        let Some((numbers, time)) = estimate.numbers.zip(estimate.time(policy)) else {
            let limit = self
                .limit
                .map_or(String::new(), |limit| format!("; `--limit` allows {}", HumanCount(limit)));
            let sample = counted(estimate.sample, "submission");
            return format!(
                "more than {sample}; their number cannot be estimated from the newest ones{limit}"
            );
        };
        let EstimatedNumbers { rows, requests, is_exact, .. } = numbers;
        let limit = limit.map_or("without a rate limit".to_owned(), |text| format!("at {text}"));
        // The filter is not applied.
        let rows_mark = if is_exact && !self.options.has_filter() { "" } else { "~" };
        let requests_mark = if is_exact { "" } else { "~" };
        let (rows, requests) = (counted(rows, "submission"), counted(requests, "request"));
        let time = approximate(time);
        let text = format!("{rows_mark}{rows} in {requests_mark}{requests}, {time} {limit}");
        if is_exact {
            return text;
        }
        let basis = if has_since { "`--since`" } else { "the creation of the form" };
        let sample = estimate.sample;
        format!("{text}; extrapolated from the newest {sample} submissions back to {basis}")
    }
}

/// Returns the rate limit of the client and its description.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_limit_is_used_unless_the_user_sets_one() {
        let announced = RatePolicy::parse("\"default\";q=10;w=5");
        let (_, text) = rate_limit(None, announced).unwrap();
        assert_eq!(text, "the service's 10 requests in 5 s");
        assert!(rate_limit(Some(Rate::Off), announced).is_none());
        assert!(rate_limit(None, None).unwrap().1.contains("300"));
    }
}
