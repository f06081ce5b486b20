//! A project file by another author, as in a cloned repository. It may only change the appearance
//! of output. The tests use a terminal, where control characters would have an effect.

use std::path::Path;

use crate::support::{Canned, SECRET, formsvc, one_form};
use crate::terminal::Terminal;

/// A folder with the project file, and a separate home folder.
struct Cloned {
    folder: tempfile::TempDir,
    home: tempfile::TempDir,
}

impl Cloned {
    fn with(text: &str) -> Self {
        let cloned =
            Self { folder: tempfile::tempdir().unwrap(), home: tempfile::tempdir().unwrap() };
        std::fs::write(cloned.folder.path().join(".formsvc.toml"), text).unwrap();
        cloned
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a command in the folder, in a terminal that is too small for its output.
    fn window(&self, base_url: &str, args: &[&str]) -> Terminal {
        let mut command = formsvc(args);
        command.current_dir(self.path()).env("HOME", self.home.path());
        command.env("TERM", "xterm-256color").env("PATH", "/usr/bin:/bin");
        command.env("FORMSVC_BASE_URL", base_url).env("FORMSVC_API_KEY", SECRET);
        // A pager setting takes precedence over `PAGER`, so a pager of the project file would run.
        command.env("PAGER", "cat");
        Terminal::start(command, (200, 1))
    }
}

#[test]
fn project_file_runs_no_command_and_redirects_no_key() {
    let (ours, theirs) = (Canned::start(vec![one_form()]), Canned::start(vec![one_form()]));
    let mark = tempfile::tempdir().unwrap();
    let touch = |name: &str| mark.path().join(name).display().to_string();
    let lines = [
        ("pager", format!("'touch {}'", touch("pager"))),
        ("api_key_command", format!("['touch', '{}']", touch("command"))),
        ("base_url", format!("'{}'", theirs.base_url)),
        ("profile", "'theirs'".to_owned()),
        ("store", "'file'".to_owned()),
    ];
    let text: Vec<String> =
        lines.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    let text = text.concat();
    let profile = format!("[profiles.default]\nbase_url = '{}'\n", theirs.base_url);
    let cloned = Cloned::with(&format!("{text}{profile}"));
    let mut terminal = cloned.window(&ours.base_url, &["forms", "list"]);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.screen());
    let told = String::from_utf8_lossy(terminal.raw()).into_owned();
    for (at, (name, _)) in lines.iter().enumerate() {
        let place = format!(".formsvc.toml:{}: `{name}` has no effect", at + 1);
        assert!(told.contains(&place), "{place}: {told}");
    }
    assert!(told.contains("`profiles.default.base_url` has no effect"), "{told}");
    assert!(ours.request().contains(SECRET) && theirs.asked_nothing());
    // Without a base URL of the user, no request is sent either.
    let mut terminal = cloned.window("", &["forms", "list"]);
    assert_eq!(terminal.finish(), Some(2), "{}", terminal.screen());
    assert!(theirs.asked_nothing());
    assert_eq!(crate::support::entries(mark.path()), [""; 0]);
    // The command stores nothing.
    assert!(!cloned.home.path().join(".config").exists());
}

#[test]
fn names_and_values_of_a_project_file_are_sanitized() {
    let service = Canned::start(vec![one_form()]);
    // TOML escapes of ESC, the one-byte CSI, a carriage return, a bell, and a right-to-left
    // override.
    let evil = r"a\u001b[2J\u001b]0;t\u0007\u009b1m\rb\u202ec";
    let texts = [
        format!("\"{evil}\" = 1\n"),
        format!("[\"{evil}\"]\nx = 1\n"),
        format!("[profiles.\"{evil}\"]\nbase_url = 'https://evil.example'\n"),
        format!("[profiles.a]\n\"{evil}\" = 1\n"),
        format!("output = \"{evil}\"\n"),
        format!("\"{evil}\" = \n"),
        format!("output = \"json\"\n\"{evil}\" = 1\n\"{evil}\" = 1\n"),
        "a\u{1b}[2J = 1\n".to_owned(),
        "output = 'a\u{1b}]0;t\u{7}'\n".to_owned(),
        "# \u{1b}[2J\noutput = [\n".to_owned(),
    ];
    for text in texts {
        let cloned = Cloned::with(&text);
        for args in [&["forms", "list"][..], &["config", "list"], &["doctor"]] {
            let mut terminal = cloned.window(&service.base_url, args);
            let code = terminal.finish();
            assert!(matches!(code, Some(0..=2)), "{text}: {code:?}");
            let raw = String::from_utf8(terminal.raw().to_vec()).unwrap();
            // Only a color sequence may begin with ESC: `ESC [ … m`, with digits.
            let is_color = |rest: &str| {
                let codes = rest
                    .strip_prefix('[')
                    .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
                codes.is_some_and(|rest| rest.starts_with('m'))
            };
            let has_other_sequences = raw.split('\u{1b}').skip(1).any(|rest| !is_color(rest));
            assert!(!has_other_sequences, "{args:?} {text}: {raw:?}");
            let inert = raw.replace("\r\n", "\n");
            let hidden =
                |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\u{1b}') || c == '\u{202e}';
            assert!(!inert.contains(hidden), "{args:?} {text}: {raw:?}");
        }
    }
}
