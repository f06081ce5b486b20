//! `formsvc api`

use crate::support::{Canned, SECRET, Sandbox, answer, page, run, succeed};

#[test]
fn body_is_printed_unchanged() {
    let body = "{\"a\" : 1.500,\r\n \"b\":\"\u{1b}[31m\u{202e}\"}";
    let service = Canned::start(vec![answer("200 OK", "", body)]);
    let said = service.run(&["api", "x"]);
    assert_eq!((said.code, &*said.stdout, &*said.stderr), (Some(0), body, ""));
    assert!(service.request().starts_with("GET /api/v1/x HTTP/1.1\r\n"));
}

#[test]
fn path_without_a_slash_is_below_the_api() {
    let service = Canned::start(vec![answer("200 OK", "", "{}")]);
    for (args, asked) in [
        (&["me"][..], "/api/v1/me"),
        (&["/api/v2/me"], "/api/v2/me"),
        (
            &["forms?limit=1&x=2", "-f", "x=a b&c", "--field", "y="],
            "/api/v1/forms?limit=1&x=a+b%26c&y=",
        ),
    ] {
        let said = service.run(&[&["api"], args].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let request = service.request();
        assert!(request.starts_with(&format!("GET {asked} HTTP")), "{request}");
        assert!(request.contains(SECRET));
    }
}

#[test]
fn key_is_not_sent_to_another_service() {
    let (service, other) = (
        Canned::start(vec![answer("200 OK", "", "{}")]),
        Canned::start(vec![answer("200 OK", "", "{}")]),
    );
    let elsewhere = format!("{}/api/v1/me", other.base_url);
    let slashes = elsewhere.trim_start_matches("http:");
    for path in
        [&*elsewhere, slashes, "https://127.0.0.1/x", "../../x", "/%2e%2e/x", "/a\\..\\b", "a#b"]
    {
        let said = service.run(&["api", path]);
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{path}: {}", said.stderr);
        assert!(said.stderr.contains("hint: "), "{path}: {}", said.stderr);
    }
    assert!(service.asked_nothing() && other.asked_nothing());
}

#[test]
fn error_prints_its_body_and_sets_the_exit_code() {
    let sandbox = Sandbox::start(&[]);
    let unknown = sandbox.run(&["api", "forms/frm_gone/submissions"]);
    assert_eq!(unknown.code, Some(3));
    let body: serde_json::Value = serde_json::from_str(&unknown.stdout).unwrap();
    assert_eq!(body["error"]["code"], "form_not_found");
    assert!(
        unknown.stderr.starts_with("error: the service responded with 404 form_not_found"),
        "{}",
        unknown.stderr
    );
    let said = sandbox.run(&["api", "forms/frm_gone/submissions", "--include"]);
    assert!(said.stdout.starts_with("HTTP/1.1 404 Not Found\n"), "{}", said.stdout);
    assert!(said.stdout.contains("\nx-request-id: req_"), "{}", said.stdout);
    let html = Canned::start(vec![answer("403 Forbidden", "", "<p>no")]);
    let said = html.run(&["api", "me"]);
    assert_eq!((said.code, &*said.stdout), (Some(5), "<p>no"), "{}", said.stderr);
}

#[test]
fn unknown_path_with_a_leading_slash_has_a_hint() {
    let sandbox = Sandbox::start(&[]);
    let said = sandbox.run(&["api", "/forms"]);
    let hint = "hint: without the leading slash: `formsvc api forms`";
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains(hint), "{}", said.stderr);
}

#[test]
fn hints_fit_paths_and_redirects_are_not_followed() {
    let error = |code: &str| format!(r#"{{"error":{{"code":"{code}","message":"no"}}}}"#);
    let away = "location: https://u:p@elsewhere.example:8443/x?key=1\r\n";
    for (reply, tells) in [
        (answer("404 Not Found", "", &error("not_found")), "`forms/ID/submissions`"),
        (answer("404 Not Found", "", &error("form_not_found")), "not its public id"),
        (answer("302 Found", away, ""), "if the service is at https://elsewhere.example:8443 now"),
        (
            answer("302 Found", away, ""),
            "302 Found to `https://***@elsewhere.example:8443/x?…`, which",
        ),
        (
            answer("302 Found", "location: /login\r\n", ""),
            "1 attempt)\nhint: check the service address and its path\n",
        ),
        (answer("403 Forbidden", "", ""), "no permission"),
    ] {
        let said = Canned::start(vec![reply]).run(&["api", "x"]);
        assert!(said.stderr.contains(tells), "{tells}: {}", said.stderr);
        assert!(said.stderr.starts_with("error: the service responded with "), "{}", said.stderr);
        assert!(!said.stderr.contains("u:p") && !said.stderr.contains("key=1"), "{}", said.stderr);
    }
}

#[test]
fn paginate_prints_one_array_or_lines() {
    let sandbox = Sandbox::start(&[]);
    let forms: serde_json::Value =
        serde_json::from_str(&sandbox.run(&["api", "forms"]).stdout).unwrap();
    let forms = forms["data"].as_array().unwrap();
    let id =
        forms.iter().find(|form| form["public_id"] == "penguins").unwrap()["id"].as_str().unwrap();
    let path = format!("forms/{id}/submissions");
    let whole = sandbox.run(&["api", &path, "--paginate"]);
    let items: Vec<serde_json::Value> = serde_json::from_str(&whole.stdout).unwrap();
    assert_eq!(items.len(), 344);
    let export = sandbox.run(&["submissions", "export", "penguins", "--format", "ndjson"]).stdout;
    let lines = sandbox.run(&["api", &path, "--paginate", "--output", "ndjson"]).stdout;
    assert!(lines == export, "exports and raw pages differ");
    // A list without pagination.
    let listed = sandbox.run(&["api", "forms", "--paginate"]).stdout;
    assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&listed).unwrap(), *forms);
}

