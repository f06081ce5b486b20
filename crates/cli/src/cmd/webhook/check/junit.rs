//! The outcome as a JUnit report, which whatever runs builds can show.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use formsvc_contract::receiver::{Outcome, Report};
use tempfile::NamedTempFile;
use url::Url;

use crate::error::CliError;
use crate::exit::Exit;
use crate::sanitize::one_line;

/// A file that appears whole, or not at all.
pub(super) struct Junit {
    path: PathBuf,
    work: NamedTempFile,
}

impl Junit {
    /// Opens a file beside its place, before a request is made: one that cannot be written costs none.
    pub(super) fn create(path: &Path) -> Result<Self, CliError> {
        let failed = |error: &io::Error| unwritable(path, error);
        if path.is_dir() {
            return Err(failed(&io::ErrorKind::IsADirectory.into()));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut work = tempfile::Builder::new();
        work.prefix(".junit.");
        // As any report: what the umask leaves.
        #[cfg(unix)]
        work.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let work =
            work.tempfile_in(folder.unwrap_or(Path::new("."))).map_err(|error| failed(&error))?;
        Ok(Self { path: path.to_owned(), work })
    }

    pub(super) fn write(mut self, url: &Url, reports: &[Report]) -> Result<(), CliError> {
        let written = self.work.write_all(text(url, reports).as_bytes());
        let written = written.and_then(|()| self.work.as_file().sync_all());
        written
            .and_then(|()| self.work.persist(&self.path).map(drop).map_err(|error| error.error))
            .map_err(|error| unwritable(&self.path, &error))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    let what = format!("cannot write the report `{}`", path.display());
    CliError::new(Exit::LocalIo, what).because(error)
}

/// The report. Of the address it has scheme, host and port: the rest may be a secret.
fn text(url: &Url, reports: &[Report]) -> String {
    let count = |outcome| reports.iter().filter(|report| report.outcome == outcome).count();
    let took = reports.iter().map(|report| report.took).sum();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{}\"",
        reports.len(),
        count(Outcome::Fail),
        count(Outcome::Skip),
        seconds(took)
    );
    let host = escaped(&url.origin().ascii_serialization());
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites {counts}>");
    let _ =
        writeln!(xml, "  <testsuite name=\"formsvc webhook check\" hostname=\"{host}\" {counts}>");
    for report in reports {
        case(&mut xml, report);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn case(xml: &mut String, report: &Report) {
    let check = report.check;
    let (found, fix) = (escaped(&report.found), escaped(check.fix));
    let _ = write!(
        xml,
        "    <testcase classname=\"webhook.check\" name=\"{}\" time=\"{}\"",
        escaped(check.id),
        seconds(report.took)
    );
    let why = format!("SPEC §{}: {}", check.section, check.why);
    let told = format!(
        "sent: {}\nwanted: {}\nwhy: {}\nfix: {fix}",
        escaped(check.sends),
        escaped(check.wants),
        escaped(&why)
    );
    let _ = match report.outcome {
        Outcome::Ok => writeln!(xml, "/>"),
        Outcome::Skip => writeln!(xml, "><skipped message=\"{found}\"/></testcase>"),
        Outcome::Warn => {
            writeln!(xml, "><system-out>warning: {found}\n{told}</system-out></testcase>")
        }
        Outcome::Fail => {
            writeln!(
                xml,
                "><failure type=\"check_failed\" message=\"{found}\">{told}</failure></testcase>"
            )
        }
    };
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Text as it stands in XML, and no character that it cannot have: a receiver may have written it.
fn escaped(text: &str) -> String {
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
    use formsvc_contract::receiver::{CHECKS, of_id};

    use super::*;

    fn report(id: &str, outcome: Outcome, found: &str) -> Report {
        let (check, found) = (of_id(id).unwrap(), found.to_owned());
        Report { check, outcome, found, requests: 1, took: Duration::from_millis(12) }
    }

    #[test]
    fn a_report_counts_and_names_every_check() {
        let url = "https://u:pw@hooks.example:8443/secret?token=x".parse().unwrap();
        let reports = [
            report("fresh-accepted", Outcome::Ok, "answered 200"),
            report("stale", Outcome::Fail, "answered 200: taken"),
            report("get", Outcome::Warn, "answered 200: taken"),
            report("future", Outcome::Skip, "not tried"),
        ];
        let xml = text(&url, &reports);
        assert!(
            xml.contains("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0.048\"")
        );
        assert!(xml.contains("hostname=\"https://hooks.example:8443\""), "{xml}");
        for secret in ["u:pw", "/secret", "token"] {
            assert!(!xml.contains(secret), "{xml}");
        }
        assert_eq!(xml.matches("<testcase ").count(), 4);
        assert!(xml.contains("name=\"fresh-accepted\" time=\"0.012\"/>"), "{xml}");
        assert!(xml.contains("<failure type=\"check_failed\" message=\"answered 200: taken\">"));
        assert!(xml.contains("<skipped message=\"not tried\"/>"));
    }

    #[test]
    fn what_a_receiver_wrote_is_text_and_nothing_else() {
        let found = "302 to \"><script>&\u{1b}]0;x\u{7}\u{0}\u{ffff}\n</failure>";
        let url = "http://127.0.0.1:1/".parse().unwrap();
        let xml = text(&url, &[report("no-redirect", Outcome::Fail, found)]);
        assert_eq!(xml.matches("</failure>").count(), 1, "{xml}");
        assert!(!xml.contains("<script>") && xml.contains("&lt;script&gt;&amp;"), "{xml}");
        assert!(xml.chars().all(|c| c == '\n' || !c.is_control()) && !xml.contains('\u{ffff}'));
    }

    #[test]
    fn every_check_there_is_can_be_told() {
        let url = "http://127.0.0.1:1/".parse().unwrap();
        for check in CHECKS {
            for outcome in Outcome::ALL {
                let xml = text(&url, &[report(check.id, outcome, "found")]);
                assert_eq!(xml.matches('<').count(), xml.matches('>').count(), "{xml}");
            }
        }
    }

    #[test]
    fn a_report_that_cannot_be_written_is_told_before_anything_is_asked() {
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
