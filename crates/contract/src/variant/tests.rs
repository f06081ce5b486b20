//! Each variant is judged by the receiver of this project.

use std::time::{Duration, UNIX_EPOCH};

use formsvc_receiver::{Verifier, signature_header};

use super::Expect::{Accept, Either, Refuse};
use super::*;

const NOW: u64 = 1_767_225_600;
const SECRET: &str = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";
const OLD: &str = "whsec_9zQkF5uLx7Ty2WmJr4VdNc1GsHb8PaEoI6Kt3XvRgZn";

fn verifier(secret: &str) -> Verifier {
    let clock = || UNIX_EPOCH + Duration::from_secs(NOW);
    Verifier::builder().secret(secret).clock(clock).build().unwrap()
}

#[test]
fn receiver_treats_each_variant_as_expected() {
    for body in [&b"{}"[..], b"", b"\xff\n", "{\"data\":{\"Größe\":\"x\\/y\"}}".as_bytes()] {
        for secrets in [&[SECRET.into()][..], &[SECRET.into(), OLD.into()]] {
            for row in VARIANTS {
                let made = row.variant.sign(secrets, NOW, body);
                let header = signature_header(made.values());
                let taken = header
                    .and_then(|header| verifier(SECRET).verify_signature(header, body))
                    .is_ok();
                match row.expect {
                    Accept => assert!(taken, "{}", row.name),
                    Refuse | Either => assert!(!taken, "{}", row.name),
                }
            }
        }
    }
}

#[test]
fn signature_of_a_rotation_matches_both_secrets() {
    let made = Variant::Fresh.sign(&[SECRET.into(), OLD.into()], NOW, b"{}");
    for secret in [SECRET, OLD] {
        assert!(verifier(secret).verify_signature(&made.values()[0], b"{}").is_ok());
    }
}

#[test]
fn names_are_unique_and_lead_back() {
    for (at, row) in VARIANTS.iter().enumerate() {
        assert_eq!(Variant::of_name(row.name), Some(row.variant));
        assert_eq!(row.variant.row().name, row.name);
        assert!(VARIANTS[..at].iter().all(|other| other.variant != row.variant));
    }
    assert_eq!(VARIANTS.len(), Variant::TwoHeaders as usize + 1);
}

#[test]
fn variants_differ_and_need_no_clock() {
    let made = |row: &VariantRow| row.variant.sign(&[SECRET.into()], NOW, b"{}").0;
    for (at, row) in VARIANTS.iter().enumerate() {
        assert_eq!(made(row), made(row));
        for other in &VARIANTS[..at] {
            assert_ne!(made(row), made(other), "{} and {}", row.name, other.name);
        }
    }
    for row in VARIANTS {
        for now in [0, u64::MAX] {
            row.variant.sign(&[SECRET.into()], now, b"");
        }
        assert!(row.variant.sign(&[], NOW, b"{}").values().is_empty());
    }
}

#[test]
fn put_replaces_existing_headers() {
    let mut headers = HeaderMap::from_iter([(SIGNATURE, HeaderValue::from_static("t=1"))]);
    Variant::TwoHeaders.sign(&[SECRET.into()], NOW, b"{}").put(&mut headers);
    assert_eq!(headers.get_all(SIGNATURE).iter().count(), 2);
    Variant::Missing.sign(&[SECRET.into()], NOW, b"{}").put(&mut headers);
    assert!(headers.is_empty());
}
