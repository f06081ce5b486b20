//! JUnit reports of checks, which CI systems display.

use std::io;
use std::path::{Path, PathBuf};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use url::Url;

use super::{Check, Outcome};
use crate::base::atomic_file::AtomicFile;
use crate::base::sanitize::one_line;
use crate::error::CliError;
use crate::exit::Exit;

/// A report file that appears complete or not at all.
pub(crate) struct Junit {
    path: PathBuf,
    work: AtomicFile,
}

impl Junit {
    /// Opens a temporary file beside `path`, before any request is sent.
    pub(crate) fn create(path: &Path) -> Result<Self, CliError> {
        let work = AtomicFile::create(path, 0o666).map_err(|error| unwritable(path, &error))?;
        Ok(Self { path: path.to_owned(), work })
    }

    /// Writes the results of a command that checked the server at `url`.
    pub(crate) fn write(self, command: &str, url: &Url, checks: &[Check]) -> Result<(), CliError> {
        let xml = report(command, url, checks).to_string().map_err(io::Error::other);
        let written = xml.and_then(|xml| self.work.commit(xml.as_bytes()));
        written.map_err(|error| unwritable(&self.path, &error))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    let what = format!("cannot write the report `{}`", path.display());
    CliError::new(Exit::LocalIo, what).because(error)
}

/// Returns the report. It contains only the scheme, host and port of the URL, because the rest may be secret.
fn report(command: &str, url: &Url, checks: &[Check]) -> Report {
    let class = command.trim_start_matches("formsvc ").replace(' ', ".");
    let took = checks.iter().map(|check| check.took).sum();
    let mut suite = TestSuite::new(command);
    suite.extra.insert("hostname".into(), url.origin().ascii_serialization().into());
    suite.set_time(took).add_test_cases(checks.iter().map(|check| test_case(&class, check)));
    let mut report = Report::unnamed();
    report.set_time(took).add_test_suite(suite);
    report
}

fn test_case(class: &str, check: &Check) -> TestCase {
    let found = xml_text(&check.found);
    let details: Vec<String> = check.details.iter().map(|line| xml_text(line)).collect();
    let details = details.join("\n");
    let mut status = match check.outcome {
        Outcome::Passed | Outcome::Warning => TestCaseStatus::success(),
        Outcome::Skipped => TestCaseStatus::skipped(),
        Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    status.set_message(&found);
    if check.outcome == Outcome::Failed {
        status.set_type("check_failed").set_description(&details);
    }
    let mut case = TestCase::new(check.name, status);
    case.set_classname(class).set_time(check.took);
    if check.outcome == Outcome::Warning {
        case.set_system_out(format!("warning: {found}\n{details}"));
    }
    case
}

/// Sanitizes untrusted text, and replaces the two characters that XML does not allow and `quick_junit` keeps.
fn xml_text(text: &str) -> String {
    one_line(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn case(name: &'static str, outcome: Outcome, found: &str) -> Check {
        let details = vec![format!("found: {found}"), "fix: <none>".to_owned()];
        let took = Duration::from_millis(12);
        Check { details, took, ..Check::new(name, outcome, found) }
    }

    fn rendered(url: &str, checks: &[Check]) -> String {
        report("formsvc x check", &url.parse().unwrap(), checks).to_string().unwrap()
    }

    #[test]
    fn report_has_counts_outcomes_and_host_only() {
        let xml = rendered(
            "https://u:pw@hooks.example:8443/secret?token=x",
            &[
                case("fresh", Outcome::Passed, "answered 200"),
                case("stale", Outcome::Failed, "answered 200 (accepted)"),
                case("get", Outcome::Warning, "answered 200 (accepted)"),
                case("future", Outcome::Skipped, "not tried"),
            ],
        );
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" skipped="1" failures="1" errors="0" time="0.048">
    <testsuite name="formsvc x check" tests="4" skipped="1" errors="0" failures="1" time="0.048" hostname="https://hooks.example:8443">
        <testcase name="fresh" classname="x.check" time="0.012"/>
        <testcase name="stale" classname="x.check" time="0.012">
            <failure message="answered 200 (accepted)" type="check_failed">found: answered 200 (accepted)
fix: &lt;none&gt;</failure>
        </testcase>
        <testcase name="get" classname="x.check" time="0.012">
            <system-out>warning: answered 200 (accepted)
found: answered 200 (accepted)
fix: &lt;none&gt;</system-out>
        </testcase>
        <testcase name="future" classname="x.check" time="0.012">
            <skipped message="not tried"/>
        </testcase>
    </testsuite>
</testsuites>
"#;
        assert_eq!(xml, expected);
    }

    #[test]
    fn untrusted_text_is_sanitized_and_escaped() {
        let found = "302 to \"><script>&\u{1b}]0;x\u{7}\u{0}\u{ffff}\n</failure>";
        let xml = rendered("http://127.0.0.1:1/", &[case("no-redirect", Outcome::Failed, found)]);
        assert!(xml.chars().all(|c| c == '\n' || !c.is_control()) && !xml.contains('\u{ffff}'));
        let parsed = Report::deserialize_from_str(&xml).unwrap();
        let status = &parsed.test_suites[0].test_cases[0].status;
        let TestCaseStatus::NonSuccess { message, description, .. } = status else {
            panic!("{status:?}")
        };
        let clean = "302 to \"><script>&]0;x\u{fffd} </failure>";
        assert_eq!(message.as_deref(), Some(clean));
        assert_eq!(description.as_deref(), Some(&*format!("found: {clean}\nfix: <none>")));
    }

    #[test]
    fn unwritable_report_fails_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("none/report.xml"), folder.path().to_owned()] {
            let error = Junit::create(&path).err().unwrap();
            assert_eq!(error.exit, Exit::LocalIo);
        }
        let path = folder.path().join("report.xml");
        drop(Junit::create(&path).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
