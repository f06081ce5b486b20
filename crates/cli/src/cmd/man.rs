//! `formsvc man`

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man as Page;
use clap_mangen::roff::{Roff, bold, roman};

use super::page;
use crate::base::env::ENV_VARS;
use crate::error::CliError;
use crate::exit::{EXITS, Exit};

/// Print the manual page, or write the pages of all commands to a directory
///
/// Without `--dir`, it prints the page of the program; `formsvc man | man -l -` shows it. With `--dir`,
/// each command has a file, such as formsvc-forms-list.1. `man` looks in `man1` of each folder that `manpath` prints.
/// For another folder, set MANPATH: `MANPATH=~/.local/share/man: man formsvc-forms-list`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc man > formsvc.1\n  formsvc man --dir ~/.local/share/man/man1"
)]
pub(crate) struct Man {
    /// Write the pages of all commands to this folder, which is created if it does not exist
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let pages = man_pages();
        let Some(dir) = &self.dir else {
            return page::put(&pages[0].1);
        };
        let write = |(name, text): &(String, String)| std::fs::write(dir.join(name), text);
        let written = std::fs::create_dir_all(dir).and_then(|()| pages.iter().try_for_each(write));
        written.map_err(|error| {
            let message = format!("cannot write manual pages to `{}`", dir.display());
            CliError::new(Exit::LocalIo, message).because(&error)
        })
    }
}

/// Returns the file names and texts of the manual pages. The page of the program is the first.
pub fn man_pages() -> Vec<(String, String)> {
    let mut root = prepared(crate::cmd::command());
    root.build();
    let mut pages = Vec::new();
    add(&root, &mut pages);
    pages[0].1.push_str(&tables());
    pages
}

/// Prepares a command for the renderer, which omits the flags that short help hides.
fn prepared(command: Command) -> Command {
    command.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(prepared)
}

fn add(command: &Command, pages: &mut Vec<(String, String)>) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim().trim_start_matches("Usage: ").to_owned();
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    let sections = sections(&after.map(ToString::to_string).unwrap_or_default());
    let page =
        Page::new(command.clone().override_usage(usage).after_help(None).after_long_help(None));
    // The renderer would omit an empty date, and `man` would read the next argument as the date.
    let page = page
        .date("\"\"")
        .manual("User Commands")
        .source(concat!("formsvc ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render(&mut text).expect("a write to memory does not fail");
    let text = String::from_utf8(text).expect("the parts are text");
    pages.push((page.get_filename(), text + &sections));
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        add(command, pages);
    }
}

/// Converts the text after the flags: a section per paragraph, with the words before the colon as its
/// heading. The lines of a section are not filled.
fn sections(after: &str) -> String {
    let mut roff = Roff::new();
    for paragraph in after.split("\n\n") {
        let Some((heading, rest)) = paragraph.split_once(':') else { continue };
        roff.control("SH", [&*heading.to_uppercase()]).control("nf", []);
        for line in rest.trim_start_matches([' ', '\n']).lines() {
            roff.text([roman(line.trim_start())]);
        }
        roff.control("fi", []);
    }
    roff.render()
}

/// Returns the sections that only the page of the program has.
fn tables() -> String {
    let mut roff = Roff::new();
    let exits = EXITS.iter().map(|row| (row.exit.code().to_string(), row.meaning));
    let variables = ENV_VARS.iter().map(|var| (var.name.to_owned(), var.about));
    for (title, rows) in
        [("EXIT STATUS", exits.collect()), ("ENVIRONMENT", variables.collect::<Vec<_>>())]
    {
        roff.control("SH", [title]);
        for (term, meaning) in rows {
            roff.control("TP", []).text([bold(term)]).text([roman(format!("{meaning}."))]);
        }
    }
    roff.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_has_a_description_and_pages_have_examples() {
        for (name, text) in man_pages() {
            assert!(!text.contains(".SH EXTRA"), "{name}");
            let lines: Vec<&str> = text.lines().collect();
            for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with(".TP")) {
                let (term, about) = (lines.get(at + 1), lines.get(at + 2));
                let has_text =
                    about.is_some_and(|about| !about.is_empty() && !about.starts_with('.'));
                assert!(has_text, "{name}: {line} {term:?} {about:?}");
            }
        }
        let (_, root) = &man_pages()[0];
        let titled = concat!(".TH formsvc 1 \"\" \"formsvc ", env!("CARGO_PKG_VERSION"), "\"");
        assert!(root.contains(titled), "{root}");
        assert!(root.contains(".SH TOPICS\n"), "{root}");
        let list = man_pages().into_iter().find(|(name, _)| name == "formsvc-submissions-list.1");
        let (_, list) = list.expect("there is a page");
        assert!(list.contains(".SH EXAMPLES\n.nf\nformsvc"), "{list}");
        assert!(list.contains("<FORM>"), "{list}");
    }
}
