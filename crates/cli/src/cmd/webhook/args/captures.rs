//! Arguments that select captures: numbers, the newest ones, or conditions.

use clap::Args;
use clap::builder::PossibleValuesParser;
use formsvc_workbench::delivery::CaptureNumber;
use formsvc_workbench::expectation::StatusSet;
use formsvc_workbench::filter::DeliveryFilter;
use formsvc_workbench::replay::Selection;
use formsvc_workbench::store::{CaptureQuery, CaptureStore};
use formsvc_workbench::verdict::VERDICTS;

use crate::base::when::When;
use crate::cmd::Range;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::settings::args::whole;

const FILTER: &str = "Filter";

/// Selects captures.
#[derive(Clone, Debug, Args)]
pub(in crate::cmd) struct CapturesArgs {
    /// Numbers of recorded deliveries (captures)
    #[arg(id = "captures", value_name = "N", value_parser = capture_number)]
    numbers: Vec<CaptureNumber>,
    /// The newest N captures that meet the conditions
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=u64::MAX), conflicts_with = "captures", help_heading = FILTER)]
    last: Option<usize>,
    #[command(flatten)]
    filter: FilterArgs,
}

/// Conditions on captures. A capture must meet all of them.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cmd) struct FilterArgs {
    /// Status of the response: `ok` (2xx), `failed` (any other, or no response), a number, or a class such as 5xx
    #[arg(long = "status", id = "answered", value_name = "STATUS", help_heading = FILTER)]
    status: Option<StatusSet>,
    /// Verdict on the signature, or `invalid` for all verdicts that a receiver refuses
    #[arg(long, value_name = "VERDICT", value_parser = verdicts(), help_heading = FILTER)]
    verdict: Option<String>,
    /// Id of the form, or the beginning of it
    #[arg(long = "form", id = "form_id", value_name = "ID", help_heading = FILTER)]
    form: Option<String>,
    /// Event, such as submission.created
    #[arg(long, value_name = "NAME", help_heading = FILTER)]
    event: Option<String>,
    /// Id of the submission, or the beginning of it
    #[arg(long, value_name = "ID", help_heading = FILTER)]
    submission: Option<String>,
    /// Received at this time or later: 2026-03-01T09:30:00Z, 2026-03-01, yesterday, or an age such as 10m
    #[arg(long, value_name = "WHEN", help_heading = FILTER)]
    since: Option<When>,
    /// Received before this time
    #[arg(long, value_name = "WHEN", help_heading = FILTER)]
    until: Option<When>,
    /// Text that the JSON of the body contains, as it is written there
    #[arg(long, value_name = "TEXT", help_heading = FILTER)]
    grep: Option<String>,
}

fn verdicts() -> PossibleValuesParser {
    PossibleValuesParser::new(VERDICTS.iter().map(|row| row.name).chain(["invalid"]))
}

/// Parses the number of a capture.
pub(in crate::cmd) fn capture_number(text: &str) -> Result<CaptureNumber, String> {
    let has_only_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| has_only_digits);
    number.ok_or_else(|| "expected the number of a capture, such as 17".to_owned())
}

impl CapturesArgs {
    /// Returns the selected numbers and the kind of selection. Named numbers keep their order, and captures that
    /// conditions select are ordered from old to new.
    pub(in crate::cmd) async fn select(
        &self,
        cx: &Context,
        store: &CaptureStore,
    ) -> Result<(Selection, Vec<CaptureNumber>), CliError> {
        let filter = self.filter.resolve(cx)?;
        if !self.numbers.is_empty() {
            if filter.is_empty() {
                return Ok((Selection::Numbers, self.numbers.clone()));
            }
            let what = "numbers and conditions both select captures";
            return Err(CliError::usage(what).hint("pass one or the other"));
        }
        if filter.is_empty() && self.last.is_none() {
            let error = CliError::coded(Code::MissingArgument, "no captures are selected");
            return Err(error.hint(
                "pass a number such as `17`, or `--last 1` for the newest; `formsvc webhook events list` lists them",
            ));
        }
        let selection = Selection::of_filter(&filter);
        let query = CaptureQuery { filter, limit: self.last, ..CaptureQuery::default() };
        let summaries = store.list(query).await?;
        let numbers = summaries.iter().rev().filter_map(|summary| summary.number);
        Ok((selection, numbers.collect()))
    }
}

impl FilterArgs {
    /// Returns the filter. Reports the instants of local dates.
    pub(in crate::cmd) fn resolve(&self, cx: &Context) -> Result<DeliveryFilter, CliError> {
        let range = Range { since: self.since.clone(), until: self.until.clone() }.bounds(cx)?;
        let instant = |at: &formsvc_client::Timestamp| at.to_string();
        self.filter(range.since.as_ref().map(instant), range.until.as_ref().map(instant))
    }

    fn filter(
        &self,
        since: Option<String>,
        until: Option<String>,
    ) -> Result<DeliveryFilter, CliError> {
        let prefix = |id: &String| format!("{id}*");
        let conditions = [
            ("--status", "status", "=", self.status.map(|status| status.to_string())),
            ("--verdict", "verdict", "=", self.verdict.clone()),
            ("--form", "form_id", "=", self.form.as_ref().map(prefix)),
            ("--event", "event", "=", self.event.clone()),
            ("--submission", "submission_id", "=", self.submission.as_ref().map(prefix)),
            ("--since", "at", ">=", since),
            ("--until", "at", "<", until),
            ("--grep", "body", "~", self.grep.clone()),
        ];
        let mut filter = DeliveryFilter::default();
        for (flag, field, op, value) in conditions {
            let Some(value) = value else { continue };
            let added = filter.and(field, op, &value);
            added.map_err(|rule| CliError::usage(format!("`{flag}`: {rule}")))?;
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capture_number_has_only_digits() {
        assert_eq!(capture_number("17"), Ok(17));
        for bad in ["", "-17", "+1", "a", "1.5", "1 "] {
            assert!(capture_number(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn every_filter_flag_becomes_a_condition() {
        let args = FilterArgs {
            status: Some(StatusSet::Class(5)),
            verdict: Some("invalid".to_owned()),
            form: Some("frm_".to_owned()),
            event: Some("submission.created".to_owned()),
            submission: Some("sub_1".to_owned()),
            since: None,
            until: None,
            grep: Some("a b".to_owned()),
        };
        let at = || Some("1970-01-01T00:00:00Z".to_owned());
        let expected = DeliveryFilter::parse(
            "status=5xx && verdict=invalid && form_id=frm_* && event=submission.created && \
             submission_id=sub_1* && at>=1970-01-01T00:00:00Z && at<1970-01-01T00:00:00Z && \
             body~'a b'",
        );
        assert_eq!(args.filter(at(), at()).unwrap(), expected.unwrap());
    }
}
