//! Reading a signature header that is not as it should be: what it means, and what is wrong with it.

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use formsvc_protocol::signature::{HEADER, SignatureHeader};

use super::hypothesis::Hypothesis;

/// Longest header that is looked at.
const LENGTH_MAX: usize = 16 << 10;
/// Fewest bytes of a MAC that are taken for its beginning: what is shorter could match by chance.
const MAC_MIN: usize = 8;
/// Most MACs that are taken from one header.
const MACS_MAX: usize = 16;

/// Base64 as anybody writes it: padded or not.
pub(super) const fn lenient(alphabet: &base64::alphabet::Alphabet) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(alphabet, config)
}

pub(super) const STANDARD: GeneralPurpose = lenient(&base64::alphabet::STANDARD);
pub(super) const URL_SAFE: GeneralPurpose = lenient(&base64::alphabet::URL_SAFE);

/// What a header means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// The text that was signed as the time, if there is one.
    pub(super) t: Option<String>,
    /// What may be MACs, or their beginnings.
    pub(super) macs: Vec<Mac>,
    /// What is wrong with it as a whole.
    pub(super) defects: Vec<Hypothesis>,
}

/// What may be a MAC, or the beginning of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mac {
    pub(super) bytes: Vec<u8>,
    /// What is wrong with how it is written.
    pub(super) defects: Vec<Hypothesis>,
}

/// The readings of the header's values: one for each value, or for each `t` of a value that has several.
pub(super) fn readings(values: &[&[u8]]) -> Vec<Reading> {
    let several = values.len() > 1;
    let mut all: Vec<_> = values.iter().flat_map(|value| of_value(value)).collect();
    if several {
        for reading in &mut all {
            reading.add(Hypothesis::HeaderTwice);
        }
    }
    all
}

/// Whether a header of any name could be the signature.
pub(super) fn is_like(value: &[u8]) -> bool {
    of_value(value).iter().any(|reading| reading.t.is_some() && !reading.macs.is_empty())
}

fn of_value(value: &[u8]) -> Vec<Reading> {
    let Ok(text) = std::str::from_utf8(value) else { return Vec::new() };
    if text.len() > LENGTH_MAX {
        return Vec::new();
    }
    let mut defects = Vec::new();
    let parts = match SignatureHeader::parse(value) {
        Ok(_) => text.split(',').map(str::to_owned).collect::<Vec<_>>(),
        Err(_) => parts(text, &mut defects),
    };
    // Each `t` begins a signature, except where the first stands behind its MAC.
    let mut readings = vec![Reading::default()];
    for part in &parts {
        let (key, value) = part.split_once('=').unwrap_or(("", part));
        let current = readings.last_mut().expect("there is one from the start");
        match key {
            "t" if current.t.is_some() => {
                readings.push(Reading { t: Some(value.to_owned()), ..Reading::default() });
            }
            "t" => current.t = Some(value.to_owned()),
            _ => current.macs.extend(mac(key, value)),
        }
    }
    let several = readings.len() > 1;
    for reading in &mut readings {
        reading.defects.clone_from(&defects);
        reading.macs.truncate(MACS_MAX);
        if several {
            reading.add(Hypothesis::HeaderTwice);
        }
    }
    readings
}

impl Reading {
    fn add(&mut self, defect: Hypothesis) {
        if !self.defects.contains(&defect) {
            self.defects.push(defect);
        }
    }
}

/// A step that puts a value right, and what is wrong where it changes anything.
type Step = (Hypothesis, fn(&str) -> String);

const STEPS: [Step; 6] = [
    (Hypothesis::HeaderWithName, without_name),
    (Hypothesis::HeaderPercentEncoded, percent_decoded),
    (Hypothesis::HeaderQuoted, without_quotes),
    (Hypothesis::HeaderSeparators, with_commas),
    (Hypothesis::HeaderSpaced, without_space),
    (Hypothesis::HeaderKeysCase, with_small_keys),
];

