//! `…/fields`: what a form asks.

use askama::Template;
use formsvc_protocol::FormStatus;
use http::StatusCode;

use super::editor::{Button, Editor};
use super::{Head, Tab, path_of};
use crate::api::{Problem, text_cause};
use crate::dashboard::chrome::{Chrome, Section};
use crate::dashboard::refusal::Refusal;
use crate::dashboard::reply::{self, Outcome};
use crate::dashboard::visit::{Visit, judged, timely};
use crate::fields::{Fields, KINDS, KindRow};
use crate::public::{FieldView, Widget};
use crate::store::{FormChange, PublicForm, Revision, StoreError};

#[derive(Template)]
#[template(path = "dashboard/fields.html")]
struct FieldsPage<'a> {
    chrome: &'a Chrome,
    head: Head,
    editor: &'a Editor,
    kinds: Vec<KindView>,
    /// Which state of the form the rows were begun with.
    revision: i64,
    /// Whether somebody else changed the form since.
    is_stale: bool,
    /// The fields as visitors meet them.
    preview: Option<Vec<FieldView<'a>>>,
}

/// A kind in the list of them.
struct KindView {
    name: &'static str,
    text: &'static str,
}

impl KindView {
    fn of(kind: &KindRow) -> Self {
        let text = match kind.name {
            "text" => "Text, one line",
            "long_text" => "Text, several lines",
            "email" => "E-mail address",
            "number" => "Number",
            "date" => "Date",
            "choice" => "One of several choices",
            "multiple_choice" => "Any of several choices",
            "checkbox" => "Check box",
            other => other,
        };
        Self { name: kind.name, text }
    }
}

struct Shown<'a> {
    editor: &'a Editor,
    revision: Revision,
    is_stale: bool,
    preview: Option<&'a Fields>,
}

fn page(visit: &Visit, found: &PublicForm, status: StatusCode, shown: &Shown<'_>) -> Outcome {
    let preview = shown.preview.map(|fields| {
        let fields = fields.defined().unwrap_or_default().iter().enumerate();
        fields.map(|(place, field)| FieldView::new(place, field, &[], None)).collect()
    });
    let page = FieldsPage {
        chrome: &visit.chrome(Section::Forms),
        head: Head::new(visit, &found.form, Tab::Fields),
        editor: shown.editor,
        kinds: KINDS.iter().map(KindView::of).collect(),
        revision: shown.revision.0,
        is_stale: shown.is_stale,
        preview,
    };
    reply::page_with(status, &page)
}

fn stored(found: &PublicForm) -> Result<Fields, Refusal> {
    let Some(json) = &found.fields else { return Ok(Fields::free()) };
    let unreadable = |error: crate::fields::FieldsError| {
        Problem::internal(text_cause(format!("stored fields are not read: {}", error.place)))
    };
    Ok(Fields::parse(json).map_err(unreadable)?)
}

pub(in crate::dashboard) async fn show(visit: &Visit) -> Outcome {
    let found = visit.whole_form().await?;
    let mut editor = Editor::of(&stored(&found)?);
    // A draft that asks nothing yet: there is a row to begin with.
    if editor.rows.is_empty() && found.form.status == FormStatus::Draft {
        editor.press(Button::Add);
    }
    let revision = found.revision;
    let shown = Shown { editor: &editor, revision, is_stale: false, preview: None };
    page(visit, &found, StatusCode::OK, &shown)
}

pub(in crate::dashboard) async fn change(visit: &Visit) -> Outcome {
    let found = visit.whole_form().await?;
    let mut editor = Editor::sent(&visit.posted);
    let began = visit.posted.get("revision").parse().map_or(found.revision, Revision);
    let button = Button::of(&visit.posted);
    editor.press(button);
    let shown = |editor, preview| Shown { editor, revision: began, is_stale: false, preview };
    let fields = match button {
        Button::Save | Button::Publish => editor.judge(),
        Button::Preview => {
            let fields = editor.judge();
            return page(visit, &found, StatusCode::OK, &shown(&editor, fields.as_ref()));
        }
        _ => return page(visit, &found, StatusCode::OK, &shown(&editor, None)),
    };
    let Some(fields) = fields else {
        return page(visit, &found, StatusCode::UNPROCESSABLE_ENTITY, &shown(&editor, None));
    };
    let store = &visit.dashboard.store;
    let change = FormChange {
        fields: Some(fields.to_json()),
        revision: Some(began),
        ..FormChange::default()
    };
    match judged(store.change_form(&found.form.id, change)).await? {
        Ok(form) => {
            let mut said = "saved";
            if button == Button::Publish {
                let published = FormStatus::Published;
                timely(visit.dashboard.admin.set_form_status(&form.id, published)).await?;
                said = "published";
            }
            Ok(reply::redirect(&format!("{}/fields?said={said}", path_of(&form))))
        }
        Err(StoreError::Changed { .. }) => {
            // What was typed stays; to save it again is to prefer it to what somebody else saved.
            let found = visit.whole_form().await?;
            let revision = found.revision;
            let shown = Shown { editor: &editor, revision, is_stale: true, preview: None };
            page(visit, &found, StatusCode::CONFLICT, &shown)
        }
        Err(other) => Err(other.into()),
    }
}
