//! `formsvc help`

mod output_topic;

use clap::Args;

use super::page;
use crate::base::env::ENV_VARS;
use crate::error::{CODES, CliError, FIELDS, usage};
use crate::exit::EXITS;
use crate::settings::early::ParsedEarly;

/// Explain a command or a topic: environment, output, exit-codes, errors
///
/// For a command, it prints the same text as `--help`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc help forms list\n  formsvc help exit-codes\n  formsvc help environment"
)]
pub(crate) struct Help {
    /// A topic, or the words of a command
    #[arg(value_name = "TOPIC|COMMAND")]
    words: Vec<String>,
}

/// A page about a subject that is not a command: its name, and a function that returns its text.
type Topic = (&'static str, fn() -> String);

const TOPICS: &[Topic] = &[
    ("environment", environment),
    ("output", output_topic::text),
    ("exit-codes", exit_codes),
    ("errors", errors),
];

impl Help {
    pub(crate) fn run(&self, early: ParsedEarly) -> Result<(), CliError> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        if let [word] = words[..]
            && let Some((_, text)) = TOPICS.iter().find(|(name, _)| *name == word)
        {
            return page::show(&text(), early);
        }
        let mut root = page::laid_out_command();
        root.build();
        let mut path = vec![&root];
        for word in words {
            let Some(command) = path[path.len() - 1].find_subcommand(word) else {
                let topics = TOPICS.iter().filter(|_| path.len() == 1).map(|(name, _)| *name);
                return Err(usage::unknown_command(word, &path, &topics.collect::<Vec<_>>()));
            };
            path.push(command);
        }
        let mut command = path[path.len() - 1].clone();
        page::show(&command.render_long_help().ansi(), early)
    }
}

fn environment() -> String {
    let about = "Flags take precedence over variables; an empty variable counts as unset. \
                 `formsvc config list` shows where each value comes from.";
    let rows = ENV_VARS.iter().map(|var| (var.name, format!("{}.", var.about)));
    format!(
        "{}\n{}\n{}",
        page::heading("Environment variables"),
        page::wrapped(about, 0),
        page::definitions(rows)
    )
}

fn exit_codes() -> String {
    let codes: Vec<String> = EXITS.iter().map(|row| row.exit.code().to_string()).collect();
    let rows = codes.iter().map(String::as_str).zip(EXITS).map(|(code, row)| (code, row.meaning));
    format!(
        "{}\n{}",
        page::heading("Exit codes"),
        page::definitions(rows.map(|(code, meaning)| (code, format!("{meaning}."))))
    )
}

fn errors() -> String {
    let about = "Errors are printed on standard error: `error` is the failure, `cause` the reason, \
                 `hint` a remedy. With `--error-format json` (or FORMSVC_ERROR_FORMAT) an error is one \
                 JSON object on one line, {\"error\":{…}}, also for wrong arguments. Other messages, \
                 such as warnings and summaries, are then JSON objects with `level` and `message`. The \
                 fields of an error:";
    let fields = FIELDS.iter().map(|row| (row.name, format!("{}: {}.", row.holds, row.meaning)));
    let codes =
        CODES.iter().map(|row| (row.name, format!("{} (exit {}).", row.meaning, row.exit.code())));
    format!(
        "{}\n{}\n{}\nThe codes:\n\n{}",
        page::heading("Errors"),
        page::wrapped(about, 0),
        page::definitions(fields),
        page::definitions(codes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_fits_80_columns_and_is_not_a_command() {
        let root = crate::cmd::command();
        for (name, text) in TOPICS {
            assert!(root.find_subcommand(name).is_none(), "{name}");
            let text = anstream::adapter::strip_str(&text()).to_string();
            // Example commands are not broken.
            let mut lines = text.lines().filter(|line| !line.contains("formsvc --demo"));
            let wide = lines.find(|line| line.chars().count() > page::WIDTH);
            assert_eq!(wide, None, "{name}");
            assert!(text.ends_with('\n'), "{name}");
        }
    }

    #[test]
    fn every_variable_code_and_field_is_listed() {
        let (environment, codes, errors) = (environment(), exit_codes(), errors());
        assert!(ENV_VARS.iter().all(|var| environment.contains(var.name)));
        for row in EXITS {
            assert!(codes.contains(&format!("\n  {} ", row.exit.code())), "{codes}");
        }
        assert!(CODES.iter().all(|row| errors.contains(row.name)));
        assert!(FIELDS.iter().all(|row| errors.contains(row.name)));
    }
}
