//! The forms of a sandbox: four data sets, and the form `contact` without submissions.
//! `fixtures/forms/README.md` names the sources of the data.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::types::PublicId;
use formsvc_client::{FormStatus, User};
use formsvc_protocol::FormInstant;
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::fields::Fields;
use formsvc_server::import::{self, ImportFormat, ImportOptions, ImportTimes};
use jiff::Timestamp;

use super::failed;
use crate::error::CliError;

/// A form with the submissions of a data set.
struct DataSet {
    public_id: &'static str,
    title: &'static str,
    text: &'static str,
    format: ImportFormat,
    /// Number of records that are imported. Each demo imports them anew.
    submissions: u32,
    /// Number of consecutive submissions in the same millisecond. The fault `cursor-millis` needs more than one
    /// page of them.
    burst: u32,
    /// The text of a missing value.
    null: Option<&'static str>,
    /// The label of the answers, for a JSON array of texts.
    label: Option<&'static str>,
}

/// Oldest first; the service lists the newest first.
const DATA_SETS: [DataSet; 4] = [
    DataSet {
        public_id: "naughty",
        title: "Big list of naughty strings",
        text: include_str!("../../../../fixtures/forms/naughty.json"),
        format: ImportFormat::Json,
        submissions: 461,
        burst: 1,
        null: None,
        label: Some("What would you like to tell us?"),
    },
    DataSet {
        public_id: "penguins",
        title: "Palmer penguins",
        text: include_str!("../../../../fixtures/forms/penguins.csv"),
        format: ImportFormat::Csv,
        submissions: 344,
        burst: 1,
        null: Some("NA"),
        label: None,
    },
    DataSet {
        public_id: "anes96",
        title: "American National Election Studies 1996",
        text: include_str!("../../../../fixtures/forms/anes96.csv"),
        format: ImportFormat::Tsv,
        submissions: 944,
        burst: 1,
        null: None,
        label: None,
    },
    DataSet {
        public_id: "randhie",
        title: "RAND Health Insurance Experiment",
        text: include_str!("../../../../fixtures/forms/randhie.csv"),
        format: ImportFormat::Csv,
        submissions: 5_000,
        burst: 107,
        null: None,
        label: None,
    },
];

/// The submissions of a form are spread over this time before the current day (UTC).
const SPAN: Duration = Duration::from_secs(180 * 86_400);

/// The fields of the form without submissions.
const CONTACT_FIELDS: &str = include_str!("../../../../examples/contact.json");
const CONTACT: &str = "contact";

/// The public ids of all forms.
pub(crate) const FORM_NAMES: [&str; DATA_SETS.len() + 1] = {
    let [naughty, penguins, anes96, randhie] = &DATA_SETS;
    [CONTACT, naughty.public_id, penguins.public_id, anes96.public_id, randhie.public_id]
};

/// Creates the forms that the database does not have yet.
pub(super) async fn load(admin: &Admin, owner: &User) -> Result<(), CliError> {
    for name in FORM_NAMES {
        load_form(admin, owner, name).await.map_err(|error| {
            failed(format!("cannot load the form `{name}` into the sandbox")).because(&*error)
        })?;
    }
    Ok(())
}

async fn load_form(admin: &Admin, owner: &User, name: &str) -> Result<(), Box<dyn Error>> {
    let public_id = PublicId::new(name)?;
    if admin.store().form_by_public_id(&public_id).await?.is_some() {
        return Ok(());
    }
    if let Some(data) = DATA_SETS.iter().find(|data| data.public_id == name) {
        let mut options = ImportOptions::new(owner.id.clone(), data.title, data.format);
        options.public_id = Some(public_id);
        options.null = data.null.map(str::to_owned);
        options.label = data.label.map(str::to_owned);
        options.times = Some(data.times(Timestamp::now()));
        import::form_from_bytes(admin, options, data.content()).await?;
    } else {
        let (title, status) = ("Contact us".to_owned(), FormStatus::Published);
        let options = FormOptions { public_id: Some(public_id), title, status };
        let fields = Some(Fields::parse(CONTACT_FIELDS)?);
        admin.create_form_with(&owner.id, options, fields, None).await?;
    }
    Ok(())
}

impl DataSet {
    fn content(&self) -> Bytes {
        match self.format {
            ImportFormat::Json => self.text.into(),
            // The labels are in single quotes, and all cells are numbers.
            ImportFormat::Tsv => self.text.replace('\'', "").into(),
            _ => {
                let lines = self.text.split_inclusive('\n').take(self.submissions as usize + 1);
                lines.collect::<String>().into()
            }
        }
    }

    /// Returns the times of the submissions: the last burst is one interval before the current day.
    fn times(&self, now: Timestamp) -> ImportTimes {
        let today = now.as_second().div_euclid(86_400) * 86_400;
        let first = FormInstant::from_micros(today * 1_000_000);
        let first = first.micros().saturating_sub_unsigned(SPAN.as_secs() * 1_000_000);
        ImportTimes {
            first: FormInstant::from_micros(first),
            interval: SPAN / self.submissions.div_ceil(self.burst),
            burst: self.burst.into(),
        }
    }
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
