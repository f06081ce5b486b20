//! Bodies of deliveries as the service sends them (SPEC §6). The caller passes the source of randomness.

use bytes::Bytes;
use formsvc_protocol::{Answers, FormId, Submission, SubmissionId, Timestamp, WebhookEvent};

/// A source of random bits.
pub type Random<'a> = &'a mut dyn FnMut() -> u64;

/// The type of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AnswerType {
    /// Text.
    Text,
    /// A JSON number.
    Number,
    /// Text that is a number.
    NumberText,
    /// Text that is a date.
    Date,
    /// Text that is a date with a time.
    Time,
    /// true or false.
    Boolean,
    /// A JSON array of texts.
    List,
    /// A JSON object.
    Object,
}

/// Returns the body of an event, byte for byte as the service sends it.
pub fn body(event: &WebhookEvent) -> Bytes {
    serde_json::to_vec(event).expect("an event serializes").into()
}

/// Creates the event of a submission of a form.
pub fn event_of(submission: Submission, form: FormId, title: &str) -> WebhookEvent {
    let Submission { id, data, created_at, .. } = submission;
    WebhookEvent::submission_created(id, form, title, data, created_at)
}

/// Creates a random submission id.
pub fn submission_id(random: Random<'_>) -> SubmissionId {
    SubmissionId::from_bits(bits(random))
}

fn bits(random: Random<'_>) -> [u8; 16] {
    let mut bits = [0; 16];
    bits[..8].copy_from_slice(&random().to_be_bytes());
    bits[8..].copy_from_slice(&random().to_be_bytes());
    bits
}

/// Creates a submission of a form that does not exist, with answers of all types, spelled as the service
/// spells them: only characters that JSON requires to be escaped are escaped. In most languages, parsing
/// and printing changes the bytes: letters beyond ASCII, slashes, or a price with a trailing zero.
pub fn sample(random: Random<'_>, created_at: Timestamp) -> WebhookEvent {
    const NAMES: [&str; 6] = ["Ada", "Zoë", "Søren", "María José", "李雷", "O\u{2019}Neill"];
    let name = NAMES[below(random, NAMES.len())];
    // The price ends with exactly one zero, which parsers of floats lose.
    let (guests, euros, dimes) =
        (1 + below(random, 9), 1 + below(random, 99), 1 + below(random, 9));
    let data = format!(
        concat!(
            r#"{{"Name":"{name}","E-mail":"visitor{guests}@example.org","#,
            r#""Message":"Hello ☃ 😀,\n\"see\" https://example.org/a?b=1&c=2","#,
            r#""Guests":{guests},"Fee":{euros}.{dimes}0,"Interests":["Workshops","Talks"],"#,
            r#""Keep me posted":true,"Phone":null}}"#
        ),
        name = name,
        guests = guests,
        euros = euros,
        dimes = dimes,
    );
    let data = Answers::parse(data).expect("the sample is a JSON object");
    let form = FormId::from_bits(*b"formsvc-sample\0\0");
    WebhookEvent::submission_created(submission_id(random), form, "Sample form", data, created_at)
}

/// Creates a submission with generated answers to the questions of a form.
pub fn generate(
    form: FormId,
    title: &str,
    questions: &[(String, AnswerType)],
    random: Random<'_>,
    created_at: Timestamp,
) -> WebhookEvent {
    let answers: Vec<String> = questions
        .iter()
        .map(|(label, kind)| {
            let label = serde_json::to_string(label).expect("a string serializes");
            format!("{label}:{}", answer(*kind, random))
        })
        .collect();
    let data = format!("{{{}}}", answers.join(","));
    let data = Answers::parse(data).expect("members between braces are an object");
    WebhookEvent::submission_created(submission_id(random), form, title, data, created_at)
}

