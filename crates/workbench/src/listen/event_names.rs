//! The names in a body, for lines, counts and lists. Anyone can write them into an unsigned body.

use std::borrow::Cow;

use formsvc_receiver::WebhookEvent;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::delivery::EventNames;

/// Longest name, in bytes. Longer ones are ignored.
const MAX_NAME_LEN: usize = 256;

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    event: Option<&'a RawValue>,
    #[serde(borrow)]
    submission_id: Option<&'a RawValue>,
    #[serde(borrow)]
    form_id: Option<&'a RawValue>,
}

/// Returns the names in a body. `event` is the parsed body if its signature is valid.
pub(super) fn event_names(event: Option<&WebhookEvent>, body: &[u8]) -> EventNames {
    if let Some(event @ WebhookEvent::SubmissionCreated(created)) = event {
        return EventNames {
            event: checked(event.kind()),
            submission_id: checked(created.submission_id.as_str()),
            form_id: checked(created.form_id.as_str()),
        };
    }
    let Ok(members) = serde_json::from_slice::<Members<'_>>(body) else {
        return EventNames::default();
    };
    EventNames {
        event: text(members.event),
        submission_id: text(members.submission_id),
        form_id: text(members.form_id),
    }
}

fn text(value: Option<&RawValue>) -> Option<String> {
    let text: Cow<'_, str> = serde_json::from_str(value?.get()).ok()?;
    checked(&text)
}

fn checked(name: &str) -> Option<String> {
    (!name.is_empty() && name.len() <= MAX_NAME_LEN).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_of_an_object_are_names() {
        let body = br#"{"event":"submission.created","submission_id":7,"form_id":"f"}"#;
        let names = event_names(None, body);
        assert_eq!(names.event.as_deref(), Some("submission.created"));
        assert_eq!((names.submission_id, names.form_id.as_deref()), (None, Some("f")));
        let long = format!(r#"{{"event":"{}"}}"#, "x".repeat(MAX_NAME_LEN + 1));
        for other in [&b""[..], b"[]", b"7", b"{", b"\xff", br#"{"event":""}"#, long.as_bytes()] {
            assert_eq!(event_names(None, other), EventNames::default());
        }
    }

    #[test]
    fn signed_event_has_the_names_of_its_body() {
        let body =
            br#"{"event":"submission.created","submission_id":"sub_\u00e9","form_id":"frm_1",
            "form_title":"","data":{},"created_at":"2026-01-01T00:00:00.000Z"}"#;
        let event = WebhookEvent::from_json(&body[..]).unwrap();
        let names = event_names(Some(&event), b"");
        assert_eq!(names.submission_id.as_deref(), Some("sub_é"));
        assert_eq!(names, event_names(None, body));
    }
}
