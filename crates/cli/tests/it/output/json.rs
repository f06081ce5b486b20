//! `--json`, `--jq`, `--template`

use std::io::Read;
use std::process::Stdio;

use super::{titled, window};
use crate::support::{Canned, Said, formsvc, one_form, page, run};
use crate::terminal::CTRL_C;

/// A form with one submission, whose numbers no floating point number keeps.
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
fn shown(more: &[&str]) -> String {
    let said = list(more);
    assert_eq!(said.code, Some(0), "{more:?}: {}", said.stderr);
    said.stdout
}

#[test]
fn json_without_fields_lists_them_and_asks_nothing() {
    // There is no address and no key: whoever asks the service fails.
    for (command, fields) in [
        (&["me"][..], "id\nemail\nname\n"),
        (&["submissions", "list", "x"], "id\ncreated_at\ndata\n"),
    ] {
        let said = run(&[command, &["--json"]].concat());
        assert_eq!((said.code, &*said.stdout, &*said.stderr), (Some(0), fields, ""));
    }
}

#[test]
fn what_cannot_be_meant_is_exit_2_before_any_request() {
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
fn on_a_terminal_it_is_laid_out_with_each_literal_as_it_was_sent() {
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
fn fields_come_in_order_with_the_text_they_were_sent_with() {
    assert_eq!(
        shown(&["--json", "data.n,id,data.d,data.l,data.gone"]),
        "[\n{\"data.n\":12345678901234567890,\"id\":\"sub_1\",\"data.d\":1.10,\"data.l\":[1,  2],\"data.gone\":null}\n]\n"
    );
    assert_eq!(
        shown(&["--json", "data.d,id", "--output", "ndjson"]),
        "{\"data.d\":1.10,\"id\":\"sub_1\"}\n"
    );
    assert_eq!(
        shown(&["--json", "data.s,data.n", "--output", "csv"]),
        "data.s,data.n\n\"a\tb, \"\"c\"\"\",12345678901234567890\n"
    );
    assert_eq!(
        shown(&["--json", "data.s,data.n", "--output", "tsv"]),
        "a\\tb, \"c\"\t12345678901234567890\n"
    );
    let table = shown(&["--json", "data.n,id", "--output", "table"]);
    assert_eq!(table, "              DATA.N  ID\n12345678901234567890  sub_1\n");
}

#[test]
fn expressions_and_templates_see_the_list() {
    assert_eq!(
        shown(&["--jq", ".[] | .data.n, .data.d, .data.s"]),
        "12345678901234567890\n1.10\na\tb, \"c\"\n"
    );
    assert_eq!(shown(&["--json", "id", "--jq", "."]), "[{\"id\":\"sub_1\"}]\n");
    let each = "{% for it in items %}{{ it.id }} {{ it.data.n }} {{ it.data.d }}{% endfor %}";
    assert_eq!(shown(&["--template", each]), "sub_1 12345678901234567890 1.10\n");
    let powers = "{{ 2.0 ** 0.5 }} {{ 2 ** -1 }} {{ 10.0 ** 400 }} {{ (-1.0) ** 0.5 }}";
    assert_eq!(shown(&["--template", powers]), "1.4142135623730951 0.5 inf NaN\n");
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
fn an_expression_that_fails_is_exit_2_with_what_it_made_before() {
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
fn an_endless_expression_ends_when_nobody_reads() {
    let service = titled(&["x"]);
    let mut command = service.formsvc(&["forms", "list", "--jq", "repeat(1)"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut some = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!((said.code, &*said.stderr, &some), (Some(0), "", b"1\n1\n"), "{said:?}");
}

#[test]
fn the_environment_is_not_for_expressions() {
    for code in ["env", "$ENV", "env.FORMSVC_API_KEY"] {
        let said = list(&["--jq", code]);
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{code}: {}", said.stderr);
    }
}

#[test]
fn nothing_is_included_into_a_template() {
    for template in ["{% include '/etc/hostname' %}", "{% extends '/etc/hostname' %}"] {
        let said = formsvc(&["--demo", "me", "--template", template]).output().unwrap();
        assert_eq!((said.status.code(), &*said.stdout), (Some(2), &b""[..]), "{template}");
    }
}

#[test]
fn a_label_that_nobody_has_is_said_to_be_none() {
    let list = ["--demo", "submissions", "list", "penguins", "-L", "2"];
    let said = run(&[&list[..], &["--json", "id,data.Species,data.species"]].concat());
    let told = "warning: none of the items has `data.Species`; did you mean `species`?\n";
    assert_eq!((said.code, &*said.stderr), (Some(0), told));
    assert!(said.stdout.contains("\"data.Species\":null"), "{}", said.stdout);
    let quiet = run(&[&list[..], &["--json", "data.Species", "--quiet"]].concat());
    assert_eq!((quiet.code, &*quiet.stderr), (Some(0), ""));
}
