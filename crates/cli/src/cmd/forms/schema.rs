//! `formsvc forms schema`

use clap::Args;
use formsvc_client::PAGE_SIZE_MAX;
use serde::Serialize;

use super::statistics::{LabelStatistics, Statistics};
use crate::cmd::submissions::{counted, incomplete_list, not_kept};
use crate::context::Context;
use crate::error::CliError;
use crate::form_ref;
use crate::output::Field;
use crate::settings::args::whole;

/// The fields of a label, most important first.
pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("label"),
    Field::new("type"),
    Field::new("fill_rate"),
    Field::new("distinct"),
    Field::time("first_seen"),
    Field::time("last_seen"),
    Field::new("filled").json_only(),
    Field::new("of").json_only(),
    Field::new("types").json_only(),
];

/// Show the labels of a form (the names of its questions), with the types of the answers
///
/// Reads every submission once, or only the newest ones with `--sample`. Lists for each label the column
/// type that fits its answers, the share of submissions with an answer, the number of different answers (up to
/// 200), and the times of the oldest and the newest submission with the label. No answer is shown.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo forms schema penguins\n  formsvc --demo forms schema randhie --sample 500\n  formsvc --demo forms schema penguins --json label,types,fill_rate"
)]
pub(crate) struct ShowSchema {
    /// The form: its id, public id (as in /f/ID), exact title, or the beginning of either id
    form: String,
    /// Read only the newest N submissions
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    sample: Option<u64>,
}

/// A label in the output.
#[derive(Serialize)]
struct LabelRow<'a> {
    #[serde(flatten)]
    label: &'a LabelStatistics,
    r#type: Option<&'static str>,
    fill_rate: f64,
    /// `None` if there are too many different answers.
    distinct: Option<usize>,
    of: u64,
}

impl ShowSchema {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        let sample = self.sample.unwrap_or(u64::MAX);
        let page_size = u32::try_from(sample).unwrap_or(u32::MAX).min(PAGE_SIZE_MAX);
        let list = client.form(form.id).submissions().page_size(page_size).allow_incomplete(true);
        cx.progress.begin();
        let mut pages = list.pages();
        let (mut statistics, mut oldest) = (Statistics::new(), String::new());
        while statistics.submissions < sample
            && let Some(page) = pages.try_next().await?
        {
            let left = usize::try_from(sample - statistics.submissions).unwrap_or(usize::MAX);
            for row in page.submissions().iter().take(left) {
                statistics.add(row)?;
                oldest = row.created_at.to_string();
            }
            cx.shutdown.set_saved(not_kept(statistics.submissions));
            cx.progress.submissions(statistics.submissions, self.sample, &oldest);
        }
        cx.progress.end();
        let of = statistics.submissions;
        for label in &statistics.labels {
            #[expect(clippy::cast_precision_loss, reason = "a share is printed with few digits")]
            let rate = label.filled as f64 / of as f64;
            listing.push(&LabelRow {
                label,
                r#type: label.column_type(),
                fill_rate: (rate * 1_000.0).round() / 1_000.0,
                distinct: label.distinct(),
                of,
            });
        }
        cx.output.list(&listing)?;
        cx.progress.remark(&match of {
            0 => "no submissions".to_owned(),
            _ if of == sample => {
                format!("read the newest {}, back to {oldest}", counted(of, "submission"))
            }
            _ => format!("read all {}", counted(of, "submission")),
        });
        incomplete_list(&pages)
    }
}
