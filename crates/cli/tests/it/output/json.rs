//! `--json`, `--jq`, `--template`

use std::io::Read;
use std::process::Stdio;

use super::{titled, window};
use crate::support::{Canned, Said, formsvc, one_form, page, run};
use crate::terminal::{CTRL_C, Terminal};

/// A service with one submission. A floating point number cannot represent its numbers exactly.
fn exact() -> Canned {
    let answers = r#"{"n":12345678901234567890,"d":1.10,"s":"a\tb, \"c\"","l":[1,  2]}"#;
    let row =
        format!(r#"{{"id":"sub_1","data":{answers},"created_at":"2026-01-01T00:00:00.000Z"}}"#);
    Canned::start(vec![one_form(), page(&row, None)])
}

fn list(more: &[&str]) -> Said {
    exact().run(&[&["submissions", "list", "survey"], more].concat())
}

#[track_caller]
fn succeed_list(more: &[&str]) -> String {
    let said = list(more);
    assert_eq!(said.code, Some(0), "{more:?}: {}", said.stderr);
    said.stdout
}

#[test]
fn json_without_fields_lists_them_without_request() {
    // Neither a base URL nor a key is set, so a request would fail.
    for (command, fields) in [
        (&["me"][..], "id\nemail\nname\n"),
        (&["submissions", "list", "x"], "id\ncreated_at\ndata\n"),
    ] {
        let said = run(&[command, &["--json"]].concat());
        assert_eq!((said.code, &*said.stdout, &*said.stderr), (Some(0), fields, ""));
    }
}

#[test]
fn invalid_json_jq_or_template_is_exit_2_without_request() {
    for (flags, told) in [
        (&["--json", "titel"][..], "did you mean `title`?"),
        (&["--json", "title", "--jq", ".[", "-q"], "invalid jq expression"),
        (&["--jq", "nope"], "there is no filter `nope/0`"),
        (&["--template", "{{ "], "invalid template in line 1"),
        (&["--template", "{{ titel }}"], "did you mean `title`?"),
        (&["--jq", ".", "--template", "x"], "`--jq` and `--template` cannot be used together"),
        (&["--jq", ".", "--output", "csv"], "`--jq` and `--output` cannot be used together"),
        (&["--template", "x", "--output", "json"], "`--template` and `--output`"),
    ] {
        let said = run(&[&["forms", "list"], flags].concat());
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{flags:?}: {}", said.stderr);
        assert!(said.stderr.contains(told), "{flags:?}: {}", said.stderr);
    }
}

#[test]
fn terminal_json_is_indented_with_exact_literals() {
    let service = exact();
    let mut terminal =
        window(service.formsvc(&["submissions", "list", "survey", "--output", "json"]), (80, 24));
    assert_eq!(terminal.finish(), Some(0));
    let screen = terminal.screen();
    let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
    for line in ["[", "  {", r#"      "n": 12345678901234567890,"#, r#"      "d": 1.10,"#, "]"] {
        assert!(lines.contains(&line), "{line}: {screen}");
    }
}

#[test]
fn json_fields_are_in_order_with_exact_literals() {
    assert_eq!(
        succeed_list(&["--json", "data.n,id,data.d,data.l,data.gone"]),
        "[\n{\"data.n\":12345678901234567890,\"id\":\"sub_1\",\"data.d\":1.10,\"data.l\":[1,  2],\"data.gone\":null}\n]\n"
    );
    assert_eq!(
        succeed_list(&["--json", "data.d,id", "--output", "ndjson"]),
        "{\"data.d\":1.10,\"id\":\"sub_1\"}\n"
    );
    assert_eq!(
        succeed_list(&["--json", "data.s,data.n", "--output", "csv"]),
        "data.s,data.n\n\"a\tb, \"\"c\"\"\",12345678901234567890\n"
    );
    assert_eq!(
        succeed_list(&["--json", "data.s,data.n", "--output", "tsv"]),
        "a\\tb, \"c\"\t12345678901234567890\n"
    );
    let table = succeed_list(&["--json", "data.n,id", "--output", "table"]);
    assert_eq!(table, "              DATA.N  ID\n12345678901234567890  sub_1\n");
}

#[test]
fn jq_and_template_receive_the_list() {
    assert_eq!(
        succeed_list(&["--jq", ".[] | .data.n, .data.d, .data.s"]),
        "12345678901234567890\n1.10\na\tb, \"c\"\n"
    );
    assert_eq!(succeed_list(&["--json", "id", "--jq", "."]), "[{\"id\":\"sub_1\"}]\n");
    let each = "{% for it in items %}{{ it.id }} {{ it.data.n }} {{ it.data.d }}{% endfor %}";
    assert_eq!(succeed_list(&["--template", each]), "sub_1 12345678901234567890 1.10\n");
    for template in ["{{ id }}", "{{ data }}", "{{ item }}"] {
        let said = exact().run(&["submissions", "list", "survey", "--template", template]);
        let hint = "loop: `{% for s in items %}{{ s.id }}{% endfor %}`";
        assert!(said.stderr.contains(hint), "{}", said.stderr);
    }
    let powers = "{{ 2.0 ** 0.5 }} {{ 2 ** -1 }} {{ 10.0 ** 400 }} {{ (-1.0) ** 0.5 }}";
    assert_eq!(succeed_list(&["--template", powers]), "1.4142135623730951 0.5 inf NaN\n");
    let item = titled(&["One"]).run(&[
        "forms",
        "view",
        "form0",
        "--template",
        "{{ title }}|{{ item.id }}",
    ]);
    assert_eq!(item.stdout, format!("One|frm_{}\n", "0".repeat(32)));
}

#[test]
fn failing_jq_is_exit_2_after_its_first_results() {
    let said = list(&["--jq", "1, error(\"no\")"]);
    assert_eq!((said.code, &*said.stdout), (Some(2), "1\n"));
    assert!(said.stderr.contains("cause: no\n"), "{}", said.stderr);
}

#[test]
fn endless_expression_ends_after_ctrl_c() {
    let service = titled(&["x"]);
    let expression = "\"begun\", (def f: f; f)";
    let mut terminal = window(service.formsvc(&["forms", "list", "--jq", expression]), (80, 24));
    terminal.wait_for("begun");
    terminal.send(CTRL_C);
    assert_eq!(terminal.finish(), Some(130));
    terminal.assert_restored();
}

#[test]
fn endless_expression_ends_after_closed_pipe() {
    let service = titled(&["x"]);
    let mut command = service.formsvc(&["forms", "list", "--jq", "repeat(1)"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut some = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!((said.code, &*said.stderr, &some), (Some(0), "", b"1\n1\n"), "{said:?}");
}

#[test]
fn jq_cannot_read_the_environment() {
    for code in ["env", "$ENV", "env.FORMSVC_API_KEY"] {
        let said = list(&["--jq", code]);
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{code}: {}", said.stderr);
    }
}

#[test]
fn template_cannot_include_files() {
    for template in ["{% include '/etc/hostname' %}", "{% extends '/etc/hostname' %}"] {
        let said = formsvc(&["--demo", "me", "--template", template]).output().unwrap();
        assert_eq!((said.status.code(), &*said.stdout), (Some(2), &b""[..]), "{template}");
    }
}

#[test]
fn label_of_no_item_is_a_warning() {
    let list = ["--demo", "submissions", "list", "penguins", "-L", "2"];
    let said = run(&[&list[..], &["--json", "id,data.Species,data.species"]].concat());
    let told = "warning: none of the items has `data.Species`\n";
    assert_eq!((said.code, &*said.stderr), (Some(0), told));
    assert!(said.stdout.contains("\"data.Species\":null"), "{}", said.stdout);
    let quiet = run(&[&list[..], &["--json", "data.Species", "--quiet"]].concat());
    assert_eq!((quiet.code, &*quiet.stderr), (Some(0), ""));
}

#[test]
fn json_on_a_terminal_keeps_repeated_members() {
    let row =
        r#"{"id":"sub_1","data":{"a":1.50,"a":"\u00e9"},"created_at":"2026-01-01T08:00:00.000Z"}"#;
    let service = Canned::start(vec![one_form(), page(row, None)]);
    let list = ["submissions", "list", "survey", "--output", "json", "--no-pager"];
    let mut terminal = Terminal::start(service.formsvc(&list), (100, 40));
    assert_eq!(terminal.finish(), Some(0));
    let screen = terminal.screen();
    assert!(screen.contains("\"a\": 1.50,"), "{screen}");
    assert!(screen.contains(r#""a": "\u00e9""#), "{screen}");
}

#[test]
fn long_values_are_whole_in_json_and_ndjson() {
    let long = "x".repeat(5_000);
    let row = format!(
        r#"{{"id":"sub_1","data":{{"a":"{long}"}},"created_at":"2026-01-01T08:00:00.000Z"}}"#
    );
    for format in ["json", "ndjson"] {
        let service = Canned::start(vec![one_form(), page(&row, None)]);
        let mut list = service.formsvc(&["submissions", "list", "survey", "--output", format]);
        let said = Said::from(list.env("COLUMNS", "40").output().unwrap());
        assert!(said.stdout.contains(&row), "{format}: {}", said.stderr);
    }
}
