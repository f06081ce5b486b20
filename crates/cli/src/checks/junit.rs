//! JUnit reports of checks, which CI systems display.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;

use super::{Check, Outcome};
use crate::base::files::AtomicFile;
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
        let work = AtomicFile::shared(path).map_err(|error| unwritable(path, &error))?;
        Ok(Self { path: path.to_owned(), work })
    }

    /// Writes the results of a command that checked the server at `url`.
    pub(crate) fn write(
        mut self,
        command: &str,
        url: &Url,
        checks: &[Check],
    ) -> Result<(), CliError> {
        let written = self.work.write_all(render(command, url, checks).as_bytes());
        written.and_then(|()| self.work.commit()).map_err(|error| unwritable(&self.path, &error))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    let what = format!("cannot write the report `{}`", path.display());
    CliError::new(Exit::LocalIo, what).because(error)
}

/// Renders the report. It contains only the scheme, host and port of the URL, because the rest may be secret.
fn render(command: &str, url: &Url, checks: &[Check]) -> String {
    let count = |outcome| checks.iter().filter(|check| check.outcome == outcome).count();
    let took: Duration = checks.iter().map(|check| check.took).sum();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3}\"",
        checks.len(),
        count(Outcome::Failed),
        count(Outcome::Skipped),
        took.as_secs_f64()
    );
    let class = command.trim_start_matches("formsvc ").replace(' ', ".");
    let host = escape(&url.origin().ascii_serialization());
    let cases: String = checks.iter().map(|check| render_case(&class, check)).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  \
         <testsuite name=\"{command}\" hostname=\"{host}\" {counts}>\n{cases}  \
         </testsuite>\n</testsuites>\n"
    )
}

fn render_case(class: &str, check: &Check) -> String {
    let (name, found) = (escape(check.name), escape(&check.found));
    let details: Vec<String> = check.details.iter().map(|line| escape(line)).collect();
    let details = details.join("\n");
    let content = match check.outcome {
        Outcome::Passed => String::new(),
        Outcome::Skipped => format!("<skipped message=\"{found}\"/>"),
        Outcome::Warning => format!("<system-out>warning: {found}\n{details}</system-out>"),
        Outcome::Failed => {
            format!("<failure type=\"check_failed\" message=\"{found}\">{details}</failure>")
        }
    };
    let seconds = check.took.as_secs_f64();
    let attributes = format!("classname=\"{class}\" name=\"{name}\" time=\"{seconds:.3}\"");
    format!("    <testcase {attributes}>{content}</testcase>\n")
}

/// Escapes untrusted text for XML, and replaces the characters that XML does not allow.
fn escape(text: &str) -> String {
    let text = one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &'static str, outcome: Outcome, found: &str) -> Check {
        let details = vec![format!("found: {found}"), "fix: <none>".to_owned()];
        let took = Duration::from_millis(12);
        Check { details, took, ..Check::new(name, outcome, found) }
    }

    fn rendered(url: &str, checks: &[Check]) -> String {
        render("formsvc x check", &url.parse().unwrap(), checks)
    }

    #[test]
    fn report_counts_and_names_every_check() {
        let xml = rendered(
            "https://u:pw@hooks.example:8443/secret?token=x",
            &[
                case("fresh", Outcome::Passed, "answered 200"),
                case("stale", Outcome::Failed, "answered 200 (accepted)"),
                case("get", Outcome::Warning, "answered 200 (accepted)"),
                case("future", Outcome::Skipped, "not tried"),
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
        assert!(xml.contains("name=\"fresh\" time=\"0.012\"></testcase>"), "{xml}");
        assert!(
            xml.contains("<failure type=\"check_failed\" message=\"answered 200 (accepted)\">")
        );
        assert!(xml.contains("<skipped message=\"not tried\"/>"));
        assert_eq!(xml.matches('<').count(), xml.matches('>').count(), "{xml}");
    }

    #[test]
    fn untrusted_text_is_escaped() {
        let found = "302 to \"><script>&\u{1b}]0;x\u{7}\u{0}\u{ffff}\n</failure>";
        let xml = rendered("http://127.0.0.1:1/", &[case("no-redirect", Outcome::Failed, found)]);
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
