//! Snapshots of all errors of the command line, as text and as JSON.

use std::fmt::Write;

use crate::support::{Canned, SECRET, Said, answer, formsvc, one_form, page, run};

fn refused(status: &str, headers: &str, code: &str) -> Option<String> {
    answer(status, headers, &format!(r#"{{"error":{{"code":"{code}","message":"no"}}}}"#))
}

fn transcript(args: &[&str], said: &Said, base_url: &str) -> String {
    let stderr = said.stderr.replace(base_url, "http://SERVICE");
    let mut text = String::new();
    let code = said.code.unwrap();
    writeln!(text, "$ formsvc {}\nexit {code}\n{stderr}", args.join(" ")).unwrap();
    text
}

#[test]
fn argument_errors() {
    let cases: &[&[&str]] = &[
        &["lits"],
        &["list"],
        &["forms", "lits"],
        &["forms", "banana"],
        &["--json", "forms", "list"],
        &["webhook", "--json", "events", "list"],
        &["frms", "list", "--json", "me"],
        &["help", "exit-code"],
        &["help", "sync"],
        &["help", "forms", "lits"],
        &["me", "--outptu", "json"],
        &["me", "--banana"],
        &["me", "extra"],
        &["me", "-x"],
        &["me", "--output", "xml"],
        &["me", "--output", "jsn"],
        &["me", "--output"],
        &["webhook", "listen", "--port"],
        &["sandbox", "--webhook"],
        &["me", "--timeout", "30"],
        &["me", "--max-rate", "0"],
        &["me", "--demo", "--demo"],
        &["--demo", "me", "--base-url", "https://example.org"],
        &["--demo", "me", "--json", "emial"],
        &["--demo", "forms", "view", "pengiuns"],
        &["--demo", "forms", "view", "zebra"],
        &["--demo", "submissions", "export", "penguins", "--format", "pdf"],
        &["--demo", "submissions", "export", "penguins", "-o", "p.pdf"],
        &["forms", "view"],
        &["config", "get", "outptu"],
        &["completion", "tcsh"],
        &["me", "\u{1b}[31mred\u{202e}\nline"],
        &["me", "--api-key=fsk_abcdef"],
        &["fsk_abcdef"],
        &["me"],
    ];
    let mut text = String::new();
    for args in cases {
        let home = tempfile::tempdir().unwrap();
        let said: Said = formsvc(args).env("HOME", home.path()).output().unwrap().into();
        assert!(!said.stderr.contains("fsk_abc"), "{args:?}");
        text.push_str(&transcript(args, &said, "http://none"));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn service_errors() {
    let mut text = String::new();
    let list = ["submissions", "list", "survey"];
    for (args, answers) in [
        (&["me"][..], vec![refused("401 Unauthorized", "", "invalid_key")]),
        (&["me"], vec![refused("401 Unauthorized", "", "key_revoked")]),
        (&list, vec![one_form(), refused("404 Not Found", "", "form_not_found")]),
        (&list, vec![one_form(), refused("400 Bad Request", "", "bad_request")]),
        (&["me"], vec![refused("403 Forbidden", "", "a_later_code")]),
        (&["me"], vec![answer("200 OK", "", "<html>Bad gateway</html>")]),
        (&list, vec![one_form(), page("{}", None)]),
        (&list, vec![one_form(), answer("200 OK", "", r#"{"data":[]}"#)]),
        (&list, vec![one_form(), answer("404 Not Found", "", "<html>nothing here</html>")]),
        (
            &["forms", "view", "surveys"],
            vec![one_form(), refused("404 Not Found", "", "form_not_found")],
        ),
        (
            &["me", "--max-wait", "1s"],
            vec![refused("429 Too Many Requests", "retry-after: 60\r\n", "rate_limited")],
        ),
    ] {
        for format in ["text", "json"] {
            let service = Canned::start(answers.clone());
            let said = service.run(&[args, &["--error-format", format]].concat());
            assert!(!said.stderr.contains(SECRET));
            text.push_str(&transcript(args, &said, &service.base_url));
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn command_errors() {
    let mut text = String::new();
    let home = tempfile::tempdir().unwrap();
    let place = home.path().to_str().unwrap();
    let canned = |answers: &[Option<String>]| Canned::start(answers.to_vec());
    let revoked = || refused("401 Unauthorized", "", "key_revoked");
    let row = |id: &str| {
        page(
            &format!(r#"{{"id":"{id}","data":{{}},"created_at":"2026-01-01T00:00:00.000Z"}}"#),
            None,
        )
    };
    let cases: Vec<(&[&str], Canned)> = vec![
        (&["auth", "login"], canned(&[None])),
        (&["auth", "login", "--store", "file", "--api-key-file", "none.txt"], canned(&[None])),
        (&["auth", "login", "--store", "file", "--api-key-file", "key"], canned(&[revoked()])),
        (&["auth", "status"], canned(&[revoked()])),
        (&["auth", "use", "wrok"], canned(&[None])),
        (&["auth", "token", "--profile", "wrok"], canned(&[None])),
        (&["auth", "logout", "--profile", "wrok"], canned(&[None])),
        (&["--demo", "auth", "token"], canned(&[None])),
        (&["config", "get", "profiles.work"], canned(&[None])),
        (&["config", "get", "api_key"], canned(&[None])),
        (&["config", "set", "output", "xml"], canned(&[None])),
        (&["config", "set", "timeout", "30"], canned(&[None])),
        (&["config", "set", "profile", "wrok"], canned(&[None])),
        (&["config", "unset", "profiles.a.b.output"], canned(&[None])),
        (&["doctor"], canned(&[revoked()])),
        (&["api", "forms/frm_none"], canned(&[refused("404 Not Found", "", "form_not_found")])),
        (&["api", "https://elsewhere.example/api/v1/me"], canned(&[None])),
        (&["api", "me", "--paginate"], canned(&[answer("200 OK", "", "{}")])),
        (
            &["forms", "schema", "surveys"],
            canned(&[one_form(), refused("404 Not Found", "", "form_not_found")]),
        ),
        (&["forms", "schema", "survey"], canned(&[one_form(), revoked()])),
        (&["submissions", "view", "survey", "sub_2"], canned(&[one_form(), row("sub_1")])),
        (&["submissions", "tail", "survey", "--after", "sub_1"], canned(&[None])),
        (
            &["submissions", "tail", "survey", "--interval", "10ms"],
            canned(&[one_form(), row("sub_1"), revoked()]),
        ),
        (
            &["submissions", "tail", "survey", "--count", "2", "--max-time", "300ms"],
            canned(&[one_form(), row("sub_1")]),
        ),
    ];
    std::fs::write(home.path().join("key"), SECRET).unwrap();
    #[cfg(unix)]
    {
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(home.path().join("key"), private).unwrap();
    }
    for (args, service) in cases {
        let mut command = service.formsvc(args);
        let said = command.env("HOME", home.path()).current_dir(home.path()).output().unwrap();
        let said = Said::from(said);
        assert!(!said.stderr.contains(SECRET), "{args:?}: {}", said.stderr);
        text.push_str(&transcript(args, &said, &service.base_url).replace(place, "HOME"));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn error_format_json_applies_to_all_errors() {
    let wrong = |args: &[&str], variable: Option<&str>| {
        let mut command = formsvc(args);
        command.envs(variable.map(|value| ("FORMSVC_ERROR_FORMAT", value)));
        Said::from(command.output().unwrap())
    };
    for (args, variable) in [
        (&["--error-format", "json", "lits"][..], None),
        (&["lits", "--error-format", "json"], None),
        (&["me", "--banana", "--error-format=json"], None),
        (&["forms"], Some("json")),
        (&["me", "--output", "xml"], Some("json")),
        (&["me"], Some("json")),
    ] {
        let said = wrong(args, variable);
        let json: serde_json::Value = serde_json::from_str(&said.stderr).expect(&said.stderr);
        assert_eq!(json["error"]["exit"], said.code.unwrap(), "{args:?}");
        assert!(json["error"]["code"].is_string(), "{args:?}: {json}");
    }
    assert!(wrong(&["lits"], None).stderr.starts_with("error: "));
}

#[test]
fn error_colors_follow_the_color_setting() {
    assert!(!run(&["lits"]).stderr.contains('\u{1b}'));
    assert!(run(&["lits", "--color", "always"]).stderr.contains("\u{1b}[1m\u{1b}[31merror:"));
    let json = run(&["lits", "--color", "always", "--error-format", "json"]);
    assert!(!json.stderr.contains('\u{1b}'), "{}", json.stderr);
}

#[test]
fn verbose_log_has_one_line_per_event() {
    let busy = answer("503 Service Unavailable", "", "{}");
    let service = Canned::start(vec![busy, one_form()]);
    let said = service.run(&["forms", "list", "-vv"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let has = |start: &str| said.stderr.lines().any(|line| line.starts_with(start));
    assert!(has("debug: formsvc_client::event: attempt completed"), "{}", said.stderr);
    assert!(has("warn: formsvc_client::event: attempt failed, retry"), "{}", said.stderr);
    assert!(!said.stderr.contains(SECRET), "{}", said.stderr);
}

#[test]
fn command_of_another_program_has_a_suggestion() {
    for (word, hint) in [
        ("version", "hint: `formsvc --version` prints the version"),
        ("init", "hint: `formsvc auth login` saves the service and your API key"),
        ("ls", "hint: did you mean `formsvc forms list`?"),
        ("get", "hint: did you mean `formsvc forms view` or `formsvc submissions view`?"),
    ] {
        let output = run(&[word]);
        assert_eq!(output.code, Some(2), "{word}: {}", output.stderr);
        assert!(output.stderr.contains(hint), "{word}: {}", output.stderr);
    }
}

#[test]
fn common_names_of_list_and_view_are_aliases() {
    for args in
        [&["forms", "ls"][..], &["forms", "get", "penguins"], &["submissions", "ls", "penguins"]]
    {
        let output = run(&[&["--demo"][..], args].concat());
        assert_eq!(output.code, Some(0), "{args:?}: {}", output.stderr);
    }
}

#[test]
fn misplaced_secret_is_in_no_error() {
    let key = format!("fsk_{}", "Ab1".repeat(14));
    let secret = format!("whsec_{}", "Cd2".repeat(14));
    let (key, secret) = (key.as_str(), secret.as_str());
    let header = format!("X: {secret}");
    for args in [
        &["webhook", "sign", secret, "--secret-file", "none"][..],
        &["webhook", "verify", secret],
        &["webhook", "verify", "--http-dump", secret],
        &["webhook", "trigger", "9", "--file", secret],
        &["webhook", "trigger", "9", "-H", &header],
        &["webhook", "trigger", secret],
        &["webhook", "check", secret],
        &["webhook", "listen", "--port", "0", "--sandbox", secret],
        &["webhook", "replay", secret],
        &["--demo", "submissions", "export", key],
        &["--demo", "submissions", "list", "penguins", "--after", key],
        &["--demo", "forms", "view", key],
        &["--demo", "api", key],
        &["me", "--cacert", key],
        &["me", "--base-url", key],
        &["me", "--profile", key],
        &["config", "get", key],
        &["help", key],
        &["contract", "check", "--only", key],
    ] {
        for format in ["text", "json"] {
            let said = run(&[args, &["--error-format", format]].concat());
            assert_ne!(said.code, Some(0), "{args:?}");
            for text in [key, secret] {
                let shown = said.stderr.to_ascii_lowercase().contains(&text.to_ascii_lowercase());
                assert!(!shown, "{args:?}: {}", said.stderr);
            }
        }
    }
}
