//! Commands that the user can copy from a message. They repeat the global flags of the current command.

use crate::base::masked::secret_prefix;
use crate::base::sanitize::one_line;
use crate::base::shell::quoted;
use crate::settings::args::{DATA, Given};
use crate::settings::{PROFILE_DEFAULT, Service, Settings};

/// A command line of this program.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandLine {
    words: Vec<String>,
}

impl CommandLine {
    /// Creates a line of the current command, with its profile and its global flags.
    pub(crate) fn new(settings: &Settings, command: &[&str]) -> Self {
        Self::with(settings, command, &settings.given)
    }

    /// Creates a line of another command, with the profile and the global flags of the current command. Flags of data
    /// are left out: the other command has other fields, or no data.
    pub(crate) fn of_other(settings: &Settings, command: &[&str]) -> Self {
        let given = settings.given.iter().filter(|(flag, _)| !DATA.contains(&&**flag));
        Self::with(settings, command, &given.cloned().collect())
    }

    fn with(settings: &Settings, command: &[&str], given: &Given) -> Self {
        let mut line = Self { words: vec!["formsvc".to_owned()] };
        match settings.service {
            Service::Demo => line.words.push("--demo".to_owned()),
            // The user may change the active profile before the command is typed.
            Service::At { .. } if settings.profile != PROFILE_DEFAULT => {
                line.flag("--profile", &settings.profile);
            }
            Service::At { .. } => {}
        }
        line.repeat_flags(given);
        if settings.verbose > 0 {
            line.words.push(format!("-{}", "v".repeat(settings.verbose.into())));
        }
        line.words.extend(command.iter().map(|&word| word.to_owned()));
        line
    }

    fn repeat_flags(&mut self, given: &Given) {
        for (flag, value) in given.iter().filter(|(flag, _)| flag != "--profile") {
            match value {
                Some(value) => self.flag(flag, value),
                None => self.switch(flag),
            };
        }
    }

    /// Adds a flag with its value.
    pub(crate) fn flag(&mut self, flag: &str, value: &str) -> &mut Self {
        if value.starts_with('-') {
            self.words.push(format!("{flag}={value}"));
        } else {
            self.words.extend([flag.to_owned(), value.to_owned()]);
        }
        self
    }

    /// Adds a flag without a value.
    pub(crate) fn switch(&mut self, flag: &str) -> &mut Self {
        self.words.push(flag.to_owned());
        self
    }

    /// Adds a flag if it has a value.
    pub(crate) fn maybe(&mut self, flag: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.flag(flag, value);
        }
        self
    }

    /// Returns the line, quoted for a shell. `None` if a word contains control characters, which cannot be
    /// shown, or a secret.
    pub(crate) fn shown(&self) -> Option<String> {
        if self.words.iter().any(|word| one_line(word) != **word || secret_prefix(word).is_some()) {
            return None;
        }
        let words: Vec<_> = self.words.iter().map(|word| quoted(word)).collect();
        Some(words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::*;
    use crate::cmd::Cli;
    use crate::settings::args::{Globals, given};

    /// Parses the global flags of a command line.
    fn parsed(words: &[&str]) -> (Globals, Given) {
        let command = Cli::command();
        let matches = command.clone().try_get_matches_from(words).unwrap();
        (Cli::from_arg_matches(&matches).unwrap().globals, given(&command, &matches))
    }

    /// Returns a valid value of a flag.
    fn value(flag: &str) -> &'static str {
        match flag {
            "output" => "csv",
            "time-style" => "absolute",
            "color" => "never",
            "error-format" => "json",
            "timeout" | "max-wait" => "1m 30s",
            "max-rate" => "60",
            _ => "-it's a b",
        }
    }

    #[test]
    fn every_global_flag_is_repeated() {
        let command = crate::cmd::command();
        let globals = command.get_arguments().filter(|arg| arg.is_global_set());
        let flags: Vec<&str> = globals.filter_map(|arg| arg.get_long()).collect();
        assert!(flags.len() > 15, "{flags:?}");
        for flag in flags.into_iter().filter(|flag| !["demo", "profile", "verbose"].contains(flag))
        {
            let arg = command.get_arguments().find(|arg| arg.get_long() == Some(flag)).unwrap();
            let long = if arg.get_action().takes_values() {
                format!("--{flag}={}", value(flag))
            } else {
                format!("--{flag}")
            };
            let (once, given) = parsed(&["formsvc", &long, "me"]);
            let mut line = CommandLine::default();
            line.repeat_flags(&given);
            assert!(!line.words.is_empty(), "{flag}");
            let words: Vec<&str> = line.words.iter().map(String::as_str).collect();
            let (again, _) = parsed(&[&["formsvc"], &words[..], &["me"]].concat());
            assert_eq!(format!("{once:?}"), format!("{again:?}"), "{flag}");
        }
    }

    #[test]
    fn word_with_control_characters_is_not_shown() {
        let mut line = CommandLine { words: vec!["formsvc".to_owned()] };
        line.flag("--field", "cursor=a b");
        assert_eq!(line.shown().as_deref(), Some("formsvc --field 'cursor=a b'"));
        assert_eq!(line.flag("--field", "cursor=\u{1b}[2J").shown(), None);
    }
}
