//! Reads signature headers that may be malformed.

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use formsvc_protocol::signature::{HEADER, SignatureHeader};

use super::cause::Cause;

/// Longest header that is read.
const LENGTH_MAX: usize = 16 << 10;

/// Most readings: each costs a MAC of each body with each key.
const READINGS_MAX: usize = 4;

/// Base64 with or without padding.
const fn lenient(alphabet: &base64::alphabet::Alphabet) -> GeneralPurpose {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(alphabet, config)
}

/// Decodes either alphabet of base64.
pub(super) fn decode_base64(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    const STANDARD: GeneralPurpose = lenient(&base64::alphabet::STANDARD);
    const URL_SAFE: GeneralPurpose = lenient(&base64::alphabet::URL_SAFE);
    STANDARD.decode(&text).or_else(|_| URL_SAFE.decode(&text)).ok()
}

/// A time and the MACs that belong to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// The text that was signed as the time.
    pub(super) t: Option<String>,
    pub(super) macs: Vec<HeaderMac>,
    /// Defects of the header as a whole.
    pub(super) causes: Vec<Cause>,
}

/// A MAC, and the defect of its spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeaderMac {
    pub(super) bytes: Vec<u8>,
    pub(super) cause: Option<Cause>,
}

/// Reads the values of the header: one reading for each of the first four `t`.
pub(super) fn readings(values: &[&[u8]]) -> Vec<Reading> {
    let all = values.iter().flat_map(|value| read_value(value));
    let mut all: Vec<Reading> = all.take(READINGS_MAX).collect();
    if all.len() > 1 {
        for reading in &mut all {
            reading.causes.push(Cause::HeaderTwice);
        }
    }
    all
}

/// Returns true if a header of any name may be the signature.
pub(super) fn is_signature_like(value: &[u8]) -> bool {
    read_value(value).iter().any(|reading| reading.t.is_some() && !reading.macs.is_empty())
}

fn read_value(value: &[u8]) -> Vec<Reading> {
    let Some(text) = std::str::from_utf8(value).ok().filter(|text| text.len() <= LENGTH_MAX) else {
        return Vec::new();
    };
    let is_valid = SignatureHeader::parse(value).is_ok();
    let pairs = if is_valid {
        let pairs = text.split(',').filter_map(|part| part.split_once('='));
        pairs.map(|(key, value)| (key.to_owned(), value)).collect()
    } else {
        lenient_pairs(text)
    };
    let mut readings = vec![Reading::default()];
    for (key, value) in &pairs {
        let current = readings.last_mut().expect("there is one from the start");
        match &**key {
            "t" if current.t.is_some() => {
                readings.push(Reading { t: Some((*value).to_owned()), ..Reading::default() });
            }
            "t" => current.t = Some((*value).to_owned()),
            // A valid header has its MACs under `v1`, and other keys are skipped.
            key if key == "v1" || !is_valid => current.macs.extend(read_mac(value)),
            _ => {}
        }
    }
    if is_valid {
        return readings;
    }
    let spelled: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let is_spelled_wrong = spelled.join(",") != text;
    let is_several = readings.len() > 1;
    for reading in &mut readings {
        let has_cause = is_several
            || reading.t.is_none()
            || reading.macs.is_empty()
            || reading.macs.iter().any(|mac| mac.cause.is_some());
        if is_spelled_wrong || !has_cause {
            reading.causes.push(Cause::HeaderFormat);
        }
    }
    readings
}

/// The keys and values of a malformed header, without its name, quotation marks and white space.
fn lenient_pairs(text: &str) -> Vec<(String, &str)> {
    let named = text.split_once(':').filter(|(name, _)| name.trim().eq_ignore_ascii_case(HEADER));
    let text = named.map_or(text, |(_, value)| value);
    let quotes = ['"', '\'', '`'];
    let parts = text.split(|c: char| c.is_whitespace() || [',', ';', '&', '|'].contains(&c));
    let parts = parts.map(|part| part.trim_matches(quotes)).filter(|part| !part.is_empty());
    let pair = |part| match str::split_once(part, ['=', ':']) {
        Some((key, value)) => (key.to_ascii_lowercase(), value.trim_matches(quotes)),
        None => (String::new(), part),
    };
    parts.map(pair).collect()
}

