//! Completion in real shells, with hostile names, and with the service gone.

use std::cell::OnceCell;
use std::io::{ErrorKind::ConnectionReset, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::processes;
use crate::shells::found;
use crate::support::{Canned, PATIENCE, SECRET, answer, formsvc, succeed, within};

/// What a shell would run if it ran anything of a title or an id.
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
    /// A home whose cache knows the forms, listed from a service.
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

    /// This home, the binary first, and nothing else of whoever runs the tests.
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

    /// Runs lines in a shell, if there is one; gives standard output.
    fn shell(&self, shell: &str, args: &[&str]) -> Option<String> {
        let mut command = processes::command(found(shell)?);
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
fn bash_completes_forms_and_runs_none_of_their_names() {
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
fn zsh_takes_candidates_and_titles_as_they_are() {
    let home = Home::new();
    let script = home.script("zsh");
    // What the script would show, shown instead of handed to the line editor.
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

/// The fields that a shell is offered.
fn offered(home: &Home, words: &[&str]) -> Vec<String> {
    let mut command = formsvc(&[&["--", "formsvc"], words].concat());
    command.env("FORMSVC_COMPLETE", "elvish").env("HOME", home.folder.path());
    command.env("FORMSVC_BASE_URL", &home.service.base_url).env("FORMSVC_API_KEY", SECRET);
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn fields_are_completed_as_every_command_has_them_and_no_service_is_asked() {
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
            ["forms", _] | ["submissions", "list" | "tail"] | ["submissions", "sync", "verify"] => {
                Some(&["penguins"])
            }
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
        assert_eq!(offered(&home, &[&words[..], &["--json="]].concat()), known, "{words:?}");
    }
    assert_eq!(with_fields, 28);
    assert_eq!(offered(&home, &["forms", "list", "--json", "title,st"]), ["title,status"]);
    assert_eq!(offered(&home, &["--json", "title,st", "forms"]), ["forms"]);
    assert!(home.service.asked_nothing());
}

/// Numbers of captures, wherever one is taken: the newest first, with what each is. What cannot be read has
/// no answer, and nothing is made.
#[cfg(unix)]
#[test]
fn captures_are_completed_by_number_with_what_they_are() {
    use crate::webhook::kept::{Home as Receiver, Listener};
    let home = Receiver::new();
    let mut listener = Listener::start(&home, &[]);
    let event = |id: u32| {
        format!(
            "{{\"event\":\"submission.created\",\"submission_id\":\"sub_{id}\",\"form_id\":\"frm_1\",\
             \"form_title\":\"F\",\"data\":{{}},\"created_at\":\"2026-01-01T00:00:00.000Z\"}}"
        )
    };
    for id in 1..=11 {
        assert_eq!(listener.deliver(event(id).as_bytes()), 200);
    }
    assert_eq!(listener.deliver(b"\x1b[2J $(touch mark)"), 200);
    assert_eq!(listener.end(), Some(0));
    let offered = |words: &[&str], state: &Path| -> Vec<String> {
        let mut command = home.formsvc(&[&["--", "formsvc", "webhook"], words].concat());
        command.env("FORMSVC_COMPLETE", "fish").env("FORMSVC_STATE_DIR", state);
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    };
    let state = home.state();
    for words in [
        &["events", "show", ""][..],
        &["events", "diff", "2", ""],
        &["events", "export", ""],
        &["replay", ""],
        &["verify", "--capture", ""],
    ] {
        let all = offered(words, &state);
        assert_eq!(all.len(), 12, "{words:?}: {all:?}");
        assert!(all.iter().any(|line| line.starts_with("12\tbad_event, 20")), "{words:?}: {all:?}");
        assert!(all.iter().any(|line| line.starts_with("1\tsubmission.created, 20")), "{all:?}");
    }
    let begun = offered(&["events", "show", "1"], &state);
    let numbers: Vec<&str> = begun.iter().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(numbers.len(), 4, "{begun:?}");
    assert!(["1", "10", "11", "12"].iter().all(|number| numbers.contains(number)), "{begun:?}");
    // Nothing there, or what is no store.
    let none = home.path().join("none");
    assert!(offered(&["events", "show", "1"], &none).is_empty() && !none.exists());
    std::fs::write(state.join("webhook/captures.db"), "no database").unwrap();
    assert!(offered(&["events", "show", "1"], &state).is_empty());
}

#[test]
fn shells_complete_fields_also_after_a_comma() {
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

/// Its completion is a part of its editor, so that a person's key presses are what asks.
#[cfg(unix)]
#[test]
fn elvish_completes_forms_and_runs_none_of_their_names() {
    use crate::terminal::Terminal;
    let Some(program) = found("elvish") else { return };
    let home = Home::new();
    for (typed, completed) in [
        ("formsvc forms view sun\t", "formsvc forms view sunday"),
        ("formsvc completion fi\t", "formsvc completion fish"),
        // More than one: they are listed.
        ("formsvc forms view \t", "frm_2"),
    ] {
        let mut elvish = processes::command(&program);
        home.enter(&mut elvish);
        elvish.env("TERM", "xterm").arg("-rc").arg(home.script("elvish"));
        let mut terminal = Terminal::start(elvish, (100, 24));
        // Its prompt ends so, for root and for others.
        terminal.wait_until("a prompt", |terminal| {
            terminal.lines().iter().any(|line| line.starts_with("~#") || line.starts_with("~>"))
        });
        terminal.send(typed);
        terminal.wait_for(completed);
        assert!(!terminal.screen().contains("reboot"), "{}", terminal.screen());
        assert!(!home.folder.path().join("mark").exists(), "elvish ran a title");
    }
}

/// There is no `PowerShell` to run it in: that is no proof that the script works, only that it can be
/// read.
#[test]
fn the_script_for_powershell_closes_what_it_opens_and_evaluates_nothing() {
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
    assert!(script.starts_with("# Made by `formsvc completion powershell`."), "{script}");
    let lower = script.to_lowercase();
    for evaluates in ["invoke-expression", "iex ", "invokescript", "[scriptblock]::create"] {
        assert!(!lower.contains(evaluates), "{evaluates}");
    }
}

#[test]
fn a_service_that_is_gone_or_silent_costs_no_error_and_what_is_known_is_offered() {
    let home = Home::new();
    let cache = home.folder.path().join(".cache/formsvc");
    let cached = crate::support::entries(&cache);
    assert_eq!(cached.len(), 1, "{cached:?}");
    let file = std::fs::File::options().write(true).open(cache.join(&cached[0])).unwrap();
    // So old that the service is asked, which answers nothing.
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let silent = Canned::start(vec![None]);
    let kept = std::fs::read_to_string(cache.join(&cached[0])).unwrap();
    for (base_url, known) in [(&silent.base_url, false), (&home.service.base_url, true)] {
        let mut command = formsvc(&["--", "formsvc", "forms", "view", "su"]);
        command.env("HOME", home.folder.path()).env("FORMSVC_COMPLETE", "fish");
        command.env("FORMSVC_API_KEY", SECRET).env("FORMSVC_BASE_URL", base_url);
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert_eq!(!output.stdout.is_empty(), known, "{output:?}");
    }
    assert!(kept.contains("survey") && !kept.contains(SECRET));
}

#[test]
fn a_silent_service_is_waited_for_no_longer_than_150_ms() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let home = tempfile::tempdir().unwrap();
    // From the request that gets no answer to the end of its connection: what is waited for, without
    // the start of the program.
    let waited = || {
        let mut command = formsvc(&["--", "formsvc", "forms", "view", "su"]);
        command.env("HOME", home.path()).env("FORMSVC_COMPLETE", "fish");
        command.env("FORMSVC_API_KEY", SECRET).env("FORMSVC_BASE_URL", &base_url);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let accepted = OnceCell::new();
        within("a request", || listener.accept().is_ok_and(|(it, _)| accepted.set(it).is_ok()));
        let mut stream = accepted.into_inner().unwrap();
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let read = stream.read(&mut [0; 4096]).unwrap();
        assert_ne!(read, 0, "it asked nothing");
        let since = Instant::now();
        let rest = stream.read_to_end(&mut Vec::new());
        let waited = since.elapsed();
        // An end is an end, however rude.
        assert!(rest.is_ok() || rest.is_err_and(|error| error.kind() == ConnectionReset));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
        waited
    };
    // A longer bound is longer each time; a machine that is busy is not always so busy.
    let waited: Vec<Duration> = (0..10).map(|_| waited()).collect();
    assert!(waited.iter().any(|waited| waited.as_millis() < 250), "{waited:?}");
}

#[test]
fn nonsense_from_a_shell_is_answered_by_nothing() {
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
