//! Links, paths and commands in the documents are valid.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use formsvc_tests::{Findings, Markdown, files, read, root};

/// The README must be shorter than this, in lines.
const README_MAX: usize = 121;

/// Resolves `a/b/../c` to `a/c`. Returns `None` for a path outside the tree.
fn normalized(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for step in path.components() {
        match step {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir => plain.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

#[test]
fn every_relative_link_resolves() {
    let files = files(".md");
    let pages: HashMap<_, _> =
        files.iter().map(|f| (PathBuf::from(&f.path), Markdown::parse(&f.text))).collect();
    let mut findings = Findings::default();
    for file in &files {
        let here = Path::new(&file.path);
        for (line, target) in &pages[here].links {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let there = if path.is_empty() {
                Some(here.to_owned())
            } else {
                normalized(&here.parent().unwrap_or(Path::new("")).join(path))
            };
            let Some(there) = there.filter(|there| root().join(there).exists()) else {
                findings.at(&file.path, *line, format!("`{target}` does not exist"));
                continue;
            };
            let anchors = pages.get(&there).map_or(&[][..], |page| &page.anchors);
            if !anchor.is_empty() && !anchors.iter().any(|known| known == anchor) {
                findings.at(&file.path, *line, format!("`{target}` is not a heading"));
            }
        }
    }
    findings.assert_none("links in documents resolve");
}

/// Starts of paths in documents, relative to the root.
const DIRECTORIES: [&str; 7] =
    [".ci/", ".config/", ".github/", "crates/", "docs/", "fixtures/", "tests/"];

#[test]
fn every_path_named_in_a_document_exists() {
    let mut findings = Findings::default();
    for file in files(".md") {
        for (line, span) in Markdown::parse(&file.text).spans {
            let is_path = DIRECTORIES.iter().any(|directory| span.starts_with(directory));
            // A command, or a pattern with a placeholder.
            let is_other = span.contains([' ', '<', '*', '…', '{']);
            if is_path && !is_other && !root().join(&span).exists() {
                findings.at(&file.path, line, format!("`{span}` does not exist"));
            }
        }
    }
    findings.assert_none("paths in documents exist");
}

#[test]
fn cited_section_of_the_specification_exists() {
    let specification = read("docs/SPEC.md");
    let mut findings = Findings::default();
    let mut cited = 0;
    for file in files(".rs").into_iter().chain(files(".md")) {
        for (at, line) in file.text.lines().enumerate() {
            for citation in line.split("SPEC §").skip(1) {
                let number = citation.chars().next().filter(char::is_ascii_digit);
                let Some(number) = number else { continue };
                cited += 1;
                if !specification.contains(&format!("\n## {number}. ")) {
                    findings.at(&file.path, at + 1, format!("there is no section {number}"));
                }
            }
        }
    }
    assert!(cited >= 100, "only {cited} citations");
    findings.assert_none("cited sections of docs/SPEC.md exist");
}

#[test]
fn readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines < README_MAX, "README.md has {lines} lines: move details to another page");
}

#[test]
fn readme_links_every_page() {
    let readme = read("README.md");
    let mut findings = Findings::default();
    for page in files(".md").iter().filter(|page| page.path.starts_with("docs/")) {
        if !readme.contains(&format!("({})", page.path)) {
            findings.of(&page.path, "the README has no link to it");
        }
    }
    findings.assert_none("the README links every page");
}

/// Returns the commands of the README that run tests.
fn readme_test_commands() -> Vec<String> {
    let commands = Markdown::parse(&read("README.md")).commands.into_iter();
    commands.map(|(_, command)| command).filter(|c| c.starts_with("cargo test")).collect()
}

/// Returns name and command of the steps of `.ci/run`, in order.
fn ci_steps() -> Vec<(String, String)> {
    let output = Command::new("bash")
        .args([".ci/run", "--list"])
        .current_dir(root())
        .output()
        .expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).expect("step names and commands are UTF-8");
    let steps = listed.lines().filter_map(|line| line.split_once('\t'));
    steps.map(|(name, command)| (name.to_owned(), command.to_owned())).collect()
}

#[test]
fn ci_test_step_is_readme_command() {
    let readme = readme_test_commands();
    assert_eq!(readme.len(), 1, "the README has one test command: {readme:?}");
    let steps = ci_steps();
    let test = steps.iter().find(|(name, _)| name == "test").map(|(_, command)| command);
    assert_eq!(test, Some(&readme[0]), "{steps:?}");
    assert!(steps.len() >= 6, "{steps:?}");
}