fn read_mac(value: &str) -> Option<HeaderMac> {
    let bare = value.strip_prefix("sha256=").unwrap_or(value);
    let prefix = (bare != value).then_some(Cause::HeaderFormat);
    let mac = |bytes: Vec<u8>, cause| (bytes.len() == 32).then_some(HeaderMac { bytes, cause });
    match hex::decode(bare) {
        Ok(bytes) if bare.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            mac(bytes, Some(Cause::V1UpperCase))
        }
        Ok(bytes) => mac(bytes, prefix),
        Err(_) => mac(decode_base64(bare)?, Some(Cause::V1Base64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    /// The defects of a value with one reading and one MAC.
    fn defects(value: &str) -> Vec<Cause> {
        let readings = readings(&[value.as_bytes()]);
        assert_eq!(readings.len(), 1, "{value}");
        let reading = &readings[0];
        assert_eq!(reading.t.as_deref(), Some("17"), "{value}");
        assert_eq!(reading.macs.len(), 1, "{value}: {reading:?}");
        assert_eq!(reading.macs[0].bytes, hex::decode(MAC).unwrap(), "{value}");
        reading.causes.iter().copied().chain(reading.macs[0].cause).collect()
    }

    #[test]
    fn malformed_header_is_read_with_its_defect() {
        use Cause as C;
        let bytes = hex::decode(MAC).unwrap();
        let engine = base64::engine::general_purpose::STANDARD;
        let base64 = engine.encode(&bytes);
        let url_safe = base64.replace('+', "-").replace('/', "_").replace('=', "");
        for (value, expected) in [
            (format!("t=17,v1={MAC}"), &[][..]),
            (format!("v1={MAC},t=17"), &[]),
            (format!("t=17,v2=1,v1={MAC}"), &[]),
            (format!("X-Service-Signature: t=17,v1={MAC}"), &[C::HeaderFormat]),
            (format!("\"t=17,v1={MAC}\""), &[C::HeaderFormat]),
            (format!("t=17,v1='{MAC}'"), &[C::HeaderFormat]),
            (format!("t=17,\r\n v1={MAC}"), &[C::HeaderFormat]),
            (format!("t=17;v1={MAC}"), &[C::HeaderFormat]),
            (format!("t=17 v1={MAC}"), &[C::HeaderFormat]),
            (format!("t:17,v1:{MAC}"), &[C::HeaderFormat]),
            (format!("T=17,V1={MAC}"), &[C::HeaderFormat]),
            (format!("t=17,v0={MAC}"), &[C::HeaderFormat]),
            (format!("t=17,{MAC}"), &[C::HeaderFormat]),
            (format!("t=17,v1=sha256={MAC}"), &[C::HeaderFormat]),
            (format!("t=17,v1={}", MAC.to_uppercase()), &[C::V1UpperCase]),
            (format!("t=17,v1={base64}"), &[C::V1Base64]),
            (format!("t=17,v1={url_safe}"), &[C::V1Base64]),
        ] {
            assert_eq!(defects(&value), expected, "{value}");
        }
    }

    #[test]
    fn two_values_give_two_readings() {
        let value = format!("t=17,v1={MAC}");
        let many = format!("{value},").repeat(100);
        assert_eq!(readings(&[many.as_bytes(), many.as_bytes()]).len(), READINGS_MAX);
        for twice in [
            readings(&[value.as_bytes(), b"t=18"]),
            readings(&[format!("{value},{value}").as_bytes()]),
        ] {
            assert_eq!(twice.len(), 2);
            assert!(twice.iter().all(|reading| reading.causes == [Cause::HeaderTwice]));
        }
    }

    #[test]
    fn value_without_mac_has_none() {
        for value in [&b""[..], b",", b"=", b"\xff", b"t=", b"hello", b"%", b"v1=12", b"t=1,v1="] {
            assert!(readings(&[value]).iter().all(|reading| reading.macs.is_empty()), "{value:?}");
            assert!(!is_signature_like(value));
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
