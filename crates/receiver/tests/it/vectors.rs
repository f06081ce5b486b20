//! The shared signature vectors, and `test_util`.

use formsvc_receiver::test_util::{
    ExpectedResult, SignedRequest, signature_vectors, submission_body, verified,
};
use formsvc_receiver::{Verifier, WebhookEvent};

use crate::support::{NOW, OLD_SECRET, SECRET, at, delivery, verifier};

#[test]
fn verifier_agrees_with_every_vector() {
    for vector in signature_vectors() {
        let now = at(vector.now);
        let mut builder = Verifier::builder().clock(move || now);
        for secret in &vector.secrets {
            builder = builder.secret(secret.as_str());
        }
        let result = builder.build().unwrap().verify_signature(&vector.header, &vector.body);
        let result = result.map(|proof| (proof.timestamp(), proof.secret_name().to_owned()));
        let expected = match vector.expected {
            ExpectedResult::Valid { timestamp, secret_index, .. } => {
                Ok((timestamp, (secret_index + 1).to_string()))
            }
            ExpectedResult::Refused(error) => Err(error),
            other => panic!("{other:?}"),
        };
        assert_eq!(result, expected, "{}", vector.name);
    }
}

#[test]
fn signed_request_equals_request_of_the_service() {
    let body = submission_body("sub_7");
    let request = SignedRequest::new(OLD_SECRET, at(NOW), body.clone())
        .also_signed_with(SECRET)
        .uri("/hook?x=1".parse().unwrap())
        .build();
    assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/hook"));
    for (name, value) in [
        ("content-type", "application/json"),
        ("user-agent", "service-webhooks/1.0"),
        ("x-service-event", "submission.created"),
        ("content-length", &body.len().to_string()),
    ] {
        assert_eq!(request.headers()[name], value);
    }
    let event = verifier().verify_request(request.headers(), body).unwrap();
    assert_eq!(event.into_submission().unwrap().submission_id.as_str(), "sub_7");
    let unknown = delivery(r#"{"event":"form.closed"}"#);
    assert_eq!(unknown.headers()["x-service-event"], "form.closed");
}

#[test]
fn verified_event_can_be_made_for_a_handler_test() {
    let event = WebhookEvent::from_json(submission_body("sub_1")).unwrap();
    let verified = verified(event.clone());
    assert_eq!((verified.event(), verified.proof().secret_name()), (&event, "test"));
    assert_eq!(verified.body(), &submission_body("sub_1"));
    assert!(!format!("{verified:?}").contains("Ada"), "answers are personal data");
}
