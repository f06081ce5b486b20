//! The editor of fields, without I/O: its rows as the browser sent them, what a button does to them,
//! and the definitions they stand for.
//!
//! The state is in the page: each button but "Save" only shows it again, changed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::dashboard::pairs::Pairs;
use crate::fields::{FIELDS_MAX, Field, FieldKind, Fields, FieldsError, KINDS};

/// A field as it is typed, right or wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) label: String,
    pub(super) kind: String,
    pub(super) required: bool,
    pub(super) help: String,
    pub(super) max_length: String,
    pub(super) min: String,
    pub(super) max: String,
    /// One a line.
    pub(super) choices: String,
    /// What is wrong with it, as a sentence.
    pub(super) problem: Option<String>,
}

/// A button of the editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Button {
    Save,
    /// Saves, and then publishes.
    Publish,
    Preview,
    Add,
    Up(usize),
    Down(usize),
    Remove(usize),
}

impl Button {
    /// The button that was pressed. Anything else shows the page again.
    pub(super) fn of(pairs: &Pairs) -> Self {
        let pressed = pairs.get("do");
        let (name, row) = pressed.split_once(':').unwrap_or((pressed, ""));
        match (name, row.parse()) {
            ("save", _) => Self::Save,
            ("publish", _) => Self::Publish,
            ("add", _) => Self::Add,
            ("up", Ok(row)) => Self::Up(row),
            ("down", Ok(row)) => Self::Down(row),
            ("remove", Ok(row)) => Self::Remove(row),
            _ => Self::Preview,
        }
    }
}

/// The rows of the editor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Editor {
    pub(super) rows: Vec<Row>,
    /// What is wrong with the whole.
    pub(super) problem: Option<String>,
}

impl Editor {
    /// The rows of fields that are stored.
    pub(super) fn of(fields: &Fields) -> Self {
        let rows = fields.defined().unwrap_or_default().iter().map(row_of).collect();
        Self { rows, problem: None }
    }

    /// The rows as they were sent: `f0.label`, `f0.type`, `f1.label`, …, in the order of the numbers.
    pub(super) fn sent(pairs: &Pairs) -> Self {
        let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
        for (name, value) in pairs.iter() {
            let Some((number, part)) = name.strip_prefix('f').and_then(|name| name.split_once('.'))
            else {
                continue;
            };
            let Ok(number) = number.parse::<usize>() else { continue };
            // One row more than there may be is enough to say so.
            if rows.len() > FIELDS_MAX && !rows.contains_key(&number) {
                continue;
            }
            set(rows.entry(number).or_default(), part, value);
        }
        Self { rows: rows.into_values().collect(), problem: None }
    }

    /// Does what a button says; saving and showing are not done here.
    pub(super) fn press(&mut self, button: Button) {
        let len = self.rows.len();
        match button {
            Button::Add if len < FIELDS_MAX => {
                self.rows.push(Row { kind: KINDS[0].name.to_owned(), ..Row::default() });
            }
            Button::Add => self.problem = Some(format!("A form has at most {FIELDS_MAX} fields.")),
            Button::Up(row) if row > 0 && row < len => self.rows.swap(row, row - 1),
            Button::Down(row) if row + 1 < len => self.rows.swap(row, row + 1),
            Button::Remove(row) if row < len => {
                self.rows.remove(row);
            }
            _ => {}
        }
    }

    /// The fields that the rows stand for; none make a form that takes anything. Where a rule is broken
    /// the rows that break it say so.
    pub(super) fn judge(&mut self) -> Option<Fields> {
        if self.rows.is_empty() {
            return Some(Fields::free());
        }
        for row in &mut self.rows {
            let alone = Fields::parse(&format!("[{}]", definition(row)));
            row.problem = alone.err().as_ref().map(sentence);
        }
        if self.rows.iter().any(|row| row.problem.is_some()) {
            return None;
        }
        let all: Vec<_> = self.rows.iter().map(definition).collect();
        match Fields::parse(&format!("[{}]", all.join(","))) {
            Ok(fields) => Some(fields),
            Err(error) => {
                let number = error.place.strip_prefix("field ");
                let number = number.and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
                match number.and_then(|number| self.rows.get_mut(number.wrapping_sub(1))) {
                    Some(row) => row.problem = Some(sentence(&error)),
                    None => self.problem = Some(sentence(&error)),
                }
                None
            }
        }
    }

