//! Signatures: vectors that another implementation computed, and random headers and bodies.

use std::collections::BTreeMap;
use std::time::Duration;

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{SignatureError, SignatureHeader, SigningSecret, sign, verify};
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
    SigningSecret::new(text).expect("is not empty")
}

/// The name of a result in the vectors.
fn name(error: SignatureError) -> &'static str {
    match error {
        SignatureError::Malformed => "malformed",
        SignatureError::NoMatch => "no_match",
        SignatureError::TooOld => "too_old",
        SignatureError::InFuture => "in_future",
        _ => "a reason that the vectors do not have",
    }
}

fn file() -> File {
    serde_json::from_str(&fixtures::text("webhooks/signatures.json")).expect("is JSON")
}

#[test]
fn each_vector_has_its_expected_result() {
    let file = file();
    let tolerance = Duration::from_secs(file.tolerance_seconds);
    assert_eq!(tolerance, SIGNATURE_TOLERANCE);
    let mut results = BTreeMap::new();
    for vector in &file.vectors {
        let secrets: Vec<_> = vector.secrets.iter().map(|text| secret(text)).collect();
        let body = hex::decode(&vector.body_hex).expect("is hex");
        let header = vector.header.as_bytes();
        let found = verify(header, &body, &secrets, vector.now, tolerance).map_err(name);
        let Expect { unix_seconds, secret_index, refused } = &vector.expect;
        let expected = match refused {
            Some(reason) => Err(reason.as_str()),
            None => Ok(secret_index.expect("is given")),
        };
        assert_eq!(found, expected, "{}: {}", vector.name, vector.header);
        if found.is_ok() {
            let seconds = SignatureHeader::parse(header).unwrap().unix_seconds();
            assert_eq!(Some(seconds), *unix_seconds, "{}", vector.name);
            let usual = format!("t={seconds},v1=");
            if vector.header.starts_with(&usual) && vector.header.len() == usual.len() + 64 {
                let ours = sign([&secrets[secret_index.unwrap()]], seconds, &body);
                assert_eq!(ours, vector.header, "{}", vector.name);
                *results.entry("signed").or_insert(0) += 1;
            }
        }
        *results.entry(found.err().unwrap_or("ok")).or_insert(0) += 1;
    }
    for result in ["ok", "signed", "malformed", "no_match", "too_old", "in_future"] {
        assert!(results.get(result).is_some_and(|count| *count >= 3), "{result}: {results:?}");
    }
}

/// Headers that are nearly valid, so that random ones pass the first checks.
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
    fn random_header_is_refused_without_panic(
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
    fn signed_body_verifies(
        body in prop::collection::vec(any::<u8>(), 0..300),
        texts in prop::collection::vec("\\PC{1,80}", 1..=8),
        used in any::<prop::sample::Index>(),
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
        let used = [secrets[used.index(secrets.len())].clone()];
        let found = verify(header.as_bytes(), &body, &used, now, SIGNATURE_TOLERANCE);
        prop_assert_eq!(found, Ok(0));
    }

    #[test]
    fn body_with_flipped_bit_is_refused(
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
