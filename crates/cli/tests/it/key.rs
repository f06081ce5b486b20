//! The source of the API key of a run, and the services to which it may be sent. No keyring is
//! available, because the environment contains no bus address.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::error::ErrorKind;

use crate::support::{Canned, Said, answer, formsvc, one_form, run};

/// The base URL of the profile.
const OURS: &str = "https://forms.example";

/// A home folder with a profile for [`OURS`] and a key in the key file.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(home.folder()).unwrap();
        chmod(&home.folder(), 0o700);
        home.write(
            "config.toml",
            &format!("[profiles.default]\nbase_url = \"{OURS}\"\nstore = \"file\"\n"),
        );
        home.write("credentials.toml", &format!("[\"{OURS}\"]\ndefault = \"fsk_file\"\n"));
        home
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join(".config/formsvc")
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::write(&path, text).unwrap();
        chmod(&path, 0o600);
        path
    }

    /// Adds an `api_key_command` to the profile.
    fn with_command(self, base_url: &str, command: &str) -> Self {
        let address = if base_url.is_empty() {
            String::new()
        } else {
            format!("base_url = \"{base_url}\"\n")
        };
        self.write(
            "config.toml",
            &format!("[profiles.default]\n{address}api_key_command = {command}\n"),
        );
        self
    }

    fn formsvc(&self, args: &[&str], env: &[(&str, &str)]) -> Command {
        let mut command = formsvc(args);
        command.env("HOME", self.0.path()).env("PATH", "/usr/bin:/bin").envs(env.iter().copied());
        command.current_dir(self.0.path());
        command
    }

    fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Said {
        self.formsvc(args, env).output().unwrap().into()
    }

    /// Returns the key that a run would use.
    #[track_caller]
    fn key(&self, args: &[&str], env: &[(&str, &str)]) -> String {
        let said = self.run(&[&["auth", "token"], args].concat(), env);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said.stdout.trim_end().to_owned()
    }
}

