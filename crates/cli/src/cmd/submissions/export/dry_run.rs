//! `--dry-run`: estimates the requests and the time of an export.

use formsvc_client::types::RatePolicy;
use formsvc_export::{Estimate, EstimatedNumbers, Format};
use formsvc_protocol::limits::{RATE_LIMIT, RATE_WINDOW};

use super::{Run, counted};
use crate::base::text::approximate;
use crate::error::CliError;
use crate::form_ref::FormMatch;
use crate::settings::args::Rate;

impl Run<'_> {
    /// Requests the newest page and reports an estimate.
    pub(super) async fn report_estimate(&self, form: &FormMatch) -> Result<(), CliError> {
        let options = self.args.options.render(Format::Csv.into(), self.args.limit)?;
        let created = form.listed.as_ref().map(|form| &form.created_at);
        let estimate = self.engine(form, None).estimate(&options, created).await?;
        let announced = self.client.rate_policy();
        let limit = match self.cx.settings.max_rate {
            Some(Rate::Off) => None,
            Some(Rate::PerMinute(requests)) => Some(RatePolicy { requests, window: RATE_WINDOW }),
            None => announced.or_else(|| {
                Some(RatePolicy { requests: RATE_LIMIT.try_into().ok()?, window: RATE_WINDOW })
            }),
        };
        let text = self.describe(&estimate, limit);
        self.cx.progress.remark(&format!("{}: {text}", form.title));
        Ok(())
    }

    fn describe(&self, estimate: &Estimate, limit: Option<RatePolicy>) -> String {
        let sample = counted(estimate.sample, "submission");
        let Some((numbers, time)) = estimate.numbers.zip(estimate.time(limit)) else {
            return format!(
                "more than {sample}; their number cannot be estimated from the newest ones"
            );
        };
        let EstimatedNumbers { rows, requests, is_exact, .. } = numbers;
        // The filter is not applied.
        let rows_mark = if is_exact && !self.args.options.has_filter() { "" } else { "~" };
        let requests_mark = if is_exact { "" } else { "~" };
        let (rows, requests) = (counted(rows, "submission"), counted(requests, "request"));
        let time = approximate(time);
        let limit = limit.map_or("without a rate limit".to_owned(), |limit| {
            format!("at {} requests in {} s", limit.requests, limit.window.as_secs())
        });
        let basis = format!("; extrapolated from the newest {sample}");
        let basis = if is_exact { "" } else { &basis };
        format!("{rows_mark}{rows} in {requests_mark}{requests}, {time} {limit}{basis}")
    }
}
