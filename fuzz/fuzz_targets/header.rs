//! The signature header: the parser accepts the same headers as a simple reference parser, and only correct
//! signatures verify.

#![no_main]

use std::time::Duration;

use formsvc_fuzz::{NOW, SECRET};
use formsvc_protocol::signature::{self, SignatureError, SignatureHeader, SigningSecret};
use hmac::{Hmac, KeyInit, Mac};
use libfuzzer_sys::fuzz_target;
use sha2::Sha256;

const BODY: &[u8] = b"{}\xff";
const TOLERANCE: Duration = Duration::from_secs(300);

/// The text of `t`, its number, and the `v1` values.
struct Plain<'a> {
    text: &'a str,
    seconds: u64,
    signatures: Vec<&'a str>,
}

/// Parses a header by the rules of SPEC §5, one after the other.
fn plain(header: &[u8]) -> Option<Plain<'_>> {
    let header = std::str::from_utf8(header).ok()?;
    let parts: Vec<_> =
        header.split(',').map(|part| part.split_once('=')).collect::<Option<_>>()?;
    let of = |wanted| parts.iter().filter(move |(key, _)| *key == wanted).map(|(_, value)| *value);
    let times: Vec<_> = of("t").collect();
    let signatures: Vec<_> = of("v1").collect();
    let is_hex =
        |text: &&str| text.len() == 64 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    let [text] = times[..] else { return None };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let good = digits
        && of("").next().is_none()
        && (1..=8).contains(&signatures.len())
        && signatures.iter().all(is_hex);
    let seconds = text.parse().ok().filter(|_| good)?;
    Some(Plain { text, seconds, signatures })
}

fn hmac(text: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("HMAC accepts keys of any length");
    mac.update(&[text.as_bytes(), b".", BODY].concat());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fuzz_target!(|header: &[u8]| {
    let plain = plain(header);
    assert_eq!(SignatureHeader::parse(header).is_ok(), plain.is_some());
    let secrets = ["whsec_other", SECRET].map(|text| SigningSecret::new(text).expect("text"));
    let verify = |header: &[u8], now| signature::verify(header, BODY, &secrets, now, TOLERANCE);
    let Some(plain) = plain else {
        assert_eq!(verify(header, NOW), Err(SignatureError::Malformed));
        return;
    };
    let right = hmac(plain.text);
    let forged = plain.signatures.contains(&right.as_str());
    assert_eq!(verify(header, plain.seconds).is_ok(), forged);
    let signed = [header, b",v1=", right.as_bytes()].concat();
    let verified = verify(&signed, plain.seconds);
    if plain.signatures.len() == 8 {
        assert_eq!(verified, Err(SignatureError::Malformed));
        return;
    }
    let verified = verified.expect("the signature is valid");
    assert_eq!(verified, 1);
    let at = |seconds: Option<u64>| seconds.map(|now| verify(&signed, now).map(|_| ()));
    for (now, expected) in [
        (plain.seconds.checked_add(300), Ok(())),
        (plain.seconds.checked_sub(300), Ok(())),
        (plain.seconds.checked_add(301), Err(SignatureError::TooOld)),
        (plain.seconds.checked_sub(301), Err(SignatureError::InFuture)),
    ] {
        assert!(at(now).is_none_or(|found| found == expected), "{now:?}: {expected:?}");
    }
});
