//! Shows long output on a terminal in a pager, so that its beginning does not scroll away.

use std::io::{self, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use unicode_width::UnicodeWidthStr;

use crate::base::child;
use crate::base::env::{self, Lookup};

/// The pager if no setting names one.
const DEFAULT_PAGER: &str = "less";
/// Default options of `less` and `lv`, each for a variable that the user has not set: quit if the text fits on the
/// screen, show colours, leave the text on the screen, and read UTF-8.
const DEFAULT_OPTIONS: &[(&str, &str)] =
    &[(env::LESS.name, "FRX"), (env::LESSCHARSET.name, "utf-8"), (env::LV.name, "-c")];

static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Returns true while a pager controls the terminal. Ctrl-C is then a key of the pager.
pub(crate) fn is_open() -> bool {
    IS_OPEN.load(Ordering::Relaxed)
}

/// The command of a pager, split into words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pager {
    words: Vec<String>,
    /// Variables to add to the environment of the pager.
    env: Vec<(&'static str, &'static str)>,
}

impl Pager {
    /// Returns the chosen pager, or `less`. Returns `None` if the command is `cat` or `false`, if it cannot be split
    /// into words, or if a variable for the pager is set to an empty value. The command is split like in a shell,
    /// but no shell runs: a pipe sign is an ordinary word.
    pub(super) fn of(chosen: Option<&str>, env: Lookup<'_>) -> Option<Self> {
        let emptied = |name: &str| env(name).is_some_and(|value| value.is_empty());
        if emptied(env::PAGER.name) || (chosen.is_none() && emptied(env::PLAIN_PAGER.name)) {
            return None;
        }
        let text = chosen.unwrap_or(DEFAULT_PAGER);
        let words = shell_words::split(text).ok()?;
        match words.first().map(String::as_str) {
            None | Some("" | "cat" | "false") => return None,
            Some(_) => {}
        }
        let env = DEFAULT_OPTIONS.iter().filter(|(name, _)| env(name).is_none()).copied().collect();
        Some(Self { words, env })
    }

    /// Shows the text and waits until the pager has ended. Returns false if the pager could not be started; then
    /// the text was not shown.
    pub(super) fn show(&self, text: &[u8]) -> io::Result<bool> {
        let (program, args) = self.words.split_first().expect("a pager has at least one word");
        let child = child::command(program)
            .args(args)
            .envs(self.env.iter().copied())
            .stdin(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else { return Ok(false) };
        IS_OPEN.store(true, Ordering::Relaxed);
        // A failed write is not an error: the pipe is closed if the user quits before the end of the text.
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(text);
        }
        // The exit code of the pager does not matter.
        let ended = child.wait();
        IS_OPEN.store(false, Ordering::Relaxed);
        ended.map(|_| true)
    }
}

/// Returns the number of terminal rows of a text. A line wider than the terminal takes several rows.
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
    fn pager_command_is_split_and_some_values_disable_it() {
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
    fn pager_default_does_not_replace_a_set_variable() {
        let less = |name: &str| (name == "LESS").then(|| OsString::from("S"));
        let names: Vec<&str> =
            Pager::of(None, &less).unwrap().env.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["LESSCHARSET", "LV"]);
    }

    #[test]
    fn missing_pager_shows_nothing_and_is_no_error() {
        let missing = Pager { words: vec!["/nonexistent/pager".into()], env: Vec::new() };
        assert!(!missing.show(b"text").unwrap());
        let early = Pager { words: vec!["true".into()], env: Vec::new() };
        assert!(early.show(&vec![b'x'; 1 << 20]).unwrap(), "`true` closes the pipe early");
    }

    #[test]
    fn rows_include_wrapped_lines_but_not_styles() {
        assert_eq!(rows("a\nb\n", 80), 2);
        assert_eq!(rows("", 80), 0);
        assert_eq!(rows("\n\n", 80), 2);
        assert_eq!(rows(&"x".repeat(81), 80), 2);
        assert_eq!(rows(&"漢".repeat(41), 80), 2);
        assert_eq!(rows(&format!("\u{1b}[1m{}\u{1b}[0m", "x".repeat(80)), 80), 1);
    }
}