/// The parts of a value that is malformed, put right step by step.
fn parts(text: &str, defects: &mut Vec<Hypothesis>) -> Vec<String> {
    let mut text = text.to_owned();
    for (hypothesis, step) in STEPS {
        let changed = step(&text);
        if changed != text {
            defects.push(hypothesis);
            text = changed;
        }
    }
    text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn without_name(text: &str) -> String {
    let value = text.split_once(':').filter(|(name, _)| {
        name.trim().eq_ignore_ascii_case(HEADER) || name.trim().eq_ignore_ascii_case("signature")
    });
    value.map_or(text, |(_, value)| value.trim_start()).to_owned()
}

/// Decoded if one of the header's own signs is encoded; anything else may be meant.
fn percent_decoded(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    if !lower.contains("%3d") && !lower.contains("%2c") {
        return text.to_owned();
    }
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let (b'%', Some(code)) = (byte, code) {
            out.push(code);
            rest = &after[2..];
        } else {
            out.push(*byte);
            rest = after;
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

fn without_quotes(text: &str) -> String {
    text.replace(['"', '\'', '`'], "")
}

fn with_commas(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let by_space = words.len() > 1 && words.iter().all(|word| word.contains(['=', ':']));
    let text =
        if by_space && !text.contains([',', ';', '&']) { words.join(",") } else { text.to_owned() };
    let text = text.replace([';', '&', '|'], ",");
    if text.contains('=') { text } else { text.replace(':', "=") }
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

fn with_small_keys(text: &str) -> String {
    let small = |part: &str| match part.split_once('=') {
        Some((key, value)) if key.len() <= 2 => format!("{}={value}", key.to_ascii_lowercase()),
        _ => part.to_owned(),
    };
    text.split(',').map(small).collect::<Vec<_>>().join(",")
}

/// What may be a MAC under a key.
fn mac(key: &str, value: &str) -> Option<Mac> {
    let mut defects = Vec::new();
    if key != "v1" {
        defects.push(Hypothesis::HeaderOtherKey);
    }
    let bare = without_prefix(value);
    if bare != value {
        defects.push(Hypothesis::V1Prefixed);
    }
    let bytes = if !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        if bare.bytes().any(|byte| byte.is_ascii_uppercase()) {
            defects.push(Hypothesis::V1UpperCase);
        }
        if bare.len() < 64 {
            defects.push(Hypothesis::V1Truncated);
        }
        // Digits too many are no MAC, unless they are as many as other algorithms make.
        if bare.len() > 64 && !matches!(bare.len(), 96 | 128) {
            return None;
        }
        // A digit alone is half a byte, and tells less than the others.
        hex::decode(&bare[..bare.len() & !1]).ok()?
    } else {
        defects.push(Hypothesis::V1Base64);
        let decoded = STANDARD.decode(bare).or_else(|_| URL_SAFE.decode(bare)).ok()?;
        // Some encode the digits instead of what they mean.
        hex::decode(&decoded).ok().filter(|_| decoded.len() == 64).unwrap_or(decoded)
    };
    let is_whole = matches!(bytes.len(), 32 | 48 | 64);
    let is_part =
        bytes.len() >= MAC_MIN && bytes.len() < 32 && defects.contains(&Hypothesis::V1Truncated);
    (is_whole || is_part).then_some(Mac { bytes, defects })
}

fn without_prefix(value: &str) -> &str {
    let small = value.to_ascii_lowercase();
    let prefixes = ["sha256=", "sha256:", "hmac-sha256=", "sha-256=", "0x", "v1=", "v1:", "="];
    let found = prefixes.iter().find(|prefix| small.starts_with(**prefix));
    found.map_or(value, |prefix| &value[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    /// The defects of the one reading.
    fn defects(value: &str) -> Vec<Hypothesis> {
        let readings = readings(&[value.as_bytes()]);
        assert_eq!(readings.len(), 1, "{value}");
        let reading = &readings[0];
        assert_eq!(reading.t.as_deref(), Some("17"), "{value}");
        assert_eq!(reading.macs.len(), 1, "{value}: {reading:?}");
        let whole = hex::decode(MAC).unwrap();
        assert!(whole.starts_with(&reading.macs[0].bytes), "{value}");
        [&reading.defects[..], &reading.macs[0].defects].concat()
    }

    #[test]
    fn a_right_header_has_no_defect_and_each_wrong_one_its_own() {
        use Hypothesis as H;
        let base64 = STANDARD.encode(hex::decode(MAC).unwrap());
        let url_safe = URL_SAFE.encode(hex::decode(MAC).unwrap()).replace('=', "");
        for (value, expected) in [
            (format!("t=17,v1={MAC}"), &[][..]),
            (format!("v1={MAC},t=17"), &[]),
            (format!("X-Service-Signature: t=17,v1={MAC}"), &[H::HeaderWithName]),
            (format!("t%3D17%2Cv1%3D{MAC}"), &[H::HeaderPercentEncoded]),
            (format!("\"t=17,v1={MAC}\""), &[H::HeaderQuoted]),
            (format!("t=17,v1='{MAC}'"), &[H::HeaderQuoted]),
            (format!("t=17,\r\n v1={MAC}"), &[H::HeaderSpaced]),
            (format!("t=17, v1={MAC}\n"), &[H::HeaderSpaced]),
            (format!("t=17;v1={MAC}"), &[H::HeaderSeparators]),
            (format!("t=17 v1={MAC}"), &[H::HeaderSeparators]),
            (format!("t:17,v1:{MAC}"), &[H::HeaderSeparators]),
            (format!("T=17,V1={MAC}"), &[H::HeaderKeysCase]),
            (format!("t=17,v0={MAC}"), &[H::HeaderOtherKey]),
            (format!("t=17,sha256={MAC}"), &[H::HeaderOtherKey]),
            (format!("t=17,{MAC}"), &[H::HeaderOtherKey]),
            (format!("t=17,v1=sha256={MAC}"), &[H::V1Prefixed]),
            (format!("t=17,v1={}", MAC.to_uppercase()), &[H::V1UpperCase]),
            (format!("t=17,v1={base64}"), &[H::V1Base64]),
            (format!("t=17,v1={url_safe}"), &[H::V1Base64]),
            (format!("t=17,v1={}", STANDARD.encode(MAC)), &[H::V1Base64]),
            (format!("t=17,v1={}", &MAC[..63]), &[H::V1Truncated]),
            (format!("t=17,v1={}", &MAC[..16]), &[H::V1Truncated]),
        ] {
            assert_eq!(defects(&value), expected, "{value}");
        }
    }

    #[test]
    fn two_of_something_are_read_one_by_one() {
        let value = format!("t=17,v1={MAC}");
        let twice = readings(&[value.as_bytes(), b"t=18"]);
        assert_eq!(twice.len(), 2);
        assert!(twice.iter().all(|reading| reading.defects == [Hypothesis::HeaderTwice]));
        let joined = format!("{value},{value}");
        let joined = readings(&[joined.as_bytes()]);
        assert_eq!(joined.len(), 2);
        assert!(joined[1].defects.contains(&Hypothesis::HeaderTwice));
    }

    #[test]
    fn what_means_nothing_has_no_mac_and_no_value_panics() {
        for value in [&b""[..], b",", b"=", b"\xff", b"t=", b"hello", b"%", b"t%3d%", b"v1=12"] {
            assert!(readings(&[value]).iter().all(|reading| reading.macs.is_empty()));
            assert!(!is_like(value));
        }
        assert!(readings(&[&vec![b'='; LENGTH_MAX + 1]]).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read(value: Vec<u8>, text in "[tv01=,:;%\"' a-fA-F0-9]{0,90}") {
            readings(&[&value, text.as_bytes()]);
        }
    }
}
