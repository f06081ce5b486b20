//! Events as they were signed, with their exact text.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use bytes::Bytes;
use formsvc_protocol::{EventKind, WebhookEvent};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::BadJson;

/// An event (SPEC §6), of a kind this release knows or of a later one.
///
/// Holds the exact JSON text it came as, shared with the body and not copied. Serializing an event
/// writes that text, so members and kinds that this release does not know survive being stored and
/// read again.
///
/// ```
/// use formsvc_receiver::Event;
/// let event = Event::from_json(r#"{"event":"form.closed","form_id":"frm_1"}"#)?;
/// assert_eq!(event.kind(), "form.closed");
/// assert!(matches!(event, Event::Unknown(_)));
/// # Ok::<(), formsvc_receiver::BadJson>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A submission was made to a form.
    SubmissionCreated(SubmissionCreated),
    /// An event of a kind this release does not know.
    Unknown(UnknownEvent),
}

/// A submission was made to a form: kind `submission.created` (SPEC §6). Its members are those of
/// [`WebhookEvent`], to which it dereferences.
#[derive(Clone)]
pub struct SubmissionCreated {
    fields: WebhookEvent,
    json: JsonText,
}

/// An event of a kind this release does not know, as exact text.
#[derive(Clone, PartialEq, Eq)]
pub struct UnknownEvent {
    kind: Box<str>,
    json: JsonText,
}

/// JSON text without space around it, shared with the body it came in.
#[derive(Clone, PartialEq, Eq)]
struct JsonText(Bytes);

impl JsonText {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("was text when it was parsed, and does not change")
    }
}

impl Event {
    /// Reads an event from the text that [`as_json`](Self::as_json) gave, such as from a queue. This
    /// verifies no signature: only [`Verified`](crate::Verified) tells that the service sent it.
    ///
    /// Members that this release does not know are kept. What is no JSON object, has no `event`, or is
    /// of a known kind with a member missing or of another shape, is a [`BadJson`].
    pub fn from_json(json: impl Into<Bytes>) -> Result<Self, BadJson> {
        let json: Bytes = json.into();
        let text = std::str::from_utf8(&json)
            .map_err(|error| BadJson::not_text(&json, error.valid_up_to()))?;
        let exact = text.trim_matches([' ', '\t', '\r', '\n']);
        // The parser would read an array as the members in their order.
        if exact.starts_with('[') {
            return Err(BadJson::not_an_object());
        }
        let known: Option<WebhookEvent> = serde_json::from_str(text).ok();
        if let Some(fields) = known.filter(|fields| fields.event == EventKind::SubmissionCreated) {
            let json = JsonText(json.slice_ref(exact.as_bytes()));
            return Ok(Self::SubmissionCreated(SubmissionCreated { fields, json }));
        }
        let kind = kind_of(text)?;
        if EventKind::from(&*kind) == EventKind::SubmissionCreated {
            return Err(BadJson::find::<WebhookEvent>(text));
        }
        let (kind, json) = (kind.into(), JsonText(json.slice_ref(exact.as_bytes())));
        Ok(Self::Unknown(UnknownEvent { kind, json }))
    }

    /// The kind as it stands in the body, such as `submission.created`. Of an unknown event it is
    /// any text the service chose.
    pub fn kind(&self) -> &str {
        match self {
            Self::SubmissionCreated(event) => event.event.as_str(),
            Self::Unknown(event) => event.kind(),
        }
    }

    /// The exact text of the event: the body, without space around it.
    pub fn as_json(&self) -> &str {
        match self {
            Self::SubmissionCreated(event) => event.as_json(),
            Self::Unknown(event) => event.as_json(),
        }
    }
}

/// The kind of an event of which nothing else is known.
fn kind_of(text: &str) -> Result<Cow<'_, str>, BadJson> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        event: Cow<'a, str>,
    }
    #[derive(Deserialize)]
    struct OwnedKind {
        #[serde(rename = "event")]
        _event: String,
    }
    let kind: Result<Kind<'_>, _> = serde_json::from_str(text);
    kind.map(|kind| kind.event).map_err(|_| BadJson::find::<OwnedKind>(text))
}

impl SubmissionCreated {
    /// The exact text of the event: the body, without space around it.
    pub fn as_json(&self) -> &str {
        self.json.as_str()
    }

    /// The members this release knows.
    pub fn into_fields(self) -> WebhookEvent {
        self.fields
    }

    /// The event as a type of the caller's, for members that this release does not know. For the
    /// answers there is [`Answers::to`](formsvc_protocol::Answers::to).
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_json())
    }
}

impl Deref for SubmissionCreated {
    type Target = WebhookEvent;
    fn deref(&self) -> &WebhookEvent {
        &self.fields
    }
}

impl PartialEq for SubmissionCreated {
    /// Equal text, not equal meaning.
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl Eq for SubmissionCreated {}

impl UnknownEvent {
    /// The kind as it stands in the body: any text.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The exact text of the event: the body, without space around it.
    pub fn as_json(&self) -> &str {
        self.json.as_str()
    }

    /// The event as a type of the caller's.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_json())
    }
}

