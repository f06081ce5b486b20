//! Long output on a terminal goes through a pager, so that its beginning can be read.

use std::io::{self, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use unicode_width::UnicodeWidthStr;

use crate::base::child;
use crate::base::env::{self, Lookup};

/// The pager where nobody names one.
const DEFAULT: &str = "less";
/// How `less` and `lv` behave unless the user says otherwise: end at once when all fits, show
/// colours, leave the text on the screen; text is UTF-8.
const BEHAVIOUR: &[(&str, &str)] =
    &[(env::LESS.name, "FRX"), (env::LESSCHARSET.name, "utf-8"), (env::LV.name, "-c")];

static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Returns true while a pager has the terminal. Ctrl-C is then a key of the pager.
pub(crate) fn is_open() -> bool {
    IS_OPEN.load(Ordering::Relaxed)
}

/// A program that shows text, as words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pager {
    words: Vec<String>,
    /// Variables it gets, those that are not set.
    env: Vec<(&'static str, &'static str)>,
}

impl Pager {
    /// The pager that was chosen, or `less`. None where it is `cat` or `false`, where it cannot be
    /// read as words, and where a variable that would name one is set to nothing. The words are split
    /// as a shell splits them, and no shell runs: a pipe sign is a word like any other.
    pub(super) fn of(chosen: Option<&str>, env: Lookup<'_>) -> Option<Self> {
        let emptied = |name: &str| env(name).is_some_and(|value| value.is_empty());
        if emptied(env::PAGER.name) || (chosen.is_none() && emptied(env::PLAIN_PAGER.name)) {
            return None;
        }
        let text = chosen.unwrap_or(DEFAULT);
        let words = shell_words::split(text).ok()?;
        match words.first().map(String::as_str) {
            None | Some("" | "cat" | "false") => return None,
            Some(_) => {}
        }
        let env = BEHAVIOUR.iter().filter(|(name, _)| env(name).is_none()).copied().collect();
        Some(Self { words, env })
    }

    /// Shows the text and waits until its reader has seen enough. False where the pager could not
    /// be started: then nothing was shown.
    pub(super) fn show(&self, text: &[u8]) -> io::Result<bool> {
        let (program, args) = self.words.split_first().expect("a pager has a word at least");
        let child = child::command(program)
            .args(args)
            .envs(self.env.iter().copied())
            .stdin(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else { return Ok(false) };
        IS_OPEN.store(true, Ordering::Relaxed);
        // A reader who has seen enough closes the pipe, which is no failure.
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(text);
        }
        // The exit code of the pager does not matter.
        let ended = child.wait();
        IS_OPEN.store(false, Ordering::Relaxed);
        ended.map(|_| true)
    }
}

/// How many rows of a terminal the text takes; a line wider than the terminal takes several.
pub(super) fn rows(text: &str, width: usize) -> usize {
    text.lines().map(|line| plain(line).width().div_ceil(width.max(1)).max(1)).sum()
}

fn plain(line: &str) -> String {
    anstream::adapter::strip_str(line).to_string()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn words(chosen: Option<&str>, env: &[(&str, &str)]) -> Option<Vec<String>> {
        let lookup = |name: &str| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        Pager::of(chosen, &lookup).map(|pager| pager.words)
    }

    #[test]
    fn a_pager_is_words_and_some_words_mean_none() {
        let empty = |name| [(name, "")];
        for (chosen, env, expected) in [
            (None, &[][..], Some(&["less"][..])),
            (Some("most"), &[], Some(&["most"][..])),
            (
                Some("'/my pager/p' -a \"b c\" | d"),
                &[],
                Some(&["/my pager/p", "-a", "b c", "|", "d"]),
            ),
            (Some("  "), &[], None),
            (Some("cat"), &[], None),
            (Some("false"), &[], None),
            (Some("it's"), &[], None),
            (None, &empty("PAGER"), None),
            (None, &empty("FORMSVC_PAGER"), None),
            (Some("more"), &empty("FORMSVC_PAGER"), None),
            (Some("more"), &empty("PAGER"), Some(&["more"][..])),
        ] {
            let expected = expected.map(|words| words.iter().map(ToString::to_string).collect());
            assert_eq!(words(chosen, env), expected, "{chosen:?} {env:?}");
        }
    }

    #[test]
    fn less_is_told_how_to_behave_unless_the_user_has() {
        let less = |name: &str| (name == "LESS").then(|| OsString::from("S"));
        let names: Vec<&str> =
            Pager::of(None, &less).unwrap().env.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["LESSCHARSET", "LV"]);
    }

    #[test]
    fn a_pager_that_is_not_there_shows_nothing_and_is_no_failure() {
        let missing = Pager { words: vec!["/nonexistent/pager".into()], env: Vec::new() };
        assert!(!missing.show(b"text").unwrap());
        let early = Pager { words: vec!["true".into()], env: Vec::new() };
        assert!(early.show(&vec![b'x'; 1 << 20]).unwrap(), "it closes the pipe early");
    }

    #[test]
    fn rows_count_what_wraps_and_not_what_paints() {
        assert_eq!(rows("a\nb\n", 80), 2);
        assert_eq!(rows("", 80), 0);
        assert_eq!(rows("\n\n", 80), 2);
        assert_eq!(rows(&"x".repeat(81), 80), 2);
        assert_eq!(rows(&"漢".repeat(41), 80), 2);
        assert_eq!(rows(&format!("\u{1b}[1m{}\u{1b}[0m", "x".repeat(80)), 80), 1);
    }
}
