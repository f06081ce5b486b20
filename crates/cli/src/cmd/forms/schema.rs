//! `formsvc forms schema`

use std::collections::BTreeMap;

use clap::Args;
use formsvc_client::Timestamp;
use formsvc_export::{Label, Rename, Schema, ValueKind};
use indicatif::HumanCount;
use serde::Serialize;

use crate::args::whole;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref;
use crate::output::Field;

/// The fields of a label, the most telling first.
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
/// Every submission is read once, or the newest ones with `--sample`. Per label: the type most of its
/// values have, the share of submissions in which it is filled, how many different values there are (up
/// to 200), when it was seen first and last, and under which label the question is likely asked now. No
/// answer is shown.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo forms schema penguins\n  formsvc --demo forms schema randhie --sample 500\n  formsvc --demo forms schema penguins --json label,types,fill_rate"
)]
pub(crate) struct SchemaOf {
    /// The form: its id, public id, exact title, or the beginning of either id
    form: String,
    /// Read only so many, the newest
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    sample: Option<u64>,
}

/// A label as it is shown.
#[derive(Serialize)]
struct Row<'a> {
    label: &'a str,
    r#type: Option<&'static str>,
    fill_rate: f64,
    /// None when there are too many to count.
    distinct: Option<usize>,
    first_seen: Option<Timestamp>,
    last_seen: Option<Timestamp>,
    likely_now: Option<&'a str>,
    filled: u64,
    of: u64,
    types: BTreeMap<&'static str, u64>,
}

impl<'a> Row<'a> {
    fn new(label: &Label<'a>, of: u64, renames: &[Rename<'a>]) -> Self {
        let time = |micros: i64| Timestamp::from_unix_nanos(i128::from(micros) * 1_000);
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
        let rate = label.filled as f64 / of as f64;
        Self {
            label: label.label,
            r#type: label.kind().map(ValueKind::as_str),
            fill_rate: (rate * 1_000.0).round() / 1_000.0,
            distinct: label.distinct,
            first_seen: time(label.first_seen),
            last_seen: time(label.last_seen),
            likely_now: renames.iter().find(|pair| pair.old == label.label).map(|pair| pair.new),
            filled: label.filled,
            of,
            types: label.kinds.iter().map(|(kind, count)| (kind.as_str(), *count)).collect(),
        }
    }
}

impl SchemaOf {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        let sample = self.sample.unwrap_or(u64::MAX);
        let page_size = u32::try_from(sample.min(100)).unwrap_or(100);
        let list = client.form(form.id).submissions().page_size(page_size);
        cx.progress.begin();
        let mut pages = list.pages();
        let (mut schema, mut oldest) = (Schema::new(), None);
        while let Some(page) = pages.try_next().await? {
            for row in &page {
                if schema.submissions() == sample {
                    break;
                }
                schema.add(&row.data, row.created_at.unix_micros()).map_err(|error| {
                    CliError::new(Exit::Service, error.to_string())
                        .hint("a form for people has some dozens; --sample reads fewer submissions")
                })?;
                oldest = Some(row.created_at.as_str().to_owned());
            }
            cx.progress.submissions(schema.submissions(), oldest.as_deref().unwrap_or_default());
            if schema.submissions() == sample {
                break;
            }
        }
        cx.progress.end();
        if schema.submissions() == 0 {
            cx.progress.remark("no submissions");
            return cx.output.list(listing);
        }
        let (of, renames) = (schema.submissions(), schema.renames());
        for label in schema.labels() {
            listing.push(&Row::new(&label, of, &renames));
        }
        cx.output.list(listing)?;
        self.say(cx, of, oldest.as_deref(), &renames);
        Ok(())
    }

    /// How much was read, and what people should look at.
    fn say(&self, cx: &Context, of: u64, oldest: Option<&str>, renames: &[Rename<'_>]) {
        let back = oldest.unwrap_or_default();
        let all = HumanCount(of);
        let read = match (of, self.sample) {
            (1, None) => "1 submission read, the only one".to_owned(),
            (_, None) => format!("{all} submissions read, all there are"),
            (_, Some(sample)) if of < sample => format!("{all} submissions read, all there are"),
            (_, Some(_)) => format!("the newest {all} submissions read, back to {back}"),
        };
        cx.progress.remark(&read);
        for Rename { old, new, .. } in renames {
            cx.progress.remark(&format!("likely `{old}` was renamed `{new}`"));
        }
    }
}
