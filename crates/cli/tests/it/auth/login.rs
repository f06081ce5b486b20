//! Login without a terminal, logout, profiles, and the messages of these commands.

use std::process::Stdio;

use super::{Home, OWNER, me, nowhere, refusal, signed_in};
use crate::processes;
use crate::support::{Canned, SECRET, Sandbox, answer, run};

const AT: &str = "--base-url";
const LOGIN: [&str; 5] = ["auth", "login", "--api-key-stdin", "--store", "file"];

#[test]
fn login_from_stdin_verifies_and_stores_a_private_key() {
    let (sandbox, home) = (Sandbox::start(&[]), Home::new());
    let login = [&LOGIN[..], &[AT, &sandbox.base_url]].concat();
    let said = home.run_with(&format!("{}\n", sandbox.api_key), &login);
    assert_eq!((said.code, &*said.stdout), (Some(0), ""), "{}", said.stderr);
    for told in [OWNER, &sandbox.base_url, "credentials.toml"] {
        assert!(said.stderr.contains(told), "{told}: {}", said.stderr);
    }
    assert!(!said.stderr.contains(&sandbox.api_key));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home.key_file()), 0o600);
        assert_eq!(mode(&home.config_folder()), 0o700);
        assert_eq!(mode(&home.config_folder().join("config.toml")), 0o600);
    }
    // The configuration contains the location of the key and not the key.
    assert!(!home.config().contains(&sandbox.api_key));
    assert!(home.succeed(&["me"]).contains(OWNER));
    assert_eq!(home.succeed(&["auth", "token"]), format!("{}\n", sandbox.api_key));
}

#[test]
fn login_from_a_file_stores_the_key_and_keeps_the_file() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&elsewhere, format!("{SECRET}\n")).unwrap();
    let path = elsewhere.path().to_str().unwrap();
    let login = ["auth", "login", "--api-key-file", path, "--store", "file"];
    home.succeed(&[&login[..], &[AT, &service.base_url]].concat());
    assert_eq!(home.succeed(&["auth", "token"]), format!("{SECRET}\n"));
    assert!(elsewhere.path().exists());
}

#[test]
fn key_file_flag_equal_to_the_variable_is_accepted() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&elsewhere, SECRET).unwrap();
    let path = elsewhere.path().to_str().unwrap();
    let login = ["auth", "login", "--store", "file", AT, &service.base_url];
    for (args, code) in [(&["--api-key-file", path][..], 0), (&[], 4)] {
        let mut login = home.formsvc(&[&login[..], args].concat());
        let said = login.env("FORMSVC_API_KEY_FILE", path).output().unwrap();
        let said = crate::support::Said::from(said);
        assert_eq!(said.code, Some(code), "{args:?}: {}", said.stderr);
    }
    assert!(home.kept().contains(SECRET));
}

#[test]
fn login_with_a_failing_key_stores_nothing() {
    let html = answer("200 OK", "", "<html>");
    for (service, code) in [
        (Canned::start(vec![refusal()]).base_url, 4),
        (Canned::start(vec![html]).base_url, 5),
        (nowhere(), 6),
    ] {
        let home = Home::new();
        let said = home.run_with(SECRET, &[&LOGIN[..], &[AT, &service]].concat());
        assert_eq!(said.code, Some(code), "{}", said.stderr);
        assert!(!said.stderr.contains(SECRET));
        home.assert_untouched();
    }
}

#[test]
fn login_no_verify_stores_the_key() {
    let (service, home) = (nowhere(), Home::new());
    let login = [&LOGIN[..], &["--no-verify", AT, &service]].concat();
    let said = home.run_with(SECRET, &login);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("not verified"), "{}", said.stderr);
    assert_eq!(home.succeed(&["auth", "token"]), format!("{SECRET}\n"));
}

#[test]
fn login_with_malformed_key_stores_nothing() {
    let home = Home::new();
    for (typed, code) in [("", 4), ("two words", 4), ("fsk\u{1b}[31m", 4)] {
        let login = [&LOGIN[..], &["--no-verify", AT, "http://127.0.0.1:9"]].concat();
        let said = home.run_with(typed, &login);
        assert_eq!(said.code, Some(code), "{typed:?}: {}", said.stderr);
        home.assert_untouched();
    }
}

#[test]
fn login_without_keyring_or_terminal_names_three_ways() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    let said = home.run_with(SECRET, &["auth", "login", "--api-key-stdin", AT, &service.base_url]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    let login =
        format!("formsvc --base-url {} --api-key-stdin auth login --store file", service.base_url);
    for way in [&*login, "FORMSVC_API_KEY", "--api-key-file PATH"] {
        assert!(said.stderr.contains(way), "{way}: {}", said.stderr);
    }
    home.assert_untouched();
}

