//! Signatures against vectors that another language computed, and against chance.

use std::time::Duration;

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{SignatureError, SignatureMatch, SigningSecret, sign, verify};
use proptest::prelude::*;
use serde::Deserialize;

use crate::fixtures;

#[derive(Deserialize)]
struct File {
    tolerance_seconds: u64,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    secrets: Vec<String>,
    now: u64,
    header: String,
    body_hex: String,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    unix_seconds: Option<u64>,
    secret_index: Option<usize>,
    refused: Option<String>,
}

fn secret(text: &str) -> SigningSecret {
    SigningSecret::new(&text.into()).expect("is not empty")
}

/// What verification found, in the words of the vectors.
fn in_words(result: Result<SignatureMatch, SignatureError>) -> Result<(u64, usize), &'static str> {
    match result {
        Ok(SignatureMatch { unix_seconds, secret_index }) => Ok((unix_seconds, secret_index)),
        Err(SignatureError::Malformed) => Err("malformed"),
        Err(SignatureError::NoMatch) => Err("no_match"),
        Err(SignatureError::TooOld) => Err("too_old"),
        Err(SignatureError::InFuture) => Err("in_future"),
        Err(_) => Err("a reason the vectors do not know"),
    }
}

fn file() -> File {
    serde_json::from_str(&fixtures::text("webhooks/signatures.json")).expect("is JSON")
}

#[test]
fn every_vector_is_judged_as_its_file_says() {
    let file = file();
    let tolerance = Duration::from_secs(file.tolerance_seconds);
    assert_eq!(tolerance, SIGNATURE_TOLERANCE);
    for vector in &file.vectors {
        let secrets: Vec<_> = vector.secrets.iter().map(|text| secret(text)).collect();
        let body = hex::decode(&vector.body_hex).expect("is hex");
        let found = verify(vector.header.as_bytes(), &body, &secrets, vector.now, tolerance);
        let Expect { unix_seconds, secret_index, refused } = &vector.expect;
        let expected = match refused {
            Some(reason) => Err(reason.as_str()),
            None => Ok((unix_seconds.expect("is given"), secret_index.expect("is given"))),
        };
        assert_eq!(in_words(found), expected, "{}: {}", vector.name, vector.header);
    }
}

#[test]
fn the_vectors_reach_every_outcome() {
    let file = file();
    for reason in ["malformed", "no_match", "too_old", "in_future"] {
        let count = file.vectors.iter().filter(|v| v.expect.refused.as_deref() == Some(reason));
        assert!(count.count() >= 3, "{reason}");
    }
    assert!(file.vectors.iter().filter(|v| v.expect.refused.is_none()).count() >= 10);
}

#[test]
fn what_we_sign_is_what_the_other_language_signed() {
    let file = file();
    let plain = |v: &&Vector| v.expect.refused.is_none() && v.secrets.len() == 1;
    let mut same = 0;
    for vector in file.vectors.iter().filter(plain) {
        let unix_seconds = vector.expect.unix_seconds.expect("is given");
        if vector.header.matches("v1=").count() == 1
            && vector.header.starts_with(&format!("t={unix_seconds},v1="))
            && vector.header.matches(',').count() == 1
        {
            let body = hex::decode(&vector.body_hex).expect("is hex");
            let ours = sign([&secret(&vector.secrets[0])], unix_seconds, &body);
            assert_eq!(ours, vector.header, "{}", vector.name);
            same += 1;
        }
    }
    assert!(same >= 8, "{same}");
}

#[test]
fn a_header_that_is_not_text_is_malformed() {
    let header = [b"t=1,v1=".as_slice(), &[0xff; 64]].concat();
    let found = verify(&header, b"", &[secret("k")], 1, SIGNATURE_TOLERANCE);
    assert_eq!(found, Err(SignatureError::Malformed));
}

#[test]
fn an_empty_secret_is_no_secret() {
    assert!(SigningSecret::new(&"".into()).is_none());
}

#[test]
fn a_secret_does_not_show_itself() {
    let shown = format!("{:?}", secret("whsec_hunter2"));
    assert!(!shown.contains("hunter2"), "{shown}");
}

/// Headers that are nearly right, so that chance reaches past the first check.
fn near_headers() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just("t=1767225600".to_owned()),
        "t=[0-9+ -]{0,25}",
        "v1=[0-9a-f]{64}",
        "v1=[0-9a-fA-F]{60,66}",
        "[tv1]{0,3}=?[ -~]{0,10}",
        "\\PC{0,8}",
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.join(",").into_bytes())
}

proptest! {
    #[test]
    fn verification_never_panics_and_never_accepts_chance(
        header in prop_oneof![near_headers(), prop::collection::vec(any::<u8>(), 0..200)],
        body in prop::collection::vec(any::<u8>(), 0..100),
        now in any::<u64>(),
        tolerance in any::<u64>(),
    ) {
        let secrets = [secret("whsec_a"), secret("whsec_b")];
        let found = verify(&header, &body, &secrets, now, Duration::from_secs(tolerance));
        prop_assert!(found.is_err());
    }

    #[test]
    fn what_is_signed_verifies(
        body in prop::collection::vec(any::<u8>(), 0..300),
        texts in prop::collection::vec("\\PC{1,80}", 1..=8),
        held in any::<prop::sample::Index>(),
        unix_seconds in any::<u64>(),
        skew in 0_u64..=300,
        ahead in any::<bool>(),
    ) {
        let secrets: Vec<_> = texts.iter().map(|text| secret(text)).collect();
        let header = sign(&secrets, unix_seconds, &body);
        let now = if ahead {
            unix_seconds.saturating_sub(skew)
        } else {
            unix_seconds.saturating_add(skew)
        };
        let held = [secrets[held.index(secrets.len())].clone()];
        let found = verify(header.as_bytes(), &body, &held, now, SIGNATURE_TOLERANCE);
        prop_assert_eq!(found, Ok(SignatureMatch { unix_seconds, secret_index: 0 }));
    }

    #[test]
    fn one_flipped_bit_of_the_body_is_refused(
        body in prop::collection::vec(any::<u8>(), 1..200),
        at in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let secrets = [secret("whsec_a")];
        let header = sign(&secrets, 1_767_225_600, &body);
        let mut body = body;
        let at = at.index(body.len());
        body[at] ^= 1 << bit;
        let found = verify(header.as_bytes(), &body, &secrets, 1_767_225_600, SIGNATURE_TOLERANCE);
        prop_assert_eq!(found, Err(SignatureError::NoMatch));
    }
}

#[test]
fn one_flipped_bit_anywhere_in_the_header_is_refused() {
    let secrets = [secret("whsec_a")];
    let header = sign(&secrets, 1_767_225_600, b"{}").into_bytes();
    for at in 0..header.len() {
        for bit in 0..8 {
            let mut flipped = header.clone();
            flipped[at] ^= 1 << bit;
            // No tolerance to hide in: even a time changed to a later one is refused as unsigned.
            let found = verify(&flipped, b"{}", &secrets, 1_767_225_600, Duration::MAX);
            assert!(found.is_err(), "byte {at}, bit {bit}: {}", flipped.escape_ascii());
        }
    }
}