fn answer(kind: AnswerType, random: Random<'_>) -> String {
    const WORDS: [&str; 8] =
        ["example", "Zoë's answer", "second", "two words", "größer", "sample", "日本", "last"];
    let word = WORDS[below(random, WORDS.len())];
    let number = below(random, 1_000);
    let (month, day) = (1 + below(random, 12), 1 + below(random, 28));
    match kind {
        AnswerType::Text => format!("\"{word} {number}\""),
        AnswerType::Number => format!("{number}"),
        AnswerType::NumberText => format!("\"{number}\""),
        AnswerType::Date => format!("\"2026-{month:02}-{day:02}\""),
        AnswerType::Time => format!("\"2026-{month:02}-{day:02}T09:30:00Z\""),
        AnswerType::Boolean => number.is_multiple_of(2).to_string(),
        AnswerType::List => format!("[\"{word}\",\"{number}\"]"),
        AnswerType::Object => format!("{{\"{word}\":{number}}}"),
    }
}

fn below(random: Random<'_>, end: usize) -> usize {
    usize::try_from(random() % end as u64).expect("less than a usize")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting() -> impl FnMut() -> u64 {
        let mut count = 0;
        move || {
            count += 7_919;
            count
        }
    }

    fn at() -> Timestamp {
        Timestamp::from_unix_nanos(1_767_225_600_000_000_000).unwrap()
    }

    #[test]
    fn body_has_specified_order_and_exact_answers() {
        let data = r#"{ "b" : 1.50, "a":"\/" }"#;
        let submission: Submission = serde_json::from_str(&format!(
            r#"{{"id":"sub_1","data":{data},"created_at":"2026-01-01T00:00:00.000Z"}}"#
        ))
        .unwrap();
        let event = event_of(submission, FormId::new("frm_1").unwrap(), "A \"form\"");
        let expected = format!(
            r#"{{"event":"submission.created","submission_id":"sub_1","form_id":"frm_1","form_title":"A \"form\"","data":{data},"created_at":"2026-01-01T00:00:00.000Z"}}"#
        );
        assert_eq!(body(&event), expected);
    }

    #[test]
    fn sample_depends_on_the_random_bits() {
        let make = || body(&sample(&mut counting(), at()));
        assert_eq!(make(), make());
        let mut bits = counting();
        let two = [0; 2].map(|_| sample(&mut bits, at()));
        assert_ne!(two[0].submission_id, two[1].submission_id);
        let read: WebhookEvent = serde_json::from_slice(&make()).unwrap();
        assert_eq!(body(&read), make());
    }

    #[test]
    fn sample_is_spelled_as_the_service_does() {
        let mut bits = counting();
        for _ in 0..20 {
            let event = sample(&mut bits, at());
            for (label, value) in event.data.fields() {
                let read: serde_json::Value = serde_json::from_str(value.as_json()).unwrap();
                if label == "Fee" {
                    assert!(
                        value.as_json().ends_with('0') && !value.as_json().ends_with("00"),
                        "{value:?}"
                    );
                } else {
                    assert_eq!(serde_json::to_string(&read).unwrap(), value.as_json(), "{label}");
                }
            }
        }
    }

    #[test]
    fn generated_answers_have_their_types() {
        let types = [
            AnswerType::Text,
            AnswerType::Number,
            AnswerType::NumberText,
            AnswerType::Date,
            AnswerType::Time,
            AnswerType::Boolean,
            AnswerType::List,
            AnswerType::Object,
        ];
        let questions: Vec<_> = types.iter().map(|kind| (format!("\"{kind:?}\""), *kind)).collect();
        let form = FormId::new("frm_1").unwrap();
        let event = generate(form, "F", &questions, &mut counting(), at());
        let fields = event.data.fields();
        assert_eq!(fields.len(), types.len());
        for ((label, value), (asked, kind)) in fields.iter().zip(&questions) {
            assert_eq!(label, asked);
            let value: serde_json::Value = serde_json::from_str(value.as_json()).unwrap();
            let fits = match kind {
                AnswerType::Number => value.is_number(),
                AnswerType::Boolean => value.is_boolean(),
                AnswerType::List => value.is_array(),
                AnswerType::Object => value.is_object(),
                _ => value.is_string(),
            };
            assert!(fits, "{kind:?}: {value}");
        }
    }
}
