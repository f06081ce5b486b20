//! A panic is a bug, and is told as one: in two lines a person can act on, with where it happened
//! and nothing of the data that was being worked on.

use std::panic::{self, PanicHookInfo};

use crate::base::text::stderr_width;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::to_stderr;
use crate::settings::early::Early;

/// Tells of panics from now on in the words of every other error. Whoever catches the panic ends
/// with [`Exit::Failed`], and says nothing more.
pub(crate) fn tell(early: Early) {
    panic::set_hook(Box::new(move |info| {
        // The library of workbooks panics if its disk is full; the export then ends with an error of its own.
        if info.location().is_some_and(|place| place.file().contains("rust_xlsxwriter")) {
            return;
        }
        // With standard error closed, the exit code still says it.
        let _ =
            to_stderr(early.color, |err| bug(info).print(err, early.error_format, stderr_width()));
    }));
}

/// Runs something that ends in [`Exit::Failed`] when it panics.
pub(crate) fn caught(run: impl FnOnce() -> Exit) -> Exit {
    panic::catch_unwind(panic::AssertUnwindSafe(run)).unwrap_or(Exit::Failed)
}

/// The words of a panic stay out: they may quote an answer, a key or a file.
fn bug(info: &PanicHookInfo<'_>) -> CliError {
    let place = info.location().map_or_else(
        || "somewhere".to_owned(),
        |place| format!("at {}:{}", place.file(), place.line()),
    );
    CliError::new(Exit::Failed, "this is a bug in formsvc")
        .cause(format!("version {} panicked {place}", env!("CARGO_PKG_VERSION")))
        .hint("please report these lines and the command, without keys or data in it")
}

#[cfg(test)]
mod tests {
    //! A run that panics is a process of its own: this program of tests, told to run one test that ends
    //! as the command line does.

    use std::process::{Command, Output};
    use std::thread;

    use crate::error::ErrorFormat;
    use crate::output::Color;

    use super::*;

    /// What the panics say, which may be anybody's data.
    const SECRET: &str = "fsk_SECRETSECRETSECRET";
    /// Says that the process is one of those, and where it panics.
    const ASKED: &str = "PANIC_ON";

    fn run(on: &str, format: ErrorFormat, color: Color) -> Output {
        let format = if format == ErrorFormat::Json { "json" } else { "text" };
        let color = if color == Color::Always { "always" } else { "never" };
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "panics::tests::ends_as_a_run_does", "--test-threads=1"]);
        command.args(["--nocapture", "--", "--error-format", format, "--color", color]);
        command.env(ASKED, on).env("RUST_BACKTRACE", "1").output().unwrap()
    }

    /// Does nothing unless it runs in a process that was started for it.
    #[test]
    #[expect(clippy::exit, reason = "a code of ours ends the process, and no verdict on a test")]
    fn ends_as_a_run_does() {
        let Ok(on) = std::env::var(ASKED) else { return };
        let args: Vec<_> = std::env::args_os().collect();
        let at = args.iter().position(|arg| arg == "--").unwrap_or_default();
        tell(Early::of(&args[at..], &|_| None));
        let exit = caught(|| {
            if on == "command" {
                // As the thread of the command does: nobody asks how it ended.
                let _ = thread::spawn(|| panic!("{SECRET}")).join();
                return Exit::Failed;
            }
            panic!("{SECRET}")
        });
        std::process::exit(exit.code().into());
    }

    #[test]
    fn a_panic_is_told_in_our_words_without_its_own_and_exits_with_1() {
        for on in ["main", "command"] {
            let output = run(on, ErrorFormat::Text, Color::Never);
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            let lines: Vec<&str> = stderr.lines().collect();
            let [error, cause, hint] = &lines[..] else { panic!("{on}: {stderr}") };
            assert_eq!(*error, "error: this is a bug in formsvc");
            let version = env!("CARGO_PKG_VERSION");
            let place = format!("cause: version {version} panicked at crates/cli/src/panics.rs:");
            assert!(cause.starts_with(&place), "{cause}");
            assert!(hint.starts_with("hint: please report these lines"), "{hint}");
        }
    }

    #[test]
    fn a_panic_is_json_and_in_colours_where_other_errors_are() {
        let output = run("command", ErrorFormat::Json, Color::Always);
        let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!(error["error"]["exit"], 1, "{error}");
        assert!(!error.to_string().contains(SECRET));
        let colored = run("main", ErrorFormat::Text, Color::Always);
        let stderr = String::from_utf8(colored.stderr).unwrap();
        assert!(stderr.starts_with("\u{1b}[1m\u{1b}[31merror:"), "{stderr:?}");
    }
}
