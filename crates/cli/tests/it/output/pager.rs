//! The pager.

use super::{titled, window};
use crate::support::{Canned, Said, signal};

/// More forms than fit on a screen of ten lines.
fn many_forms() -> Canned {
    titled(&["a title"; 30])
}

/// Returns a pager command that stores its input in the file and prints a line.
fn storing_pager(file: &std::path::Path) -> String {
    format!("sh -c 'cat > {}; echo \"kept, LESS=$LESS\"'", file.display())
}

#[test]
fn only_long_output_on_a_terminal_is_paged() {
    let (folder, service, short) = (tempfile::tempdir().unwrap(), many_forms(), titled(&["x"]));
    let kept = folder.path().join("kept");
    for (service, args, paged) in [
        (&service, &["forms", "list"][..], true),
        (&service, &["forms", "list", "--output", "ndjson"], true),
        (
            &service,
            &["forms", "list", "--template", "{% for it in items %}{{ it.id }}\n{% endfor %}"],
            true,
        ),
        (&service, &["forms", "list", "--no-pager"], false),
        (&short, &["forms", "list"], false),
    ] {
        let mut command = service.formsvc(args);
        command.env("PAGER", storing_pager(&kept));
        let mut terminal = window(command, (200, 10));
        assert_eq!(terminal.finish(), Some(0));
        let screen = terminal.screen();
        assert_eq!(screen.contains("kept, LESS=FRX"), paged, "{args:?}:\n{screen}");
        let text = std::fs::read_to_string(&kept).unwrap_or_default();
        assert_eq!(text.lines().count() >= 30, paged, "{args:?}: {text}");
        let _ = std::fs::remove_file(&kept);
    }
    let mut command = service.formsvc(&["forms", "list"]);
    let said = Said::from(command.env("PAGER", storing_pager(&kept)).output().unwrap());
    assert_eq!((said.stdout.lines().count(), kept.exists()), (30, false), "a pipe is not paged");
}

#[test]
fn formsvc_pager_precedes_pager_and_empty_disables_it() {
    let service = many_forms();
    for (own, all, shown) in [
        (None, Some("echo all"), "all"),
        (Some("echo own"), Some("echo all"), "own"),
        (Some("echo 'two  words'"), None, "two  words"),
        (Some("echo | $HOME ;"), None, "| $HOME ;"),
        (Some(""), Some("echo all"), "form29"),
        (Some("cat"), None, "form29"),
        (Some("false"), None, "form29"),
        (Some("/nonexistent/pager -x"), None, "form29"),
    ] {
        let mut command = service.formsvc(&["forms", "list"]);
        command.envs(own.map(|own| ("FORMSVC_PAGER", own)));
        command.envs(all.map(|all| ("PAGER", all)));
        let mut terminal = window(command, (80, 10));
        assert_eq!(terminal.finish(), Some(0), "{own:?} {all:?}");
        assert!(terminal.screen().contains(shown), "{own:?} {all:?}:\n{}", terminal.screen());
    }
}

#[test]
fn pager_that_ends_early_is_exit_0() {
    // A list of 200 forms has a warning.
    let service = titled(&["a title that fills pipes"; 199]);
    let mut command = service.formsvc(&["forms", "list", "--output", "json"]);
    command.env("PAGER", "head -c 1");
    let mut terminal = window(command, (80, 10));
    assert_eq!(terminal.finish(), Some(0));
    assert_eq!(terminal.screen(), "[");
}

#[test]
fn less_stays_open_after_ctrl_c() {
    let service = many_forms();
    let mut terminal = window(service.formsvc(&["forms", "list"]), (80, 10));
    terminal.wait_for("form7");
    terminal.wait_until("the prompt of less", |terminal| {
        terminal.lines().last().is_some_and(|line| line == ":")
    });
    assert!(terminal.lines()[0].starts_with("ID  "), "{}", terminal.screen());
    // This sends the signal of Ctrl-C to the program. A typed Ctrl-C would also discard keys that
    // less has not read yet.
    signal(terminal.child(), "INT");
    terminal.send("G");
    terminal.wait_for("form29");
    terminal.send("q");
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_restored();
}
