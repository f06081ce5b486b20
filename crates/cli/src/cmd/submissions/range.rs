//! `--since` and `--until`: which submissions, by when they were made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use formsvc_client::{SubmissionQuery, Timestamp};
use jiff::Zoned;

use crate::base::when::{When, local, now};
use crate::context::Context;
use crate::error::CliError;
use crate::settings::repeat_command::Line;

/// A range of time, from `--since` on and before `--until`.
#[derive(Debug, Default, Args)]
pub(crate) struct Range {
    /// Only those made at this time or later: 2026-03-01T09:30:00Z, 2026-03-01, yesterday, or 7d or 2h ago
    #[arg(long, value_name = "WHEN")]
    since: Option<When>,
    /// Only those made before this time; newer ones are walked past, which takes requests
    #[arg(long, value_name = "WHEN")]
    until: Option<When>,
}

/// The same on the time line.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    /// Whether a list has come to where the range begins.
    left: Arc<AtomicBool>,
}

impl Range {
    /// Where it begins and ends, seen from here and now. Says what was made of dates, which mean
    /// something else elsewhere.
    pub(crate) fn bounds(&self, cx: &Context) -> Result<Bounds, CliError> {
        let now = now();
        let bounds = Bounds {
            since: place(cx, "--since", self.since.as_ref(), &now)?,
            until: place(cx, "--until", self.until.as_ref(), &now)?,
            left: Arc::default(),
        };
        match (&bounds.since, &bounds.until) {
            (Some(since), Some(until)) if since >= until => {
                let [since, until] = [since, until].map(|at| local(at, now.time_zone()));
                let what = format!("`--since` {since} is not before `--until` {until}");
                Err(CliError::usage(what)
                    .hint("a range has what was made at --since or later, and before --until"))
            }
            _ => Ok(bounds),
        }
    }
}

/// The moment that a flag means.
pub(crate) fn place(
    cx: &Context,
    flag: &str,
    when: Option<&When>,
    now: &Zoned,
) -> Result<Option<Timestamp>, CliError> {
    let Some(when) = when else { return Ok(None) };
    let at =
        when.at(now).map_err(|rule| CliError::usage(format!("the time of `{flag}` {rule}")))?;
    if when.is_local() {
        cx.check_zone();
        cx.progress.remark(&format!("{flag} is {} (local time)", local(&at, now.time_zone())));
    }
    Ok(Some(at))
}

impl Range {
    /// The start as typed: equal for equal commands, also if it moves with the clock.
    pub(crate) fn start(&self) -> Option<String> {
        self.since.as_ref().map(ToString::to_string)
    }
}

impl Bounds {
    /// The part of a list that lies within.
    pub(crate) fn of(&self, list: SubmissionQuery) -> SubmissionQuery {
        let list = match &self.since {
            Some(since) => {
                // The SDK's own bound also ends a list at a submission that violates the API.
                let list = list.since(since.clone());
                let (since, left) = (since.unix_micros(), Arc::clone(&self.left));
                list.stop_when(move |row| {
                    let is_older = row.created_at.unix_micros() < since;
                    left.fetch_or(is_older, Ordering::Relaxed);
                    is_older
                })
            }
            None => list,
        };
        match &self.until {
            Some(until) => list.until(until.clone()),
            None => list,
        }
    }

    /// The time at which the range begins.
    pub(crate) fn since(&self) -> Option<Timestamp> {
        self.since.clone()
    }

    /// The time before which the range ends.
    pub(crate) fn until(&self) -> Option<Timestamp> {
        self.until.clone()
    }

    /// Whether a list walks past rows that are too new.
    pub(crate) fn skip_rows(&self) -> bool {
        self.until.is_some()
    }

    /// Whether a list came to where the range begins: what follows is older.
    pub(crate) fn were_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    /// How flags say the same again, whenever that is.
    pub(crate) fn say_again(&self, line: &mut Line) {
        for (flag, at) in [("--since", &self.since), ("--until", &self.until)] {
            line.maybe(flag, at.as_ref().map(ToString::to_string).as_deref());
        }
    }
}
