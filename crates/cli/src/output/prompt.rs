//! Prompts on a terminal: the text goes to standard error, the input comes from standard input.
//!
//! Callers prompt only if [`Settings::may_ask`](crate::settings::Settings::may_ask) is true. A prompt runs on its own
//! thread, because a read from a terminal cannot be cancelled. When a signal ends the command, the thread is
//! abandoned and the settings of the terminal are restored, including the echo.

use std::io::{self, Write};
use std::thread;

use dialoguer::Password;
use formsvc_protocol::check_secret_text;
use secrecy::SecretString;
use tokio::sync::oneshot;

use crate::error::CliError;
use crate::exit::Exit;

/// The value in the settings of a terminal that disables a special key (`_POSIX_VDISABLE`).
#[cfg(unix)]
const DISABLED_KEY: u8 =
    if cfg!(any(target_os = "linux", target_os = "android")) { 0 } else { 0xff };

/// Prompts for an API key. The input is hidden, including its length.
pub(crate) async fn hidden(prompt: &str) -> Result<SecretString, CliError> {
    parse_key(&hidden_line(prompt).await?)
}

/// Prompts for a line. The input is hidden, including its length.
pub(crate) async fn hidden_line(prompt: &str) -> Result<SecretString, CliError> {
    let prompt = prompt.to_owned();
    let typed = run_on_thread(true, move || {
        // An empty line is accepted: otherwise the library would repeat the prompt forever at the end of input.
        let password = Password::new().with_prompt(prompt).allow_empty_password(true);
        password.interact().map_err(|dialoguer::Error::IO(error)| error)
    });
    Ok(typed.await?.trim().into())
}

/// Prompts for a line, with echo. Returns `None` if the line is empty or the input has ended.
pub(crate) async fn line(prompt: &str) -> Result<Option<String>, CliError> {
    let prompt = format!("{prompt}: ");
    let typed = run_on_thread(false, move || read_line(&prompt)).await?;
    let line = typed.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

/// Asks for a confirmation. Any input other than `y` or `yes` is a no.
pub(crate) async fn confirm(question: &str) -> Result<bool, CliError> {
    let prompt = format!("{question} [y/N] ");
    let typed = run_on_thread(false, move || read_line(&prompt)).await?;
    Ok(is_yes(&typed))
}

/// Runs a prompt on its own thread and waits for the input.
async fn run_on_thread<T: Send + 'static>(
    is_hidden: bool,
    prompt: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, CliError> {
    let failed = |error: &io::Error| {
        CliError::new(Exit::LocalIo, "cannot ask on the terminal").because(error)
    };
    let mut guard = TerminalGuard::new(is_hidden);
    let (sender, receiver) = oneshot::channel();
    thread::Builder::new()
        .name("question".into())
        // The receiver is dropped only after a signal has ended the command.
        .spawn(move || drop(sender.send(prompt())))
        .map_err(|error| failed(&error))?;
    let input = receiver.await;
    guard.has_input = true;
    match input {
        Ok(input) => input.map_err(|error| failed(&error)),
        Err(_) => Err(CliError::new(Exit::Failed, "this is a bug in formsvc")),
    }
}

/// Restores the settings of the terminal when it is dropped, with or without input.
struct TerminalGuard {
    has_input: bool,
    #[cfg(unix)]
    settings: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl TerminalGuard {
    fn new(is_hidden: bool) -> Self {
        use rustix::termios::{OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

        let settings = tcgetattr(io::stdin()).ok();
        if is_hidden && let Some(mut now) = settings.clone() {
            // Disable Ctrl-Z, because a prompt that returns from the background has the echo of the shell.
            now.special_codes[SpecialCodeIndex::VSUSP] = DISABLED_KEY;
            // If this fails, Ctrl-Z stays enabled.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &now);
        }
        Self { has_input: false, settings }
    }
}

#[cfg(not(unix))]
impl TerminalGuard {
    fn new(_: bool) -> Self {
        Self { has_input: false }
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(settings) = &self.settings {
            use rustix::termios::{OptionalActions, tcsetattr};
            // Discard input that was not read. Otherwise the shell would run it as a command.
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, settings);
        }
        if !self.has_input {
            // Later output starts on a new line.
            let _ = writeln!(io::stderr());
        }
    }
}

fn read_line(prompt: &str) -> io::Result<String> {
    // Standard error is not locked during the prompt, so that a signal can print its message.
    io::stderr().write_all(prompt.as_bytes())?;
    let mut typed = String::new();
    if io::stdin().read_line(&mut typed)? == 0 {
        // The input ended without a line break. A failed write to standard error cannot be reported.
        let _ = writeln!(io::stderr());
    }
    Ok(typed)
}

/// Returns the API key in typed or pasted text.
fn parse_key(typed: &SecretString) -> Result<SecretString, CliError> {
    use secrecy::ExposeSecret;

    let key = typed.expose_secret().trim();
    let wrong = if key.is_empty() {
        "is empty".to_owned()
    } else if key.contains(|c: char| c.is_whitespace() || c.is_control()) {
        "has more than one word, or control characters".to_owned()
    } else if let Err(problem) = check_secret_text(key) {
        problem.to_string()
    } else {
        return Ok(key.into());
    };
    Err(CliError::new(Exit::Auth, format!("the API key from the terminal {wrong}")))
}

fn is_yes(typed: &str) -> bool {
    ["y", "yes"].iter().any(|yes| typed.trim().eq_ignore_ascii_case(yes))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn key_is_read_from_typed_or_pasted_text() {
        for typed in ["fsk_1", " fsk_1 ", "fsk_1\r"] {
            assert_eq!(parse_key(&typed.into()).unwrap().expose_secret(), "fsk_1", "{typed:?}");
        }
    }

    #[test]
    fn invalid_key_is_refused_and_not_printed() {
        for typed in [
            "",
            " ",
            "\u{1b}[200~\u{1b}[201~",
            "fsk_1 fsk_2",
            "fsk_1\u{1b}[D",
            "fsk\t1",
            "'fsk_1'",
            "fsk\u{200b}_1",
        ] {
            let error = format!("{:?}", parse_key(&typed.into()).unwrap_err());
            assert!(!error.contains("fsk"), "{error}");
        }
    }

    #[test]
    fn confirmation_other_than_yes_is_no() {
        for yes in ["y\n", "Y", " yes \n", "YES"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n", "no", "yep", "1", "y y", "ja"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
