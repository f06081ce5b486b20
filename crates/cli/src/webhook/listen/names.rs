//! What a body says it is, whoever sent it: for lines, counts and lists, and proof of nothing.

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
    /// Those of a body; none where it is no object of JSON.
    pub(super) fn of(body: &[u8]) -> Self {
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
    let text: String = serde_json::from_str(value?.get()).ok()?;
    (!text.is_empty() && text.len() <= NAME_MAX).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_texts_of_an_object_and_anything_else_is_none() {
        let names = Names::of(br#"{"event":"submission.created","submission_id":7,"form_id":"f"}"#);
        assert_eq!(names.event.as_deref(), Some("submission.created"));
        assert_eq!((names.submission_id, names.form_id.as_deref()), (None, Some("f")));
        for other in [&b""[..], b"[]", b"7", b"{", b"\xff", br#"{"event":""}"#] {
            assert_eq!(Names::of(other), Names::default());
        }
        let long = format!(r#"{{"event":"{}"}}"#, "x".repeat(NAME_MAX + 1));
        assert_eq!(Names::of(long.as_bytes()), Names::default());
    }
}