#[test]
fn login_without_terminal_names_the_missing_flag() {
    let home = Home::new();
    for (args, tells, code) in [
        (&["auth", "login"][..], "--base-url", 2),
        (&["auth", "login", AT, "http://127.0.0.1:9"], "--api-key-stdin", 4),
    ] {
        let said = home.run(args);
        assert_eq!(said.code, Some(code), "{}", said.stderr);
        assert!(said.stderr.contains(tells), "{}", said.stderr);
        assert_eq!(said.stdout, "");
    }
    home.assert_untouched();
}

#[test]
fn auth_commands_reject_demo() {
    for args in [["auth", "login"], ["auth", "logout"], ["auth", "token"]] {
        let said = run(&[&["--demo"], &args[..]].concat());
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains("--demo"), "{}", said.stderr);
    }
}

#[test]
fn login_rejects_a_key_as_argument() {
    for args in [&["auth", "login", SECRET][..], &["auth", "login", "--api-key", SECRET]] {
        let said = run(args);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
    }
    let help = run(&["auth", "login", "--help"]).stdout;
    assert!(!help.contains("--api-key ") && !help.contains("--api-key="), "{help}");
}

#[test]
fn login_warns_of_a_variable_that_takes_precedence() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    for (name, value) in
        [("FORMSVC_API_KEY", "fsk_stronger"), ("FORMSVC_API_KEY_FILE", "/nonexistent")]
    {
        let mut login = home.formsvc(&[&LOGIN[..], &[AT, &service.base_url]].concat());
        login.env(name, value);
        let said = super::piped(login, SECRET);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let told = said
            .stderr
            .lines()
            .any(|line| line.starts_with("warning:") && line.split('`').any(|word| word == name));
        assert!(told, "{}", said.stderr);
        // The stored key is the one from standard input.
        assert!(home.kept().contains(SECRET) && !home.kept().contains("stronger"));
        assert!(service.request().contains(SECRET));
        let mut logout = home.formsvc(&["auth", "logout"]);
        let said = crate::support::Said::from(logout.env(name, value).output().unwrap());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stderr.contains(name), "{}", said.stderr);
    }
}

#[test]
fn login_does_not_store_the_key_of_the_environment() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    let mut login = home.formsvc(&["auth", "login", "--store", "file", AT, &service.base_url]);
    let said = crate::support::Said::from(login.env("FORMSVC_API_KEY", SECRET).output().unwrap());
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("--api-key-stdin"), "{}", said.stderr);
    home.assert_untouched();
}

#[test]
fn second_login_replaces_the_key() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, "fsk_the_key_before_this_one", &[]);
    home.log_in("default", &service.base_url, SECRET, &[]);
    assert!(!home.kept().contains("before"), "{}", home.kept());
    assert_eq!(home.succeed(&["auth", "token"]), format!("{SECRET}\n"));
}

#[test]
fn logout_removes_the_key_and_mentions_revoking() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, SECRET, &[]);
    let said = home.run(&["auth", "logout"]);
    assert_eq!((said.code, &*said.stdout), (Some(0), ""), "{}", said.stderr);
    assert!(said.stderr.contains("revoke"), "{}", said.stderr);
    assert!(!home.kept().contains(SECRET), "{}", home.kept());
    // The base URL stays in the configuration for the next login.
    assert!(home.config().contains(&service.base_url), "{}", home.config());
    assert_eq!(home.run(&["me"]).code, Some(4));
    assert_eq!(home.run(&["auth", "token"]).code, Some(4));
    let again = home.run(&["auth", "logout"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stderr.contains("no key is stored"), "{}", again.stderr);
    let login = home.run_with(SECRET, &LOGIN);
    assert_eq!(login.code, Some(0), "{}", login.stderr);
}

