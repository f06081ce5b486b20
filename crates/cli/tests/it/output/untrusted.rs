//! Control characters in text of other people: removed on a terminal, unchanged in a pipe.

use super::{titled, window, without_colors};
use crate::terminal::Terminal;

const HOSTILE: &[&str] = &[
    "\u{1b}]8;;https://evil.example\u{1b}\\click\u{1b}]8;;\u{1b}\\",
    "\u{1b}]52;c;ZXZpbA==\u{7}",
    "\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[H\u{1b}[31mred",
    "\u{9b}2J\u{9d}0;x\u{9c}\u{90}q\u{9c}",
    "safe\rEVIL",
    "a\u{8}\u{8}\u{8}b\u{7f}",
    "\u{202e}gpj.exe\u{202c}\u{2066}x\u{2069}",
    "zero\u{200b}width\u{feff}\u{2060}",
    "\u{1b}[6n\u{1b}c\u{1b}P1$r\u{1b}\\\u{5}",
];

const OUTPUT_FLAGS: &[&[&str]] = &[
    &["--output", "table"],
    &["--output", "json"],
    &["--output", "ndjson"],
    &["--output", "csv"],
    &["--output", "tsv"],
    &["--json", "title", "--output", "table"],
    &["--jq", ".[].title"],
    &["--template", "{% for it in items %}{{ it.title }}\n{% endfor %}"],
    &[
        "--template",
        "{% for it in items %}{{ tablerow(it.title|color('red'), it.title) }}{% endfor %}",
    ],
];

/// Asserts that the output has only printable text, line feeds, tabs and colors.
#[track_caller]
fn assert_inert(terminal: &Terminal, what: &[&str]) {
    assert_inert_bytes(terminal.raw(), what);
}

#[track_caller]
fn assert_inert_bytes(bytes: &[u8], what: &[&str]) {
    let text = without_colors(bytes).replace("\r\n", "\n");
    let is_unsafe = |c: char| {
        let is_printable = c == '\n' || c == '\t' || !c.is_control();
        !is_printable
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    assert!(!text.contains(is_unsafe), "{what:?}: {text:?}");
}

#[test]
fn title_is_sanitized_on_a_terminal() {
    let (service, long) = (titled(HOSTILE), "x\u{1b}[2J".repeat(20_000));
    let endless = titled(&[&long]);
    for flags in OUTPUT_FLAGS {
        for service in [&service, &endless] {
            let command = service.formsvc(&[&["forms", "list", "--no-pager"], *flags].concat());
            let mut terminal = window(command, (80, 40));
            assert_eq!(terminal.finish(), Some(0), "{flags:?}");
            assert_inert(&terminal, flags);
        }
    }
}

#[test]
fn warning_about_a_project_file_is_sanitized() {
    let (service, folder) = (titled(&["x"]), tempfile::tempdir().unwrap());
    let hostile = r#""k\u001b[2J\u001b]0;x\u0007\u202ey\u009b2J" = 1"#;
    std::fs::write(folder.path().join(".formsvc.toml"), hostile).unwrap();
    for term in ["xterm", "dumb"] {
        let mut command = service.formsvc(&["forms", "list", "--no-pager"]);
        command.current_dir(folder.path()).env("TERM", term);
        let mut terminal = Terminal::start(command, (200, 40));
        assert_eq!(terminal.finish(), Some(0));
        assert!(terminal.screen().contains("k[2J]0;xy2J"), "{}", terminal.screen());
        assert_inert(&terminal, &[term]);
    }
}

#[test]
fn pager_input_is_sanitized() {
    let titles: Vec<&str> = HOSTILE.iter().copied().cycle().take(60).collect();
    let service = titled(&titles);
    let folder = tempfile::tempdir().unwrap();
    let (script, got) = (folder.path().join("pager"), folder.path().join("got"));
    std::fs::write(
        &script,
        format!("cat > '{}'\necho it ran, key ${{FORMSVC_API_KEY-unset}}\n", got.display()),
    )
    .unwrap();
    // Results of `--jq` are not paged.
    for flags in OUTPUT_FLAGS.iter().filter(|flags| flags[0] != "--jq") {
        let mut command = service.formsvc(&[&["forms", "list"], *flags].concat());
        command.env("PAGER", format!("sh {}", script.display()));
        let mut terminal = window(command, (80, 10));
        assert_eq!(terminal.finish(), Some(0), "{flags:?}");
        assert!(
            terminal.screen().contains("it ran, key unset"),
            "{flags:?}:\n{}",
            terminal.screen()
        );
        assert_inert(&terminal, flags);
        let bytes = std::fs::read(&got).unwrap();
        assert!(bytes.len() > 500, "{flags:?}: {}", bytes.len());
        assert_inert_bytes(&bytes, flags);
        std::fs::remove_file(&got).unwrap();
    }
}

#[test]
fn item_view_and_errors_are_sanitized() {
    let service = titled(HOSTILE);
    for (at, hostile) in HOSTILE.iter().enumerate() {
        let command = service.formsvc(&["forms", "view", &format!("form{at}")]);
        let mut terminal = window(command, (80, 24));
        assert_eq!(terminal.finish(), Some(0));
        assert_inert(&terminal, &[hostile]);
        let mut wrong = window(service.formsvc(&["forms", "view", hostile]), (80, 24));
        // An exact title is found. In both cases, the output contains no control characters.
        assert!(matches!(wrong.finish(), Some(0 | 2 | 3)));
        assert_inert(&wrong, &[hostile]);
        let mut unread = window(service.formsvc(&["forms", "list", "--jq", hostile]), (80, 24));
        assert_eq!(unread.finish(), Some(2));
        assert_inert(&unread, &[hostile]);
    }
}

#[test]
fn title_is_unchanged_in_a_pipe() {
    let service = titled(HOSTILE);
    let json = service.run(&["forms", "list", "--json", "title"]).stdout;
    let titles: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    let titles: Vec<&str> = titles.iter().map(|form| form["title"].as_str().unwrap()).collect();
    assert_eq!(titles, HOSTILE);
    for flags in [
        &["--jq", ".[].title"][..],
        &["--template", "{% for it in items %}{{ it.title }}\n{% endfor %}"],
    ] {
        let said = service.run(&[&["forms", "list"], flags].concat());
        assert_eq!(said.stdout, HOSTILE.join("\n") + "\n");
    }
    let tsv = service.run(&["forms", "list", "--json", "title", "--output", "tsv"]).stdout;
    assert_eq!(tsv.replace("\\\\", "\\").replace("\\r", "\r"), HOSTILE.join("\n") + "\n");
}
