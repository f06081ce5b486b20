//! Verification, against chance and against the letter of SPEC §5.

use std::time::{Duration, SystemTime};

use formsvc_receiver::{Event, TOLERANCE_MAX, Verifier, VerifyError, signature_header};
use proptest::prelude::*;

use crate::support::{CREATED, NOW, OLD_SECRET, SECRET, at, builder, signed, signed_at, verifier};

#[test]
fn a_delivery_of_the_service_is_verified_and_read() {
    let header = signed(&[SECRET], CREATED.as_bytes());
    let verified = verifier().verify_event(header.as_bytes(), CREATED).unwrap();
    assert_eq!((verified.timestamp(), verified.secret()), (NOW, "1"));
    assert_eq!(verified.body(), CREATED);
    let submission = verified.into_submission().unwrap();
    assert_eq!(submission.submission_id.as_str(), "sub_1");
    assert_eq!(submission.data.as_json(), r#"{"n":9007199254740993}"#);
}

#[test]
fn any_of_two_secrets_may_match_any_of_eight_signatures() {
    let verifier = builder()
        .secret_named("2026-10", SECRET.into())
        .secret_named("2025-10", OLD_SECRET.into())
        .build()
        .unwrap();
    for (secret, name) in [(SECRET, "2026-10"), (OLD_SECRET, "2025-10")] {
        for place in 0..8 {
            let mut secrets = ["whsec_of_somebody_else"; 8];
            secrets[place] = secret;
            let found = verifier.verify(signed(&secrets, b"{}").as_bytes(), b"{}").unwrap();
            assert_eq!(found.secret(), name, "at {place}");
        }
    }
    let both = verifier.verify(signed(&[OLD_SECRET, SECRET], b"{}").as_bytes(), b"{}").unwrap();
    assert_eq!(both.secret(), "2026-10", "the first that was given");
    let none = signed(&["whsec_of_somebody_else"; 8], b"{}");
    assert_eq!(verifier.verify(none.as_bytes(), b"{}"), Err(VerifyError::NoMatch));
    let too_many = signed(&[SECRET; 9], b"{}");
    assert_eq!(verifier.verify(too_many.as_bytes(), b"{}"), Err(VerifyError::Malformed));
}

#[test]
fn an_old_delivery_is_refused_from_the_301st_second_on_either_side() {
    for (unix_seconds, refused) in [
        (NOW - 301, Some(VerifyError::TooOld)),
        (NOW - 300, None),
        (NOW + 300, None),
        (NOW + 301, Some(VerifyError::InFuture)),
        (0, Some(VerifyError::TooOld)),
        (u64::MAX, Some(VerifyError::InFuture)),
    ] {
        let header = signed_at(&[SECRET], unix_seconds, b"{}");
        let found = verifier().verify(header.as_bytes(), b"{}");
        assert_eq!(found.err(), refused, "{unix_seconds}");
        let unsigned = format!("t={unix_seconds},v1={}", "0".repeat(64));
        let found = verifier().admit(unsigned.as_bytes());
        assert_eq!(found.err(), refused, "{unix_seconds}, before the body is there");
    }
}

#[test]
fn the_age_is_told_to_nobody_who_did_not_sign() {
    let header = signed_at(&[OLD_SECRET], 0, b"{}");
    assert_eq!(verifier().verify(header.as_bytes(), b"{}"), Err(VerifyError::NoMatch));
}

#[test]
fn no_clock_makes_an_age_overflow() {
    let clocks = [SystemTime::UNIX_EPOCH, at(0) - Duration::from_secs(1 << 40), at(1 << 60)];
    for now in clocks {
        for tolerance in [Duration::ZERO, Duration::from_secs(300), TOLERANCE_MAX] {
            let builder = Verifier::builder().secret(SECRET.into()).clock(move || now);
            let verifier = builder.tolerance(tolerance).build().unwrap();
            for unix_seconds in [0, 1, 1 << 40, u64::MAX] {
                let header = signed_at(&[SECRET], unix_seconds, b"{}");
                let found = verifier.verify(header.as_bytes(), b"{}").map(drop);
                assert_eq!(found, verifier.admit(header.as_bytes()), "{now:?} {unix_seconds}");
            }
        }
    }
}

#[test]
fn the_tolerance_and_the_clock_are_the_ones_that_were_given() {
    let verifier = builder().secret(SECRET.into()).tolerance(Duration::ZERO).build().unwrap();
    assert!(verifier.verify(signed(&[SECRET], b"").as_bytes(), b"").is_ok());
    for unix_seconds in [NOW - 1, NOW + 1] {
        let header = signed_at(&[SECRET], unix_seconds, b"");
        assert!(verifier.verify(header.as_bytes(), b"").is_err(), "{unix_seconds}");
    }
}

#[test]
fn another_time_than_the_clocks_judges_where_it_is_given() {
    let header = signed(&[SECRET], CREATED.as_bytes());
    let judged = |now| verifier().verify_event_at(header.as_bytes(), CREATED, now).map(drop);
    assert!([NOW - 300, NOW, NOW + 300].iter().all(|now| judged(at(*now)).is_ok()));
    assert_eq!(judged(at(NOW + 301)), Err(VerifyError::TooOld));
    assert_eq!(judged(at(NOW - 301)), Err(VerifyError::InFuture));
}

#[test]
fn a_body_over_the_cap_is_refused_even_if_it_is_signed() {
    let verifier = builder().secret(SECRET.into()).max_body(8).build().unwrap();
    for (length, refused) in [(8, None), (9, Some(VerifyError::TooLarge))] {
        let body = vec![b' '; length];
        let header = signed(&[SECRET], &body);
        assert_eq!(verifier.verify(header.as_bytes(), &body).err(), refused, "{length}");
        // The header comes first: it is all that is known before a body is read.
        assert_eq!(verifier.verify(b"t=1", &body), Err(VerifyError::Malformed));
    }
}

#[test]
fn a_body_that_is_no_text_is_verified_and_refused_as_an_event_only() {
    let body = b"\xff\xfe\0\x80";
    let header = signed(&[SECRET], body);
    assert!(verifier().verify(header.as_bytes(), body).is_ok());
    let refused = verifier().verify_event(header.as_bytes(), body.as_slice()).unwrap_err();
    assert!(matches!(refused, VerifyError::BadJson(_)), "{refused}");
}

#[test]
fn a_body_is_not_read_before_its_signature_is_right() {
    let header = signed(&[OLD_SECRET], b"nonsense");
    let refused = verifier().verify_event(header.as_bytes(), &b"nonsense"[..]);
    assert_eq!(refused.unwrap_err(), VerifyError::NoMatch);
}

#[test]
fn a_request_has_one_header() {
    let header = signed(&[SECRET], b"{}");
    let none: [&str; 0] = [];
    assert_eq!(signature_header(none), Err(VerifyError::MissingHeader));
    assert_eq!(signature_header([&header, &header]), Err(VerifyError::Malformed));
    assert_eq!(signature_header([&header]), Ok(&header));
}

#[test]
fn no_refusal_shows_the_header_the_body_or_a_secret() {
    let body = CREATED.replace("\"Größe\"", "[\"hunter2\"]");
    let header = signed(&[SECRET], body.as_bytes());
    let signature = &header[header.len() - 64..];
    let small = builder().secret(SECRET.into()).max_body(1).build().unwrap();
    let late = Verifier::builder().secret(SECRET.into()).clock(|| at(0)).build().unwrap();
    let other = builder().secret(OLD_SECRET.into()).build().unwrap();
    for refused in [
        verifier().verify_event(header.as_bytes(), body.clone()),
        small.verify_event(header.as_bytes(), body.clone()),
        late.verify_event(header.as_bytes(), body.clone()),
        other.verify_event(header.as_bytes(), body.clone()),
        verifier().verify_event(&header.as_bytes()[1..], body.clone()),
    ] {
        let error = refused.unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let told = format!("{error} {error:?} {source:?} {} {}", error.code(), error.message());
        for secret in ["hunter2", "sub_1", signature, &NOW.to_string(), SECRET, OLD_SECRET] {
            assert!(!told.contains(secret), "{told}");
        }
    }
}

#[test]
fn what_people_wrote_does_not_show_in_debug() {
    let body = CREATED.replace("Größe", "hunter2");
    let header = signed(&[SECRET], body.as_bytes());
    let verified = verifier().verify_event(header.as_bytes(), body).unwrap();
    let shown = format!("{verified:?} {:?}", verified.event());
    assert!(shown.contains(&NOW.to_string()) && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn verification_allocates_nothing() {
    let verifier =
        builder().secret(OLD_SECRET.into()).secret(SECRET.into()).max_body(1024).build().unwrap();
    let body = vec![b'x'; 1024];
    let good = signed(&[SECRET, OLD_SECRET], &body).into_bytes();
    let headers = [
        good.clone(),
        signed(&["whsec_of_somebody_else"; 8], &body).into_bytes(),
        signed_at(&[SECRET], 1, &body).into_bytes(),
        b"t=1".to_vec(),
        vec![0xff; 100],
    ];
    assert!(verifier.verify(&good, &body).is_ok());
    for header in &headers {
        let counted = allocation_counter::measure(|| {
            let _ = verifier.verify(header, &body);
            let _ = verifier.verify(header, &[]);
        });
        assert_eq!(counted.count_total, 0, "{}", header.escape_ascii());
    }
    let counted = allocation_counter::measure(|| drop(vec![1]));
    assert_eq!(counted.count_total, 1, "allocations are counted");
}

#[test]
fn a_body_is_not_copied_to_be_read() {
    let body =
        CREATED.replace("\"Größe\"", &format!("\"T\",\"later\":\"{}\"", "x".repeat(100_000)));
    let header = signed(&[SECRET], body.as_bytes());
    let (verifier, length) = (verifier(), body.len() as u64);
    let counted = allocation_counter::measure(|| {
        assert!(verifier.verify_event(header.as_bytes(), body).is_ok());
    });
    assert!(counted.bytes_total < length / 10, "{} bytes", counted.bytes_total);
}

fn headers() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(format!("t={NOW}")),
        "t=[0-9+ -]{0,25}",
        "v1=[0-9a-f]{64}",
        "v1=[0-9a-fA-F]{60,66}",
        "\\PC{0,8}",
    ];
    prop_oneof![
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.join(",").into_bytes()),
        prop::collection::vec(any::<u8>(), 0..200),
    ]
}

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        r#"\{"event":("submission.created"|"[a-z.]{0,9}"|null)(,"[a-z_]{1,9}":[\]\[{}"0-9]{0,9}){0,4}\}?"#
            .prop_map(String::into_bytes),
        // A delivery with a piece of it replaced.
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), "\\PC{0,5}").prop_map(
            |(from, to, piece)| {
                let mut body = CREATED.as_bytes().to_vec();
                let (from, to) = (from.index(body.len()), to.index(body.len()));
                body.splice(from.min(to)..from.max(to), piece.into_bytes());
                body
            }
        ),
    ]
}

proptest! {
    #[test]
    fn nothing_panics_and_chance_is_never_accepted(header in headers(), body in bodies()) {
        let verifier =
            builder().secret(SECRET.into()).secret(OLD_SECRET.into()).max_body(150).build().unwrap();
        prop_assert!(verifier.verify(&header, &body).is_err());
        prop_assert!(verifier.verify_event(&header, body).is_err());
        let _ = Verifier::check_header(&header);
    }

    #[test]
    fn whatever_is_signed_verifies_and_reading_it_never_panics(body in bodies()) {
        let header = signed(&[SECRET], &body);
        prop_assert!(verifier().verify(header.as_bytes(), &body).is_ok());
        match verifier().verify_event(header.as_bytes(), body.clone()) {
            Ok(verified) => {
                let text = std::str::from_utf8(&body).unwrap();
                prop_assert_eq!(verified.as_json(), text.trim_matches([' ', '\t', '\r', '\n']));
                let stored = serde_json::to_string(verified.event()).unwrap();
                prop_assert_eq!(&serde_json::from_str::<Event>(&stored).unwrap(), verified.event());
            }
            Err(VerifyError::BadJson(error)) => {
                prop_assert!(error.to_string().is_ascii());
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}
