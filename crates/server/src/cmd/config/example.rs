//! `formsvc-server config example`: a configuration file with every setting, none of them set.

use std::fmt::Write;

use super::table::{Kind, SETTINGS, Setting};
use crate::cmd::error::CommandError;
use crate::cmd::output;

const HEAD: &str = "\
# Settings of formsvc-server. A flag is stronger than its environment variable, that is stronger than
# this file, and what nobody sets has its default, which is what stands here behind `=` unless an
# example does. Read when `--config` or FORMSVC_SERVER_CONFIG names it; `formsvc-server config check`
# tells what is wrong with it, and what counts.
#
# Printed by `formsvc-server config example`.
";

pub(super) fn run() -> Result<(), CommandError> {
    output::line(example().trim_end())
}

/// A configuration file with every setting, each a comment.
pub fn example() -> String {
    let mut text = HEAD.to_owned();
    for setting in SETTINGS {
        let Some(key) = setting.key else { continue };
        let Setting { variable, flag, meaning, .. } = setting;
        let (value, is_example) = match setting.default {
            Some(default) => (written(setting.kind, default), ""),
            None => (sample(key).to_owned(), ", for example"),
        };
        // A string takes what is written to it.
        let _ = write!(
            text,
            "\n# {flag}, {variable}{is_example}:\n{}#{key} = {value}\n",
            wrapped(meaning)
        );
    }
    text
}

/// A default as a file has it.
fn written(kind: Kind, value: &str) -> String {
    match kind {
        Kind::Number | Kind::NumberOrOff | Kind::Switch => value.to_owned(),
        _ => format!("\"{value}\""),
    }
}

/// A value for what has no default.
fn sample(key: &str) -> &'static str {
    match key {
        "database" => "\"/var/lib/formsvc/formsvc.db\"",
        "secret_key_file" => "\"/etc/formsvc/server.key\"",
        "egress_allow" => "[\"10.1.0.0/16\", \"hooks.internal:8443\"]",
        "egress_ca" => "\"/etc/formsvc/authorities.pem\"",
        "port" => "8080",
        "ready_file" => "\"/run/formsvc/ready.json\"",
        "public_url" => "\"https://forms.example.org\"",
        "trusted_proxy" => "[\"127.0.0.1\"]",
        "log_level" => "\"info\"",
        _ => "\"\"",
    }
}

/// A sentence as comment lines.
fn wrapped(text: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::from("#"));
    for word in text.split(' ') {
        if line.len() + 1 + word.len() > 100 {
            lines.extend([&line, "\n"]);
            line = String::from("#");
        }
        line.extend([" ", word]);
    }
    lines + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::config::file::ConfigFile;

    #[test]
    fn every_setting_is_in_the_example_and_can_be_taken_from_it() {
        let text = example();
        let live: Vec<_> = text
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if rest.starts_with(|first: char| first.is_ascii_lowercase()) => rest,
                _ => line,
            })
            .collect();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.toml");
        for (text, is_set) in [(&text, false), (&live.join("\n"), true)] {
            std::fs::write(&path, text).unwrap();
            let file = ConfigFile::read(&path).unwrap().0;
            for setting in SETTINGS.iter().filter(|setting| setting.key.is_some()) {
                assert_eq!(file.entry(setting).is_some(), is_set, "{setting:?}");
            }
        }
        assert!(!text.contains("\"\""), "each setting without a default has a sample: {text}");
    }
}
