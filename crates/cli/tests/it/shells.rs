//! Commands in hints, run by the shells into which users copy them.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::processes;
use crate::support::{Canned, answer, page};

/// If this variable is `1`, every shell must be installed.
const REQUIRE: &str = "FORMSVC_REQUIRE_SHELLS";

/// Returns the path of a shell, or `None` if it is not installed, and then reports that the test is
/// skipped.
pub(crate) fn find_shell(shell: &str) -> Option<PathBuf> {
    let program = ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(shell));
    let program = program.into_iter().find(|program| program.exists());
    if program.is_none() {
        let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
        assert!(!required, "there is no {shell}, and {REQUIRE}=1 asks for one");
        let _ = writeln!(std::io::stderr(), "skipped: there is no {shell} on this machine");
    }
    program
}

/// Returns the command that continues `submissions tail`, as printed for a form with this public
/// id.
fn continue_command(public_id: &str) -> String {
    let form = format!(
        r#"{{"data":[{{"id":"frm_1","public_id":"{public_id}","title":"A","status":"published","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","url":"/f/a"}}]}}"#
    );
    let row = r#"{"id":"sub_1","data":{},"created_at":"2026-01-01T00:00:01.000Z"}"#;
    let service = Canned::start(vec![answer("200 OK", "", &form), page(row, None)]);
    let tail = ["submissions", "tail", "frm_1", "--count", "2", "--max-time", "300ms"];
    let said = service.run(&tail);
    let line = said.stderr.lines().find_map(|line| line.strip_prefix("hint: continue with: "));
    line.unwrap_or_else(|| panic!("{}", said.stderr)).to_owned()
}

#[test]
fn printed_command_is_one_command_in_every_shell() {
    // zsh expands a word that begins with `=` to the path of a program.
    for public_id in ["=ls", "=nothing", "~root", "a=~", "it's", "$(reboot)", "{a,b}", "*", "!x"] {
        let line = continue_command(public_id);
        for (shell, args) in [
            ("sh", &["-c"][..]),
            ("bash", &["--norc", "-c"]),
            ("zsh", &["-f", "-c"]),
            ("fish", &["--no-config", "-c"]),
        ] {
            let Some(program) = find_shell(shell) else { continue };
            let lines = if shell == "fish" {
                format!("function formsvc; printf '%s\\n' $argv; end; {line}")
            } else {
                format!("formsvc() {{ printf '%s\\n' \"$@\"; }}; {line}")
            };
            let output = processes::command(program)
                .args(args)
                .arg(&lines)
                .env("HOME", "/dev/null")
                .output();
            let words = String::from_utf8(output.unwrap().stdout).unwrap();
            let words: Vec<&str> = words.lines().take(3).collect();
            assert_eq!(words, ["submissions", "tail", public_id], "{shell}: {line}");
        }
    }
}
