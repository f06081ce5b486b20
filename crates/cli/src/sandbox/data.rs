//! The forms of a sandbox: four data sets, and the form `contact` without submissions.
//! `fixtures/forms/README.md` names the sources of the data.

use bytes::Bytes;
use std::time::Duration;

use formsvc_client::types::PublicId;
use formsvc_client::{FormStatus, User};
use formsvc_protocol::FormInstant;
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::fields::Fields;
use formsvc_server::import::{self, ImportFormat, ImportOptions, ImportTimes};
use jiff::Timestamp;

use crate::error::CliError;
use crate::exit::Exit;

/// A form with the submissions of a data set.
struct RealForm {
    public_id: &'static str,
    title: &'static str,
    /// The data set, of which the first `submissions` records are imported: a demo imports them at each start.
    text: &'static str,
    format: ImportFormat,
    submissions: u64,
    /// Submissions that share a millisecond.
    burst: u64,
    /// The text of a missing value.
    null: Option<&'static str>,
    /// The question that a JSON array of texts answers.
    label: Option<&'static str>,
}

impl RealForm {
    const fn csv(public_id: &'static str, title: &'static str, text: &'static str) -> Self {
        let format = ImportFormat::Csv;
        Self { public_id, title, text, format, submissions: 0, burst: 1, null: None, label: None }
    }
}

/// Oldest first; the service lists the newest first.
const REAL_FORMS: [RealForm; 4] = [
    RealForm {
        format: ImportFormat::Json,
        submissions: 461,
        label: Some("What would you like to tell us?"),
        ..RealForm::csv(
            "naughty",
            "Big list of naughty strings",
            include_str!("../../../../fixtures/forms/naughty.json"),
        )
    },
    RealForm {
        submissions: 344,
        null: Some("NA"),
        ..RealForm::csv(
            "penguins",
            "Palmer penguins",
            include_str!("../../../../fixtures/forms/penguins.csv"),
        )
    },
    RealForm {
        format: ImportFormat::Tsv,
        submissions: 944,
        ..RealForm::csv(
            "anes96",
            "American National Election Studies 1996",
            include_str!("../../../../fixtures/forms/anes96.csv"),
        )
    },
    RealForm {
        submissions: 5_000,
        // Not a divisor of the length of a page, for the fault `cursor-millis`.
        burst: 7,
        ..RealForm::csv(
            "randhie",
            "RAND Health Insurance Experiment",
            include_str!("../../../../fixtures/forms/randhie.csv"),
        )
    },
];

/// The submissions of a form are spread over this time before the current day (UTC).
const DAYS: u64 = 180;

/// The fields of a form without submissions.
const CONTACT_FIELDS: &str = include_str!("../../../../examples/contact.json");
const CONTACT: &str = "contact";
const CONTACT_TITLE: &str = "Contact us";

/// The public ids of all forms.
pub(crate) const FORM_NAMES: [&str; REAL_FORMS.len() + 1] = {
    let mut names = [CONTACT; REAL_FORMS.len() + 1];
    let mut at = 0;
    while at < REAL_FORMS.len() {
        names[at] = REAL_FORMS[at].public_id;
        at += 1;
    }
    names
};

/// Creates the forms that the database does not have yet.
pub(super) async fn load(admin: &Admin, owner: &User) -> Result<(), CliError> {
    if let Some(public_id) = wanted(admin, CONTACT).await? {
        let fields = Fields::parse(CONTACT_FIELDS).expect("a test parses them");
        let options = FormOptions {
            public_id: Some(public_id),
            title: CONTACT_TITLE.to_owned(),
            status: FormStatus::Published,
        };
        let made = admin.create_form_with(&owner.id, options, Some(fields), None).await;
        made.map_err(|error| failed(CONTACT, &error))?;
    }
    for form in &REAL_FORMS {
        if let Some(public_id) = wanted(admin, form.public_id).await? {
            import(admin, owner, form, public_id).await?;
        }
    }
    Ok(())
}

/// Returns the public id, unless the database has such a form.
async fn wanted(admin: &Admin, name: &str) -> Result<Option<PublicId>, CliError> {
    let public_id = PublicId::new(name).expect("the names above are public ids");
    let kept = admin.store().form_by_public_id(&public_id).await;
    let kept = kept.map_err(|error| failed(name, &error))?;
    Ok(kept.is_none().then_some(public_id))
}

fn failed(name: &str, error: &dyn std::error::Error) -> CliError {
    let message = format!("cannot load the form `{name}` into the sandbox");
    CliError::new(Exit::LocalIo, message).because(error)
}

async fn import(
    admin: &Admin,
    owner: &User,
    form: &RealForm,
    public_id: PublicId,
) -> Result<(), CliError> {
    let content: Bytes = match form.format {
        ImportFormat::Json => form.text.into(),
        // The labels are in single quotes, and all cells are numbers.
        ImportFormat::Tsv => form.text.replace('\'', "").into(),
        _ => {
            let lines = usize::try_from(form.submissions).unwrap_or(usize::MAX).saturating_add(1);
            form.text.split_inclusive('\n').take(lines).collect::<String>().into()
        }
    };
    let mut options = ImportOptions::new(owner.id.clone(), form.title, form.format);
    options.public_id = Some(public_id);
    options.null = form.null.map(str::to_owned);
    options.label = form.label.map(str::to_owned);
    options.times = Some(times(form, Timestamp::now()));
    let imported = import::form_from_bytes(admin, options, content).await;
    imported.map(drop).map_err(|error| failed(form.public_id, &error))
}

/// Returns the times of the submissions: the last burst is one interval before the current day.
fn times(form: &RealForm, now: Timestamp) -> ImportTimes {
    let span = Duration::from_hours(24 * DAYS);
    let bursts = u32::try_from(form.submissions.div_ceil(form.burst)).unwrap_or(u32::MAX);
    let today = now.as_second().div_euclid(86_400) * 86_400;
    let first = today - i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    let first = FormInstant::from_micros(first * 1_000_000);
    ImportTimes { first, interval: span / bursts, burst: form.burst }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contact_form_has_every_kind_of_field() {
        let fields = Fields::parse(CONTACT_FIELDS).unwrap();
        let mut kinds: Vec<_> =
            fields.defined().unwrap().iter().map(|field| field.kind.name()).collect();
        let mut all = formsvc_server::fields::KINDS.map(|row| row.name);
        kinds.sort_unstable();
        all.sort_unstable();
        assert_eq!(kinds, all);
    }
}
