//! `--dry-run`: the requests and the time that an export needs.

use formsvc_client::Timestamp;
use formsvc_client::types::RatePolicy;
use formsvc_protocol::limits::{RATE_LIMIT, RATE_WINDOW};
use indicatif::HumanCount;

use super::super::range::Bounds;
use super::{Export, counted, spools};
use crate::base::text::approximate;
use crate::context::Context;
use crate::error::CliError;
use crate::form_ref::FormMatch;
use crate::settings::args::Rate;
use formsvc_export::{Estimate, EstimatedNumbers, Format};

impl Export {
    /// Requests the newest page and reports an estimate.
    pub(super) async fn report_plan(
        &self,
        cx: &Context,
        form: &FormMatch,
        bounds: &Bounds,
    ) -> Result<(), CliError> {
        let client = cx.client().await?;
        let options = self.options.render(Format::Csv.into(), self.limit)?;
        let created = form.listed.as_ref().map(|form| &form.created_at);
        let engine = self.engine(client, form, bounds, None);
        let estimate = engine.estimate(&options, created).await?;
        let limit = rate_limit(cx.settings.max_rate, client.rate_policy());
        let text = self.describe(&estimate, limit, bounds.since().as_ref());
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
        estimate: &Estimate,
        limit: Option<(RatePolicy, String)>,
        since: Option<&Timestamp>,
    ) -> String {
        let policy = limit.as_ref().map(|(policy, _)| *policy);
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
        let limit =
            limit.map_or("without a rate limit".to_owned(), |(_, text)| format!("at {text}"));
        let mark = |is_known: bool| if is_known { "" } else { "~" };
        let text = format!(
            "{}{} in {}{}, {} {limit}",
            // The filter is not applied.
            mark(is_exact && !self.options.has_filter()),
            counted(rows, "submission"),
            mark(is_exact),
            counted(requests, "request"),
            approximate(time),
        );
        if is_exact {
            return text;
        }
        let basis = if since.is_some() { "`--since`" } else { "the creation of the form" };
        let sample = estimate.sample;
        format!("{text}; extrapolated from the newest {sample} submissions back to {basis}")
    }
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
