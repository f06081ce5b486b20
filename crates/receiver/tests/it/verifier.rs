//! Verification of signatures (SPEC §5).

use std::time::Duration;

use formsvc_receiver::http::HeaderMap;
use formsvc_receiver::{Verifier, VerifyError};

use crate::support::{
    CREATED, NOW, OLD_SECRET, OTHER_SECRET, SECRET, at, builder, delivery, signed, signed_at,
    verifier,
};

#[test]
fn delivery_is_verified_and_read() {
    let header = signed(&[SECRET], CREATED.as_bytes());
    let verified = verifier().verify(&header, CREATED).unwrap();
    assert_eq!((verified.proof().timestamp(), verified.proof().secret_name()), (NOW, "1"));
    assert_eq!(verified.body(), CREATED);
    let submission = verified.into_submission().unwrap();
    assert_eq!(submission.submission_id.as_str(), "sub_1");
}

#[test]
fn request_is_verified_with_its_headers() {
    let (head, body) = delivery(CREATED).into_parts();
    let mut headers = head.headers;
    let verify = |headers: &HeaderMap| verifier().verify_request(headers, body.clone());
    assert_eq!(verify(&headers).unwrap().kind(), "submission.created");
    headers.insert("x-service-event", "form.closed".parse().unwrap());
    assert_eq!(verify(&headers), Err(VerifyError::EventMismatch));
    headers.remove("x-service-event");
    assert!(verify(&headers).is_ok());
    headers.append("x-service-signature", "t=1".parse().unwrap());
    assert_eq!(verify(&headers), Err(VerifyError::Malformed));
    assert_eq!(verify(&HeaderMap::new()), Err(VerifyError::MissingHeader));
}

#[test]
fn any_secret_can_match_any_signature() {
    let verifier = Verifier::builder()
        .named_secret("2026-10", SECRET)
        .named_secret("2025-10", OLD_SECRET)
        .clock(|| at(NOW))
        .build()
        .unwrap();
    for (secret, name) in [(SECRET, "2026-10"), (OLD_SECRET, "2025-10")] {
        for index in 0..8 {
            let mut secrets = [OTHER_SECRET; 8];
            secrets[index] = secret;
            let proof = verifier.verify_signature(signed(&secrets, b"{}"), b"{}").unwrap();
            assert_eq!(proof.secret_name(), name, "at {index}");
        }
    }
    let both = signed(&[OLD_SECRET, SECRET], b"{}");
    let proof = verifier.verify_signature(both, b"{}").unwrap();
    assert_eq!(proof.secret_name(), "2026-10", "the first secret");
    let none = signed(&[OTHER_SECRET; 8], b"{}");
    assert_eq!(verifier.verify_signature(none, b"{}"), Err(VerifyError::NoMatch));
    let too_many = signed(&[SECRET; 9], b"{}");
    assert_eq!(verifier.verify_signature(too_many, b"{}"), Err(VerifyError::Malformed));
}

#[test]
fn signature_is_refused_from_the_301st_second() {
    for (unix_seconds, error) in [
        (NOW - 301, Some(VerifyError::TooOld)),
        (NOW - 300, None),
        (NOW + 300, None),
        (NOW + 301, Some(VerifyError::InFuture)),
        (0, Some(VerifyError::TooOld)),
    ] {
        let header = signed_at(&[SECRET], unix_seconds, b"{}");
        let result = verifier().verify_signature(header, b"{}");
        assert_eq!(result.err(), error, "{unix_seconds}");
        // Before the body is read, the signature itself does not count.
        let (mut head, _) = delivery("{}").into_parts();
        let forged = format!("t={unix_seconds},v1={}", "0".repeat(64));
        head.headers.insert("x-service-signature", forged.parse().unwrap());
        assert_eq!(verifier().check_headers(&head.headers).err(), error, "{unix_seconds}");
    }
}

