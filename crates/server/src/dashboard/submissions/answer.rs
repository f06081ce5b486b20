//! Answers as a page shows them.

use std::borrow::Cow;
use std::fmt;

use formsvc_protocol::{Answer, Answers, SubmissionId, Timestamp, decode_string};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::api::{Problem, text_cause};
use crate::dashboard::refusal::Refusal;

/// Answers of a row in a list.
const FIRST: usize = 4;
/// Characters of each of them, and of each label.
const FIRST_CHARS: usize = 90;

/// A submission of a page.
#[derive(Deserialize)]
pub(super) struct Row {
    pub(super) id: SubmissionId,
    #[serde(rename = "data")]
    pub(super) answers: Answers,
    pub(super) created_at: Timestamp,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AnswerView {
    pub(super) label: String,
    pub(super) text: String,
    /// Whether there was nothing in it.
    pub(super) is_blank: bool,
}

/// The submissions of a page as a store gives them.
pub(super) fn rows(items: &[u8]) -> Result<Vec<Row>, Refusal> {
    let text = [b"[", items, b"]"].concat();
    // Where it is, and not what: that may hold what somebody answered.
    let unreadable = |error: serde_json::Error| {
        let (kind, column) = (error.classify(), error.column());
        let cause = format!("a page of submissions cannot be read at byte {column}: {kind:?}");
        Problem::internal(text_cause(cause))
    };
    Ok(serde_json::from_slice(&text).map_err(unreadable)?)
}

/// The first answers, cut, and how many more there are. Of a list only as many items are formatted as could be
/// shown.
pub(super) fn first(answers: &Answers) -> (Vec<AnswerView>, usize) {
    let fields = answers.fields();
    let shown = fields.iter().take(FIRST);
    let shown =
        shown.map(|(label, value)| view(&cut(label), cut(&format_items(*value, FIRST_CHARS))));
    (shown.collect(), fields.len().saturating_sub(FIRST))
}

fn cut(text: &str) -> String {
    let mut characters = text.chars();
    let mut cut: String = characters.by_ref().take(FIRST_CHARS).collect();
    if characters.next().is_some() {
        cut.push('…');
    }
    cut
}

/// All of them, whole.
pub(super) fn all(answers: &Answers) -> Vec<AnswerView> {
    let fields = answers.fields();
    fields.iter().map(|(label, value)| view(label, format_answer(*value))).collect()
}

fn view(label: &str, text: String) -> AnswerView {
    let is_blank = text.trim().is_empty();
    AnswerView { label: label.to_owned(), text, is_blank }
}

/// Formats an answer for a page: text without quotation marks, a list of plain values with commas,
/// `yes` and `no`; other lists and objects as JSON.
pub(super) fn format_answer(answer: Answer<'_>) -> String {
    format_items(answer, usize::MAX)
}

/// Formats an answer, but of a list at most so many items.
fn format_items(answer: Answer<'_>, max: usize) -> String {
    let mut json = serde_json::Deserializer::from_str(answer.as_json());
    if let Ok(items) = json.deserialize_seq(FirstItems(max))
        && items.iter().all(|item| !item.get().starts_with(['{', '[']))
    {
        let mut text = String::new();
        for (at, item) in items.iter().enumerate() {
            text.push_str(if at > 0 { ", " } else { "" });
            text.push_str(&format_plain(item.get()));
        }
        return text;
    }
    format_plain(answer.as_json()).into_owned()
}

fn format_plain(json: &str) -> Cow<'_, str> {
    match json {
        "true" => "yes".into(),
        "false" => "no".into(),
        "null" => "".into(),
        other => decode_string(other),
    }
}

/// Reads the first items of a list, at most so many.
struct FirstItems(usize);

impl<'de> Visitor<'de> for FirstItems {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < self.0
            && let Some(item) = list.next_element()?
        {
            items.push(item);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_a_person_reads_them() {
        let answers = r#"{"a":"x \"y\"","b":1.50,"c":true,"d":false,"e":["p","q, r",2],"f":null,
            "g":{"h":[1]},"i":[[1],2],"j":"","k":[]}"#;
        let shown = all(&Answers::parse(answers).unwrap());
        let texts: Vec<_> = shown.iter().map(|answer| answer.text.as_str()).collect();
        let wanted =
            ["x \"y\"", "1.50", "yes", "no", "p, q, r, 2", "", r#"{"h":[1]}"#, "[[1],2]", "", ""];
        assert_eq!(texts, wanted);
        let blank: Vec<_> = shown.iter().map(|answer| answer.is_blank).collect();
        assert_eq!(blank.iter().filter(|blank| **blank).count(), 3);
    }

    #[test]
    fn a_row_of_a_list_has_the_first_answers_cut() {
        let long = "é".repeat(200);
        let json = format!(r#"{{"a":"{long}","{long}":1,"c":2,"d":3,"e":4,"f":5}}"#);
        let (shown, more) = first(&Answers::parse(json).unwrap());
        assert_eq!((shown.len(), more), (4, 2));
        let cut = format!("{}…", "é".repeat(FIRST_CHARS));
        assert_eq!((&shown[0].text, &shown[1].label), (&cut, &cut));
        assert_eq!(first(&Answers::parse("{}").unwrap()), (Vec::new(), 0));
        let list = format!(r#"{{"a":["x",true{}],"b":[1,{{}}]}}"#, ",7".repeat(1_000));
        let (shown, _) = first(&Answers::parse(list).unwrap());
        assert_eq!(shown[0].text, format!("{}…", &format!("x, yes{}", ", 7".repeat(99))[..90]));
        assert_eq!(shown[1].text, "[1,{}]");
    }

    #[test]
    fn a_page_that_cannot_be_read_is_a_fault_with_a_cause_that_tells_no_answer() {
        assert_eq!(rows(b"").ok().map(|rows| rows.len()), Some(0));
        let torn = r#"{"id":"sub_1","data":{"a":"private"},"created_at":"x"}"#;
        for torn in [torn, &torn[..30], "private"] {
            let Err(refusal) = rows(torn.as_bytes()) else { panic!("{torn}") };
            let cause = refusal.cause().unwrap().to_string();
            assert!(cause.contains("cannot be read at byte"), "{cause}");
            assert!(!cause.contains("private"), "{cause}");
        }
    }
}
