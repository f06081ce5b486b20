//! Reports a panic as an error that contains the version and the source line, but no data.

use std::panic::{self, PanicHookInfo};

use crate::base::text::stderr_width;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::to_stderr;
use crate::settings::early::ParsedEarly;

/// Sets the panic hook. It prints an error in the format and colours of other errors.
pub(super) fn report(early: ParsedEarly) {
    panic::set_hook(Box::new(move |info| {
        // `rust_xlsxwriter` panics if the disk is full. The export reports that error itself.
        if info.location().is_some_and(|at| at.file().contains("rust_xlsxwriter")) {
            return;
        }
        // A failed write is ignored, because the exit code still reports the panic.
        let _ =
            to_stderr(early.color, |err| bug(info).print(err, early.error_format, stderr_width()));
    }));
}

/// Calls a function. Returns [`Exit::Failed`] if the function panics.
pub(super) fn catch(run: impl FnOnce() -> Exit) -> Exit {
    panic::catch_unwind(panic::AssertUnwindSafe(run)).unwrap_or(Exit::Failed)
}

/// Describes a panic without its message, which may contain a response, a key or a part of a file.
fn bug(info: &PanicHookInfo<'_>) -> CliError {
    let at = info.location().map_or_else(
        || "at an unknown place".to_owned(),
        |at| format!("at {}:{}", at.file(), at.line()),
    );
    CliError::new(Exit::Failed, "this is a bug in formsvc")
        .cause(format!("version {} panicked {at}", env!("CARGO_PKG_VERSION")))
        .hint("please report these lines and the command, without keys or data in it")
}

#[cfg(test)]
mod tests {
    //! A panic ends a process, so each test starts the test program again with the test
    //! `process_that_panics`.

    use std::process::{Command, Output};
    use std::thread;

    use crate::error::ErrorFormat;
    use crate::output::Color;

    use super::*;

    /// The message of the panics.
    const SECRET: &str = "fsk_SECRETSECRETSECRET";
    /// The environment variable with the name of the thread that panics.
    const PANIC_ON: &str = "PANIC_ON";

    fn run(on: &str, format: ErrorFormat, color: Color) -> Output {
        let format = if format == ErrorFormat::Json { "json" } else { "text" };
        let color = if color == Color::Always { "always" } else { "never" };
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "process::panics::tests::process_that_panics",
            "--test-threads=1",
        ]);
        command.args(["--nocapture", "--", "--error-format", format, "--color", color]);
        command.env(PANIC_ON, on).env("RUST_BACKTRACE", "1").output().unwrap()
    }

    /// Does nothing in a process that was not started by [`run`].
    #[test]
    #[expect(clippy::exit, reason = "the exit code of a command, not of a test")]
    fn process_that_panics() {
        let Ok(on) = std::env::var(PANIC_ON) else { return };
        let args: Vec<_> = std::env::args_os().collect();
        let at = args.iter().position(|arg| arg == "--").unwrap_or_default();
        report(ParsedEarly::new(&args[at..], &|_| None));
        let exit = catch(|| {
            if on == "command" {
                // The result of the thread is unused, as in `run`.
                let _ = thread::spawn(|| panic!("{SECRET}")).join();
                return Exit::Failed;
            }
            panic!("{SECRET}")
        });
        std::process::exit(exit.code().into());
    }

    #[test]
    fn panic_is_reported_without_message_and_exits_with_1() {
        for on in ["main", "command"] {
            let output = run(on, ErrorFormat::Text, Color::Never);
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            let lines: Vec<&str> = stderr.lines().collect();
            let [error, cause, hint] = &lines[..] else { panic!("{on}: {stderr}") };
            assert_eq!(*error, "error: this is a bug in formsvc");
            let version = env!("CARGO_PKG_VERSION");
            let at =
                format!("cause: version {version} panicked at crates/cli/src/process/panics.rs:");
            assert!(cause.starts_with(&at), "{cause}");
            assert!(hint.starts_with("hint: please report these lines"), "{hint}");
        }
    }

    #[test]
    fn panic_has_format_and_colours_of_errors() {
        let output = run("command", ErrorFormat::Json, Color::Always);
        let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!(error["error"]["exit"], 1, "{error}");
        assert!(!error.to_string().contains(SECRET));
        let colored = run("main", ErrorFormat::Text, Color::Always);
        let stderr = String::from_utf8(colored.stderr).unwrap();
        assert!(stderr.starts_with("\u{1b}[1m\u{1b}[31merror:"), "{stderr:?}");
    }
}
