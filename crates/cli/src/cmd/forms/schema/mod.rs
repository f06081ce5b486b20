//! `formsvc forms schema`

mod renames;
mod statistics;

use std::collections::BTreeMap;

use clap::Args;
use formsvc_client::Timestamp;
use serde::Serialize;

use self::renames::{Rename, find_renames};
use self::statistics::{LabelStatistics, Statistics};
use crate::answer_type::type_name;
use crate::cmd::submissions::{counted, incomplete_list};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
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
    Field::new("likely_now"),
    Field::new("filled").json_only(),
    Field::new("of").json_only(),
    Field::new("types").json_only(),
];

/// Show the labels of a form, with the types of their answers
///
/// Reads every submission once, or only the newest ones with `--sample`. Lists for each label the most
/// common type, the share of submissions with an answer, the number of different answers (up to 200), the
/// times of the oldest and the newest submission with the label, and the label that likely replaced it.
/// No answer is shown.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo forms schema penguins\n  formsvc --demo forms schema randhie --sample 500\n  formsvc --demo forms schema penguins --json label,types,fill_rate"
)]
pub(crate) struct ShowSchema {
    /// The form: its id, public id, exact title, or the beginning of either id
    form: String,
    /// Read only the newest N submissions
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    sample: Option<u64>,
}

/// A label in the output.
#[derive(Serialize)]
struct Row<'a> {
    label: &'a str,
    r#type: Option<&'static str>,
    fill_rate: f64,
    /// `None` if there are too many different answers.
    distinct: Option<usize>,
    first_seen: Option<Timestamp>,
    last_seen: Option<Timestamp>,
    likely_now: Option<&'a str>,
    filled: u64,
    of: u64,
    types: BTreeMap<&'static str, u64>,
}

impl<'a> Row<'a> {
    fn new(label: &'a LabelStatistics, of: u64, renames: &[Rename<'a>]) -> Self {
        let time = |micros: i64| Timestamp::from_unix_nanos(i128::from(micros) * 1_000);
        #[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
        let rate = label.filled as f64 / of as f64;
        Self {
            label: &label.name,
            r#type: label.most_common_type().map(type_name),
            fill_rate: (rate * 1_000.0).round() / 1_000.0,
            distinct: label.distinct(),
            first_seen: time(label.oldest.micros),
            last_seen: time(label.newest.micros),
            likely_now: renames.iter().find(|pair| pair.old == label.name).map(|pair| pair.new),
            filled: label.filled,
            of,
            types: label.types.iter().map(|(name, count)| (type_name(*name), *count)).collect(),
        }
    }
}

impl ShowSchema {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        let sample = self.sample.unwrap_or(u64::MAX);
        let page_size = u32::try_from(sample.min(100)).unwrap_or(100);
        let list = client.form(form.id).submissions().page_size(page_size).allow_incomplete(true);
        cx.progress.begin();
        let mut pages = list.pages();
        let (mut statistics, mut oldest) = (Statistics::new(), None);
        while let Some(page) = pages.try_next().await? {
            for row in &page {
                if statistics.submissions() == sample {
                    break;
                }
                statistics.add(&row.data, row.created_at.unix_micros()).map_err(|error| {
                    CliError::new(Exit::Service, error.to_string())
                        .hint("read fewer submissions with `--sample N`")
                })?;
                oldest = Some(row.created_at.as_str().to_owned());
            }
            cx.progress
                .submissions(statistics.submissions(), oldest.as_deref().unwrap_or_default());
            if statistics.submissions() == sample {
                break;
            }
        }
        cx.progress.end();
        if statistics.submissions() == 0 {
            cx.progress.remark("no submissions");
            cx.output.list(listing)?;
            return incomplete_list(&pages);
        }
        let of = statistics.submissions();
        let labels: Vec<_> = statistics.labels().collect();
        let renames = find_renames(&labels);
        for label in labels {
            listing.push(&Row::new(label, of, &renames));
        }
        cx.output.list(listing)?;
        self.report(cx, of, oldest.as_deref(), &renames);
        incomplete_list(&pages)
    }

    /// Reports the number of submissions and the likely renames.
    fn report(&self, cx: &Context, of: u64, oldest: Option<&str>, renames: &[Rename<'_>]) {
        let count = counted(of, "submission");
        cx.progress.remark(&match (self.sample, oldest) {
            (Some(sample), Some(oldest)) if of == sample => {
                format!("read the newest {count}, back to {oldest}")
            }
            _ => format!("read all {count}"),
        });
        for Rename { old, new, .. } in renames {
            cx.progress.remark(&format!("`{old}` was likely renamed to `{new}`"));
        }
    }
}
