//! Bodies of deliveries as the service sends them (SPEC §6). The caller passes the source of randomness.

use bytes::Bytes;
use formsvc_protocol::{Answers, FormId, Submission, SubmissionId, Timestamp, WebhookEvent};

/// A source of random bits.
pub type Random<'a> = &'a mut dyn FnMut() -> u64;

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
}
