//! The results of checks as a JUnit report, which CI systems display.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;

use crate::base::files::AtomicFile;
use crate::base::sanitize::one_line;
use crate::error::CliError;
use crate::exit::Exit;

/// A report file that appears complete or not at all.
pub(crate) struct Junit {
    path: PathBuf,
    work: AtomicFile,
}

/// A suite of checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JunitSuite<'a> {
    /// The command.
    pub(crate) name: &'static str,
    /// The class name of all checks.
    pub(crate) class: &'static str,
    /// The checked server.
    pub(crate) url: &'a Url,
}

/// A check and its result.
#[derive(Clone, Debug)]
pub(crate) struct JunitCase<'a> {
    pub(crate) name: &'a str,
    pub(crate) outcome: JunitOutcome,
    /// The reason of the outcome. May quote the server.
    pub(crate) found: &'a str,
    /// Lines about the check. May quote the server.
    pub(crate) details: Vec<String>,
    pub(crate) took: Duration,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JunitOutcome {
    Passed,
    Warned,
    Failed,
    Skipped,
}

impl Junit {
    /// Opens a temporary file beside `path`, before any request is sent.
    pub(crate) fn create(path: &Path) -> Result<Self, CliError> {
        let work = AtomicFile::shared(path).map_err(|error| unwritable(path, &error))?;
        Ok(Self { path: path.to_owned(), work })
    }

    pub(crate) fn write(
        mut self,
        suite: JunitSuite<'_>,
        cases: &[JunitCase<'_>],
    ) -> Result<(), CliError> {
        let written = self.work.write_all(render(suite, cases).as_bytes());
        written.and_then(|()| self.work.commit()).map_err(|error| unwritable(&self.path, &error))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    let what = format!("cannot write the report `{}`", path.display());
    CliError::new(Exit::LocalIo, what).because(error)
}

/// Renders the report. Of the URL it contains scheme, host and port: the rest may be a secret.
fn render(suite: JunitSuite<'_>, cases: &[JunitCase<'_>]) -> String {
    let count = |outcome| cases.iter().filter(|case| case.outcome == outcome).count();
    let took = cases.iter().map(|case| case.took).sum();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{}\"",
        cases.len(),
        count(JunitOutcome::Failed),
        count(JunitOutcome::Skipped),
        seconds(took)
    );
    let host = escape(&suite.url.origin().ascii_serialization());
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites {counts}>");
    let name = suite.name;
    let _ = writeln!(xml, "  <testsuite name=\"{name}\" hostname=\"{host}\" {counts}>");
    for case in cases {
        render_case(&mut xml, suite.class, case);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn render_case(xml: &mut String, class: &str, case: &JunitCase<'_>) {
    let found = escape(case.found);
    let _ = write!(
        xml,
        "    <testcase classname=\"{class}\" name=\"{}\" time=\"{}\"",
        escape(case.name),
        seconds(case.took)
    );
    let details: Vec<String> = case.details.iter().map(|line| escape(line)).collect();
    let details = details.join("\n");
    let _ = match case.outcome {
        JunitOutcome::Passed => writeln!(xml, "/>"),
        JunitOutcome::Skipped => {
            writeln!(xml, "><skipped message=\"{found}\"/></testcase>")
        }
        JunitOutcome::Warned => {
            writeln!(xml, "><system-out>warning: {found}\n{details}</system-out></testcase>")
        }
        JunitOutcome::Failed => writeln!(
            xml,
            "><failure type=\"check_failed\" message=\"{found}\">{details}</failure></testcase>"
        ),
    };
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Escapes untrusted text for XML, and removes the characters that XML does not allow.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case<'a>(name: &'a str, outcome: JunitOutcome, found: &'a str) -> JunitCase<'a> {
        let details = vec![format!("found: {found}"), "fix: <none>".to_owned()];
        JunitCase { name, outcome, found, details, took: Duration::from_millis(12) }
    }

    fn rendered(url: &str, cases: &[JunitCase<'_>]) -> String {
        let url = url.parse().unwrap();
        render(JunitSuite { name: "formsvc x check", class: "x.check", url: &url }, cases)
    }

    #[test]
    fn report_counts_and_names_every_check() {
        let xml = rendered(
            "https://u:pw@hooks.example:8443/secret?token=x",
            &[
                case("fresh", JunitOutcome::Passed, "answered 200"),
                case("stale", JunitOutcome::Failed, "answered 200 (accepted)"),
                case("get", JunitOutcome::Warned, "answered 200 (accepted)"),
                case("future", JunitOutcome::Skipped, "not tried"),
            ],
        );
        assert!(
            xml.contains("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0.048\"")
        );
        assert!(xml.contains("hostname=\"https://hooks.example:8443\""), "{xml}");
        for secret in ["u:pw", "/secret", "token"] {
            assert!(!xml.contains(secret), "{xml}");
        }
        assert_eq!(xml.matches("<testcase classname=\"x.check\" ").count(), 4);
        assert!(xml.contains("name=\"fresh\" time=\"0.012\"/>"), "{xml}");
        assert!(
            xml.contains("<failure type=\"check_failed\" message=\"answered 200 (accepted)\">")
        );
        assert!(xml.contains("<skipped message=\"not tried\"/>"));
        assert_eq!(xml.matches('<').count(), xml.matches('>').count(), "{xml}");
    }

    #[test]
    fn untrusted_text_is_escaped() {
        let found = "302 to \"><script>&\u{1b}]0;x\u{7}\u{0}\u{ffff}\n</failure>";
        let xml =
            rendered("http://127.0.0.1:1/", &[case("no-redirect", JunitOutcome::Failed, found)]);
        assert_eq!(xml.matches("</failure>").count(), 1, "{xml}");
        assert!(!xml.contains("<script>") && xml.contains("&lt;script&gt;&amp;"), "{xml}");
        assert!(xml.chars().all(|c| c == '\n' || !c.is_control()) && !xml.contains('\u{ffff}'));
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
