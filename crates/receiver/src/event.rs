//! Webhook events with their exact JSON text.

use std::fmt;

use bytes::Bytes;
use formsvc_protocol::{Answers, EventKind, FormId, SubmissionId, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{EventError, EventProblem};

/// An event of the service (SPEC §6), also of a kind that a later release of the service introduces.
///
/// Keeps the exact JSON text, shared with the body it was read from. Serialization writes this text,
/// so fields and kinds that this release does not know survive storage.
///
/// ```
/// use formsvc_receiver::WebhookEvent;
/// let event = WebhookEvent::from_json(r#"{"event":"form.closed","form_id":"frm_1"}"#)?;
/// assert_eq!(event.kind(), "form.closed");
/// assert!(matches!(event, WebhookEvent::Unknown(_)));
/// # Ok::<(), formsvc_receiver::EventError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebhookEvent {
    /// A submission was made to a form.
    SubmissionCreated(SubmissionCreated),
    /// An event of a kind that this release does not know.
    Unknown(UnknownEvent),
}

/// The event `submission.created`: a submission was made to a form (SPEC §6).
#[derive(Clone)]
#[non_exhaustive]
pub struct SubmissionCreated {
    /// The submission, and the idempotency key of the delivery.
    pub submission_id: SubmissionId,
    /// The form of the submission.
    pub form_id: FormId,
    /// Title of the form.
    pub form_title: String,
    /// The answers, as exact JSON text.
    pub data: Answers,
    /// Time of the submission.
    pub created_at: Timestamp,
    json: JsonText,
}

/// An event of a kind that this release does not know.
#[derive(Clone, PartialEq, Eq)]
pub struct UnknownEvent {
    kind: Box<str>,
    json: JsonText,
}

/// Valid UTF-8 without surrounding white space, a slice of the body.
#[derive(Clone, PartialEq, Eq)]
struct JsonText(Bytes);

impl JsonText {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("`from_json` checked that the bytes are UTF-8")
    }
}

impl WebhookEvent {
    /// Reads an event. This verifies no signature: use it for text that was verified before it was
    /// stored.
    ///
    /// Fields that this release does not know are kept and not checked.
    pub fn from_json(json: impl Into<Bytes>) -> Result<Self, EventError> {
        let body: Bytes = json.into();
        let text = std::str::from_utf8(&body).map_err(|error| {
            EventError::body(EventProblem::NotUtf8).at(&body, error.valid_up_to())
        })?;
        let object: EventObject<'_> = read_object(text)?;
        let kind: String = required(text, "event", object.event)?;
        let json = JsonText(body.slice_ref(trim(text).as_bytes()));
        if EventKind::from(&*kind) != EventKind::SubmissionCreated {
            return Ok(Self::Unknown(UnknownEvent { kind: kind.into(), json }));
        }
        let fields: SubmissionObject<'_> = read_object(text)?;
        Ok(Self::SubmissionCreated(SubmissionCreated {
            submission_id: required(text, "submission_id", fields.submission_id)?,
            form_id: required(text, "form_id", fields.form_id)?,
            form_title: required(text, "form_title", fields.form_title)?,
            data: required(text, "data", fields.data)?,
            created_at: required(text, "created_at", fields.created_at)?,
            json,
        }))
    }

    /// The kind as in the body, such as `submission.created`. Any text for an unknown event.
    pub fn kind(&self) -> &str {
        match self {
            Self::SubmissionCreated(_) => EventKind::SubmissionCreated.as_str(),
            Self::Unknown(event) => event.kind(),
        }
    }

    /// The exact text of the body, without surrounding white space.
    pub fn as_json(&self) -> &str {
        match self {
            Self::SubmissionCreated(event) => event.as_json(),
            Self::Unknown(event) => event.as_json(),
        }
    }
}

impl SubmissionCreated {
    /// The exact text of the body, without surrounding white space.
    pub fn as_json(&self) -> &str {
        self.json.as_str()
    }
}

impl UnknownEvent {
    /// The kind as in the body: any text.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The exact text of the body, without surrounding white space.
    pub fn as_json(&self) -> &str {
        self.json.as_str()
    }
}

/// The field that every event has.
#[derive(Deserialize)]
struct EventObject<'a> {
    #[serde(borrow)]
    event: Option<&'a RawValue>,
}

/// The fields of `submission.created`, not yet checked.
#[derive(Deserialize)]
struct SubmissionObject<'a> {
    #[serde(borrow)]
    submission_id: Option<&'a RawValue>,
    form_id: Option<&'a RawValue>,
    form_title: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
    created_at: Option<&'a RawValue>,
}

/// JSON's white space, and not all of Unicode's.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r', '\n'])
}

fn read_object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, EventError> {
    let first = trim(text).chars().next();
    // serde accepts an array in place of an object, and reads its elements as the fields in order.
    if first == Some('[') {
        return Err(EventError::body(EventProblem::NotAnObject));
    }
    serde_json::from_str(text).map_err(|error| match first {
        Some('{') => EventError::json(&error),
        _ if error.is_data() => EventError::body(EventProblem::NotAnObject),
        _ => EventError::json(&error),
    })
}

/// Reads a field that must be present. `text` is the body that contains the value.
fn required<T: DeserializeOwned>(
    text: &str,
    name: &'static str,
    value: Option<&RawValue>,
) -> Result<T, EventError> {
    let value = value.ok_or(EventError::field(EventProblem::MissingField, name))?.get();
    serde_json::from_str(value).map_err(|_| {
        let offset = value.as_ptr().addr() - text.as_ptr().addr();
        EventError::field(EventProblem::InvalidField, name).at(text.as_bytes(), offset)
    })
}

impl PartialEq for SubmissionCreated {
    /// Compares the exact text.
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl Eq for SubmissionCreated {}

impl fmt::Debug for SubmissionCreated {
    /// Without title and answers, which are personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmissionCreated")
            .field("submission_id", &self.submission_id)
            .field("form_id", &self.form_id)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for UnknownEvent {
    /// Without the text, which may contain personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnknownEvent").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Serialize for WebhookEvent {
    /// Writes the exact text with serde_json.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue =
            serde_json::from_str(self.as_json()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for WebhookEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text: Box<str> = raw.into();
        Self::from_json(text.into_boxed_bytes()).map_err(serde::de::Error::custom)
    }
}
