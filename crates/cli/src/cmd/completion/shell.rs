//! The supported shells: their scripts, and the format of a response to each.

use std::ffi::OsString;

use clap::ValueEnum;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::{Elvish, EnvCompleter, Fish, Zsh};

use crate::base::env;
use crate::base::sanitize::one_line;
use crate::base::text::truncate;

/// The script for Bash. It replaces the script of `clap_complete`, which splits the response into words and
/// expands file name patterns.
const BASH: &str = include_str!("formsvc.bash");
/// The script for PowerShell. It replaces the script of `clap_complete`, which evaluates the typed line.
const POWERSHELL: &str = include_str!("formsvc.ps1");

/// Width of the longest description of a candidate.
const MAX_HELP: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// GNU Bash, 3.2 or later
    Bash,
    /// Elvish
    Elvish,
    /// fish
    Fish,
    /// PowerShell, 5 or later
    #[value(name = "powershell")]
    Pwsh,
    /// Zsh
    Zsh,
}

impl Shell {
    /// Returns the shell with a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    /// Returns the usual file name of the script.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Bash => "formsvc.bash",
            Self::Elvish => "formsvc.elv",
            Self::Fish => "formsvc.fish",
            Self::Pwsh => "formsvc.ps1",
            Self::Zsh => "_formsvc",
        }
    }

    /// Returns the script that registers this program for completion.
    pub(crate) fn script(self) -> String {
        match self {
            Self::Bash => BASH.to_owned(),
            Self::Pwsh => POWERSHELL.to_owned(),
            Self::Elvish => commented(self, &registration(&Elvish)),
            Self::Fish => commented(self, &registration(&Fish)),
            Self::Zsh => {
                // At the first call, Zsh runs the file from $fpath as the body of the function.
                let load = "\nif [[ \"${funcstack[1]}\" == _formsvc ]]; then\n    \
                            _clap_dynamic_completer_formsvc \"$@\"\nfi\n";
                let script = registration(&Zsh);
                let (first, rest) = script.split_once('\n').unwrap_or((&script, ""));
                // The tag `#compdef` must be on the first line.
                format!("{first}\n{}{load}", commented(self, rest))
            }
        }
    }

    /// Joins the words that the shell split. Returns them with the index of the word at the cursor, and
    /// with the part of that word that the shell does not expect in the response.
    pub(crate) fn words(
        self,
        mut words: Vec<OsString>,
        mut index: usize,
    ) -> (Vec<OsString>, usize, String) {
        // Shells omit an empty word at the cursor.
        if index == words.len() {
            words.push(OsString::new());
        }
        words.truncate(index + 1);
        let mut joined = String::new();
        if self == Self::Bash {
            while let Some(at) = words.iter().skip(1).position(|word| word == "=") {
                // `--flag`, `=`, `value`; the value may be missing.
                let rest = words.split_off(at);
                let mut rest = rest.into_iter();
                let flag = rest.next().unwrap_or_default();
                let _ = rest.next();
                let value = rest.next();
                let mut word = flag;
                word.push("=");
                joined = word.to_string_lossy().into_owned();
                word.push(value.unwrap_or_default());
                words.push(word);
                words.extend(rest);
            }
            index = words.len().saturating_sub(1);
            if !words.last().is_some_and(|word| word.to_string_lossy().starts_with(&joined)) {
                joined.clear();
            }
        }
        (words, index, joined)
    }

    /// Returns the line for a candidate, or `None` if the terminal or the protocol would misread it.
    pub(crate) fn line(self, candidate: &CompletionCandidate, joined: &str) -> Option<String> {
        let value = candidate.get_value().to_str()?;
        let value = value.strip_prefix(joined).unwrap_or(value);
        let is_misread = match self {
            Self::Bash | Self::Pwsh => !is_plain(value) || value.starts_with('@'),
            Self::Elvish | Self::Fish | Self::Zsh => one_line(value) != value,
        };
        if is_misread {
            return None;
        }
        let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        let help = truncate(&one_line(help.lines().next().unwrap_or_default()), MAX_HELP);
        let escaped = |text: &str| text.replace('\\', "\\\\");
        Some(match self {
            Self::Bash | Self::Elvish => format!("{value}\n"),
            Self::Fish | Self::Pwsh if help.is_empty() => format!("{value}\n"),
            Self::Fish | Self::Pwsh => format!("{value}\t{help}\n"),
            Self::Zsh => {
                let value = escaped(value).replace(':', "\\:");
                let separator = if help.is_empty() { "" } else { ":" };
                format!("{value}{separator}{}\n", escaped(&help))
            }
        })
    }
}

fn registration(shell: &dyn EnvCompleter) -> String {
    let mut script = Vec::new();
    shell
        .write_registration(env::COMPLETE.name, "formsvc", "formsvc", "formsvc", &mut script)
        .expect("a write to memory does not fail");
    String::from_utf8_lossy(&script).trim().to_owned() + "\n"
}

fn commented(shell: Shell, script: &str) -> String {
    let name = shell.to_possible_value().map(|value| value.get_name().to_owned());
    format!("# Generated by `formsvc completion {}`.\n{script}", name.unwrap_or_default())
}

/// Returns true if every shell takes the text literally.
pub(crate) fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./=@%+,:-".contains(c);
    text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidate_that_a_shell_interprets_is_left_out() {
        let evil = CompletionCandidate::new("$(touch x)`y`;'z");
        assert!(Shell::Bash.line(&evil, "").is_none() && Shell::Pwsh.line(&evil, "").is_none());
        let broken = CompletionCandidate::new("a\nb");
        assert!(Shell::value_variants().iter().all(|shell| shell.line(&broken, "").is_none()));
        let help = Some("\u{7}$(touch x)\nmore".to_owned().into());
        let described = CompletionCandidate::new("x").help(help);
        assert_eq!(Shell::Pwsh.line(&described, "").unwrap(), "x\t$(touch x)\n");
    }

    #[test]
    fn script_contains_no_path_of_this_machine() {
        for shell in Shell::value_variants() {
            let script = shell.script();
            assert!(script.contains("formsvc") && script.ends_with('\n'), "{shell:?}");
            assert!(!script.contains("/target/") && !script.contains('\r'), "{shell:?}");
            assert!(script.contains(env::COMPLETE.name), "{shell:?}: {script}");
        }
        assert!(Shell::Zsh.script().starts_with("#compdef formsvc\n"));
    }
}
