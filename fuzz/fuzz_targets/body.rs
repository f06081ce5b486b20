//! The body of a delivery: any signed bytes verify, and the parsed event equals the one that a simple
//! reference parser finds.

#![no_main]

use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

use formsvc_fuzz::{Member, NOW, SECRET, is_id, members, nanos};
use formsvc_protocol::signature::{SigningSecret, sign};
use formsvc_receiver::{Verifier, VerifyError, WebhookEvent};
use libfuzzer_sys::fuzz_target;

static VERIFIER: LazyLock<Verifier> = LazyLock::new(|| {
    let clock = || UNIX_EPOCH + Duration::from_secs(NOW);
    Verifier::builder().secret(SECRET).clock(clock).build().expect("the settings are valid")
});

const CREATED: &str = "submission.created";

/// Returns the string of the only member with this name.
fn string(members: &[Member<'_>], name: &str) -> Option<String> {
    let mut found = members.iter().filter(|(known, _)| known == name);
    let (Some((_, value)), None) = (found.next(), found.next()) else { return None };
    serde_json::from_str(value.get()).ok()
}

/// Returns the kind of the event in a body; `None` if the body has no valid event.
fn kind(body: &[u8]) -> Option<String> {
    let members = members(std::str::from_utf8(body).ok()?)?;
    let kind = string(&members, "event")?;
    if kind != CREATED {
        return Some(kind);
    }
    let mut answers = members.iter().filter(|(name, _)| name == "data");
    let one_object = answers.next().is_some_and(|(_, value)| value.get().starts_with('{'))
        && answers.next().is_none();
    let good = one_object
        && string(&members, "form_title").is_some()
        && string(&members, "submission_id").is_some_and(|id| is_id(&id))
        && string(&members, "form_id").is_some_and(|id| is_id(&id))
        && nanos(&string(&members, "created_at")?).is_some();
    good.then_some(kind)
}

/// Compares the fields of a parsed submission with the members of the body.
fn check(event: &WebhookEvent) {
    let WebhookEvent::SubmissionCreated(submission) = event else { return };
    let members = members(submission.as_json()).expect("the submission was parsed");
    let text = |name| string(&members, name).expect("it was read");
    assert_eq!(submission.submission_id.as_str(), text("submission_id"));
    assert_eq!(submission.form_id.as_str(), text("form_id"));
    assert_eq!(submission.form_title, text("form_title"));
    assert_eq!(submission.created_at.as_str(), text("created_at"));
    let data = members.iter().find(|(name, _)| name == "data").expect("the member exists").1;
    assert_eq!(submission.data.as_json(), data.get());
    submission.data.fields();
}

fuzz_target!(|body: &[u8]| {
    let key = SigningSecret::new(SECRET).expect("text");
    let header = sign([&key], NOW, body);
    assert!(VERIFIER.verify_signature(&header, body).is_ok());
    let mut other = body.to_vec();
    match other.last_mut() {
        Some(last) => *last ^= 1,
        None => other.push(0),
    }
    assert_eq!(VERIFIER.verify_signature(&header, &other), Err(VerifyError::NoMatch));

    let event = match (VERIFIER.verify(&header, body.to_vec()), kind(body)) {
        (Ok(event), Some(kind)) => {
            assert_eq!(event.kind(), kind);
            event
        }
        (Err(VerifyError::InvalidEvent(bad)), None) => {
            assert!(bad.to_string().is_ascii() && bad.to_string().len() < 120, "{bad}");
            return;
        }
        (found, plain) => panic!("{found:?} is not {plain:?}"),
    };
    assert_eq!(event.body().as_ref(), body);
    let text = std::str::from_utf8(body).expect("the event was parsed");
    assert_eq!(event.as_json(), text.trim_matches([' ', '\t', '\r', '\n']));
    check(event.event());
    let stored = serde_json::to_string(event.event()).expect("it is JSON");
    assert_eq!(stored, event.as_json());
    assert_eq!(
        &serde_json::from_str::<WebhookEvent>(&stored).expect("the stored event parses"),
        event.event()
    );
});
