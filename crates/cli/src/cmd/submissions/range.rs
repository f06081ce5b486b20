//! `--since` and `--until`.

use clap::Args;
use formsvc_client::{SubmissionQuery, Timestamp};
use formsvc_export::RowRange;
use jiff::Zoned;

use crate::base::when::{When, local, now};
use crate::context::Context;
use crate::error::CliError;
use crate::settings::repeat_command::CommandLine;

/// A range of time, from `--since` to before `--until`.
#[derive(Debug, Default, Args)]
pub(crate) struct Range {
    /// Only submissions made at this time or later: 2026-03-01T09:30:00Z, 2026-03-01, yesterday, or 7d or
    /// 2h ago
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<When>,
    /// Only submissions made before this time. Newer ones are read too, but left out
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<When>,
}

/// A range of instants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
}

impl Range {
    /// Converts the range to instants. Reports the instant of a local date.
    pub(crate) fn bounds(&self, cx: &Context) -> Result<Bounds, CliError> {
        let now = now();
        let since = place(cx, "--since", self.since.as_ref(), &now)?;
        let until = place(cx, "--until", self.until.as_ref(), &now)?;
        if let (Some(since), Some(until)) = (&since, &until)
            && since >= until
        {
            let [since, until] = [since, until].map(|at| local(at, now.time_zone()));
            let what = format!("`--since` {since} is not before `--until` {until}");
            return Err(CliError::usage(what).hint("`--until` must be the later time"));
        }
        Ok(Bounds { since, until })
    }
}

/// Converts the time of a flag to an instant. Reports the instant of a local date.
pub(in crate::cmd) fn place(
    cx: &Context,
    flag: &str,
    when: Option<&When>,
    now: &Zoned,
) -> Result<Option<Timestamp>, CliError> {
    let Some(when) = when else { return Ok(None) };
    let at =
        when.at(now).map_err(|rule| CliError::usage(format!("the time of `{flag}` {rule}")))?;
    if when.is_local() {
        cx.progress.remark(&format!("{flag} is {} (local time)", local(&at, now.time_zone())));
    }
    Ok(Some(at))
}

impl Bounds {
    /// Limits a list to the range.
    pub(crate) fn limit(&self, mut list: SubmissionQuery) -> SubmissionQuery {
        if let Some(since) = &self.since {
            list = list.since(since.clone());
        }
        if let Some(until) = &self.until {
            list = list.until(until.clone());
        }
        list
    }

    /// Returns the range of stored rows.
    pub(crate) fn rows(&self) -> RowRange {
        RowRange::default().since(self.since.clone()).until(self.until.clone())
    }

    /// Adds the flags to a command that repeats the range at any time.
    pub(crate) fn repeat(&self, line: &mut CommandLine) {
        for (flag, at) in [("--since", &self.since), ("--until", &self.until)] {
            line.maybe(flag, at.as_ref().map(ToString::to_string).as_deref());
        }
    }
}