    /// Whether anything is wrong.
    pub(super) fn is_wrong(&self) -> bool {
        self.problem.is_some() || self.rows.iter().any(|row| row.problem.is_some())
    }
}

fn set(row: &mut Row, part: &str, value: &str) {
    match part {
        "label" => value.trim().clone_into(&mut row.label),
        "type" => value.clone_into(&mut row.kind),
        "required" => row.required = true,
        "help" => value.trim().clone_into(&mut row.help),
        "max_length" => value.trim().clone_into(&mut row.max_length),
        "min" => value.trim().clone_into(&mut row.min),
        "max" => value.trim().clone_into(&mut row.max),
        "choices" => value.replace("\r\n", "\n").clone_into(&mut row.choices),
        _ => {}
    }
}

fn row_of(field: &Field) -> Row {
    let mut row = Row {
        label: field.label.clone(),
        kind: field.kind.name().to_owned(),
        required: field.required,
        help: field.help.clone().unwrap_or_default(),
        ..Row::default()
    };
    match &field.kind {
        FieldKind::Text { max_length } | FieldKind::LongText { max_length } => {
            row.max_length = max_length.to_string();
        }
        FieldKind::Number { min, max } => {
            let text = |bound: &Option<crate::fields::Number>| {
                bound.as_ref().map(|bound| bound.as_str().to_owned()).unwrap_or_default()
            };
            (row.min, row.max) = (text(min), text(max));
        }
        FieldKind::Date { min, max } => {
            let text = |bound: &Option<crate::fields::Date>| {
                bound.as_ref().map(|bound| bound.as_str().to_owned()).unwrap_or_default()
            };
            (row.min, row.max) = (text(min), text(max));
        }
        FieldKind::Choice { choices } | FieldKind::MultipleChoice { choices } => {
            row.choices = choices.join("\n");
        }
        FieldKind::Email | FieldKind::Checkbox => {}
    }
    row
}

/// A row as an operator writes it. What its kind has no use for is left out, so that whoever changes the
/// kind back finds it still there.
fn definition(row: &Row) -> String {
    let mut written = Map::new();
    written.insert("label".into(), row.label.as_str().into());
    written.insert("type".into(), row.kind.as_str().into());
    written.insert("required".into(), row.required.into());
    if !row.help.is_empty() {
        written.insert("help".into(), row.help.as_str().into());
    }
    let known = KINDS.iter().find(|known| known.name == row.kind);
    for &option in known.map(|known| known.options).unwrap_or_default() {
        let text = match option {
            "max_length" => &row.max_length,
            "min" => &row.min,
            "max" => &row.max,
            _ => {
                let lines = row.choices.lines().map(str::trim).filter(|line| !line.is_empty());
                written.insert(option.into(), lines.collect::<Vec<_>>().into());
                continue;
            }
        };
        if text.is_empty() {
            continue;
        }
        // A bound is read the same with or without quotes; a length that is no number breaks its rule.
        let length = (option == "max_length").then(|| text.parse::<u32>().ok()).flatten();
        written.insert(option.into(), length.map_or(Value::from(text.as_str()), Value::from));
    }
    Value::Object(written).to_string()
}

