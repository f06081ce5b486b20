//! The names in a body, for lines, counts and lists. Anyone can write them into an unsigned body.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::delivery::EventNames;

/// Longest name, in bytes. Longer ones are ignored.
const MAX_NAME_LEN: usize = 256;

/// Texts of values: parsed values of an untrusted body can use 80 times its size.
#[derive(Deserialize)]
struct Members<'b> {
    #[serde(borrow)]
    event: Option<&'b RawValue>,
    #[serde(borrow)]
    submission_id: Option<&'b RawValue>,
    #[serde(borrow)]
    form_id: Option<&'b RawValue>,
}

/// Returns the names in a body; none if it is not a JSON object.
pub(super) fn event_names(body: &[u8]) -> EventNames {
    let Ok(Members { event, submission_id, form_id }) = serde_json::from_slice(body) else {
        return EventNames::default();
    };
    EventNames { event: name(event), submission_id: name(submission_id), form_id: name(form_id) }
}

fn name(value: Option<&RawValue>) -> Option<String> {
    let name: String = serde_json::from_str(value?.get()).ok()?;
    (1..=MAX_NAME_LEN).contains(&name.len()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_of_an_object_are_names() {
        let body = br#"{"event":"submission.created","submission_id":7,"form_id":"frm_\u00e9"}"#;
        let names = event_names(body);
        assert_eq!(names.event.as_deref(), Some("submission.created"));
        assert_eq!((names.submission_id, names.form_id.as_deref()), (None, Some("frm_é")));
        let long = format!(r#"{{"event":"{}"}}"#, "x".repeat(MAX_NAME_LEN + 1));
        for other in [&b""[..], b"[]", b"7", b"{", b"\xff", br#"{"event":""}"#, long.as_bytes()] {
            assert_eq!(event_names(other), EventNames::default());
        }
    }
}
