//! What a body says it is, whoever sent it: for lines, counts and lists, and proof of nothing.

use std::borrow::Cow;

use formsvc_receiver::WebhookEvent;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Longest name that is taken for one, in bytes.
const NAME_MAX: usize = 256;

/// The names in a body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) event: Option<String>,
    pub(super) submission_id: Option<String>,
    pub(super) form_id: Option<String>,
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    event: Option<&'a RawValue>,
    #[serde(borrow)]
    submission_id: Option<&'a RawValue>,
    #[serde(borrow)]
    form_id: Option<&'a RawValue>,
}

impl Names {
    /// Those of a body, of which the event is known where it is signed.
    pub(super) fn of(event: Option<&WebhookEvent>, body: &[u8]) -> Self {
        let Some(event @ WebhookEvent::SubmissionCreated(created)) = event else {
            return Self::of_body(body);
        };
        Self {
            event: taken(event.kind()),
            submission_id: taken(created.submission_id.as_str()),
            form_id: taken(created.form_id.as_str()),
        }
    }

    /// None where it is no object of JSON.
    fn of_body(body: &[u8]) -> Self {
        let Ok(members) = serde_json::from_slice::<Members<'_>>(body) else {
            return Self::default();
        };
        Self {
            event: name(members.event),
            submission_id: name(members.submission_id),
            form_id: name(members.form_id),
        }
    }
}

fn name(value: Option<&RawValue>) -> Option<String> {
    let text: Cow<'_, str> = serde_json::from_str(value?.get()).ok()?;
    taken(&text)
}

fn taken(name: &str) -> Option<String> {
    (!name.is_empty() && name.len() <= NAME_MAX).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_texts_of_an_object_and_anything_else_is_none() {
        let names =
            Names::of_body(br#"{"event":"submission.created","submission_id":7,"form_id":"f"}"#);
        assert_eq!(names.event.as_deref(), Some("submission.created"));
        assert_eq!((names.submission_id, names.form_id.as_deref()), (None, Some("f")));
        for other in [&b""[..], b"[]", b"7", b"{", b"\xff", br#"{"event":""}"#] {
            assert_eq!(Names::of_body(other), Names::default());
        }
        let long = format!(r#"{{"event":"{}"}}"#, "x".repeat(NAME_MAX + 1));
        assert_eq!(Names::of_body(long.as_bytes()), Names::default());
    }

    #[test]
    fn the_names_of_a_signed_event_are_those_of_its_body() {
        let body =
            br#"{"event":"submission.created","submission_id":"sub_\u00e9","form_id":"frm_1",
            "form_title":"","data":{},"created_at":"2026-01-01T00:00:00.000Z"}"#;
        let event = WebhookEvent::from_json(&body[..]).unwrap();
        assert!(matches!(event, WebhookEvent::SubmissionCreated(_)));
        let names = Names::of(Some(&event), b"");
        assert_eq!(names.submission_id.as_deref(), Some("sub_é"));
        assert_eq!(names, Names::of_body(body));
    }
}
