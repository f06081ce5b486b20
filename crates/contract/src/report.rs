//! Results of checks, as data.

use std::borrow::Cow;
use std::time::Duration;

use formsvc_protocol::is_unsafe_in_terminals;
use serde::{Serialize, Serializer};

/// Longest excerpt of an answer, in characters.
const EXCERPT_MAX: usize = 200;

/// A row of a table of checks.
#[derive(Clone, Copy, Debug)]
pub struct Check<T> {
    /// Id, statement and fix.
    pub info: CheckInfo,
    /// How the statement is judged.
    pub(crate) test: T,
}

/// A check of one statement of the specification.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CheckInfo {
    /// Stable name, on command lines and in reports.
    #[serde(rename = "check")]
    pub id: &'static str,
    /// Section of the specification. Serialized as `SPEC §4`.
    #[serde(serialize_with = "as_spec_section")]
    pub section: u8,
    /// The statement.
    pub statement: &'static str,
    /// How to fix a service that fails the check.
    pub fix: &'static str,
    /// The option that enables the check; without it the check is skipped.
    pub flag: Option<&'static str>,
}

impl<T: Copy> Check<T> {
    pub(crate) const fn new(id: &'static str, section: u8, test: T) -> Self {
        Self { info: CheckInfo { id, section, statement: "", fix: "", flag: None }, test }
    }

    pub(crate) const fn states(self, statement: &'static str) -> Self {
        Self { info: CheckInfo { statement, ..self.info }, ..self }
    }

    pub(crate) const fn fix(self, fix: &'static str) -> Self {
        Self { info: CheckInfo { fix, ..self.info }, ..self }
    }

    /// Sets the option that enables the check.
    pub(crate) const fn enabled_by(self, flag: &'static str) -> Self {
        Self { info: CheckInfo { flag: Some(flag), ..self.info }, ..self }
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The rule holds.
    Passed,
    /// The rule holds, but the behavior may cause problems.
    Warning,
    /// The rule does not hold.
    Failed,
    /// The check was not run, or its answers do not show whether the rule holds.
    Skipped,
}

impl Outcome {
    /// All outcomes, best first.
    pub const ALL: [Self; 4] = [Self::Passed, Self::Warning, Self::Failed, Self::Skipped];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// The result of a check, with the exchange that decided it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The check.
    #[serde(flatten)]
    pub check: CheckInfo,
    /// The outcome. JSON calls it the verdict.
    #[serde(rename = "verdict")]
    pub outcome: Outcome,
    /// The reason. Sanitized, but may quote the service.
    pub found: String,
    /// Method and path of the request; never a key.
    pub request: Option<String>,
    /// Status of the answer.
    pub status: Option<u16>,
    /// The beginning of the answer's body, sanitized.
    pub answer: Option<String>,
    /// Duration of the requests of the check.
    #[serde(rename = "took_ms", serialize_with = "as_millis")]
    pub took: Duration,
}

impl Report {
    /// Creates a report without an exchange.
    pub(crate) fn new(check: CheckInfo, outcome: Outcome, found: impl Into<String>) -> Self {
        let (found, took) = (found.into(), Duration::ZERO);
        Self { check, outcome, found, request: None, status: None, answer: None, took }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn as_spec_section<S: Serializer>(
    section: &u8,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("SPEC §{section}"))
}

pub(crate) fn as_millis<S: Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((took.as_secs_f64() * 1e4).round() / 10.0)
}

/// Returns the beginning of untrusted text on one line, without characters that control a terminal and
/// without the given secrets.
pub(crate) fn excerpt(text: &[u8], secrets: &[&str]) -> String {
    let mut text = String::from_utf8_lossy(text).into_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "[secret]");
    }
    let clean = |c: char| if is_unsafe_in_terminals(c) { ' ' } else { c };
    let mut shown: String = text.chars().take(EXCERPT_MAX).map(clean).collect();
    if text.chars().nth(EXCERPT_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// Returns the target of a redirect without the user name and password in it.
pub(crate) fn redirect_target(location: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = location.split_once("//") else { return location.into() };
    let host = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    match host.rfind('@') {
        Some(at) => format!("{scheme}//***{}", &rest[at..]).into(),
        None => location.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_target_has_no_credentials() {
        for (location, shown) in [
            ("/login", "/login"),
            ("https://h/@x", "https://h/@x"),
            ("https://ada:s3cret@h:1/x?y", "https://***@h:1/x?y"),
            ("//s3cret@p@h", "//***@h"),
        ] {
            assert_eq!(redirect_target(location), shown);
        }
    }

    #[test]
    fn excerpt_is_short_and_has_no_controls_or_secrets() {
        let text = format!("\u{1b}[2J fsk_1 \n{}", "x".repeat(300));
        let shown = excerpt(text.as_bytes(), &["fsk_1", ""]);
        assert!(shown.starts_with(" [2J [secret]  x") && shown.ends_with("x…"), "{shown}");
        assert_eq!(shown.chars().count(), EXCERPT_MAX + 1);
        assert_eq!(excerpt("\u{9b}".as_bytes(), &[]), " ", "nothing is cut");
        assert_eq!(excerpt(b"\xff", &[]), "\u{fffd}");
    }
}