#[test]
fn logout_forget_removes_profile_unless_base_url_differs() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    for profile in ["work", "play"] {
        home.log_in(profile, &service.base_url, SECRET, &[]);
    }
    home.succeed(&["config", "set", "max_rate", "60", "--profile", "work"]);
    let unset = home.run(&["config", "unset", "profiles.work"]);
    assert_eq!(unset.code, Some(2), "{}", unset.stderr);
    assert!(unset.stderr.contains("profiles.NAME.SETTING"), "{}", unset.stderr);
    let elsewhere = ["--profile", "work", AT, "http://127.0.0.1:9"];
    let refused = home.run(&[&["auth", "logout", "--forget"], &elsewhere[..]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_eq!(home.kept().matches(SECRET).count(), 2, "{}", home.kept());
    home.succeed(&["auth", "logout", "--forget", "--profile", "work"]);
    assert_eq!(home.kept().matches(SECRET).count(), 1, "{}", home.kept());
    assert!(!home.config().contains("work") && home.config().contains("[profiles.play]"));
    assert_eq!(home.run(&["me", "--profile", "work"]).code, Some(2));
    // The removed profile was the active one, so `--profile` is required now.
    assert_eq!(home.succeed(&["auth", "token", "--profile", "play"]), format!("{SECRET}\n"));
    assert_eq!(home.run(&["me"]).code, Some(2));
    // The profile stays if a copy of the key may still exist.
    std::fs::write(home.key_file(), "no TOML").unwrap();
    assert_eq!(home.run(&["auth", "logout", "--forget", "--profile", "play"]).code, Some(10));
    assert!(home.config().contains("[profiles.play]"));
}

#[test]
fn invalid_profile_name_error_contains_the_rule() {
    let rule = "up to 64 characters of A-Z, a-z, 0-9, `-` and `_`";
    let told = |said: crate::support::Said, at: &str, code: i32| {
        assert_eq!(said.code, Some(code), "{at}: {}", said.stderr);
        let line = said.stderr.lines().find(|line| line.contains("`a.b`"));
        assert!(line.is_some_and(|line| line.contains(at)), "{at}: {}", said.stderr);
        assert!(said.stderr.contains(rule), "{at}: {}", said.stderr);
    };
    let home = Home::new();
    told(home.run(&["me", "--profile", "a.b"]), "--profile", 2);
    told(home.run(&["auth", "use", "a.b"]), "a.b", 2);
    let mut by_variable = home.formsvc(&["me"]);
    told(by_variable.env("FORMSVC_PROFILE", "a.b").output().unwrap().into(), "FORMSVC_PROFILE", 2);
    let written = home.run(&["config", "set", "profiles.a.b.output", "json"]);
    assert!(written.stderr.contains("NAME contains no `.`"), "{}", written.stderr);
    home.succeed(&["config", "set", "output", "json"]);
    let file = home.config_folder().join("config.toml");
    std::fs::write(&file, "profile = \"a.b\"\n").unwrap();
    told(home.run(&["me"]), "config.toml:1", 2);
    // A table with an invalid name is no profile, and the other profiles still work.
    std::fs::write(&file, "[profiles.\"a.b\"]\nstore = 'file'\n[profiles.c]\n").unwrap();
    for args in [&["auth", "list"][..], &["auth", "logout"], &["config", "list"]] {
        told(home.run(args), "config.toml:2", 0);
    }
    assert!(home.succeed(&["auth", "list"]).starts_with("c\t"));
}

#[test]
fn profiles_are_listed_and_selected() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    let list = ["auth", "list", "--output", "json"];
    assert_eq!(home.succeed(&list), "[]\n");
    home.log_in("work", &service.base_url, SECRET, &[]);
    home.log_in("play", "http://127.0.0.1:9", SECRET, &["--no-verify"]);
    let listed = |home: &Home| -> Vec<(String, String, String, bool)> {
        let listed: serde_json::Value = serde_json::from_str(&home.succeed(&list)).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let rows = listed.as_array().unwrap().iter();
        rows.map(|row| {
            let active = row["active"].as_bool().unwrap();
            (text(&row["profile"]), text(&row["base_url"]), text(&row["store"]), active)
        })
        .collect()
    };
    let row =
        |profile: &str, url: &str, active| (profile.into(), url.into(), "file".into(), active);
    let (work, play) = (&*service.base_url, "http://127.0.0.1:9");
    // The first profile is active until another one is selected.
    assert_eq!(listed(&home), [row("play", play, false), row("work", work, true)]);
    home.succeed(&["auth", "use", "play"]);
    assert_eq!(listed(&home), [row("play", play, true), row("work", work, false)]);
    // A flag and a variable take precedence over the active profile.
    let mut by_variable = home.formsvc(&["auth", "list"]);
    let said = by_variable.env("FORMSVC_PROFILE", "work").output().unwrap();
    assert!(
        String::from_utf8(said.stdout)
            .unwrap()
            .lines()
            .any(|line| { line.starts_with("work\t") && line.contains("true") })
    );
    let unknown = home.run(&["auth", "use", "wrok"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("`work`"), "{}", unknown.stderr);
    assert_eq!(home.succeed(&["auth", "token", "--profile", "work"]), format!("{SECRET}\n"));
}

#[test]
fn login_rejects_an_invalid_profile_name() {
    let home = Home::new();
    let long = "a".repeat(65);
    for bad in ["a b", "a/b", "../x", "a|b", "ä", &long, "\u{1b}[31m"] {
        let login = [&LOGIN[..], &[AT, "http://127.0.0.1:9", "--profile", bad]].concat();
        let said = home.run_with(SECRET, &login);
        assert_eq!(said.code, Some(2), "{bad:?}: {}", said.stderr);
        assert!(said.stderr.contains("64") && !said.stderr.contains('\u{1b}'), "{}", said.stderr);
    }
    home.assert_untouched();
}

#[test]
fn login_to_another_service_needs_overwrite() {
    let (one, other) = (Canned::start(vec![me()]), Canned::start(vec![me()]));
    let home = Home::new();
    home.log_in("default", &one.base_url, SECRET, &[]);
    let login = [&LOGIN[..], &[AT, &other.base_url]].concat();
    let said = home.run_with("fsk_of_the_other_service", &login);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    for told in [&*one.base_url, "--overwrite", "--profile"] {
        assert!(said.stderr.contains(told), "{told}: {}", said.stderr);
    }
    assert_eq!(home.succeed(&["auth", "token"]), format!("{SECRET}\n"));
    let login = [&login[..], &["--overwrite"]].concat();
    let said = home.run_with("fsk_of_the_other_service", &login);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(home.succeed(&["auth", "token"]), "fsk_of_the_other_service\n");
    assert!(!home.kept().contains(SECRET), "{}", home.kept());
}

#[test]
fn login_with_a_key_command_stores_no_key() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, "fsk_the_key_before_this_one", &[]);
    let secrets = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&secrets, format!("{SECRET}\n")).unwrap();
    let command = ["--api-key-command", "/bin/cat", secrets.path().to_str().unwrap()];
    home.succeed(&[&["auth", "login"], &command[..]].concat());
    // The key file no longer contains the key.
    assert_eq!(home.kept(), "");
    assert!(home.config().contains("/bin/cat") && !home.config().contains(SECRET));
    assert_eq!(home.succeed(&["auth", "token"]), format!("{SECRET}\n"));
    assert!(home.succeed(&["auth", "list"]).contains("command"));
    // A key in the key file replaces the command.
    home.log_in("default", &service.base_url, "fsk_kept_here_again", &[]);
    assert!(!home.config().contains("/bin/cat"), "{}", home.config());
    assert_eq!(home.succeed(&["auth", "token"]), "fsk_kept_here_again\n");
}