#[test]
fn age_is_not_reported_without_a_valid_signature() {
    let header = signed_at(&[OLD_SECRET], 0, b"{}");
    assert_eq!(verifier().verify_signature(header, b"{}"), Err(VerifyError::NoMatch));
}

#[test]
fn tolerance_and_time_can_be_set() {
    let verifier = builder().tolerance(Duration::ZERO).build().unwrap();
    let header = signed(&[SECRET], CREATED.as_bytes());
    assert!(verifier.verify(&header, CREATED).is_ok());
    for (now, error) in [(NOW + 1, VerifyError::TooOld), (NOW - 1, VerifyError::InFuture)] {
        assert_eq!(verifier.verify_at(&header, CREATED, at(now)), Err(error));
    }
}

#[test]
fn body_over_the_limit_is_refused() {
    let verifier = builder().max_body(8).build().unwrap();
    for (length, error) in [(8, None), (9, Some(VerifyError::TooLarge))] {
        let body = vec![b' '; length];
        let header = signed(&[SECRET], &body);
        assert_eq!(verifier.verify_signature(header, &body).err(), error, "{length}");
        let malformed = verifier.verify_signature("t=1", &body);
        assert_eq!(malformed, Err(VerifyError::Malformed), "the header is checked first");
    }
}

#[test]
fn body_is_parsed_only_with_a_valid_signature() {
    let body = b"\xff\xfe\0\x80".as_slice();
    let header = signed(&[SECRET], body);
    assert!(verifier().verify_signature(&header, body).is_ok());
    let error = verifier().verify(&header, body).unwrap_err();
    assert!(matches!(error, VerifyError::InvalidEvent(_)), "{error}");
    let other = signed(&[OLD_SECRET], body);
    assert_eq!(verifier().verify(other, body), Err(VerifyError::NoMatch));
}

#[test]
fn error_contains_no_header_body_or_secret() {
    let body = CREATED.replace("\"Größe\"", "[\"hunter2\"]");
    let header = signed(&[SECRET], body.as_bytes());
    let signature = &header[header.len() - 64..];
    for result in [
        verifier().verify(&header, body.clone()),
        builder().max_body(1).build().unwrap().verify(&header, body.clone()),
        verifier().verify_at(&header, body.clone(), at(0)),
        Verifier::new(OLD_SECRET).unwrap().verify(&header, body.clone()),
        verifier().verify(&header[1..], body.clone()),
    ] {
        let error = result.unwrap_err();
        let response = error.to_response();
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let text = format!("{error} {error:?} {source:?} {response:?}");
        for secret in ["hunter2", "sub_1", signature, &NOW.to_string(), SECRET, OLD_SECRET] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[test]
fn signature_check_allocates_nothing() {
    let verifier = builder().secret(OLD_SECRET).max_body(1024).build().unwrap();
    let body = vec![b'x'; 1024];
    for header in [
        signed(&[SECRET, OLD_SECRET], &body).into_bytes(),
        signed(&[OTHER_SECRET; 8], &body).into_bytes(),
        signed_at(&[SECRET], 1, &body).into_bytes(),
        b"t=1".to_vec(),
        vec![0xff; 100],
    ] {
        let counted = allocation_counter::measure(|| {
            let _ = verifier.verify_signature(&header, &body);
            let _ = verifier.verify_signature(&header, &[]);
        });
        assert_eq!(counted.count_total, 0, "{}", header.escape_ascii());
    }
    let counted = allocation_counter::measure(|| drop(vec![1]));
    assert_eq!(counted.count_total, 1, "the counter works");
}

#[test]
fn verification_does_not_copy_the_body() {
    let long = format!("{{\"later\":\"{}\",", "x".repeat(100_000));
    let body = CREATED.replacen('{', &long, 1);
    let header = signed(&[SECRET], body.as_bytes());
    let (verifier, length) = (verifier(), body.len() as u64);
    let counted = allocation_counter::measure(|| {
        assert!(verifier.verify(header, body).is_ok());
    });
    assert!(counted.bytes_total < length / 10, "{} bytes", counted.bytes_total);
}