/// What is wrong, for the page: where it is, is where the sentence stands.
fn sentence(error: &FieldsError) -> String {
    if error.value.trim().is_empty() && error.rule.starts_with("is no label") {
        return "A field needs a label.".to_owned();
    }
    format!("`{}` {}.", error.value, error.rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = r#"[
        {"label":"Name","type":"text","required":true,"help":"As you like","max_length":80},
        {"label":"Message","type":"long_text"},
        {"label":"E-mail","type":"email"},
        {"label":"Guests","type":"number","min":1,"max":8.50},
        {"label":"Day","type":"date","min":"2026-01-01"},
        {"label":"Size","type":"choice","choices":["S","M \"x\""]},
        {"label":"Colours","type":"multiple_choice","choices":["red","green"]},
        {"label":"Terms","type":"checkbox","required":true}
    ]"#;

    /// The rows as a browser sends them.
    fn send(editor: &Editor) -> Pairs {
        let mut body = form_urlencoded::Serializer::new(String::new());
        for (n, row) in editor.rows.iter().enumerate() {
            for (part, value) in [
                ("label", &row.label),
                ("type", &row.kind),
                ("help", &row.help),
                ("max_length", &row.max_length),
                ("min", &row.min),
                ("max", &row.max),
                ("choices", &row.choices.replace('\n', "\r\n")),
            ] {
                body.append_pair(&format!("f{n}.{part}"), value);
            }
            if row.required {
                body.append_pair(&format!("f{n}.required"), "on");
            }
        }
        Pairs::decode(body.finish().as_bytes()).unwrap()
    }

    fn rows(labels: &[&str]) -> Editor {
        let row =
            |label: &&str| Row { label: (*label).into(), kind: "text".into(), ..Row::default() };
        Editor { rows: labels.iter().map(row).collect(), problem: None }
    }

    fn labels(editor: &Editor) -> String {
        editor.rows.iter().map(|row| row.label.as_str()).collect()
    }

    #[test]
    fn stored_fields_come_back_through_the_editor_as_they_were() {
        let fields = Fields::parse(ALL).unwrap();
        let mut editor = Editor::sent(&send(&Editor::of(&fields)));
        assert_eq!(editor, Editor::of(&fields));
        assert_eq!(editor.judge().unwrap(), fields);
        assert!(!editor.is_wrong());
    }

    #[test]
    fn buttons_move_add_and_remove_rows_and_touch_nothing_else() {
        let pressed = |button| {
            let mut editor = rows(&["a", "b", "c"]);
            editor.press(button);
            labels(&editor)
        };
        for (button, after) in [
            (Button::Up(1), "bac"),
            (Button::Up(0), "abc"),
            (Button::Down(1), "acb"),
            (Button::Down(2), "abc"),
            (Button::Remove(1), "ac"),
            (Button::Add, "abc"),
            (Button::Up(3), "abc"),
            (Button::Down(usize::MAX - 1), "abc"),
            (Button::Remove(3), "abc"),
            (Button::Preview, "abc"),
            (Button::Save, "abc"),
        ] {
            assert_eq!(pressed(button), after, "{button:?}");
        }
        let mut editor = rows(&["a"]);
        editor.press(Button::Add);
        assert_eq!((editor.rows.len(), editor.rows[1].kind.as_str()), (2, "text"));
    }

    #[test]
    fn a_button_is_read_from_its_name() {
        for (sent, button) in [
            ("do=save", Button::Save),
            ("do=publish", Button::Publish),
            ("do=up%3A3", Button::Up(3)),
            ("do=down:0", Button::Down(0)),
            ("do=remove:12", Button::Remove(12)),
            ("do=add", Button::Add),
            ("do=up:-1", Button::Preview),
            ("do=drop", Button::Preview),
            ("", Button::Preview),
        ] {
            let pairs = Pairs::decode(sent.as_bytes()).unwrap();
            assert_eq!(Button::of(&pairs), button, "{sent}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_at_its_row() {
        let mut editor = rows(&["", "fine", "fine", "Guests", "Size"]);
        editor.rows[3].kind = "number".into();
        editor.rows[3].min = "two".into();
        editor.rows[4].kind = "choice".into();
        assert!(editor.judge().is_none());
        let wrong: Vec<_> = editor.rows.iter().map(|row| row.problem.is_some()).collect();
        assert_eq!(wrong, [true, false, false, true, true]);
        assert_eq!(editor.rows[0].problem.as_deref(), Some("A field needs a label."));
        let mut twice = rows(&["fine", "fine"]);
        assert!(twice.judge().is_none());
        assert!(twice.rows[1].problem.as_deref().unwrap().contains("already"));
        assert!(twice.rows[0].problem.is_none());
        let mut long = rows(&["a"]);
        long.rows[0].max_length = "many".into();
        assert!(long.judge().is_none() && long.is_wrong());
        let mut unknown = rows(&["a"]);
        unknown.rows[0].kind = "file".into();
        assert!(unknown.judge().is_none());
    }

    #[test]
    fn no_rows_take_anything() {
        assert_eq!(Editor::default().judge(), Some(Fields::free()));
    }

    #[test]
    fn what_a_kind_has_no_use_for_does_no_harm() {
        let mut editor = rows(&["a"]);
        editor.rows[0].choices = "x\ny".into();
        editor.rows[0].min = "nonsense".into();
        assert!(editor.judge().is_some());
        assert_eq!(editor.rows[0].choices, "x\ny", "it is there when the kind is changed back");
    }

    #[test]
    fn more_rows_than_a_form_may_have_are_refused_and_not_kept() {
        let many: Vec<_> = (0..400).map(|n| n.to_string()).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let mut sent = Editor::sent(&send(&rows(&many)));
        assert_eq!(sent.rows.len(), FIELDS_MAX + 1);
        assert!(sent.judge().is_none() && sent.problem.is_some());
    }
}
