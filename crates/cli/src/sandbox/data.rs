//! The forms a sandbox begins with: real ones with what people answered, and one to fill in.
//! `fixtures/forms/README.md` says where the real ones come from.

use bytes::Bytes;
use formsvc_client::types::PublicId;
use formsvc_client::{FormStatus, User};
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::fields::Fields;
use formsvc_server::import::{self, ImportFormat, ImportOptions};

use crate::error::CliError;
use crate::exit::Exit;

/// A form made of a file.
struct RealForm {
    public_id: &'static str,
    title: &'static str,
    content: Content,
}

enum Content {
    /// Comma-separated values, and the text that stands for a missing one.
    Csv(&'static str, Option<&'static str>),
    /// The first 5,000 records of comma-separated values without line breaks in a cell: a demo loads its
    /// forms each time, and 50 pages are enough to show.
    FirstOfCsv(&'static str),
    /// Tab-separated values, labels in single quotes.
    Tabs(&'static str),
    /// A JSON array of texts that answer one question.
    Texts(&'static str, &'static str),
}

/// Listed newest first by the service, so the last one here comes out on top.
const REAL_FORMS: [RealForm; 4] = [
    RealForm {
        public_id: "naughty",
        title: "Big list of naughty strings",
        content: Content::Texts(
            include_str!("../../../../fixtures/forms/naughty.json"),
            "What would you like to tell us?",
        ),
    },
    RealForm {
        public_id: "penguins",
        title: "Palmer penguins",
        content: Content::Csv(include_str!("../../../../fixtures/forms/penguins.csv"), Some("NA")),
    },
    RealForm {
        public_id: "anes96",
        title: "American National Election Studies 1996",
        content: Content::Tabs(include_str!("../../../../fixtures/forms/anes96.csv")),
    },
    RealForm {
        public_id: "randhie",
        title: "RAND Health Insurance Experiment",
        content: Content::FirstOfCsv(include_str!("../../../../fixtures/forms/randhie.csv")),
    },
];

/// A form to fill in: its fields.
const CONTACT_FIELDS: &str = include_str!("../../../../examples/contact.json");
const CONTACT: &str = "contact";
const CONTACT_TITLE: &str = "Contact us";

/// The public ids of all.
pub(crate) const FORM_NAMES: [&str; REAL_FORMS.len() + 1] = {
    let mut names = [CONTACT; REAL_FORMS.len() + 1];
    let mut at = 0;
    while at < REAL_FORMS.len() {
        names[at] = REAL_FORMS[at].public_id;
        at += 1;
    }
    names
};

/// Makes all of them, but for those that a kept database has already: they are left as they are.
pub(super) async fn load(admin: &Admin, owner: &User) -> Result<(), CliError> {
    if let Some(public_id) = wanted(admin, CONTACT).await? {
        let fields = Fields::parse(CONTACT_FIELDS).expect("a test reads them");
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

/// The public id, unless there is such a form already.
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
    let (content, format) = match &form.content {
        Content::Csv(text, _) => (Bytes::from_static(text.as_bytes()), ImportFormat::Csv),
        Content::FirstOfCsv(text) => {
            let records: String = text.split_inclusive('\n').take(5_000 + 1).collect();
            (records.into(), ImportFormat::Csv)
        }
        // All cells are numbers, so that single quotes stand around labels only.
        Content::Tabs(text) => (text.replace('\'', "").into(), ImportFormat::Tsv),
        Content::Texts(text, _) => (Bytes::from_static(text.as_bytes()), ImportFormat::Json),
    };
    let mut options = ImportOptions::new(owner.id.clone(), form.title, format);
    options.public_id = Some(public_id);
    match form.content {
        Content::Csv(_, null) => options.null = null.map(str::to_owned),
        Content::Tabs(_) | Content::FirstOfCsv(_) => {}
        Content::Texts(_, label) => options.label = Some(label.to_owned()),
    }
    let imported = import::form_from_bytes(admin, options, content).await;
    imported.map(drop).map_err(|error| failed(form.public_id, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_to_fill_in_has_every_kind_of_field() {
        let fields = Fields::parse(CONTACT_FIELDS).unwrap();
        let mut kinds: Vec<_> =
            fields.defined().unwrap().iter().map(|field| field.kind.name()).collect();
        let mut all = formsvc_server::fields::KINDS.map(|row| row.name);
        kinds.sort_unstable();
        all.sort_unstable();
        assert_eq!(kinds, all);
    }
}
