//! Flags that say which captures are meant, by what they are.

use clap::Args;
use jiff::Timestamp;

use crate::again::Line;
use crate::cmd::place;
use crate::context::Context;
use crate::error::CliError;
use crate::webhook::statuses::Statuses;
use crate::webhook::store::{INVALID, Query};
use crate::webhook::verdict::VERDICTS;
use crate::when::{LOCAL, When, now};

/// Which captures: all that every flag says.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FilterArgs {
    /// Those answered so: `ok` (2xx), `failed` (anything else, or nothing), a status, or a class such as 5xx
    #[arg(long = "status", id = "answered", value_name = "STATUS", help_heading = "Which")]
    status: Option<Statuses>,
    /// Those with this verdict; `invalid` is every one that a receiver refuses
    #[arg(long, value_name = "VERDICT", value_parser = verdict, help_heading = "Which")]
    verdict: Option<&'static str>,
    /// Those of a form: its id, or the beginning of it
    #[arg(long = "form", id = "form_id", value_name = "ID", help_heading = "Which")]
    form: Option<String>,
    /// Those of an event, such as submission.created
    #[arg(long, value_name = "NAME", help_heading = "Which")]
    event: Option<String>,
    /// Those of a submission: its id, or the beginning of it
    #[arg(long, value_name = "ID", help_heading = "Which")]
    submission: Option<String>,
    /// Those that came at this time or later: 2026-03-01T09:30:00Z, yesterday, or 10m or 2h ago
    #[arg(long, value_name = "WHEN", help_heading = "Which")]
    since: Option<When>,
    /// Those that came before this time
    #[arg(long, value_name = "WHEN", help_heading = "Which")]
    until: Option<When>,
    /// Those with this text in their body, as it is written there
    #[arg(long, value_name = "TEXT", help_heading = "Which")]
    grep: Option<String>,
}

impl FilterArgs {
    /// Whether a flag was given.
    pub(crate) fn is_given(&self) -> bool {
        let Self { status, verdict, form, event, submission, since, until, grep } = self;
        let words = [form, event, submission, grep];
        status.is_some()
            || since.is_some()
            || until.is_some()
            || verdict.is_some()
            || words.iter().any(|word| word.is_some())
    }

    /// Whether they are chosen by their verdict.
    pub(super) fn names_a_verdict(&self) -> bool {
        self.verdict.is_some()
    }

    /// How flags say the same again, whenever that is.
    pub(crate) fn say_again(&self, query: &Query, line: &mut Line) {
        let (since, until) = (query.since, query.until);
        for (flag, value) in [
            ("--status", self.status.map(|status| status.to_string())),
            ("--verdict", self.verdict.map(str::to_owned)),
            ("--form", self.form.clone()),
            ("--event", self.event.clone()),
            ("--submission", self.submission.clone()),
            ("--since", since.map(|since| since.to_string())),
            ("--until", until.map(|until| until.to_string())),
            ("--grep", self.grep.clone()),
        ] {
            line.maybe(flag, value.as_deref());
        }
    }

    /// What is asked of the store.
    pub(crate) fn query(&self, cx: &Context) -> Result<Query, CliError> {
        let now = now();
        let instant = |flag, when: Option<&When>| {
            let at = place(cx, flag, when, &now)?;
            // Both keep within the years 0 to 9999.
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
            return Err(CliError::usage(what)
                .hint("a range has what came at --since or later, and before --until"));
        }
        Ok(Query {
            status: self.status,
            verdict: self.verdict,
            form: self.form.clone(),
            event: self.event.clone(),
            submission: self.submission.clone(),
            since,
            until,
            grep: self.grep.clone(),
            ..Query::default()
        })
    }
}

/// Reads a verdict.
fn verdict(text: &str) -> Result<&'static str, String> {
    let mut names = VERDICTS.iter().map(|row| row.name).chain([INVALID]);
    names.clone().find(|name| *name == text).ok_or_else(|| {
        let last = names.next_back().unwrap_or_default();
        format!("expected {} or {last}", names.collect::<Vec<_>>().join(", "))
    })
}