#[test]
fn token_with_closed_reader_exits_0() {
    let (_sandbox, home) = signed_in();
    let mut token = home.formsvc(&["auth", "token"]);
    let mut child = token.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn completion_offers_profile_names() {
    let home = Home::new();
    home.log_in("work", "http://127.0.0.1:9", SECRET, &["--no-verify"]);
    for words in [&["formsvc", "auth", "use", "w"][..], &["formsvc", "me", "--profile", "w"]] {
        let mut asked = home.formsvc(&[&["--"], words].concat());
        let said =
            crate::support::Said::from(asked.env("FORMSVC_COMPLETE", "fish").output().unwrap());
        assert_eq!(said.stdout.trim_end(), "work", "{words:?}: {}", said.stderr);
    }
}

#[test]
fn auth_examples_work_after_login() {
    let service = Canned::start(vec![me()]);
    for command in ["list", "status", "use", "logout"] {
        let help = run(&["auth", command, "--help"]).stdout;
        let (_, examples) = help.split_once("\nExamples:\n").unwrap();
        let examples: Vec<&str> =
            examples.lines().take_while(|line| line.starts_with("  ")).map(str::trim).collect();
        assert!(examples.len() >= 2, "{command}: {help}");
        for example in examples {
            let home = Home::new();
            for profile in ["default", "work"] {
                home.log_in(profile, &service.base_url, SECRET, &[]);
            }
            // A shell runs the example unchanged, because it may set a variable or contain a pipe.
            let mut shell = processes::command("/bin/sh");
            let folder = std::path::Path::new(env!("CARGO_BIN_EXE_formsvc")).parent().unwrap();
            shell.env_clear().env("HOME", home.folder.path()).current_dir(home.folder.path());
            shell.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
            let said = crate::support::Said::from(shell.args(["-c", example]).output().unwrap());
            assert_eq!(said.code, Some(0), "{example}: {}", said.stderr);
        }
    }
}
