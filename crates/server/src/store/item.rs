//! The stored form of a submission: the JSON text that pages show, ready to be spliced in.
//!
//! `{"id":"sub_…","data":{…},"created_at":"…"}`, with `data` to the byte as it was accepted. Head and
//! tail are known, so that `data` can be sliced out again without parsing it.

use formsvc_protocol::limits::ANSWERS_MAX;
use formsvc_protocol::{Answers, FormInstant, SubmissionId};

use super::StoreError;

const BEFORE_ID: &str = r#"{"id":"#;
const BEFORE_DATA: &str = r#","data":"#;
const BEFORE_TIME: &str = r#","created_at":""#;
const END: &str = r#""}"#;
/// Length of `YYYY-MM-DDThh:mm:ss.sssZ`.
const TIME_LEN: usize = 24;
const TAIL_LEN: usize = BEFORE_TIME.len() + TIME_LEN + END.len();

/// Refuses answers longer than [`ANSWERS_MAX`] with [`StoreError::Invalid`]: what a backend asks of
/// every submission before it keeps it.
pub fn check_size(answers: &Answers) -> Result<(), StoreError> {
    let bytes = answers.as_json().len();
    if bytes <= ANSWERS_MAX {
        return Ok(());
    }
    // The answers themselves have no place in a message.
    Err(StoreError::Invalid {
        what: "size of answers",
        value: format!("{bytes} bytes"),
        rule: "is over the limit of 4194304 bytes (4 MiB)",
    })
}

/// The stored text of a submission.
pub fn compose(id: &SubmissionId, answers: &Answers, instant: FormInstant) -> String {
    let data = answers.as_json();
    let id = serde_json::to_string(id).expect("an id is text");
    let time = instant.to_timestamp();
    let mut item = String::with_capacity(
        BEFORE_ID.len() + id.len() + BEFORE_DATA.len() + data.len() + TAIL_LEN,
    );
    for part in [BEFORE_ID, &id, BEFORE_DATA, data, BEFORE_TIME, time.as_str(), END] {
        item.push_str(part);
    }
    item
}

/// The `data` of a stored submission, to the byte; `None` when the text was not made by
/// [`compose`].
pub fn data_of(item: &[u8]) -> Option<&[u8]> {
    let rest = item.strip_prefix(BEFORE_ID.as_bytes())?;
    let rest = rest[json_string_len(rest)?..].strip_prefix(BEFORE_DATA.as_bytes())?;
    let (data, tail) = rest.split_at_checked(rest.len().checked_sub(TAIL_LEN)?)?;
    let time = tail.strip_prefix(BEFORE_TIME.as_bytes())?.strip_suffix(END.as_bytes())?;
    (time.len() == TIME_LEN && data.starts_with(b"{") && data.ends_with(b"}")).then_some(data)
}

/// Length of the JSON string a text begins with, quotes included.
fn json_string_len(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    let mut bytes = text.strip_prefix(b"\"")?.iter();
    let end = bytes.position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    Some(end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, data: &str) -> String {
        let id = SubmissionId::new(id).unwrap();
        compose(
            &id,
            &Answers::parse(data).unwrap(),
            FormInstant::from_micros(1_767_225_600_120_001),
        )
    }

    #[test]
    fn an_item_is_the_submission_as_pages_show_it() {
        assert_eq!(
            item("sub_1", r#"{"a": 1.50}"#),
            r#"{"id":"sub_1","data":{"a": 1.50},"created_at":"2026-01-01T00:00:00.120Z"}"#
        );
    }

    #[test]
    fn data_comes_back_to_the_byte_even_when_it_imitates_head_or_tail() {
        for id in
            ["sub_1", "sub_000102030405060708090a0b0c0d0e0f", "a\"b", "\"", "\",\"data\":{}", "é"]
        {
            for data in [
                "{}",
                r#"{ "n" : 1e400 }"#,
                r#"{"x":"\",\"created_at\":\""}"#,
                r#"{"data":{"created_at":"2026-01-01T00:00:00.120Z"}}"#,
                r#"{"\u0000":"\\"}"#,
            ] {
                let item = item(id, data);
                assert_eq!(data_of(item.as_bytes()), Some(data.as_bytes()), "{item}");
                let parsed: formsvc_protocol::Submission = serde_json::from_str(&item).unwrap();
                assert_eq!((parsed.id.as_str(), parsed.data.as_json()), (id, data));
            }
        }
    }

    #[test]
    fn text_that_is_no_item_has_no_data() {
        let whole = item("sub_1", r#"{"a":1}"#);
        for text in ["", "{}", r#"{"id":"#, r#"{"id":"a"#, r#"{"id":"a","data":"#] {
            assert_eq!(data_of(text.as_bytes()), None, "{text}");
        }
        for cut in 0..whole.len() {
            assert_eq!(data_of(&whole.as_bytes()[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn answers_that_are_too_long_are_told_the_limit() {
        let long = Answers::parse(format!("{{\"a\":\"{}\"}}", "x".repeat(ANSWERS_MAX))).unwrap();
        let told = check_size(&long).unwrap_err().to_string();
        let limit = format!("{ANSWERS_MAX} bytes ({} MiB)", ANSWERS_MAX >> 20);
        assert!(told.contains(&limit), "{told}");
    }
}
