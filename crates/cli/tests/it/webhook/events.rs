//! Captures: lists, details, differences, exports and removal.

use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use super::kept::{Home, Listener};
use super::recorder::Recorder;
use super::support::SECRET;
use crate::processes;
use crate::support::Said;
use crate::support::{run, succeed};

/// Returns a body in the format of the service.
fn body(id: &str, name: &str) -> String {
    format!(
        r#"{{"event":"submission.created","submission_id":"{id}","form_id":"frm_1","form_title":"Test","data":{{"Name":"{name}"}},"created_at":"2026-01-01T00:00:00.000Z"}}"#
    )
}

/// A home folder with two valid captures and an invalid one in its store.
fn three_captures() -> Home {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(body("sub_a1", "Ada").as_bytes()), 200);
    assert_eq!(listener.deliver(body("sub_b2", "Zo\\u00eb").as_bytes()), 200);
    assert_eq!(listener.deliver(b"no event"), 200);
    assert_eq!(listener.end(), Some(0));
    home
}

fn list_numbers(home: &Home, flags: &[&str]) -> String {
    let all = [&["webhook", "events", "list", "--jq", "map(.capture)"], flags].concat();
    home.succeed(&all).trim().to_owned()
}

#[test]
fn list_filters_select_captures() {
    let home = three_captures();
    for (flags, expected) in [
        (&[][..], "[3,2,1]"),
        (&["--limit", "1"], "[3]"),
        (&["--status", "ok"], "[3,2,1]"),
        (&["--status", "failed"], "[]"),
        (&["--verdict", "valid"], "[2,1]"),
        (&["--verdict", "invalid"], "[3]"),
        (&["--submission", "sub_b"], "[2]"),
        (&["--form", "frm_1", "--event", "submission.created"], "[2,1]"),
        (&["--grep", "Ada"], "[1]"),
        (&["--since", "1h"], "[3,2,1]"),
        (&["--until", "1h"], "[]"),
    ] {
        assert_eq!(list_numbers(&home, flags), expected, "{flags:?}");
    }
    for (flags, why) in [
        (&["--status", "6xx"][..], "expected `ok`, `failed`"),
        (&["--verdict", "great"], "signature_mismatch"),
        (&["--since", "1m", "--until", "1h"], "is not before"),
    ] {
        let refused = home.run(&[&["webhook", "events", "list"], flags].concat());
        assert_eq!(refused.code, Some(2), "{flags:?}");
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}

#[test]
fn times_in_messages_are_local() {
    let home = three_captures();
    let range = ["--since", "2026-03-01T00:00:00Z", "--until", "2026-02-01"];
    let mut command = home.formsvc(&[&["webhook", "events", "list"], &range[..]].concat());
    let said = Said::from(command.env("TZ", "<+02>-2").output().unwrap());
    let told =
        "`--since` 2026-03-01 02:00:00 +02:00 is not before `--until` 2026-02-01 00:00:00 +02:00";
    assert!(said.stderr.contains(told), "{}", said.stderr);
}

#[test]
fn show_prints_the_capture_as_json_or_raw() {
    let home = three_captures();
    let shown: Value =
        serde_json::from_str(&home.succeed(&["webhook", "events", "show", "2"])).unwrap();
    assert_eq!(shown["body_b64"], STANDARD.encode(body("sub_b2", "Zo\\u00eb")));
    assert_eq!(shown["body"]["data"]["Name"], "Zoë");
    assert_eq!((&shown["verdict"], &shown["status"]), (&"valid".into(), &200.into()));
    assert_eq!(shown["secret"], "secret.txt");
    let raw = home.succeed(&["webhook", "events", "show", "--raw"]);
    assert_eq!(raw, "no event", "the newest");
    let missing = home.run(&["webhook", "events", "show", "9"]);
    assert_eq!(missing.code, Some(3));
    assert!(missing.stderr.contains("there is no capture 9"), "{}", missing.stderr);
    let refused = home.run(&["webhook", "events", "show", "--raw", "--output", "json"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn diff_names_the_path_of_each_difference() {
    let home = three_captures();
    let diff = |args: &[&str]| home.run(&[&["webhook", "events", "diff"], args].concat());
    let fields = "part,path,change,old,new";
    let shown = diff(&["1", "2", "--json", fields, "--jq", r#".[] | select(.part == "body")"#]);
    let rows: Vec<Value> =
        shown.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2, "{}", shown.stdout);
    assert_eq!((&rows[0]["path"], &rows[0]["new"]), (&"data.Name".into(), &r#""Zo\u00eb""#.into()));
    assert_eq!(diff(&["1", "2", "--exit-code"]).code, Some(1));
    let same = diff(&["1", "1", "--exit-code"]);
    assert_eq!((same.code, same.stdout.as_str()), (Some(0), ""));
    assert!(same.stderr.contains("no difference"), "{}", same.stderr);
    let lines = diff(&["1", "3", "--output", "table"]);
    assert!(lines.stdout.contains("+ no event"), "{}", lines.stdout);
}

/// Returns true if the text contains a secret or hex digits of a signature.
fn has_secret_or_signature(text: &str) -> bool {
    let digits = |part: &str| part.len() >= 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let v1 = text.match_indices("v1=").any(|(at, _)| {
        let rest: String = text[at + 3..].chars().take(64).collect();
        digits(rest.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap_or_default())
    });
    v1 || text.contains("whsec_") || text.contains(SECRET)
}

#[test]
fn signatures_and_secrets_are_masked_unless_reveal() {
    let home = three_captures();
    let recorder = Recorder::of(&[200]);
    let to = recorder.url("/");
    let file = home.path().join("out");
    let path = file.display().to_string();
    let commands: &[&[&str]] = &[
        &["events", "list", "--output", "json"],
        &["events", "show", "1"],
        &["events", "show", "1", "--output", "csv"],
        &["events", "tail", "--count", "3"],
        &["events", "diff", "1", "2", "--output", "table"],
        &["events", "diff", "1", "2", "--output", "json"],
        &["events", "export", "1", "2", "3", "--as", "http"],
        &["events", "export", "1", "2", "3", "--as", "curl"],
        &["events", "export", "1", "2", "3", "--as", "har"],
        &["events", "export", "1", "2", "3", "--as", "ndjson", "-o", &path],
        &[
            "replay",
            "1",
            "2",
            "3",
            "--to",
            "4242",
            "--export",
            "curl",
            "--secret-file",
            "secret.txt",
        ],
        &["replay", "1", "2", "3", "--to", "4242", "--export", "http", "--keep-signature"],
        &["replay", "1", "--to", &to, "--secret-file", "secret.txt", "-vvv"],
    ];
    for command in commands {
        let said = home.run(&[&["webhook"], *command].concat());
        assert_eq!(said.code, Some(0), "{command:?}: {}", said.stderr);
        for text in [&said.stdout, &said.stderr] {
            assert!(!has_secret_or_signature(text), "{command:?}: {text}");
        }
    }
    assert!(!has_secret_or_signature(&std::fs::read_to_string(&file).unwrap()));
    for command in [
        &["events", "show", "1", "--reveal"][..],
        &["events", "export", "1", "--as", "curl", "--reveal"],
        &["replay", "1", "--to", "4242", "--export", "http", "--keep-signature", "--reveal"],
    ] {
        let shown = home.succeed(&[&["webhook"], command].concat());
        assert!(
            has_secret_or_signature(&shown) && !shown.contains("whsec_"),
            "{command:?}: {shown}"
        );
    }
}

#[test]
fn credentials_of_requests_are_masked_unless_reveal() {
    const CREDENTIAL: &str = "of-somebody-0123";
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    let referer = format!("http://u:{CREDENTIAL}@a.example/b?sig={CREDENTIAL}");
    let headers: [(&str, &[u8]); 3] = [
        ("x-session", CREDENTIAL.as_bytes()),
        ("x-tenant-key", CREDENTIAL.as_bytes()),
        ("referer", referer.as_bytes()),
    ];
    for more in ["1", "2"] {
        let target = format!("/hook?a=1&access_token={CREDENTIAL}{more}");
        assert_eq!(listener.send(&target, &headers, body("sub_1", "Ada").as_bytes()), 200);
    }
    assert_eq!(listener.end(), Some(0));
    let file = home.path().join("out");
    let path = file.display().to_string();
    for command in [
        &["events", "list", "--output", "json"][..],
        &["events", "show", "1"],
        &["events", "tail", "--count", "2"],
        &["events", "diff", "1", "2"],
        &["events", "export", "1", "--as", "http"],
        &["events", "export", "1", "--as", "curl"],
        &["events", "export", "1", "--as", "har"],
        &["events", "export", "1", "--as", "ndjson", "-o", &path],
        &[
            "replay",
            "1",
            "--to",
            "4242?key=of-somebody-0123",
            "--export",
            "curl",
            "--keep-signature",
        ],
    ] {
        let command = [&["webhook"], command].concat();
        let said = home.run(&command);
        assert_eq!(said.code, Some(0), "{command:?}: {}", said.stderr);
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        for text in [&said.stdout, &said.stderr, &written] {
            assert!(!text.contains(CREDENTIAL), "{command:?}: {text}");
        }
        if !command.contains(&"list") && !command.contains(&"-o") {
            let shown = home.succeed(&[&command[..], &["--reveal"]].concat());
            assert!(shown.contains(CREDENTIAL), "{command:?}: {shown}");
        }
    }
    let diff = home.succeed(&["webhook", "events", "diff", "1", "2"]);
    assert!(diff.contains("access_token=…"), "a different token must be a difference: {diff}");
}

#[test]
fn failed_export_keeps_the_old_file() {
    let home = three_captures();
    let export = |args: &[&str]| home.run(&[&["webhook", "events", "export"], args].concat());
    let har = home.path().join("all.har");
    let path = har.display().to_string();
    let done = export(&["--last", "3", "--as", "har", "-o", &path]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""), "{}", done.stderr);
    let archive: Value = serde_json::from_slice(&std::fs::read(&har).unwrap()).unwrap();
    let entries = archive["log"]["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 3);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&har).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "only the owner can read the file");
    }
    assert_eq!(entries[0]["request"]["postData"]["text"], body("sub_a1", "Ada"));
    assert_eq!(entries[2]["response"]["status"], 200);
    let gone = export(&["1", "99", "--as", "har", "-o", &path]);
    assert_eq!(gone.code, Some(3));
    let again: Value = serde_json::from_slice(&std::fs::read(&har).unwrap()).unwrap();
    assert_eq!(again, archive, "the old file stays");
    let lines = export(&["2", "1", "--as", "ndjson"]);
    let numbers: Vec<Value> =
        lines.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(numbers[0]["capture"], 2, "the captures are in the order of the arguments");
    let which = export(&["--as", "curl"]);
    assert_eq!(which.code, Some(2));
    assert!(which.stderr.contains("`--last 1`"), "{}", which.stderr);
    assert_eq!(export(&["1", "--as", "curl", "--json"]).code, Some(2));
}

#[test]
fn export_warns_of_masked_secrets() {
    let home = three_captures();
    let export = |args: &[&str]| home.run(&[&["webhook", "events", "export", "1"], args].concat());
    let curl = export(&["--as", "curl"]);
    assert!(curl.stdout.contains("curl "), "{}", curl.stdout);
    assert!(curl.stderr.contains("warning: signatures and secrets are masked"), "{}", curl.stderr);
    let http = export(&["--as", "http", "--reveal"]);
    assert!(http.stdout.starts_with("POST /hook HTTP/1.1\r\n"), "{}", http.stdout);
    assert_eq!(http.stderr, "");
}

#[test]
fn http_export_separates_requests() {
    let home = three_captures();
    let one = |number: &str| {
        home.succeed(&["webhook", "events", "export", number, "--as", "http", "--reveal"])
    };
    let both = home.succeed(&["webhook", "events", "export", "1", "2", "--as", "http", "--reveal"]);
    assert_eq!(both, format!("{}\n\n### capture 2\n{}", one("1"), one("2")));
    let replay = ["webhook", "replay", "1", "2", "--to", "4242", "--export", "http"];
    let signed = home.succeed(&[&replay[..], &["--keep-signature"]].concat());
    assert_eq!(signed.matches("\n\n### capture 2\nPOST / HTTP/1.1\r\n").count(), 1, "{signed}");
}

#[test]
fn http_export_warns_of_a_separator_in_a_body() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &["--on-invalid", "accept"]);
    let forged = "{}\n\n### capture 7\nDELETE http://localhost:1/forged HTTP/1.1\n";
    assert_eq!(listener.send("/hook", &[], forged.as_bytes()), 200);
    assert_eq!(listener.deliver(body("sub_a1", "Ada").as_bytes()), 200);
    assert_eq!(listener.end(), Some(0));
    let told = |numbers: &[&str], form| {
        let export = [&["webhook", "events", "export", "--as", form, "--reveal"], numbers].concat();
        let said = home.run(&export);
        said.stderr.contains("a body has a line that begins with `###`")
    };
    assert!(told(&["1", "2"], "http"));
    for (numbers, form) in [(&["2"][..], "http"), (&["1", "2"], "har"), (&["1", "2"], "curl")] {
        assert!(!told(numbers, form), "{numbers:?} {form}");
    }
}

#[test]
fn invalid_capture_number_is_exit_2_with_an_example() {
    let home = three_captures();
    for args in [
        &["events", "show", "abc"][..],
        &["events", "diff", "1", "abc"],
        &["verify", "--capture", "abc"],
        &["replay", "abc"],
    ] {
        let said = home.run(&[&["webhook"], args].concat());
        assert_eq!(said.code, Some(2), "{args:?}");
        let told = "expected the number of a capture, such as 17";
        assert!(said.stderr.contains(told) && said.stderr.contains("abc"), "{}", said.stderr);
    }
}

#[cfg(unix)]
#[test]
fn list_at_80_columns_has_status_and_submission() {
    let home = three_captures();
    let mut command = home.formsvc(&["webhook", "events", "list"]);
    command.env("TERM", "xterm-256color");
    let mut terminal = crate::terminal::Terminal::start(command, (80, 24));
    assert_eq!(terminal.finish(), Some(0));
    let screen = terminal.screen();
    let heading: Vec<&str> = screen.lines().next().unwrap().split_whitespace().collect();
    // Only the headings of narrow columns are truncated.
    assert_eq!(heading[..4], ["CAPTURE", "AT", "VERDICT", "STATUS"], "{screen}");
    assert!(heading[4].starts_with("SUBMISSI") && screen.contains("sub_a1"), "{screen}");
    assert!(screen.contains("s ago") || screen.contains("now"), "{screen}");
}

#[test]
fn empty_list_names_the_state_folder() {
    let home = Home::new();
    let nowhere = home.path().join("no/such/folder");
    let list =
        home.formsvc(&["webhook", "events", "list"]).env("FORMSVC_STATE_DIR", &nowhere).output();
    let said: Said = list.unwrap().into();
    assert_eq!(said.code, Some(0));
    let folder = nowhere.display().to_string();
    assert!(
        said.stderr.contains("does not exist") && said.stderr.contains(&folder),
        "{}",
        said.stderr
    );
    std::fs::create_dir_all(home.state()).unwrap();
    let there = home.run(&["webhook", "events", "list"]);
    assert!(there.stderr.contains(&home.state().display().to_string()), "{}", there.stderr);
}

#[test]
fn curl_export_sends_the_same_bytes() {
    if processes::command("curl").arg("--version").output().is_err() {
        // Without curl, the test does nothing.
        return;
    }
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    let bodies: [&[u8]; 4] =
        [b"@it's $(x) `y` \\n \"z\"\n", b"a\0b\xff\r\n", b"", "{\"a\":\"\u{9b}31m\"}".as_bytes()];
    let headers: [(&str, &[u8]); 4] =
        [("x-quote", b"it's $HOME"), ("x-empty", b""), ("x-latin", b"Zo\xeb"), ("x-two", b"1")];
    for body in bodies {
        assert_eq!(listener.send("/hook?a=[1]&b={2}", &headers, body), 200);
    }
    assert_eq!(listener.end(), Some(0));
    let recorder = Recorder::of(&[200]);
    for (number, body) in (1..).zip(bodies) {
        let number = number.to_string();
        let args = ["webhook", "events", "export", &number, "--as", "curl", "--reveal"];
        let command = home.formsvc(&args).output().unwrap().stdout;
        // The command is changed to send to the recorder, because the listener has ended.
        let (from, to) = (listener.address.as_bytes(), recorder.address.to_string());
        let at = command.windows(from.len()).position(|part| part == from).unwrap();
        let mut script = command[..at].to_vec();
        script.extend_from_slice(to.as_bytes());
        script.extend_from_slice(&command[at + from.len()..]);
        let mut shell = processes::command("sh");
        let child = shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &script).unwrap();
        assert!(child.wait().unwrap().success(), "{}", String::from_utf8_lossy(&script));
        let got = recorder.got();
        assert_eq!(got.body, body);
        assert_eq!(got.line, "POST /hook?a=[1]&b={2} HTTP/1.1");
        for (name, value) in headers {
            assert_eq!(got.header(name), Some(value), "{name}");
        }
        assert_eq!(got.names().len(), 9, "{:?}", got.names());
    }
}

#[test]
fn export_and_replay_keep_every_byte() {
    let home = Home::new();
    let listener = Listener::start(&home, &[]);
    let recorder = Recorder::of(&[200]);
    let value = prop::collection::vec(prop_oneof![Just(9_u8), 32..=126_u8, 128..=255_u8], 0..40);
    let value = value.prop_map(|value| value.trim_ascii().to_vec());
    let body = prop::collection::vec(any::<u8>(), 0..400);
    let number = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(24));
    let every = runner.run(&(value, body), |(value, body)| {
        prop_assert_eq!(listener.send("/a/../b?c=%20|", &[("x-any", &value)], &body), 200);
        number.set(number.get() + 1);
        let name = number.get().to_string();
        let args = ["webhook", "events", "export", &name, "--as", "http", "--reveal"];
        let message = home.formsvc(&args).output().unwrap().stdout;
        let end = message.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
        let (head, rest) = (&message[..end], &message[end + 4..]);
        prop_assert_eq!(rest, &body[..]);
        prop_assert!(head.starts_with(b"POST /a/../b?c=%20| HTTP/1.1\r\n"));
        let sent = [b"\r\nx-any: ", &value[..]].concat();
        prop_assert!(head.windows(sent.len()).any(|part| part == sent));
        let to = recorder.url("/hook");
        let replay = ["webhook", "replay", &name, "--to", &to, "--keep-signature"];
        prop_assert_eq!(home.run(&replay).code, Some(0));
        let got = recorder.got();
        prop_assert_eq!(&got.body, &body);
        prop_assert_eq!(got.header("x-any"), Some(&value[..]));
        Ok(())
    });
    every.unwrap();
}

#[test]
fn prune_counts_and_erases_captures() {
    let home = three_captures();
    let prune = |args: &[&str]| home.run(&[&["webhook", "events", "prune"], args].concat());
    assert_eq!(prune(&[]).code, Some(2));
    assert_eq!(prune(&["--older-than", "7"]).code, Some(2));
    let jq = ["--jq", "[.removed, .left]"];
    assert_eq!(prune(&[&["--older-than", "1h"], &jq[..]].concat()).stdout, "[0,3]\n");
    assert_eq!(prune(&[&["--all", "--dry-run"], &jq[..]].concat()).stdout, "[3,0]\n");
    assert_eq!(list_numbers(&home, &[]), "[3,2,1]");
    let piped: Value = serde_json::from_str(&prune(&["--all", "--dry-run"]).stdout).unwrap();
    assert_eq!(
        (&piped["removed"], &piped["dry_run"]),
        (&3.into(), &true.into()),
        "names in a pipe"
    );
    let told = prune(&["--all", "--dry-run", "--output", "table"]).stdout;
    assert!(told.contains("dry_run:      true"), "{told}");
    assert_eq!(prune(&[&["--all"], &jq[..]].concat()).stdout, "[3,0]\n");
    assert_eq!(list_numbers(&home, &[]), "[]");
    for entry in std::fs::read_dir(home.state().join("webhook")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(
            !bytes.windows(6).any(|part| part == b"sub_a1"),
            "bytes of a removed capture remain"
        );
    }
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(b"x"), 200);
    assert_eq!(listener.end(), Some(0));
    assert_eq!(list_numbers(&home, &[]), "[4]", "numbers are not reused");
}

#[test]
fn demo_has_captures_with_every_outcome() {
    let fates =
        succeed(&["--demo", "webhook", "events", "list", "--jq", "map([.verdict, .status])"]);
    for fate in ["signature_too_old", "signature_mismatch", "503", "502", "401"] {
        assert!(fates.contains(fate), "{fates}");
    }
    let pruned = run(&["--demo", "webhook", "events", "prune", "--all", "--jq", ".removed"]);
    assert_eq!((pruned.code, pruned.stdout.trim()), (Some(0), "7"), "{}", pruned.stderr);
}

#[test]
fn tail_warns_of_a_failed_expression_and_continues() {
    let home = three_captures();
    let tail = ["webhook", "events", "tail", "--count", "3", "--jq", ".body.event | length"];
    let said = home.run(&tail);
    assert_eq!((said.code, &*said.stdout), (Some(0), "18\n18\n0\n"), "{}", said.stderr);
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(b"[1]"), 200);
    assert_eq!(listener.end(), Some(0));
    let said = home.run(&[&tail[..4], &["4", "--jq", ".body.event"]].concat());
    let events = "submission.created\nsubmission.created\nnull\n";
    assert_eq!((said.code, &*said.stdout), (Some(0), events), "{}", said.stderr);
    let warning = "warning: capture 4: the jq expression failed: cannot index [1] with \"event\"\n";
    assert_eq!(said.stderr, warning);
    // A command that ends after its items still reports the failure with its exit code.
    let list = home.run(&["webhook", "events", "show", "4", "--jq", ".body.event"]);
    assert_eq!((list.code, &*list.stdout), (Some(2), ""), "{}", list.stderr);
}
