//! Bodies of deliveries as the service makes them (SPEC §6). Randomness is passed in.

use bytes::Bytes;
use formsvc_protocol::{Answers, FormId, Submission, SubmissionId, Timestamp, WebhookEvent};

/// Random bits, of which the caller says where they come from.
pub type Random<'a> = &'a mut dyn FnMut() -> u64;

/// What the answer to a question looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
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

/// The body of `submission.created`, to the byte as the service makes it of these.
pub fn body(event: &WebhookEvent) -> Bytes {
    serde_json::to_vec(event).expect("an event is written as JSON").into()
}

/// The event that the service made of a submission of a form.
pub fn of_submission(submission: Submission, form: FormId, title: &str) -> WebhookEvent {
    let Submission { id, data, created_at, .. } = submission;
    WebhookEvent::submission_created(id, form, title, data, created_at)
}

/// An id that no submission has.
pub fn submission_id(random: Random<'_>) -> SubmissionId {
    SubmissionId::from_bits(bits(random))
}

fn bits(random: Random<'_>) -> [u8; 16] {
    let mut bits = [0; 16];
    bits[..8].copy_from_slice(&random().to_be_bytes());
    bits[8..].copy_from_slice(&random().to_be_bytes());
    bits
}

/// A submission to a form that does not exist. Its answers are of every kind, and written as the service writes
/// what visitors answer: characters as they are, and escaped only what must be. Whoever parses and prints it
/// again gets other bytes in most languages, for letters beyond ASCII, slashes or a price that ends with a zero.
pub fn sample(random: Random<'_>, created_at: Timestamp) -> WebhookEvent {
    const NAMES: [&str; 6] = ["Ada", "Zoë", "Søren", "María José", "李雷", "O\u{2019}Neill"];
    let name = NAMES[below(random, NAMES.len())];
    // One digit after the point is not nought, and one is: what is lost when it is printed again is known.
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
    let data = Answers::parse(data).expect("the sample is an object");
    let form = FormId::from_bits(*b"formsvc-sample\0\0");
    WebhookEvent::submission_created(submission_id(random), form, "Sample form", data, created_at)
}

/// A submission to a form with these questions, with answers made up.
pub fn made_up(
    form: FormId,
    title: &str,
    questions: &[(String, Shape)],
    random: Random<'_>,
    created_at: Timestamp,
) -> WebhookEvent {
    let answers: Vec<String> = questions
        .iter()
        .map(|(label, shape)| {
            let label = serde_json::to_string(label).expect("a text is written as JSON");
            format!("{label}:{}", answer(*shape, random))
        })
        .collect();
    let data = format!("{{{}}}", answers.join(","));
    let data = Answers::parse(data).expect("members between braces are an object");
    WebhookEvent::submission_created(submission_id(random), form, title, data, created_at)
}

fn answer(shape: Shape, random: Random<'_>) -> String {
    const WORDS: [&str; 8] =
        ["example", "Zoë's answer", "second", "two words", "größer", "sample", "日本", "last"];
    let word = WORDS[below(random, WORDS.len())];
    let number = below(random, 1_000);
    let (month, day) = (1 + below(random, 12), 1 + below(random, 28));
    match shape {
        Shape::Text => format!("\"{word} {number}\""),
        Shape::Number => format!("{number}"),
        Shape::NumberText => format!("\"{number}\""),
        Shape::Date => format!("\"2026-{month:02}-{day:02}\""),
        Shape::Time => format!("\"2026-{month:02}-{day:02}T09:30:00Z\""),
        Shape::Boolean => number.is_multiple_of(2).to_string(),
        Shape::List => format!("[\"{word}\",\"{number}\"]"),
        Shape::Object => format!("{{\"{word}\":{number}}}"),
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
    fn a_body_has_the_fields_of_the_specification_in_its_order_and_the_answers_to_the_byte() {
        let data = r#"{ "b" : 1.50, "a":"\/" }"#;
        let submission: Submission = serde_json::from_str(&format!(
            r#"{{"id":"sub_1","data":{data},"created_at":"2026-01-01T00:00:00.000Z"}}"#
        ))
        .unwrap();
        let event = of_submission(submission, FormId::new("frm_1").unwrap(), "A \"form\"");
        let expected = format!(
            r#"{{"event":"submission.created","submission_id":"sub_1","form_id":"frm_1","form_title":"A \"form\"","data":{data},"created_at":"2026-01-01T00:00:00.000Z"}}"#
        );
        assert_eq!(body(&event), expected);
    }

    #[test]
    fn the_same_bits_make_the_same_sample_and_others_another() {
        let make = || body(&sample(&mut counting(), at()));
        assert_eq!(make(), make());
        let mut bits = counting();
        let two = [0; 2].map(|_| sample(&mut bits, at()));
        assert_ne!(two[0].submission_id, two[1].submission_id);
        let read: WebhookEvent = serde_json::from_slice(&make()).unwrap();
        assert_eq!(body(&read), make());
    }

    /// As the service writes what visitors answer, and not as any other program does.
    #[test]
    fn the_texts_of_a_sample_are_escaped_in_one_way() {
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
    fn every_question_gets_an_answer_of_its_shape() {
        let shapes = [
            Shape::Text,
            Shape::Number,
            Shape::NumberText,
            Shape::Date,
            Shape::Time,
            Shape::Boolean,
            Shape::List,
            Shape::Object,
        ];
        let questions: Vec<_> =
            shapes.iter().map(|shape| (format!("\"{shape:?}\""), *shape)).collect();
        let form = FormId::new("frm_1").unwrap();
        let event = made_up(form, "F", &questions, &mut counting(), at());
        let fields = event.data.fields();
        assert_eq!(fields.len(), shapes.len());
        for ((label, value), (asked, shape)) in fields.iter().zip(&questions) {
            assert_eq!(label, asked);
            let value: serde_json::Value = serde_json::from_str(value.as_json()).unwrap();
            let fits = match shape {
                Shape::Number => value.is_number(),
                Shape::Boolean => value.is_boolean(),
                Shape::List => value.is_array(),
                Shape::Object => value.is_object(),
                _ => value.is_string(),
            };
            assert!(fits, "{shape:?}: {value}");
        }
    }
}
