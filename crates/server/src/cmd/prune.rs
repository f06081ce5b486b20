//! `formsvc-server prune`.

use std::time::Duration;

use serde::Serialize;

use super::database::{DatabaseArgs, Missing, with};
use super::error::CommandError;
use super::output::{self, OutputArgs};
use super::settings::{bad, duration_of};
use super::table::{Cut, Table};
use crate::admin::Admin;
use crate::store::{Prunable, PruneCursor, PruneRequest};

/// Longest age that is read: a hundred years.
const AGE_MAX: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Attempts before the last one of their delivery, by when they began; such as 30d.
    #[arg(long, value_name = "AGE")]
    attempts_older_than: Option<String>,
    /// Finished deliveries with their attempts, by when they finished.
    #[arg(long, value_name = "AGE")]
    deliveries_older_than: Option<String>,
    /// Submissions of the form named by --form, with their deliveries. One that is still being delivered
    /// is kept.
    #[arg(long, value_name = "AGE", requires = "form")]
    submissions_older_than: Option<String>,
    /// The form, by its id or public id.
    #[arg(long, value_name = "FORM", requires = "submissions_older_than")]
    form: Option<String>,
    /// Spam of all forms.
    #[arg(long, value_name = "AGE")]
    spam_older_than: Option<String>,
    /// Count what would be removed, and remove nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// What was removed, as JSON shows it.
#[derive(Serialize)]
struct Row {
    what: &'static str,
    count: u64,
    dry_run: bool,
}

pub(super) async fn run(args: &Args) -> Result<(), CommandError> {
    let shape = args.output.shape()?;
    let attempts = age("--attempts-older-than", args.attempts_older_than.as_deref())?;
    let deliveries = age("--deliveries-older-than", args.deliveries_older_than.as_deref())?;
    let submissions = age("--submissions-older-than", args.submissions_older_than.as_deref())?;
    let spam = age("--spam-older-than", args.spam_older_than.as_deref())?;
    if [attempts, deliveries, submissions, spam].iter().all(Option::is_none) {
        return Err(CommandError::usage("nothing was named that is to be removed")
            .hint("`--attempts-older-than 30d`, for example; `--help` lists the others"));
    }
    let prune = async |admin: &Admin| {
        let form = match &args.form {
            Some(named) => Some(Prunable::Submissions(admin.find_form(named).await?.id)),
            None => None,
        };
        // What goes with something else is counted where it was asked for, and only there: in this
        // order a dry run counts the same.
        let chosen = [
            ("attempts", attempts, Some(Prunable::Attempts)),
            ("deliveries", deliveries, Some(Prunable::Deliveries)),
            ("submissions", submissions, form),
            ("spam", spam, Some(Prunable::Spam)),
        ];
        let mut rows = Vec::new();
        for (name, age, what) in chosen {
            let (Some(age), Some(what)) = (age, what) else { continue };
            let count = all_steps(admin, &what, age, args.dry_run).await?;
            rows.push(Row { what: name, count, dry_run: args.dry_run });
        }
        Ok(rows)
    };
    let rows = with(&args.database, Missing::Refuse, prune).await?;
    let heading = if args.dry_run { "WOULD REMOVE" } else { "REMOVED" };
    let table = Table::new([("WHAT", Cut::Never), (heading, Cut::Never)]);
    output::list(shape, &rows, table, |table, row| {
        table.row([row.what, &row.count.to_string()]);
    })
}

/// Takes steps until all was looked at.
async fn all_steps(
    admin: &Admin,
    what: &Prunable,
    age: Duration,
    dry: bool,
) -> Result<u64, CommandError> {
    let (mut count, mut after) = (0, PruneCursor::default());
    loop {
        let began = tokio::time::Instant::now();
        let request = PruneRequest { what: what.clone(), age, after, dry };
        let pruned = admin.store().prune(request).await.map_err(|error| {
            CommandError::from(error).hint("what was removed is gone; run it again to go on")
        })?;
        count += pruned.count;
        let Some(next) = pruned.next else { return Ok(count) };
        after = next;
        if !dry {
            // A server beside waits for a step, and tries again every millisecond: it gets as much time
            // as the step took.
            tokio::time::sleep(began.elapsed().max(Duration::from_millis(3))).await;
        }
    }
}

/// Digits and a unit: `m`, `h` or `d`.
fn age(flag: &str, text: Option<&str>) -> Result<Option<Duration>, CommandError> {
    let Some(text) = text else { return Ok(None) };
    let age = duration_of(text, &["m", "h", "d"], AGE_MAX);
    let rule = "must be a whole number with `m`, `h` or `d`, of at most 36600d, such as 30d";
    age.map(Some).ok_or_else(|| bad(flag, text, rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_with_a_unit() {
        for (text, seconds) in [("0d", 0), ("90m", 5_400), ("2h", 7_200), ("30d", 2_592_000)] {
            let read = age("--age", Some(text)).unwrap();
            assert_eq!(read, Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "30", "d", "-1d", "1.5d", "30 d", "1w", "36601d", "99999999999999999999d"]
        {
            assert!(age("--age", Some(text)).is_err(), "{text}");
        }
        assert_eq!(age("--age", Some("36600d")).unwrap(), Some(AGE_MAX));
        let told = format!("{:?}", age("--age", Some("36601d")).unwrap_err());
        assert!(told.contains("at most 36600d"), "{told}");
        assert_eq!(age("--age", None).unwrap(), None);
    }
}
