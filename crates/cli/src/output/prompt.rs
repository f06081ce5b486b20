//! Questions to a person, on a terminal: asked on standard error, answered on standard input.
//!
//! Ask only where [`Settings::may_ask`](crate::settings::Settings::may_ask) says that somebody is
//! there. A question is asked on a thread of its own, since reading a terminal cannot be called off:
//! when a signal ends the command, the question is left behind and the terminal is set back to what
//! it was, echo included.

use std::io::{self, Write};
use std::thread;

use dialoguer::Password;
use formsvc_protocol::check_secret_text;
use secrecy::SecretString;
use tokio::sync::oneshot;

use crate::error::CliError;
use crate::exit::Exit;

/// What terminals put around a paste, for programs that edit lines. It comes along when the shell or
/// an editor has left that mode on.
const PASTE: [&str; 2] = ["\u{1b}[200~", "\u{1b}[201~"];

/// What stands in a terminal's settings for a key that there is not.
#[cfg(unix)]
const NO_KEY: u8 = if cfg!(any(target_os = "linux", target_os = "android")) { 0 } else { 0xff };

/// Asks for a key; nothing of it shows, not even its length.
pub(crate) async fn hidden(prompt: &str) -> Result<SecretString, CliError> {
    key_of(&hidden_line(prompt).await?)
}

/// Asks for a line; nothing of it shows.
pub(crate) async fn hidden_line(prompt: &str) -> Result<SecretString, CliError> {
    use secrecy::ExposeSecret;

    let prompt = prompt.to_owned();
    let typed = put(true, move || {
        // Nothing typed is taken as an answer: the library would ask for ever at the end of input.
        let asked = Password::new().with_prompt(prompt).allow_empty_password(true);
        asked.interact().map_err(|dialoguer::Error::IO(error)| error)
    });
    let typed: SecretString = typed.await?.into();
    Ok(without_paste_marks(typed.expose_secret()).into())
}

/// Asks for a line that shows. Nothing when nothing was typed, or the input ended.
pub(crate) async fn line(prompt: &str) -> Result<Option<String>, CliError> {
    let prompt = format!("{prompt}: ");
    let typed = put(false, move || read_line(&prompt)).await?;
    let line = without_paste_marks(&typed);
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

/// Asks whether something is to be done. Anything but yes is no.
pub(crate) async fn confirm(question: &str) -> Result<bool, CliError> {
    let prompt = format!("{question} [y/N] ");
    let typed = put(false, move || read_line(&prompt)).await?;
    Ok(is_yes(&typed))
}

/// Puts a question on a thread of its own, and waits for the answer.
async fn put<T: Send + 'static>(
    hides: bool,
    question: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, CliError> {
    let unasked = |error: &io::Error| {
        CliError::new(Exit::LocalIo, "cannot ask on the terminal").because(error)
    };
    let mut open = Open::begin(hides);
    let (answered, answer) = oneshot::channel();
    thread::Builder::new()
        .name("question".into())
        // Nobody waits any more only when a signal has ended the command.
        .spawn(move || drop(answered.send(question())))
        .map_err(|error| unasked(&error))?;
    let answer = answer.await;
    open.answered = true;
    match answer {
        Ok(answer) => answer.map_err(|error| unasked(&error)),
        Err(_) => Err(CliError::new(Exit::Failed, "this is a bug in formsvc")),
    }
}

/// A question without an answer yet. When it is dropped, the terminal is what it was before.
struct Open {
    answered: bool,
    #[cfg(unix)]
    settings: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl Open {
    fn begin(hides: bool) -> Self {
        use rustix::termios::{OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

        let settings = tcgetattr(io::stdin()).ok();
        if hides && let Some(mut now) = settings.clone() {
            // A prompt that was sent to the background comes back with the echo of the shell.
            now.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
            // Where it cannot be set, Ctrl-Z works.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &now);
        }
        Self { answered: false, settings }
    }
}

#[cfg(not(unix))]
impl Open {
    fn begin(_: bool) -> Self {
        Self { answered: false }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(settings) = &self.settings {
            use rustix::termios::{OptionalActions, tcsetattr};
            // What was typed and not read is part of an answer, and not for the shell to run.
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, settings);
        }
        if !self.answered {
            // What comes next begins a line.
            let _ = writeln!(io::stderr());
        }
    }
}

fn read_line(prompt: &str) -> io::Result<String> {
    // Standard error is not locked during the prompt, so that a signal can print its message.
    io::stderr().write_all(prompt.as_bytes())?;
    let mut typed = String::new();
    if io::stdin().read_line(&mut typed)? == 0 {
        // The input ended without a line break. Its absence on the screen is no failure.
        let _ = writeln!(io::stderr());
    }
    Ok(typed)
}

/// The key in what was typed or pasted.
fn key_of(typed: &SecretString) -> Result<SecretString, CliError> {
    use secrecy::ExposeSecret;

    let key = without_paste_marks(typed.expose_secret());
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

fn without_paste_marks(typed: &str) -> &str {
    let typed = typed.trim();
    let typed = typed.strip_prefix(PASTE[0]).unwrap_or(typed);
    typed.strip_suffix(PASTE[1]).unwrap_or(typed).trim()
}

fn is_yes(typed: &str) -> bool {
    let typed = without_paste_marks(typed);
    ["y", "yes"].iter().any(|yes| typed.eq_ignore_ascii_case(yes))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_key_is_taken_as_it_was_typed_or_pasted() {
        for typed in [
            "fsk_1",
            " fsk_1 ",
            "fsk_1\r",
            "\u{1b}[200~fsk_1\u{1b}[201~",
            "\u{1b}[200~fsk_1\n\u{1b}[201~",
            "\u{1b}[200~ fsk_1",
        ] {
            assert_eq!(key_of(&typed.into()).unwrap().expose_secret(), "fsk_1", "{typed:?}");
        }
    }

    #[test]
    fn what_is_not_one_key_is_refused_without_being_shown() {
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
            let error = format!("{:?}", key_of(&typed.into()).unwrap_err());
            assert!(!error.contains("fsk"), "{error}");
        }
    }

    #[test]
    fn anything_but_yes_is_no() {
        for yes in ["y\n", "Y", " yes \n", "YES"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n", "no", "yep", "1", "y y", "ja"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
