//! What flags about bodies and answers may be.

use std::fmt;

use formsvc_contract::edit;
use http::{HeaderValue, StatusCode};

/// A change of the body.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Path, and JSON.
    Set(String, String),
    Unset(String),
}

/// Which answers are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    Status(StatusCode),
    /// 2 of 2xx.
    Class(u16),
}

impl Expect {
    pub(crate) fn is_met(self, status: StatusCode) -> bool {
        match self {
            Self::Status(expected) => status == expected,
            Self::Class(class) => status.as_u16() / 100 == class,
        }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "{}", status.as_u16()),
            Self::Class(class) => write!(f, "{class}xx"),
        }
    }
}

pub(crate) fn expect(text: &str) -> Result<Expect, String> {
    let class = text.strip_suffix("xx").and_then(|class| class.parse().ok());
    if let Some(class @ 1..=5) = class {
        return Ok(Expect::Class(class));
    }
    let status = text.parse::<u16>().ok().filter(|status| (100..600).contains(status));
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    status.map(Expect::Status).ok_or_else(|| "expected a status such as 200, or 2xx".to_owned())
}

pub(crate) fn set(text: &str) -> Result<Change, String> {
    let (path, value) = text
        .split_once('=')
        .filter(|(path, _)| !path.is_empty())
        .ok_or("expected PATH=VALUE, such as data.Name=Ada")?;
    let value = edit::literal(value).map_err(|error| error.to_string())?;
    Ok(Change::Set(path.to_owned(), value.into_owned()))
}

#[expect(clippy::unnecessary_wraps, reason = "a parser of a flag can fail")]
pub(crate) fn unset(text: &str) -> Result<Change, String> {
    Ok(Change::Unset(text.to_owned()))
}

/// A kind of event goes into a header and into JSON.
pub(crate) fn event(text: &str) -> Result<HeaderValue, String> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    HeaderValue::from_str(text)
        .ok()
        .filter(|_| is_plain)
        .ok_or_else(|| "expected a name without spaces, such as submission.created".to_owned())
}

pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.001..=100_000.0).contains(rate));
    rate.ok_or_else(|| "expected how many a second, from 0.001 to 100000".to_owned())
}

pub(crate) fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse::<f64>().ok().filter(|scale| (0.001..=1e6).contains(scale));
    scale.ok_or_else(|| "expected how many times shorter, from 0.001 to 1000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_number_or_a_class() {
        let met = |text: &str, status| {
            expect(text).unwrap().is_met(StatusCode::from_u16(status).unwrap())
        };
        assert!(met("2xx", 204) && !met("2xx", 301) && met("401", 401) && !met("401", 403));
        for bad in ["", "xx", "6xx", "0xx", "20", "20x", "999", "ok"] {
            assert!(expect(bad).is_err(), "{bad}");
        }
        assert_eq!(expect("2xx").unwrap().to_string(), "2xx");
    }

    #[test]
    fn a_change_has_a_path_and_a_value() {
        let Ok(Change::Set(path, value)) = set("data.a=b=c") else { panic!("a text") };
        assert_eq!((&*path, &*value), ("data.a", "\"b=c\""));
        for bad in ["", "data.a", "=1", "a={"] {
            assert!(set(bad).is_err(), "{bad}");
        }
    }
}
