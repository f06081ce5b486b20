//! Answers to a form without definitions: whatever was sent.

use std::collections::HashMap;

use formsvc_protocol::Answers;
use formsvc_protocol::limits::FORM_BODY_MAX;
use serde_json::Value;

use super::FIELDS_MAX;
use super::input::{Input, PAGE_ID, Sent, TRAP};
use super::refusal::{FieldError, FieldErrors};
use super::text::typed;
use crate::json_number::{UnfitNumber, unfit_numbers};
use crate::json_text::json_text;
use crate::printable::Excerpt;

/// Longest answers as JSON, in bytes: what escapes make of a body may be six times as long.
const ANSWERS_MAX: usize = 2 * FORM_BODY_MAX;
/// How deep objects and lists may be nested, the object of answers counted.
const DEPTH_MAX: usize = 8;

pub(super) fn answers(input: &Input) -> Result<Answers, FieldErrors> {
    let taken = match input.json() {
        Some(json) => {
            let depth = depth(json.as_json());
            if depth > DEPTH_MAX {
                return Err(FieldErrors::Whole(format!(
                    "the answers are nested {depth} deep, and at most {DEPTH_MAX} is taken"
                )));
            }
            of_json(json)
        }
        None => Taken::Members(of_pairs(input)),
    };
    let count = taken.count();
    if count > FIELDS_MAX {
        return Err(FieldErrors::Whole(format!(
            "the answers have {count} fields, and at most {FIELDS_MAX} are taken"
        )));
    }
    let answers = match taken {
        Taken::AsSent(json, _) => json.clone(),
        Taken::Members(members) => {
            let object = format!("{{{}}}", members.join(","));
            Answers::parse(object).expect("labels and values are JSON")
        }
    };
    let bytes = answers.as_json().len();
    if bytes > ANSWERS_MAX {
        return Err(FieldErrors::Whole(format!(
            "the answers have {bytes} bytes as JSON, and at most {ANSWERS_MAX} are taken"
        )));
    }
    if has_no_text(answers.as_json()) {
        let rule = "the answers have half of a surrogate pair, which stands for no character";
        return Err(FieldErrors::Whole(rule.into()));
    }
    let unfit: Vec<_> = unfit_numbers(&answers)
        .map(|UnfitNumber { label, rule, .. }| FieldError {
            field: Excerpt(&label).to_string(),
            place: None,
            rule,
        })
        .collect();
    if unfit.is_empty() { Ok(answers) } else { Err(FieldErrors::Fields(unfit)) }
}

/// Whether a JSON text has half of a surrogate pair alone, which stands for no character: strict readers
/// refuse it, so that one such submission would make its whole page unreadable to them.
pub(crate) fn has_no_text(json: &str) -> bool {
    let mut rest = json;
    let mut high = false;
    while let Some(at) = rest.find('\\') {
        if high && at > 0 {
            return true;
        }
        let Some(code) = rest[at + 1..].strip_prefix('u').and_then(|hex| hex.get(..4)) else {
            if high {
                return true;
            }
            // Another escape, of one character.
            rest = rest.get(at + 2..).unwrap_or_default();
            continue;
        };
        match (high, u32::from_str_radix(code, 16).unwrap_or_default()) {
            (false, 0xd800..0xdc00) => high = true,
            (true, 0xdc00..0xe000) => high = false,
            (true, _) | (false, 0xdc00..0xe000) => return true,
            (false, _) => {}
        }
        rest = &rest[at + 6..];
    }
    high
}

/// Names that are ours.
const RESERVED: [&str; 2] = [TRAP, PAGE_ID];

fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// What is taken of what was sent.
enum Taken<'a> {
    /// An object of so many members as it was sent, white space and all.
    AsSent(&'a Answers, usize),
    /// These members, as JSON spells them.
    Members(Vec<String>),
}

impl Taken<'_> {
    fn count(&self) -> usize {
        match self {
            Self::AsSent(_, count) => *count,
            Self::Members(members) => members.len(),
        }
    }
}

/// Takes an object without the reserved names.
fn of_json(answers: &Answers) -> Taken<'_> {
    let fields = answers.fields();
    // A label without text cannot be written again; such answers are refused as a whole.
    let has_reserved = fields.iter().any(|(label, _)| is_reserved(label));
    if !has_reserved || has_no_text(answers.as_json()) {
        return Taken::AsSent(answers, fields.len());
    }
    let members = fields.iter().filter(|(label, _)| !is_reserved(label));
    let members = members.map(|(label, value)| format!("{}:{}", json_text(label), value.as_json()));
    Taken::Members(members.collect())
}

/// Each name with its text, or with an array of them when it stands several times, in the order of
/// their first.
fn of_pairs(input: &Input) -> Vec<String> {
    let values = input.values();
    let mut places = HashMap::new();
    let mut answers: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, value) in &values {
        let Sent::Text(text) = value else { continue };
        if is_reserved(name) {
            continue;
        }
        let place = *places.entry(&**name).or_insert_with(|| {
            answers.push((name, Vec::new()));
            answers.len() - 1
        });
        answers[place].1.push(typed(text).into_owned());
    }
    let answers = answers.into_iter().map(|(name, mut texts)| {
        let value = match texts.len() {
            1 => json_text(&texts.remove(0)),
            _ => Value::from(texts).to_string(),
        };
        format!("{}:{value}", json_text(name))
    });
    answers.collect()
}

/// How deep a JSON text nests objects and lists.
pub(crate) fn depth(json: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_without_a_character_is_found_and_a_pair_is_not_one() {
        for good in [r#"{"a":"\ud83e\udd80 \u00e9 \\u0000 \"\n"}"#, "{}", r#"{"\\":"d800"}"#] {
            assert!(!has_no_text(good), "{good}");
        }
        for bad in [
            r#"{"a":"\ud800"}"#,
            r#"{"a":"\udc00"}"#,
            r#"{"a":"\ud800x\udc00"}"#,
            r#"{"a":"\ud800\n"}"#,
            r#"{"a":"\ud800\ud800\udc00"}"#,
        ] {
            assert!(has_no_text(bad), "{bad}");
        }
    }

    #[test]
    fn depth_counts_brackets_outside_of_texts() {
        for (json, deep) in [
            ("{}", 1),
            (r#"{"a":1,"b":[]}"#, 2),
            (r#"{"[[[":"{{{\"[[","b":{"c":[[]]},"d":[]}"#, 4),
            (r#"{"a":"\\","b":[[]]}"#, 3),
        ] {
            assert_eq!(depth(json), deep, "{json}");
        }
    }
}
