//! How a field is shown.

use crate::fields::{Field, FieldKind};

/// Choices up to which they are all shown at once; more are folded into a list.
const CHOICES_SHOWN: usize = 8;

/// A field on the page.
pub(crate) struct FieldView<'a> {
    /// The id of its first input, which its label and the summary of problems point at.
    pub(crate) id: String,
    pub(crate) label: &'a str,
    pub(crate) required: bool,
    pub(crate) help: Option<&'a str>,
    /// Its bounds, as a sentence; an error tells them as well.
    pub(crate) hint: Option<String>,
    /// What is wrong with it, as a sentence.
    pub(crate) error: Option<String>,
    pub(crate) widget: Widget<'a>,
}

/// What a field is filled in with.
pub(crate) enum Widget<'a> {
    Line(Line),
    Area {
        value: String,
    },
    List {
        choices: Vec<ChoiceView<'a>>,
    },
    /// Radio buttons.
    One {
        choices: Vec<ChoiceView<'a>>,
    },
    /// Check boxes.
    Any {
        choices: Vec<ChoiceView<'a>>,
    },
    Box {
        ticked: bool,
    },
}

/// A line to type into.
#[derive(Default)]
pub(crate) struct Line {
    pub(crate) kind: &'static str,
    pub(crate) input_mode: Option<&'static str>,
    pub(crate) autocomplete: Option<&'static str>,
    pub(crate) min: Option<String>,
    pub(crate) max: Option<String>,
    pub(crate) value: String,
}

pub(crate) struct ChoiceView<'a> {
    pub(crate) id: String,
    /// What is sent.
    pub(crate) value: &'a str,
    /// What is shown.
    pub(crate) text: &'a str,
    pub(crate) chosen: bool,
}

/// The id of the first input of a field.
pub(super) fn id_of(place: usize) -> String {
    format!("field-{place}")
}

/// A fragment as a sentence.
pub(super) fn sentence(fragment: &str) -> String {
    let mut characters = fragment.chars();
    let first = characters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(characters).chain(['.']).collect()
}

impl<'a> FieldView<'a> {
    /// The field with what was sent for it, if anything was.
    pub(crate) fn new(
        place: usize,
        field: &'a Field,
        values: &[String],
        error: Option<&str>,
    ) -> Self {
        let id = id_of(place);
        Self {
            widget: widget(&id, field, values),
            label: &field.label,
            required: field.required,
            help: field.help.as_deref(),
            hint: error.is_none().then(|| hint(&field.kind)).flatten(),
            error: error.map(sentence),
            id,
        }
    }

    /// Whether it is a group of inputs with a legend rather than one with a label.
    pub(crate) fn is_group(&self) -> bool {
        matches!(self.widget, Widget::One { .. } | Widget::Any { .. })
    }

    /// The ids of what describes it, for `aria-describedby`; empty when nothing does.
    pub(crate) fn described_by(&self) -> String {
        let parts = [
            ("error", self.error.is_some()),
            ("help", self.help.is_some()),
            ("hint", self.hint.is_some()),
        ];
        let ids = parts.iter().filter(|(_, there)| *there);
        ids.map(|(part, _)| format!("{}-{part}", self.id)).collect::<Vec<_>>().join(" ")
    }
}

/// The bounds of a line of text few meet: they would be told to all for nothing.
fn hint(kind: &FieldKind) -> Option<String> {
    let told = !matches!(kind, FieldKind::Text { .. });
    kind.bounds().filter(|_| told).as_deref().map(sentence)
}

fn widget<'a>(id: &str, field: &'a Field, values: &[String]) -> Widget<'a> {
    let value = values.first().cloned().unwrap_or_default();
    let line = |kind, line: Line| Widget::Line(Line { kind, ..line });
    match &field.kind {
        FieldKind::Text { .. } => line("text", Line { value, ..Line::default() }),
        FieldKind::LongText { .. } => Widget::Area { value },
        FieldKind::Email => {
            line("email", Line { autocomplete: Some("email"), value, ..Line::default() })
        }
        FieldKind::Number { min, .. } => {
            // Not the browser's own number input: it rounds, and drops what it cannot read. The
            // keyboard for numbers has no minus on some telephones.
            let positive = min.as_ref().is_some_and(|min| !min.as_str().starts_with('-'));
            let input_mode = positive.then_some("decimal");
            line("text", Line { input_mode, autocomplete: Some("off"), value, ..Line::default() })
        }
        FieldKind::Date { min, max } => {
            let bound = |bound: &Option<crate::fields::Date>| {
                bound.as_ref().map(|day| day.as_str().to_owned())
            };
            line("date", Line { min: bound(min), max: bound(max), value, ..Line::default() })
        }
        FieldKind::Choice { choices } if choices.len() > CHOICES_SHOWN => {
            Widget::List { choices: choices_of(id, choices, values) }
        }
        FieldKind::Choice { choices } => {
            let mut choices = choices_of(id, choices, values);
            if !field.required {
                // Without it a choice that was made could not be taken back.
                let (id, chosen) = (format!("{id}-none"), false);
                choices.push(ChoiceView { id, value: "", text: "No answer", chosen });
            }
            Widget::One { choices }
        }
        FieldKind::MultipleChoice { choices } => {
            Widget::Any { choices: choices_of(id, choices, values) }
        }
        FieldKind::Checkbox => {
            let ticked = ["on", "true", "yes", "1"].contains(&value.as_str());
            Widget::Box { ticked }
        }
    }
}

fn choices_of<'a>(id: &str, choices: &'a [String], values: &[String]) -> Vec<ChoiceView<'a>> {
    let choice = |(place, text): (usize, &'a String)| ChoiceView {
        id: if place == 0 { id.to_owned() } else { format!("{id}-{place}") },
        value: text,
        text,
        chosen: values.contains(text),
    };
    choices.iter().enumerate().map(choice).collect()
}
