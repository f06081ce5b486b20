//! Flags that select captures by their properties.

use clap::Args;
use formsvc_workbench::expectation::StatusSet;
use formsvc_workbench::filter::DeliveryFilter;
use formsvc_workbench::verdict::VERDICTS;
use jiff::Timestamp;

use crate::base::when::{LOCAL, When, now};
use crate::cmd::place;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::repeat_command::Line;

/// The value of `--verdict` for all refusals.
const INVALID: &str = "invalid";

/// Conditions on captures. A capture must meet all of them.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cmd) struct FilterArgs {
    /// Status of the response: `ok` (2xx), `failed` (all others, and no response), a status, or a class such as 5xx
    #[arg(long = "status", id = "answered", value_name = "STATUS", help_heading = "Filter")]
    status: Option<StatusSet>,
    /// Verdict, or `invalid` for all that a receiver refuses
    #[arg(long, value_name = "VERDICT", value_parser = verdict, help_heading = "Filter")]
    verdict: Option<&'static str>,
    /// Id of the form, or the beginning of it
    #[arg(long = "form", id = "form_id", value_name = "ID", help_heading = "Filter")]
    form: Option<String>,
    /// Event, such as submission.created
    #[arg(long, value_name = "NAME", help_heading = "Filter")]
    event: Option<String>,
    /// Id of the submission, or the beginning of it
    #[arg(long, value_name = "ID", help_heading = "Filter")]
    submission: Option<String>,
    /// Received at this time or later: 2026-03-01T09:30:00Z, yesterday, or 10m or 2h ago
    #[arg(long, value_name = "WHEN", help_heading = "Filter")]
    since: Option<When>,
    /// Received before this time
    #[arg(long, value_name = "WHEN", help_heading = "Filter")]
    until: Option<When>,
    /// Text that the body contains, as it is written there
    #[arg(long, value_name = "TEXT", help_heading = "Filter")]
    grep: Option<String>,
}

/// The conditions of flags, with absolute times.
#[derive(Clone, Debug)]
pub(in crate::cmd) struct CaptureFilter {
    pub(in crate::cmd) all: DeliveryFilter,
    /// The conditions that do not depend on the response.
    pub(in crate::cmd) without_status: DeliveryFilter,
    flags: Vec<(&'static str, String)>,
}

impl FilterArgs {
    /// Returns true if there is a flag.
    pub(in crate::cmd) fn is_given(&self) -> bool {
        let Self { status, verdict, form, event, submission, since, until, grep } = self;
        let texts = [form, event, submission, grep];
        status.is_some()
            || verdict.is_some()
            || since.is_some()
            || until.is_some()
            || texts.iter().any(|text| text.is_some())
    }

    /// Resolves times, and returns the conditions.
    pub(in crate::cmd) fn resolve(&self, cx: &Context) -> Result<CaptureFilter, CliError> {
        let now = now();
        let instant = |flag, when: Option<&When>| {
            let at = place(cx, flag, when, &now)?;
            // Both types have the years 0 to 9999.
            Ok::<_, CliError>(at.and_then(|at| Timestamp::from_nanosecond(at.unix_nanos()).ok()))
        };
        let since = instant("--since", self.since.as_ref())?;
        let until = instant("--until", self.until.as_ref())?;
        if let (Some(since), Some(until)) = (since, until)
            && since >= until
        {
            let [since, until] = [since, until]
                .map(|at| at.to_zoned(now.time_zone().clone()).strftime(LOCAL).to_string());
            let what = format!("`--since` {since} is not before `--until` {until}");
            return Err(
                CliError::usage(what).hint("the range begins at --since and ends before --until")
            );
        }
        self.conditions(since, until)
    }

    fn conditions(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<CaptureFilter, CliError> {
        let text = |text: &Option<String>| text.clone();
        let rows = [
            ("--status", "status", "=", self.status.map(|status| status.to_string())),
            ("--verdict", "verdict", "=", self.verdict.map(str::to_owned)),
            ("--form", "form_id", "=", text(&self.form)),
            ("--event", "event", "=", text(&self.event)),
            ("--submission", "submission_id", "=", text(&self.submission)),
            ("--since", "at", ">=", since.map(|at| at.to_string())),
            ("--until", "at", "<", until.map(|at| at.to_string())),
            ("--grep", "body", "~", text(&self.grep)),
        ];
        let (mut all, mut without_status) = (DeliveryFilter::default(), DeliveryFilter::default());
        let mut flags = Vec::new();
        for (flag, field, op, value) in rows {
            let Some(value) = value else { continue };
            let is_prefix = matches!(field, "form_id" | "submission_id");
            let operand = if is_prefix { format!("{value}*") } else { value.clone() };
            let mut filters = vec![&mut all];
            if field != "status" {
                filters.push(&mut without_status);
            }
            for filter in filters {
                let added = filter.and(field, op, &operand);
                added.map_err(|rule| CliError::usage(format!("`{flag}`: {rule}")))?;
            }
            flags.push((flag, value));
        }
        Ok(CaptureFilter { all, without_status, flags })
    }
}

impl CaptureFilter {
    /// Adds the flags to a command line.
    pub(in crate::cmd) fn repeat(&self, line: &mut Line) {
        for (flag, value) in &self.flags {
            line.flag(flag, value);
        }
    }
}

/// Parses a verdict.
fn verdict(text: &str) -> Result<&'static str, String> {
    let names = || VERDICTS.iter().map(|row| row.name);
    names()
        .chain([INVALID])
        .find(|name| *name == text)
        .ok_or_else(|| format!("expected {} or {INVALID}", names().collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_becomes_a_condition() {
        let args = FilterArgs {
            status: Some(StatusSet::Class(5)),
            verdict: Some(INVALID),
            form: Some("frm_".to_owned()),
            event: Some("submission.created".to_owned()),
            submission: Some("sub_1".to_owned()),
            since: None,
            until: None,
            grep: Some("a b".to_owned()),
        };
        let at = Timestamp::UNIX_EPOCH;
        let filter = args.conditions(Some(at), Some(at)).unwrap();
        let expected = DeliveryFilter::parse(
            "status=5xx && verdict=invalid && form_id=frm_* && event=submission.created && \
             submission_id=sub_1* && at>=1970-01-01T00:00:00Z && at<1970-01-01T00:00:00Z && \
             body~'a b'",
        );
        assert_eq!(filter.all, expected.unwrap());
        assert!(!filter.without_status.names("status") && filter.without_status.names("verdict"));
        assert_eq!(filter.flags.len(), 8);
        assert_eq!(filter.flags[2], ("--form", "frm_".to_owned()));
    }

    #[test]
    fn unknown_verdict_error_lists_the_verdicts() {
        assert_eq!(verdict("invalid"), Ok("invalid"));
        let error = verdict("great").unwrap_err();
        assert!(error.contains("signature_mismatch") && error.ends_with("or invalid"), "{error}");
    }
}
