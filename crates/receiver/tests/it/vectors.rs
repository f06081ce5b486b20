//! The verifier and the test tools against what another implementation computed.

use std::time::Duration;

use formsvc_receiver::test_util::{
    Expected, SignedRequest, sign, submission_body, vectors, verified,
};
use formsvc_receiver::{Event, SIGNATURE_HEADER, SecretString, Verifier, VerifyError};

use crate::support::{NOW, OLD_SECRET, SECRET, at, builder, verifier};

#[test]
fn every_vector_is_judged_as_its_file_says() {
    for vector in vectors() {
        let now = at(vector.now);
        let mut builder = Verifier::builder().clock(move || now);
        for secret in &vector.secrets {
            builder = builder.secret(secret.as_str().into());
        }
        let verifier = builder.build().unwrap();
        assert_eq!(verifier.tolerance(), Duration::from_secs(300));
        let found = verifier.verify(vector.header.as_bytes(), &vector.body);
        let expected = match vector.expected {
            Expected::Accepted { timestamp, secret_index } => {
                Ok((timestamp, (secret_index + 1).to_string()))
            }
            Expected::Refused(error) => Err(error),
        };
        let found = found.map(|signed| (signed.timestamp(), signed.secret().to_owned()));
        assert_eq!(found, expected, "{}", vector.name);
    }
}

#[test]
fn the_vectors_reach_every_outcome() {
    for error in
        [VerifyError::Malformed, VerifyError::NoMatch, VerifyError::TooOld, VerifyError::InFuture]
    {
        let expected = Expected::Refused(error);
        assert!(vectors().iter().filter(|vector| vector.expected == expected).count() >= 3);
    }
}

#[test]
fn what_a_test_signs_is_what_the_other_language_signed() {
    let mut same = 0;
    for vector in vectors() {
        if let (Expected::Accepted { timestamp, .. }, [secret]) =
            (vector.expected, &*vector.secrets)
            && vector.header.starts_with(&format!("t={timestamp},v1="))
            && vector.header.matches(',').count() == 1
            && let Some(time) = std::time::UNIX_EPOCH.checked_add(Duration::from_secs(timestamp))
        {
            let secret: SecretString = secret.as_str().into();
            assert_eq!(sign(&secret, time, &vector.body), vector.header, "{}", vector.name);
            same += 1;
        }
    }
    assert!(same >= 8, "{same}");
}

#[test]
fn a_request_of_a_test_is_one_of_the_service() {
    let body = submission_body("sub_7");
    let request = SignedRequest::new(&OLD_SECRET.into(), at(NOW), body.clone())
        .also_with(&SECRET.into())
        .uri("/hook?x=1".parse().unwrap())
        .build();
    assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/hook"));
    let headers = request.headers();
    for (name, value) in [
        ("content-type", "application/json"),
        ("user-agent", "service-webhooks/1.0"),
        ("x-service-event", "submission.created"),
        ("content-length", &body.len().to_string()),
    ] {
        assert_eq!(headers[name], value);
    }
    let event = verifier().verify_event(headers[SIGNATURE_HEADER].as_bytes(), body).unwrap();
    assert_eq!(event.into_submission().unwrap().submission_id.as_str(), "sub_7");
    let unknown = SignedRequest::new(&SECRET.into(), at(NOW), r#"{"event":"form.closed"}"#).build();
    assert_eq!(unknown.headers()["x-service-event"], "form.closed");
}

#[test]
fn a_handler_can_be_tested_without_a_signature() {
    let event = Event::from_json(submission_body("sub_1")).unwrap();
    let verified = verified(event.clone());
    assert_eq!(verified.event(), &event);
    assert_eq!(verified.body(), &submission_body("sub_1"));
    assert_eq!((verified.timestamp(), verified.secret()), (0, "test"));
}

#[test]
fn a_verifier_tells_what_it_was_given() {
    let builder = builder().secret_named("new", SECRET.into());
    let verifier = builder.max_body(7).tolerance(Duration::from_secs(1)).build().unwrap();
    assert_eq!((verifier.max_body(), verifier.tolerance()), (7, Duration::from_secs(1)));
    assert_eq!(verifier.secret_names().collect::<Vec<_>>(), ["new"]);
}
