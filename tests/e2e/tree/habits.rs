//! Forbidden patterns in source files.

use formsvc_tests::{Findings, SourceFile, files};

/// A forbidden pattern: its texts, the code in which it is forbidden, and the alternative.
struct Habit {
    words: &'static [&'static str],
    place: Place,
    instead: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Everywhere,
    /// Code that ships: sources up to their unit tests, without comments and examples.
    Shipped,
    /// Code below a `tests` directory, and unit tests.
    Tests,
}

const SLEEP: &str = concat!("sleep", "(");
/// A comment that allows the sleep on the next line.
const SLEEP_REASON: &str = "// Sleeps because ";
/// In a file with this attribute, tokio's clock is paused and a sleep takes no time.
const PAUSED: &str = "start_paused = true";

/// The texts are split in two, so that this file does not match.
const HABITS: &[Habit] = &[
    Habit {
        words: &[concat!("#[", "ignore")],
        place: Place::Everywhere,
        instead: "a test runs or is deleted",
    },
    Habit {
        words: &[concat!("#[", "allow("), concat!("#![", "allow(")],
        place: Place::Everywhere,
        instead: "`#[expect(…, reason = \"…\")]` gives the reason and warns when it is unnecessary",
    },
    Habit {
        words: &[concat!(".to_string()", ".contains("), concat!(".to_string()", ".starts_with(")],
        place: Place::Shipped,
        instead: "match on a kind, never on a message",
    },
    Habit {
        words: &[SLEEP],
        place: Place::Tests,
        instead: "wait for the event, or pause the clock; if the delay itself is tested, put \
                  `// Sleeps because …` above it",
    },
    Habit {
        words: &[concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")],
        place: Place::Everywhere,
        instead: "add a label to the note: see CONTRIBUTING.md",
    },
    Habit {
        words: &[concat!("dbg", "!("), concat!("todo", "!("), concat!("unimplemented", "!(")],
        place: Place::Everywhere,
        instead: "finish it",
    },
];

/// Whether the line has a to-do note without its label in parentheses.
fn unlabelled(line: &str) -> bool {
    line.split(concat!("TO", "DO")).skip(1).any(|rest| !rest.starts_with('('))
}
/// Returns true if the line has a to-do note without a label in parentheses.
fn fault(line: &str, is_test: bool, may_sleep: bool) -> Option<String> {
    let is_comment = line.trim_start().starts_with("//");
    if unlabelled(line) {
        return Some("add a label to the note: see CONTRIBUTING.md".to_owned());
    }
    let applies = |habit: &&Habit| match habit.place {
        Place::Everywhere => true,
        Place::Shipped => !is_test && !is_comment,
        Place::Tests => is_test && !is_comment,
    };
    HABITS.iter().filter(applies).find_map(|habit| {
        let found = |word: &&&str| line.contains(**word) && !(may_sleep && **word == SLEEP);
        let word = habit.words.iter().find(found)?;
        Some(format!("`{word}`: {}", habit.instead))
    })
}

fn faults(files: &[SourceFile]) -> Findings {
    let mut findings = Findings::default();
    for file in files {
        let mut is_test = file.path.contains("/tests/") || file.path.starts_with("tests/");
        let (paused, mut above) = (file.text.contains(PAUSED), "");
        for (at, line) in file.text.lines().enumerate() {
            is_test |= line.trim() == "#[cfg(test)]";
            let excused = above.trim_start().starts_with(SLEEP_REASON);
            let may_sleep = excused || paused && !line.contains("thread::");
            if let Some(what) = fault(line, is_test, may_sleep) {
                findings.at(&file.path, at + 1, what);
            }
            above = line;
        }
    }
    findings
}

#[test]
fn source_files_have_no_forbidden_pattern() {
    faults(&files(".rs")).assert_none("habits that rot a tree");
}

#[test]
fn forbidden_pattern_is_found_only_in_its_scope() {
    let found = |path: &str, text: String| {
        faults(&[SourceFile { path: path.to_owned(), text }]).as_slice().to_vec()
    };
    for habit in HABITS {
        for word in habit.words {
            let shipped = found("crates/a/src/b.rs", format!("fine();\n    {word}x)]\n"));
            let unit_test = found("crates/a/src/b.rs", format!("#[cfg(test)]\n    {word}x)]\n"));
            let test = found("crates/a/tests/it/b.rs", format!("fine();\n    {word}x)]\n"));
            assert_eq!(shipped.is_empty(), habit.place == Place::Tests, "{shipped:?}");
            for in_test in [unit_test, test] {
                assert_eq!(in_test.is_empty(), habit.place == Place::Shipped, "{in_test:?}");
                assert!(in_test.iter().all(|fault| fault.contains("b.rs:2: ")), "{in_test:?}");
            }
        }
    }
    for (text, excused) in [
        (format!("// Sleeps because a slow client is the point.\n    {SLEEP}x)\n"), true),
        (format!("// Sleeps because a slow client is the point.\n\n    {SLEEP}x)\n"), false),
        (format!("#[tokio::test({PAUSED})]\ntokio::time::{SLEEP}x)\n"), true),
        (format!("#[tokio::test({PAUSED})]\nstd::thread::{SLEEP}x)\n"), false),
    ] {
        assert_eq!(found("tests/e2e/a.rs", text.clone()).is_empty(), excused, "{text}");
    }
    assert!(unlabelled(concat!("// TO", "DO: later")));
    assert!(!unlabelled(concat!("// TO", "DO(paging): later")));
}
