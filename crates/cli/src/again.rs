//! Commands for a person to type next.

use std::borrow::Cow;

use crate::settings::{PROFILE_DEFAULT, Service, Settings};

/// The command line of a command of this program, for the same service, quoted for a shell.
pub(crate) fn command(settings: &Settings, words: &[&str]) -> String {
    let mut line = "formsvc".to_owned();
    if matches!(settings.service, Service::Demo) {
        line.push_str(" --demo");
    }
    if settings.profile != PROFILE_DEFAULT {
        line.push_str(" --profile ");
        line.push_str(&quoted(&settings.profile));
    }
    for word in words {
        line.push(' ');
        line.push_str(&quoted(word));
    }
    line
}

/// A word as a POSIX shell takes it for one.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one_word() {
        for (word, shell) in [
            ("penguins", "penguins"),
            ("2026-01-31T09:30:00.120Z", "2026-01-31T09:30:00.120Z"),
            ("Palmer penguins", "'Palmer penguins'"),
            ("it's", r"'it'\''s'"),
            ("$(rm)", "'$(rm)'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), shell);
        }
    }
}