#[test]
fn testing_page_lists_each_ci_step() {
    let page = read("docs/TESTING.md");
    let (_, section) =
        page.split_once("## What `.ci/run` does\n").expect("the page has this section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let rows: Vec<_> = rows.map(|(name, _)| name.to_owned()).collect();
    let steps: Vec<_> = ci_steps().into_iter().map(|(name, _)| name).collect();
    assert_eq!(rows, steps);
}

#[test]
fn github_workflow_runs_ci_script() {
    let workflow = read(".github/workflows/ci.yml");
    assert!(workflow.contains("run: .ci/run"), "ci.yml does not run .ci/run");
    assert!(workflow.contains("permissions:"), "ci.yml does not limit its permissions");
}

/// Cargo commands must use a known subcommand, other programs must exist in the tree.
#[test]
fn readme_commands_exist() {
    let mut findings = Findings::default();
    for (line, command) in Markdown::parse(&read("README.md")).commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let known = match words.as_slice() {
            ["cargo", subcommand, ..] => {
                ["test", "run", "build", "install", "doc"].contains(subcommand)
            }
            ["formsvc", ..] | [] => true,
            [program, ..] => root().join(program).is_file(),
        };
        if !known {
            findings.at("README.md", line, format!("`{command}` is not a command of this project"));
        }
        let ours: &[&str] = match words.as_slice() {
            ["formsvc", rest @ ..] => rest,
            ["cargo", "run", rest @ ..] if !rest.contains(&"-p") => {
                let dashes = rest.iter().position(|word| *word == "--");
                dashes.map_or(&[], |at| &rest[at + 1..])
            }
            _ => &[],
        };
        if let Some(error) = refused(ours) {
            findings.at("README.md", line, format!("`{command}`: {error}"));
        }
    }
    findings.assert_none("commands in the README exist");
}

/// Returns the error of the command line's parser for some arguments.
fn refused(arguments: &[&str]) -> Option<String> {
    let parsed = formsvc_cli::command()
        .try_get_matches_from(std::iter::once(&"formsvc").chain(arguments.iter()));
    match parsed {
        Err(error) if !arguments.is_empty() => error.to_string().lines().next().map(str::to_owned),
        _ => None,
    }
}

#[test]
fn manual_commands_exist() {
    let mut findings = Findings::default();
    for (page, least) in [
        ("docs/DASHBOARD.md", 1),
        ("docs/EXPORTS.md", 15),
        ("docs/RECEIVE.md", 2),
        ("docs/WORKBENCH.md", 38),
    ] {
        let commands = Markdown::parse(&read(page)).commands;
        let ours = commands.iter().filter(|(_, command)| command.starts_with("formsvc "));
        let mut checked = 0;
        for (line, command) in ours {
            let words = words(command);
            let words: Vec<_> = words.iter().skip(1).map(String::as_str).collect();
            if let Some(error) = refused(&words) {
                findings.at(page, *line, format!("`{command}`: {error}"));
            }
            checked += 1;
        }
        assert!(checked >= least, "{page} has {checked} commands");
    }
    findings.assert_none("commands in the manuals exist");
}

#[test]
fn test_of_each_export_promise_exists() {
    let sources: String = files(".rs").into_iter().map(|file| file.text).collect();
    let page = read("docs/TESTING.md");
    let (_, promises) = page.split_once("\n## Promises of exports and syncs\n").unwrap();
    let promises = promises.split("\n## ").next().unwrap_or_default();
    let mut findings = Findings::default();
    let mut checked = 0;
    for (line, span) in Markdown::parse(promises).spans {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if span.matches('_').count() >= 3 && span.chars().all(is_name) {
            checked += 1;
            if !sources.contains(&format!("fn {span}(")) {
                let what = format!("no test is named `{span}` (line {line} of the promises)");
                findings.of("docs/TESTING.md", what);
            }
        }
    }
    assert!(checked >= 30, "only {checked} tests");
    findings.assert_none("tests of all promises exist");
}

/// Splits a command like a shell. Text in single quotes is part of one word.
fn words(command: &str) -> Vec<String> {
    let command = command.split(" #").next().unwrap_or_default();
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is one from the start").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn unknown_command_or_flag_is_found() {
    assert!(refused(&["--demo", "nothing", "here"]).is_some());
    assert!(refused(&["--demo", "submissions", "export", "penguins", "--fromat", "csv"]).is_some());
    assert_eq!(refused(&["--demo", "submissions", "export", "penguins"]), None);
    assert_eq!(refused(&[]), None);
}
