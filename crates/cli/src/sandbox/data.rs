//! The real forms a sandbox begins with; `fixtures/forms/README.md` says where they come from.

use bytes::Bytes;
use formsvc_client::{PublicId, User};
use formsvc_server::admin::Admin;
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
        content: Content::Csv(include_str!("../../../../fixtures/forms/randhie.csv"), None),
    },
];

/// Their public ids.
pub(crate) const REAL_FORM_NAMES: [&str; REAL_FORMS.len()] = {
    let mut names = [""; REAL_FORMS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = REAL_FORMS[at].public_id;
        at += 1;
    }
    names
};

/// Makes the real forms, those that a kept database has already left as they are.
pub(super) async fn load(admin: &Admin, owner: &User) -> Result<(), CliError> {
    for form in &REAL_FORMS {
        let public_id = PublicId::new(form.public_id).expect("the names above are public ids");
        let failed = |error: &dyn std::error::Error| {
            let message = format!("cannot load the form `{}` into the sandbox", form.public_id);
            CliError::new(Exit::LocalIo, message).because(error)
        };
        let kept = admin.store().form_by_public_id(&public_id).await;
        if kept.map_err(|error| failed(&error))?.is_some() {
            continue;
        }
        let (content, format) = match &form.content {
            Content::Csv(text, _) => (Bytes::from_static(text.as_bytes()), ImportFormat::Csv),
            // All cells are numbers, so that single quotes stand around labels only.
            Content::Tabs(text) => (text.replace('\'', "").into(), ImportFormat::Tsv),
            Content::Texts(text, _) => (Bytes::from_static(text.as_bytes()), ImportFormat::Json),
        };
        let mut options = ImportOptions::new(owner.id.clone(), form.title, format);
        options.public_id = Some(public_id);
        match form.content {
            Content::Csv(_, null) => options.null = null.map(str::to_owned),
            Content::Tabs(_) => {}
            Content::Texts(_, label) => options.label = Some(label.to_owned()),
        }
        import::form_from_bytes(admin, options, content).await.map_err(|error| failed(&error))?;
    }
    Ok(())
}
