//! Colors by flag, variable and stream.

use std::io::Read;
use std::process::Stdio;

use super::titled;
use crate::support::{Canned, formsvc};
use crate::terminal::Terminal;

/// Flags, variables, and whether a terminal and a pipe get colours.
type Row<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], [bool; 2]);

const ROWS: &[Row<'_>] = &[
    (&[], &[("TERM", "xterm")], [true, false]),
    (&[], &[("TERM", "dumb")], [false, false]),
    (&[], &[], [false, false]),
    (&[], &[("TERM", "xterm"), ("NO_COLOR", "1")], [false, false]),
    (&[], &[("TERM", "xterm"), ("NO_COLOR", "0")], [false, false]),
    (&[], &[("TERM", "xterm"), ("NO_COLOR", "")], [true, false]),
    (&[], &[("TERM", "xterm"), ("CLICOLOR", "0")], [false, false]),
    (&[], &[("TERM", "xterm"), ("CLICOLOR", "1")], [true, false]),
    (&[], &[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")], [true, true]),
    (&[], &[("TERM", "xterm"), ("CLICOLOR_FORCE", "0")], [true, false]),
    (&[], &[("CLICOLOR", "0"), ("CLICOLOR_FORCE", "1")], [true, true]),
    (&[], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], [false, false]),
    (&["--color", "always"], &[("TERM", "dumb"), ("NO_COLOR", "1")], [true, true]),
    (&["--color", "never"], &[("TERM", "xterm"), ("CLICOLOR_FORCE", "1")], [false, false]),
    (&["--color", "auto"], &[("TERM", "xterm")], [true, false]),
];

fn list(service: &Canned, flags: &[&str], env: &[(&str, &str)]) -> std::process::Command {
    let mut command = service.formsvc(&[&["forms", "list", "--output", "table"], flags].concat());
    command.envs(env.iter().copied());
    command
}

#[test]
fn color_precedence_is_flag_variables_stream() {
    let service = titled(&["x"]);
    for (flags, env, [terminal, pipe]) in ROWS {
        let mut window = Terminal::start(list(&service, flags, env), (200, 24));
        assert_eq!(window.finish(), Some(0));
        let green = |bytes: &[u8]| bytes.windows(5).any(|part| part == b"\x1b[32m");
        assert_eq!(green(window.raw()), *terminal, "terminal {flags:?} {env:?}");
        let said = list(&service, flags, env).output().unwrap();
        assert_eq!(green(&said.stdout), *pipe, "pipe {flags:?} {env:?}");
        assert_eq!(said.stdout.contains(&0x1b), *pipe, "pipe {flags:?} {env:?}");
    }
}

#[test]
fn help_flag_and_help_command_have_the_same_colors() {
    let more: &[Row<'_>] = &[
        (&[], &[("TERM", "dumb"), ("CI", "1")], [false, false]),
        (&[], &[("CI", "1"), ("CLICOLOR", "1")], [false, false]),
        (&[], &[("TERM", "xterm"), ("CLICOLOR_FORCE", "1"), ("CI", "1")], [true, true]),
    ];
    for (flags, env, [terminal, pipe]) in ROWS.iter().chain(more) {
        let written = |words: &[&str]| {
            let mut command = formsvc(&[words, flags].concat());
            command.envs(env.iter().copied());
            let piped = command.output().unwrap().stdout;
            let mut window = Terminal::start(command, (80, 200));
            assert_eq!(window.finish(), Some(0));
            (window.raw().to_vec(), piped)
        };
        let (shown, piped) = written(&["me", "--help"]);
        assert_eq!(shown.contains(&0x1b), *terminal, "terminal {flags:?} {env:?}");
        assert_eq!(piped.contains(&0x1b), *pipe, "pipe {flags:?} {env:?}");
        assert!((shown, piped) == written(&["help", "me"]), "{flags:?} {env:?}");
    }
}

#[test]
fn piped_data_beside_a_terminal_has_no_colors() {
    let service = titled(&["x"]);
    let env = [("TERM", "xterm"), ("COLUMNS", "40")];
    let mut terminal = Terminal::beside(list(&service, &[], &env), (200, 24), |command| {
        command.stdout(Stdio::piped())
    });
    assert_eq!(terminal.finish(), Some(0));
    let mut data = Vec::new();
    terminal.child().stdout.take().unwrap().read_to_end(&mut data).unwrap();
    assert!(!data.contains(&0x1b), "data went to a pipe");
}

#[test]
fn data_formats_have_no_colors_even_with_always() {
    let service = titled(&["x"]);
    for output in ["json", "ndjson", "csv", "tsv"] {
        let said = service.run(&["forms", "list", "--output", output, "--color", "always"]);
        assert!(!said.stdout.contains('\u{1b}') && said.code == Some(0), "{output}");
    }
}