fn chmod(path: &std::path::Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn fails(said: &Said, code: i32, told: &[&str]) {
    assert_eq!(said.code, Some(code), "{}", said.stderr);
    for told in told {
        assert!(said.stderr.contains(told), "{told}: {}", said.stderr);
    }
    assert!(!said.stderr.contains("fsk_"), "{}", said.stderr);
}

#[test]
fn key_source_with_precedence_is_used() {
    let home = Home::new();
    let file = home.write("given", "fsk_given\n");
    let by_file = [("FORMSVC_API_KEY_FILE", file.to_str().unwrap())];
    let by_both = [by_file[0], ("FORMSVC_API_KEY", "fsk_env")];
    assert_eq!(home.key(&[], &[]), "fsk_file");
    let home = home.with_command(OURS, r#"["echo", "fsk_command"]"#);
    assert_eq!(home.key(&[], &[]), "fsk_command");
    assert_eq!(home.key(&[], &by_file), "fsk_given");
    assert_eq!(home.key(&[], &by_both), "fsk_env");
    assert_eq!(home.key(&["--api-key-file", file.to_str().unwrap()], &by_both), "fsk_given");
    let mut by_stdin = home.formsvc(&["auth", "token", "--api-key-stdin"], &by_both);
    by_stdin.stdin(std::fs::File::open(&file).unwrap());
    assert_eq!(String::from_utf8(by_stdin.output().unwrap().stdout).unwrap(), "fsk_given\n");
}

#[test]
fn profile_key_is_sent_only_to_its_base_url() {
    let home = Home::new();
    let others = ["http://localhost", "https://forms.example:8443", "https://forms.example/a"];
    for other in others {
        let said = home.run(&["me", "--base-url", other], &[]);
        fails(&said, 4, &["no API key", "is sent only to"]);
        let said = home.run(&["me"], &[("FORMSVC_BASE_URL", other)]);
        fails(&said, 4, &["no API key", "is sent only to"]);
    }
    assert_eq!(home.key(&["--base-url", "https://FORMS.example:443/"], &[]), "fsk_file");
    let ran = home.0.path().join("ran");
    let touch = format!(r#"["touch", "{}"]"#, ran.display());
    let home = home.with_command(OURS, &touch);
    for other in others {
        let said = home.run(&["me", "--base-url", other], &[]);
        fails(&said, 4, &["no API key", OURS, "is sent only to"]);
    }
    let home = home.with_command("", &touch);
    let said = home.run(&["me", "--base-url", OURS], &[]);
    fails(&said, 4, &["`formsvc config set profiles.default.base_url URL`", "is sent only to"]);
    assert!(!ran.exists(), "the command ran");
    // A key of the environment is sent to any base URL.
    assert_eq!(home.key(&["--base-url", others[0]], &[("FORMSVC_API_KEY", "fsk_env")]), "fsk_env");
}

#[test]
fn key_of_a_command_is_sent_and_never_printed() {
    let service = Canned::start(vec![one_form()]);
    let home = Home::new().with_command(&service.base_url, r#"["echo", "fsk_command"]"#);
    let said = home.run(&["forms", "list", "-vvv", "--base-url", &service.base_url], &[]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(service.request().contains("fsk_command"), "the key was not sent");
    assert!(said.stderr.contains("the API key is from api_key_command"), "{}", said.stderr);
    assert!(!(said.stderr + &said.stdout).contains("fsk_"));
}

#[test]
fn failing_key_command_is_an_error_without_fallback() {
    let failing = |command: &str| Home::new().with_command(OURS, command).run(&["me"], &[]);
    let said = failing(r#"["sh", "-c", "echo fsk_x; echo its own words >&2; exit 7"]"#);
    fails(&said, 4, &["error:", "`sh`", "cause: exit status: 7", "hint:", "its own words"]);
    fails(&failing(r#"["/no/such/program", "fsk_arg"]"#), 4, &["`/no/such/program`", "hint:"]);
    fails(&failing(r#"["echo", "fsk_a fsk_b"]"#), 4, &["more than one word"]);
}

#[test]
fn key_command_of_a_project_file_is_not_run() {
    let home = Home::new();
    let ran = home.0.path().join("ran");
    let text = format!("api_key_command = [\"touch\", \"{}\"]\n", ran.display());
    std::fs::write(home.0.path().join(".formsvc.toml"), text).unwrap();
    assert_eq!(home.key(&[], &[]), "fsk_file");
    assert!(!ran.exists());
}

#[test]
fn unsafe_key_file_is_refused_with_a_fix() {
    let home = Home::new();
    let file = home.folder().join("credentials.toml");
    let (folder_fix, file_fix) = (
        format!("hint: `chmod 700 {}`", home.folder().display()),
        format!("hint: `chmod 600 {}`", file.display()),
    );
    chmod(&file, 0o640);
    fails(&home.run(&["me"], &[]), 4, &["error:", "read or changed by other users", &file_fix]);
    chmod(&file, 0o600);
    chmod(&home.folder(), 0o755);
    fails(&home.run(&["me"], &[]), 4, &["error:", "read or changed by other users", &folder_fix]);
    chmod(&home.folder(), 0o700);
    let elsewhere = home.0.path().join("elsewhere.toml");
    std::fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    fails(&home.run(&["me"], &[]), 4, &["error:", "symbolic link", "hint:"]);
    // A key of the environment needs no key file.
    assert_eq!(home.key(&[], &[("FORMSVC_API_KEY", "fsk_env")]), "fsk_env");
}

#[test]
fn missing_key_without_terminal_is_exit_4() {
    let service = Canned::start(vec![answer("200 OK", "", "{}")]);
    let home = Home::new();
    let mut me = home.formsvc(&["me", "--base-url", &service.base_url], &[]);
    me.stdin(Stdio::piped());
    let said: Said = me.output().unwrap().into();
    fails(&said, 4, &["no API key"]);
}

/// Returns the lines of a page that contain commands of this program.
fn commands(page: &str) -> Vec<&str> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            inside = !inside && line == "```sh";
        } else if inside && line.contains("formsvc ") {
            lines.push(line);
        }
    }
    lines
}

#[test]
fn commands_of_accounts_page_are_valid() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ACCOUNTS.md");
    let page = std::fs::read_to_string(page).unwrap();
    let commands = commands(&page);
    assert!(commands.len() > 10, "{commands:?}");
    for line in commands {
        // The line may begin with a variable, and its value may contain the program name.
        let after =
            line.split_once(' ').filter(|(first, _)| first.contains('=') && !first.contains('$'));
        let (_, ours) = after.map_or(line, |(_, rest)| rest).split_once("formsvc ").unwrap();
        let ours = ours.split([')', '|', '>']).next().unwrap();
        let mut words = vec!["formsvc"];
        for (at, part) in ours.split('\'').enumerate() {
            // Quoted text is one word.
            if at % 2 == 0 { words.extend(part.split_whitespace()) } else { words.push(part) }
        }
        match formsvc_cli::command().try_get_matches_from(words) {
            Err(error) if error.kind() != ErrorKind::DisplayHelp => panic!("{line}: {error}"),
            _ => {}
        }
    }
}

#[test]
fn malformed_key_is_exit_4_without_request() {
    let service = Canned::start(vec![one_form()]);
    for key in ["x y", "schl\u{fc}ssel", " "] {
        let said = service.formsvc(&["forms", "list"]).env("FORMSVC_API_KEY", key).output();
        let said = Said::from(said.unwrap());
        assert_eq!(said.code, Some(4), "{}", said.stderr);
        assert!(said.stderr.contains("hint: copy the key again"), "{}", said.stderr);
    }
    assert!(service.asked_nothing());
}

#[test]
fn base_url_is_checked_before_the_key() {
    for args in [&["me"][..], &["auth", "login"]] {
        let said = run(&[args, &["--base-url", "http://forms.example"]].concat());
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains("without encryption"), "{}", said.stderr);
    }
}
