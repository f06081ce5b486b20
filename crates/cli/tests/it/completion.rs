//! Completion in the shells that are installed, with ids and titles that contain shell syntax.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::processes;
use crate::shells::find_shell;
use crate::support::{Canned, SECRET, answer, formsvc, succeed};

/// Returns forms with ids and titles that create a file, or more, if a shell runs them.
fn hostile_forms(mark: &Path) -> String {
    let mark = mark.display();
    let form = |id: &str, public_id: &str, title: &str| {
        serde_json::json!({"id": id, "public_id": public_id, "title": title, "status": "published",
            "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z",
            "url": "/f/x"})
    };
    let touch = format!("$(touch {mark}) `touch {mark}` ; touch {mark} \u{1b}[31m\n*:%F{{red}}");
    let forms = [
        form("frm_1", "survey", &touch),
        form("frm_2", "$(touch${IFS}mark)", "x"),
        form("`reboot`", ";reboot", "'\"\\"),
        form("frm_4", "sunday", "Sunday"),
    ];
    serde_json::json!({ "data": forms }).to_string()
}

struct Home {
    folder: tempfile::TempDir,
    service: Canned,
}

impl Home {
    /// Creates a home folder with the forms in its cache.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let body = hostile_forms(&folder.path().join("mark"));
        let service = Canned::start(vec![answer("200 OK", "", &body)]);
        let home = Self { folder, service };
        assert!(home.command(formsvc(&["forms", "list"])).status.success());
        home
    }

    fn command(&self, mut command: Command) -> Output {
        self.enter(&mut command);
        command.output().unwrap()
    }

    /// Sets the environment: this home folder, and a PATH with the binary.
    fn enter(&self, command: &mut Command) {
        let binary = Path::new(env!("CARGO_BIN_EXE_formsvc")).parent().unwrap();
        let path = format!("{}:/usr/bin:/bin", binary.display());
        let command = command.env_clear().env("HOME", self.folder.path()).env("PATH", path);
        let command = command.env("FORMSVC_API_KEY", SECRET).current_dir(self.folder.path());
        command.env("FORMSVC_BASE_URL", &self.service.base_url);
    }

    fn script(&self, shell: &str) -> PathBuf {
        let path = self.folder.path().join(format!("script.{shell}"));
        std::fs::write(&path, succeed(&["completion", shell])).unwrap();
        path
    }

    /// Runs a shell. Returns its output, or `None` if it is not installed.
    fn shell(&self, shell: &str, args: &[&str]) -> Option<String> {
        let mut command = processes::command(find_shell(shell)?);
        command.args(args);
        let output = self.command(command);
        assert!(!self.folder.path().join("mark").exists(), "{shell} ran a title");
        Some(format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}

#[test]
fn bash_completes_forms_without_running_their_names() {
    let home = Home::new();
    let complete = |words: &str, at: usize, word: &str| {
        let script = home.script("bash");
        let lines = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={at}; _formsvc formsvc '{word}' ''; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        home.shell("bash", &["--norc", "-c", &lines])
    };
    let Some(forms) = complete("formsvc forms view su", 3, "su") else { return };
    assert_eq!(forms, "survey\nsunday\n");
    assert_eq!(complete("formsvc forms view ''", 3, "").unwrap(), "survey\nfrm_2\nsunday\n");
    assert_eq!(complete("formsvc me --output = nd", 4, "nd").unwrap(), "ndjson\n");
    assert_eq!(complete("formsvc completion fi", 2, "fi").unwrap(), "fish\n");
}

#[test]
fn fish_completes_forms_with_their_titles() {
    let home = Home::new();
    let script = home.script("fish");
    let lines = format!("source {}; complete -C 'formsvc forms view su'", script.display());
    let Some(forms) = home.shell("fish", &["--no-config", "-c", &lines]) else { return };
    assert!(forms.contains("sunday\tSunday"), "{forms}");
    assert!(forms.contains("survey\t$(touch") && !forms.contains('\u{1b}'), "{forms}");
    assert!(!forms.contains("reboot"), "{forms}");
}

#[test]
fn zsh_completes_forms_with_their_titles() {
    let home = Home::new();
    let script = home.script("zsh");
    // Prints the candidates instead of passing them to the line editor.
    let lines = format!(
        "compdef() {{ :; }}; source {}; _describe() {{ print -rl -- ${{(P)3}}; }}; \
         words=(formsvc forms view su); CURRENT=4; _clap_dynamic_completer_formsvc",
        script.display()
    );
    let Some(forms) = home.shell("zsh", &["-f", "-c", &lines]) else { return };
    assert!(forms.contains("sunday:Sunday"), "{forms}");
    assert!(forms.contains("survey:$(touch"), "{forms}");
    assert!(!forms.contains("reboot") && !forms.contains('\u{1b}'), "{forms}");
}

/// Returns the candidates for a line.
fn candidates(home: &Home, words: &[&str]) -> Vec<String> {
    let mut command = formsvc(&[&["--", "formsvc"], words].concat());
    command.env("FORMSVC_COMPLETE", "elvish").env("HOME", home.folder.path());
    command.env("FORMSVC_BASE_URL", &home.service.base_url).env("FORMSVC_API_KEY", SECRET);
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn fields_of_every_command_are_completed_without_a_request() {
    let home = Home::new();
    let _listed = home.service.request();
    let mut with_fields = 0;
    for words in crate::help::leaves() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let more: Option<&[&str]> = match &words[..] {
            ["me" | "doctor"]
            | ["auth", "list" | "status" | "doctor"]
            | ["config" | "contract" | "forms", "list"]
            | ["contract", "check"]
            | ["submissions", "exports", "list"]
            | ["submissions", "sync", "status"]
            | ["webhook", "events", "list" | "tail"]
            | ["webhook", "secret", "list"]
            | ["webhook", "sign" | "verify"] => Some(&[]),
            ["forms", _]
            | ["submissions", "count" | "list" | "tail"]
            | ["submissions", "sync", "verify"] => Some(&["penguins"]),
            ["submissions", "view"] => Some(&["penguins", "sub_1"]),
            ["webhook", "events", "show"] => Some(&["1"]),
            ["webhook", "events", "diff"] => Some(&["1", "2"]),
            ["webhook", "events", "prune"] => Some(&["--all", "--dry-run"]),
            ["webhook", "check" | "trigger"] => Some(&["4242"]),
            ["webhook", "replay"] => Some(&["1", "--to", "4242"]),
            _ => None,
        };
        let mut known = String::new();
        if let Some(more) = more {
            let mut bare = formsvc(&[&words[..], more, &["--json"]].concat());
            bare.env("HOME", home.folder.path()).env("FORMSVC_API_KEY", SECRET);
            let output = bare.env("FORMSVC_BASE_URL", &home.service.base_url).output().unwrap();
            assert!(output.status.success(), "{words:?}: {output:?}");
            known = String::from_utf8(output.stdout).unwrap();
            with_fields += 1;
        }
        let known: Vec<String> = known.lines().map(|field| format!("--json={field}")).collect();
        assert_eq!(candidates(&home, &[&words[..], &["--json="]].concat()), known, "{words:?}");
    }
    assert_eq!(with_fields, 29);
    assert_eq!(candidates(&home, &["forms", "list", "--json", "title,st"]), ["title,status"]);
    assert_eq!(candidates(&home, &["--json", "title,st", "forms"]), ["forms"]);
    assert!(home.service.asked_nothing());
}

#[test]
fn shells_complete_fields_after_a_comma() {
    let home = Home::new();
    let script = |shell| home.script(shell).display().to_string();
    let bash = format!(
        "source {}; COMP_WORDS=(formsvc me --json id,na); COMP_CWORD=3; _formsvc formsvc id,na ''; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"; COMP_WORDS=(formsvc me --json = id,e); COMP_CWORD=4; \
         _formsvc formsvc id,e ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script("bash")
    );
    if let Some(said) = home.shell("bash", &["--norc", "-c", &bash]) {
        assert_eq!(said, "id,name\nid,email\n");
    }
    let fish = format!(
        "source {}; complete -C 'formsvc me --json id,na'; complete -C 'formsvc me --json='",
        script("fish")
    );
    if let Some(said) = home.shell("fish", &["--no-config", "-c", &fish]) {
        assert_eq!(said, "id,name\n--json=id\n--json=email\n--json=name\n");
    }
    let zsh = format!(
        "compdef() {{ :; }}; source {}; _describe() {{ print -rl -- ${{(P)3}}; }}; \
         words=(formsvc me --json id,na); CURRENT=4; _clap_dynamic_completer_formsvc",
        script("zsh")
    );
    if let Some(said) = home.shell("zsh", &["-f", "-c", &zsh]) {
        assert_eq!(said, "id,name\n");
    }
}

/// Elvish completes only in its line editor, so the test presses keys.
#[cfg(unix)]
#[test]
fn elvish_completes_forms_without_running_their_names() {
    use crate::terminal::Terminal;
    let Some(program) = find_shell("elvish") else { return };
    let home = Home::new();
    for (typed, completed) in [
        ("formsvc forms view sun\t", "formsvc forms view sunday"),
        ("formsvc completion fi\t", "formsvc completion fish"),
        // Several candidates are listed.
        ("formsvc forms view \t", "frm_2"),
    ] {
        let mut elvish = processes::command(&program);
        home.enter(&mut elvish);
        elvish.env("TERM", "xterm").arg("-rc").arg(home.script("elvish"));
        let mut terminal = Terminal::start(elvish, (100, 24));
        // The ends of its prompt for root and for other users.
        terminal.wait_until("a prompt", |terminal| {
            terminal.lines().iter().any(|line| line.starts_with("~#") || line.starts_with("~>"))
        });
        terminal.send(typed);
        terminal.wait_for(completed);
        assert!(!terminal.screen().contains("reboot"), "{}", terminal.screen());
        assert!(!home.folder.path().join("mark").exists(), "elvish ran a title");
    }
}

/// `PowerShell` is not installed, so the test checks only that brackets are balanced and that the script
/// evaluates no text.
#[test]
fn powershell_script_is_balanced_and_evaluates_no_text() {
    let script = succeed(&["completion", "powershell"]);
    let (mut open, mut quote) = (Vec::new(), None);
    for line in script.lines() {
        let mut before = None;
        for c in line.chars() {
            match (c, quote) {
                (c, Some(q)) if c == q && before != Some('`') => quote = None,
                ('#', None) => break,
                ('\'' | '"', None) => quote = Some(c),
                ('(' | '[' | '{', None) => open.push(c),
                (')', None) => assert_eq!(open.pop(), Some('('), "{line}"),
                (']', None) => assert_eq!(open.pop(), Some('['), "{line}"),
                ('}', None) => assert_eq!(open.pop(), Some('{'), "{line}"),
                _ => {}
            }
            before = Some(c);
        }
        assert_eq!(quote, None, "{line}");
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(script.starts_with("# Generated by `formsvc completion powershell`."), "{script}");
    let lower = script.to_lowercase();
    for evaluates in ["invoke-expression", "iex ", "invokescript", "[scriptblock]::create"] {
        assert!(!lower.contains(evaluates), "{evaluates}");
    }
}

#[test]
fn completion_reads_the_cache_and_sends_no_request() {
    let home = Home::new();
    let _listed = home.service.request();
    let cache = home.folder.path().join(".cache/formsvc");
    let cached = crate::support::entries(&cache);
    assert_eq!(cached.len(), 1, "{cached:?}");
    assert!(!std::fs::read_to_string(cache.join(&cached[0])).unwrap().contains(SECRET));
    assert_eq!(candidates(&home, &["forms", "view", "su"]), ["survey", "sunday"]);
    // The cache of another service does not exist.
    let other = Canned::start(vec![None]);
    let home = Home { service: other, ..home };
    assert!(candidates(&home, &["forms", "view", "su"]).is_empty());
    assert!(home.service.asked_nothing());
}

#[test]
fn invalid_request_of_a_shell_has_no_output() {
    for (shell, args) in [
        ("tcsh", &["--", "formsvc", "me"][..]),
        ("bash", &["--", "formsvc"]),
        ("zsh", &["--"]),
        ("fish", &[]),
    ] {
        let mut command = formsvc(args);
        command.env("FORMSVC_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", "99999999999");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{shell}: {output:?}");
        assert!(output.stderr.is_empty(), "{shell}: {output:?}");
    }
}