#[test]
fn programs_read_all_pages_as_one_array() {
    let row = |n: u32| {
        format!(r#"{{"id":"sub_{n}","data":{{}},"created_at":"2026-01-01T00:00:0{n}.000Z"}}"#)
    };
    let said = |args: &[&str]| {
        let service = Canned::start(vec![page(&row(2), Some("c")), page(&row(1), None)]);
        service.run(&[&["api", "forms/f/submissions", "--paginate"], args].concat())
    };
    for (args, shown) in [
        (&["--jq", "length"][..], "2\n"),
        (&["--jq", ".[].id"], "sub_2\nsub_1\n"),
        (&["--template", "{{ items|length }} {{ items[1].id }}"], "2 sub_1\n"),
        (&["--output", "ndjson", "--jq", ".id"], "sub_2\nsub_1\n"),
        (&["--output", "ndjson", "--template", "{{ id }}"], "sub_2\nsub_1\n"),
    ] {
        let said = said(args);
        assert_eq!((said.code, &*said.stdout), (Some(0), shown), "{args:?}: {}", said.stderr);
    }
    let one_page = said(&["--jq", ".data[].id"]);
    let hint = "hint: `--paginate` prints one array: read its items, as in `.[].id`";
    assert!(one_page.stderr.contains(hint), "{}", one_page.stderr);
    let slip = said(&["--template", "{{ itms }}"]);
    assert_eq!((slip.code, &*slip.stdout), (Some(2), ""));
    assert!(slip.stderr.contains("did you mean `items`?"), "{}", slip.stderr);
    let empty = Canned::start(vec![page("", None)]);
    assert_eq!(empty.run(&["api", "x", "--paginate", "--jq", "length"]).stdout, "0\n");
}

#[test]
fn incomplete_array_has_no_bracket_at_its_end() {
    let row = r#"{"id":"sub_1","data":{},"created_at":"2026-01-01T00:00:00.000Z"}"#;
    let refused =
        answer("401 Unauthorized", "", r#"{"error":{"code":"key_revoked","message":"no"}}"#);
    let first = || page(row, Some("2026-01-01T00:00:00.000Z"));
    for (then, exit, told) in [
        (refused, 4, "create a new key"),
        (first(), 5, "`next_cursor` repeats"),
        (page(row, Some("")), 5, "no `next_cursor`"),
        (answer("200 OK", "", "<html>"), 5, "not a list"),
        (answer("200 OK", "", "{}"), 5, "not a list"),
        (answer("200 OK", "", r#"[[],{"has_more":false}]"#), 5, "not a list"),
        (answer("200 OK", "", r#"{"data":[],"pagination":[null,false]}"#), 5, "not a list"),
        (answer("200 OK", "", r#"{"data":[]} {}"#), 5, "not a list"),
    ] {
        let service = Canned::start(vec![first(), then]);
        let said = service.run(&["api", "forms/f/submissions", "--paginate"]);
        assert_eq!(said.code, Some(exit), "{}", said.stderr);
        assert!(said.stdout.starts_with("[\n{\"id\""), "{}", said.stdout);
        assert!(serde_json::from_str::<serde_json::Value>(&said.stdout).is_err());
        assert!(said.stderr.contains(told), "{}", said.stderr);
    }
}

#[test]
fn continue_command_repeats_flags_and_service() {
    let row = r#"{"id":"sub_1","data":{},"created_at":"2026-01-01T00:00:01.000Z"}"#;
    let resume = |cursor: &str| {
        let (first, no) = (page(row, Some(cursor)), answer("400 Bad Request", "", "{}"));
        let service = Canned::start(vec![first, no]);
        let flags = ["--base-url", &*service.base_url, "--max-rate", "off", "--output", "ndjson"];
        let flags = [&flags[..], &["--error-format", "json"]].concat();
        let asked = ["api", "forms/f/submissions", "--paginate", "-f", "q=a b"];
        let said = service.run(&[&flags[..], &asked, &["-f", "cursor=0"]].concat());
        // A warning about the cursors comes first.
        let error = said.stderr.lines().last().unwrap();
        let error: serde_json::Value = serde_json::from_str(error).unwrap();
        let resume = error["error"]["resume"].as_str().map(str::to_owned);
        resume.map(|line| line.replace(&service.base_url, "URL"))
    };
    assert_eq!(
        resume("c").unwrap(),
        "formsvc --base-url URL --output ndjson --error-format json --max-rate off api \
         /api/v1/forms/f/submissions --paginate --field 'q=a b' --field cursor=c"
    );
    // The shown form of this cursor would be a different cursor, so no command is offered.
    assert_eq!(resume("c\\u001b[2J"), None);
}

#[test]
fn paginate_waits_for_a_rate_limit() {
    let row = |n: u32| {
        format!(r#"{{"id":"sub_{n}","data":{{}},"created_at":"2026-01-01T00:00:0{n}.000Z"}}"#)
    };
    let limited = answer("429 Too Many Requests", "retry-after: 0\r\n", "{}");
    let service = Canned::start(vec![page(&row(2), Some("c")), limited, page(&row(1), None)]);
    let said = service.run(&["api", "forms/f/submissions", "--paginate", "--output", "ndjson"]);
    assert_eq!(
        (said.code, said.stdout),
        (Some(0), format!("{}\n{}\n", row(2), row(1))),
        "{}",
        said.stderr
    );
    let empty = Canned::start(vec![page("", None)]).run(&["api", "x", "--paginate"]);
    assert_eq!((empty.code, &*empty.stdout), (Some(0), "[]\n"));
}

#[test]
fn contradicting_flags_are_exit_2() {
    for args in [
        &["--paginate", "--include"][..],
        &["--limit", "3"],
        &["--paginate", "--allow-incomplete"],
        &["-f", "novalue"],
        &["-f", "=x"],
        &["--json", "id"],
    ] {
        let said = run(&[&["--demo", "api", "me"], args].concat());
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{args:?}: {}", said.stderr);
    }
}

#[test]
fn closed_pipe_is_exit_0() {
    let mut command = crate::support::formsvc(&["--demo", "api", "forms"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn terminal_json_is_indented_and_sanitized() {
    use crate::terminal::Terminal;
    let body = r#"{"a":"\u001b[31m","b":[1.50]}"#.replace(r"\u001b", "\u{9b}");
    let headers = "x-evil: \u{9b}31mred\r\n";
    let service = Canned::start(vec![answer("200 OK", headers, &body)]);
    let mut terminal = Terminal::start(service.formsvc(&["api", "me", "--include"]), (80, 24));
    assert_eq!(terminal.finish(), Some(0));
    let shown = terminal.lines();
    assert_eq!(shown[0], "HTTP/1.1 200 OK", "{shown:#?}");
    assert_eq!(
        shown[shown.len() - 6..],
        ["{", "  \"a\": \"[31m\",", "  \"b\": [", "    1.50", "  ]", "}"]
    );
    assert!(
        !terminal.raw().contains(&0x1b)
            && !terminal.raw().windows(2).any(|two| two == [0xc2, 0x9b])
    );
}

#[test]
fn demo_responds_to_api() {
    let me = succeed(&["--demo", "api", "me"]);
    assert!(me.contains("sandbox@formsvc.invalid"), "{me}");
}

#[test]
fn paginate_keeps_rows_that_share_a_second() {
    let row = |id: &str, at: u32| {
        format!(r#"{{"id":"{id}","data":{{}},"created_at":"2026-01-01T00:00:0{at}.500Z"}}"#)
    };
    let rows =
        |all: &[(&str, u32)]| all.iter().map(|(id, at)| row(id, *at)).collect::<Vec<_>>().join(",");
    let cursor = Some("2026-01-01T00:00:03Z");
    let service = Canned::start(vec![
        page(&rows(&[("e", 5), ("d", 3)]), cursor),
        page(&rows(&[("d", 3), ("c", 3), ("a", 1)]), None),
    ]);
    let said = service.run(&["api", "forms/f/submissions", "--paginate", "--output", "ndjson"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let ids: Vec<&str> = said.stdout.lines().map(|line| &line[7..8]).collect();
    assert_eq!(ids, ["e", "d", "c", "a"]);
    service.request();
    let asked = service.request();
    assert!(asked.contains("cursor=2026-01-01T00%3A00%3A04Z"), "{asked}");

    // Both tied rows do not fit on a page with the limit 2.
    let tied = || page(&rows(&[("d", 3), ("c", 3)]), cursor);
    let older = || page(&rows(&[("a", 1)]), None);
    let paginate = ["api", "forms/f/submissions", "--paginate", "-f", "limit=2"];
    let service = Canned::start(vec![tied(), older(), older()]);
    let said = service.run(&paginate);
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    assert!(said.stderr.contains("the second `2026-01-01T00:00:03.000Z`"), "{}", said.stderr);
    assert!(said.stderr.contains("hint: `formsvc submissions export --allow-incomplete`"));
}
