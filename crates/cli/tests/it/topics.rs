//! Snapshots of the topics of `formsvc help`.

use crate::support::formsvc;

const TOPICS: [&str; 4] = ["environment", "output", "exit-codes", "errors"];

#[test]
fn topics_have_the_expected_text() {
    for topic in TOPICS {
        let said = formsvc(&["help", topic]).output().unwrap();
        assert!(said.status.success() && said.stderr.is_empty(), "{topic}: {said:?}");
        insta::assert_snapshot!(topic, String::from_utf8(said.stdout).unwrap());
    }
}

#[test]
fn all_topics_are_tested() {
    let said = crate::support::run(&["help", "nothing-of-the-kind"]);
    let told = format!("the topics are {}", TOPICS.join(", "));
    assert!(said.stderr.contains(&told), "{}", said.stderr);
}

#[test]
fn topic_headings_have_the_colors_of_help() {
    let begin_of = |topic: &str, title: &str, color: &str| {
        let said = crate::support::run(&["help", topic, "--color", color]).stdout;
        let line = said.lines().find(|line| line.contains(title)).expect(title);
        line.split_once(title).expect(title).0.to_owned()
    };
    let of_help = begin_of("me", "Options:", "always");
    assert!(of_help.contains('\u{1b}'), "{of_help:?}");
    let titles = [
        ("environment", "Environment variables"),
        ("output", "Output"),
        ("output", "Formats"),
        ("exit-codes", "Exit codes"),
        ("errors", "Errors"),
    ];
    assert!(TOPICS.iter().all(|topic| titles.iter().any(|(of, _)| of == topic)));
    for (topic, title) in titles {
        assert_eq!(begin_of(topic, title, "always"), of_help, "{topic}");
        assert_eq!(begin_of(topic, title, "never"), "", "{topic}");
    }
}