impl fmt::Debug for SubmissionCreated {
    /// Without the answers, which are people's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmissionCreated")
            .field("submission_id", &self.fields.submission_id)
            .field("form_id", &self.fields.form_id)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for UnknownEvent {
    /// Without the text, which may hold answers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnknownEvent").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Serialize for Event {
    /// Writes the exact text; with serializers other than that of serde_json, as it writes a raw
    /// value.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue =
            serde_json::from_str(self.as_json()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    /// Reads what [`Serialize`] wrote, from serde_json.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text: Box<str> = raw.into();
        Self::from_json(text.into_boxed_bytes()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JsonProblem;

    const CREATED: &str = r#"{"event":"submission.created","submission_id":"sub_1","form_id":"frm_1","form_title":"T","data":{"n":1.50},"created_at":"2026-01-31T09:30:00.120Z","later":[ 1e400 ]}"#;

    #[test]
    fn a_submission_is_read_and_keeps_members_nobody_knows() {
        let Event::SubmissionCreated(event) = Event::from_json(CREATED).unwrap() else {
            panic!("of another kind")
        };
        assert_eq!(event.submission_id.as_str(), "sub_1");
        assert_eq!(event.data.as_json(), r#"{"n":1.50}"#);
        assert_eq!(event.as_json(), CREATED);
    }

    #[test]
    fn any_event_survives_being_stored_and_read_again_to_the_byte() {
        for text in [
            CREATED,
            r#"{"event":"form.closed","n":12345678901234567890.10,"a":{"a":1,"a":2}}"#,
            r#"{ "x" : [ ] , "event" : "submission.\u0063losed\u001b" }"#,
            // A later kind with the members of this one.
            &CREATED.replace("created\"", "updated\""),
        ] {
            let event = Event::from_json(text.to_owned()).unwrap();
            assert_eq!(matches!(event, Event::Unknown(_)), text != CREATED, "{text}");
            let stored = serde_json::to_string(&event).unwrap();
            assert_eq!(stored, text);
            let again: Event = serde_json::from_str(&stored).unwrap();
            assert_eq!(again, event);
            assert_eq!(again.as_json(), text);
            let nested = serde_json::to_string(&[&event]).unwrap();
            assert_eq!(serde_json::from_str::<Vec<Event>>(&nested).unwrap(), [event]);
        }
    }

    #[test]
    fn space_around_an_event_is_left_out() {
        let event = Event::from_json(format!("\r\n\t {CREATED}\n")).unwrap();
        assert_eq!(event.as_json(), CREATED);
        assert!(Event::from_json(format!("\u{a0}{CREATED}")).is_err());
    }

    #[test]
    fn an_unknown_kind_needs_no_other_member() {
        let event = Event::from_json(r#"{"event":"form.closed"}"#).unwrap();
        assert_eq!(event.kind(), "form.closed");
        let Event::Unknown(event) = event else { panic!("is known") };
        assert_eq!(event.to::<serde_json::Value>().unwrap()["event"], "form.closed");
    }

    #[test]
    fn what_is_no_event_is_refused_by_the_member() {
        let refused = |text: &str| {
            let error = Event::from_json(text.to_owned()).unwrap_err();
            (error.path().to_owned(), error.problem())
        };
        for (text, path, problem) in [
            ("", ".", JsonProblem::Truncated),
            ("nonsense", ".", JsonProblem::Syntax),
            ("null", ".", JsonProblem::WrongShape),
            ("7", ".", JsonProblem::WrongShape),
            ("{}", "event", JsonProblem::Missing),
            (r#"{"event":null}"#, "event", JsonProblem::WrongShape),
            (r#"{"event":"a","event":"b"}"#, ".", JsonProblem::WrongShape),
            (r#"{"event":"a"} {}"#, ".", JsonProblem::Syntax),
            (r#"{"event":"a""#, ".", JsonProblem::Truncated),
            (r#"{"event":"submission.created"}"#, "submission_id", JsonProblem::Missing),
        ] {
            assert_eq!(refused(text), (path.to_owned(), problem), "{text}");
        }
        let members = CREATED.replace(r#""later":[ 1e400 ]"#, r#""event":"form.closed""#);
        assert_eq!(refused(&members).1, JsonProblem::WrongShape, "two kinds");
        assert_eq!(refused(r#"["submission.created"]"#).1, JsonProblem::WrongShape);
        let array = r#"["submission.created","sub_1","frm_1","T",{},"2026-01-31T09:30:00.120Z"]"#;
        assert_eq!(refused(array).1, JsonProblem::WrongShape, "members without names");
    }

    #[test]
    fn bytes_that_are_not_text_are_refused_even_where_nobody_looks() {
        let body = [br#"{"event":"form.closed","x":"#.as_slice(), b"\"\xff\"}"].concat();
        let error = Event::from_json(body).unwrap_err();
        assert_eq!(error.problem(), JsonProblem::NotText);
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = "[".repeat(500_000) + &"]".repeat(500_000);
        let event = format!(r#"{{"event":"form.closed","x":{deep}}}"#);
        assert_eq!(Event::from_json(event.clone()).unwrap().as_json(), event);
        assert!(Event::from_json(event.replace("]]", "]")).is_err());
        assert!(Event::from_json(format!(r#"{{"event":{deep}}}"#)).is_err());
        let known = CREATED.replace("[ 1e400 ]", &deep);
        assert!(Event::from_json(known.clone()).is_ok());
        assert!(Event::from_json(known.replace("]]", "]")).is_err());
    }

    #[test]
    fn answers_do_not_show_in_debug() {
        let text = CREATED.replace("1.50", "\"hunter2\"");
        for text in [text.replace("created\"", "other\""), text] {
            let shown = format!("{:?}", Event::from_json(text).unwrap());
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
}
