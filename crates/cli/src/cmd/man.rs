//! `formsvc man`

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man as Page;

use super::page;
use crate::env::ENV_VARS;
use crate::error::CliError;
use crate::exit::{EXITS, Exit};

/// Print the manual page of this program, or write those of every command into a folder
///
/// Printed, it is the page of the whole program: `formsvc man | man -l -` reads it. The pages of a
/// folder are named after their commands, such as formsvc-forms-list.1; a folder called man1 below
/// one that `manpath` lists is where `man` looks for them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc man > formsvc.1\n  formsvc man --dir ~/.local/share/man/man1"
)]
pub(crate) struct Man {
    /// Write a page for every command into this folder, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let pages = man_pages();
        let Some(dir) = &self.dir else {
            return page::put(&pages[0].1);
        };
        let written = std::fs::create_dir_all(dir).and_then(|()| {
            pages.iter().try_for_each(|(name, text)| std::fs::write(dir.join(name), text))
        });
        written.map_err(|error| {
            let message = format!("cannot write manual pages to `{}`", dir.display());
            CliError::new(Exit::LocalIo, message).because(&error)
        })
    }
}

/// The manual pages, by the names of their files; the program's own first.
pub fn man_pages() -> Vec<(String, String)> {
    let mut root = crate::command();
    root.build();
    let mut pages = Vec::new();
    add(&root, &mut pages);
    pages[0].1.push_str(&more());
    for (_, text) in &mut pages {
        *text = ascii(text);
    }
    pages
}

fn add(command: &Command, pages: &mut Vec<(String, String)>) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).replace(' ', "-");
    // The program's name without spaces, as manual pages have it; the usage line keeps its own.
    let named = command.clone().display_name(name.clone());
    let page = Page::new(named)
        .title(name.to_uppercase())
        .section("1")
        .manual("User Commands")
        .source(concat!("formsvc ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render(&mut text).expect("memory takes every write");
    let text = String::from_utf8(text).expect("the parts are text");
    pages.push((format!("{name}.1"), text));
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        add(command, pages);
    }
}

/// Sections of the program's own page that no flag tells of.
fn more() -> String {
    let mut text = ".SH \"EXIT STATUS\"\n".to_owned();
    for row in EXITS {
        text.push_str(&entry(&row.exit.code().to_string(), row.meaning));
    }
    text.push_str(".SH ENVIRONMENT\n");
    for var in ENV_VARS {
        text.push_str(&entry(var.name, var.about));
    }
    text
}

fn entry(term: &str, meaning: &str) -> String {
    format!(".TP\n\\fB{}\\fR\n{}.\n", escaped(term), escaped(meaning))
}

/// Characters that a formatter may not know, by their numbers.
fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            plain.push(c);
        } else {
            plain.extend(["\\[u", &format!("{:04X}", u32::from(c)), "]"]);
        }
    }
    plain
}

/// Text in the language of manual pages.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}
