//! The topics of `formsvc help`, as they are read, under snapshot.

use crate::support::formsvc;

const TOPICS: [&str; 4] = ["environment", "output", "exit-codes", "errors"];

#[test]
fn every_topic_reads_as_it_should_in_a_window_and_in_half_of_one() {
    for topic in TOPICS {
        for width in ["80", "40"] {
            let said = formsvc(&["help", topic]).env("COLUMNS", width).output().unwrap();
            assert!(said.status.success() && said.stderr.is_empty(), "{topic}: {said:?}");
            let text = String::from_utf8(said.stdout).unwrap();
            insta::assert_snapshot!(format!("{topic}_at_{width}"), text);
        }
    }
}

#[test]
fn no_topic_is_left_out() {
    let said = crate::support::run(&["help", "nothing-of-the-kind"]);
    let told = format!("the topics are {}", TOPICS.join(", "));
    assert!(said.stderr.contains(&told), "{}", said.stderr);
}

#[test]
fn headings_look_like_those_of_help_where_there_are_colours() {
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
