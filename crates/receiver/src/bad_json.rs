//! Where and how a body fails to be an event, told without any of its text.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// Where and how a signed body fails to be an event (SPEC §6). Holds no text of the body: of its
/// members only those that the specification names are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadJson {
    member: Option<&'static str>,
    problem: JsonProblem,
    line: usize,
    column: usize,
}

/// How a body fails to be an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonProblem {
    /// It is not UTF-8.
    NotText,
    /// It is not JSON.
    Syntax,
    /// It ends too early.
    Truncated,
    /// A member is missing.
    Missing,
    /// A member, or the whole, is not of the kind or form that the specification gives it.
    WrongShape,
}

/// The members of an event (SPEC §6): what a message may name.
const MEMBERS: [&str; 6] =
    ["event", "submission_id", "form_id", "form_title", "data", "created_at"];

impl BadJson {
    /// The JSON path of the member at fault, such as `form_title`; `.` for the whole body, or for
    /// what stands in a member that the specification does not know.
    pub fn path(&self) -> &str {
        self.member.unwrap_or(".")
    }

    /// What is wrong.
    pub fn problem(&self) -> JsonProblem {
        self.problem
    }

    /// The line where reading stopped, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column where reading stopped, in bytes from 1; 0 at the very start of a line.
    pub fn column(&self) -> usize {
        self.column
    }

    pub(crate) fn not_text(body: &[u8], valid_up_to: usize) -> Self {
        let before = &body[..valid_up_to];
        let line = before.split(|byte| *byte == b'\n').count();
        let column = before.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len) + 1;
        Self { member: None, problem: JsonProblem::NotText, line, column }
    }

    pub(crate) fn not_an_object() -> Self {
        Self { member: None, problem: JsonProblem::WrongShape, line: 1, column: 1 }
    }

    /// Why a text is no `T`. Reads it a second time, noting where it is: only failures pay for that.
    pub(crate) fn find<T: DeserializeOwned>(text: &str) -> Self {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let result: Result<T, _> = serde_path_to_error::deserialize(&mut deserializer);
        let (path, error) = match result {
            Err(error) => (error.path().to_string(), error.into_inner()),
            // The event itself is fine; it is what follows that is not JSON.
            Ok(_) => match deserializer.end() {
                Err(error) => (String::new(), error),
                Ok(()) => return Self::not_an_object(),
            },
        };
        let missing = missing_member(&error);
        let step = path.split(['.', '[']).next().unwrap_or_default();
        let member = missing.or_else(|| MEMBERS.into_iter().find(|member| *member == step));
        let problem = match error.classify() {
            Category::Data if missing.is_some() => JsonProblem::Missing,
            Category::Data => JsonProblem::WrongShape,
            Category::Eof => JsonProblem::Truncated,
            Category::Syntax | Category::Io => JsonProblem::Syntax,
        };
        Self { member, problem, line: error.line(), column: error.column() }
    }
}

/// The member that an error says is missing. The parser tells it by its message alone, whose words
/// are of the type and never of the body.
fn missing_member(error: &serde_json::Error) -> Option<&'static str> {
    let message = error.to_string();
    let name = message.strip_prefix("missing field `")?.split('`').next()?;
    MEMBERS.into_iter().find(|member| *member == name)
}

impl fmt::Display for BadJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.problem {
            JsonProblem::NotText => "is not UTF-8",
            JsonProblem::Syntax => "is not JSON",
            JsonProblem::Truncated => "ends too early",
            JsonProblem::Missing => "is missing",
            JsonProblem::WrongShape => "has not the shape it should have",
        };
        match self.member {
            Some(member) => write!(f, "`{member}` {what}")?,
            None => write!(f, "the text {what}")?,
        }
        write!(f, ", seen at line {}, column {}", self.line, self.column)
    }
}

impl std::error::Error for BadJson {}

#[cfg(test)]
mod tests {
    use formsvc_protocol::WebhookEvent;

    use super::*;

    const GOOD: &str = r#"{"event":"submission.created","submission_id":"sub_1","form_id":"frm_1",
"form_title":"T","data":{},"created_at":"2026-01-31T09:30:00.120Z"}"#;

    fn found(text: &str) -> (String, JsonProblem) {
        let error = BadJson::find::<WebhookEvent>(text);
        (error.path().to_owned(), error.problem())
    }

    #[test]
    fn every_member_of_an_event_is_named_when_it_is_missing_or_of_another_kind() {
        let tree: serde_json::Value = serde_json::from_str(GOOD).unwrap();
        assert_eq!(tree.as_object().unwrap().len(), MEMBERS.len());
        for member in MEMBERS {
            let mut without = tree.clone();
            without.as_object_mut().unwrap().remove(member).expect(member);
            assert_eq!(found(&without.to_string()), (member.to_owned(), JsonProblem::Missing));
            let mut other = tree.clone();
            other[member] = 7.into();
            assert_eq!(found(&other.to_string()), (member.to_owned(), JsonProblem::WrongShape));
        }
    }

    #[test]
    fn no_text_of_the_body_is_told() {
        let mut bodies = vec![
            GOOD.replace("sub_1", "hunter 2"),
            GOOD.replace("2026-01-31T09:30:00.120Z", "hunter2"),
            GOOD.replace("{}", "\"hunter2\""),
            GOOD.replace("{}", "{\"hunter2\":hunter2}"),
            GOOD.replace("\"T\"", "{\"hunter2\":1}"),
            GOOD.replacen('{', r#"{"hunter2":hunter2,"#, 1),
            GOOD.replacen('{', r#"{"hunter2":{"hunter2":[hunter2]},"#, 1),
            GOOD.replacen('{', r#"{"data":{"hunter2":1},"#, 1),
            format!("{GOOD}hunter2"),
            "\"hunter2\"".to_owned(),
            "hunter2".to_owned(),
        ];
        bodies.extend((0..GOOD.len()).map(|end| GOOD[..end].replace("sub_1", "hunter2")));
        for body in bodies {
            let error = BadJson::find::<WebhookEvent>(&body);
            for told in [error.to_string(), format!("{error:?}"), error.path().to_owned()] {
                assert!(!told.contains("hunter"), "{body}: {told}");
            }
        }
    }

    #[test]
    fn where_reading_stopped_is_told() {
        let told = |text: &str| BadJson::find::<WebhookEvent>(text).to_string();
        assert_eq!(
            told(&GOOD.replace("\"T\"", "7")),
            "`form_title` has not the shape it should have, seen at line 2, column 14"
        );
        assert_eq!(
            told(GOOD.split_at(88).0),
            "`form_title` ends too early, seen at line 2, column 15"
        );
        assert_eq!(told(&format!("{GOOD} x")), "the text is not JSON, seen at line 2, column 69");
        assert_eq!(
            BadJson::not_text(b"{\n\"a\xff", 4).to_string(),
            "the text is not UTF-8, seen at line 2, column 3"
        );
    }
}
