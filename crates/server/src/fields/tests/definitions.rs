//! Definitions, good and bad.

use super::*;

/// One field of every kind, with every option.
const ALL: &str = r#"[
    {"label":"Name","type":"text","required":true,"help":"As on your passport","max_length":80},
    {"label":"Message","type":"long_text","max_length":500},
    {"label":"E-mail","type":"email"},
    {"label":"Amount","type":"number","min":-1.50,"max":1e3},
    {"label":"Day","type":"date","min":"2026-01-01","max":"2026-12-31"},
    {"label":"Size","type":"choice","choices":["S","M","L"]},
    {"label":"Colours","type":"multiple_choice","choices":["red","green"]},
    {"label":"Terms","type":"checkbox","required":true}
]"#;

#[test]
fn every_kind_is_read_and_printed_back_to_the_same() {
    let all = fields(ALL);
    let printed = all.to_json().unwrap();
    assert_eq!(fields(&printed), all);
    assert_eq!(fields(&printed).to_json().unwrap(), printed);
    let kinds: Vec<_> = all.defined().unwrap().iter().map(|field| field.kind.name()).collect();
    assert_eq!(kinds, KINDS.map(|row| row.name));
    assert!(printed.contains(r#""min":-1.50,"max":1e3"#), "digits are kept: {printed}");
}

#[test]
fn a_refusal_names_place_value_and_rule() {
    for (json, said) in [
        ("{}", "the fields: `{}` is not a JSON array of fields"),
        ("[]", "the fields: `0` is the number of fields"),
        ("", "the fields: `0` bytes are no JSON array of fields"),
        (r#"{"label":"A"}"#, r#"`{"label":"A"}` is not a JSON array of fields"#),
        ("[\n{]", "is no JSON at line 2, column 2"),
        (
            r#"[{"label":"A","type":"choice","choices":0}]"#,
            "`0` is no `choices`: it must be a list of texts",
        ),
        (r#"[{"label":"A","type":"choice","choices":["a",1]}]"#, r#"`["a",1]` is no `choices`"#),
        (r#"[{"label":7,"type":"text"}]"#, "field 1: `7` is no `label`: it must be a text"),
        (r#"[{"label":"A","type":"text","required":"yes"}]"#, "it must be true or false"),
        ("[1]", "field 1: `1` is no field: it must be an object with `label` and `type`"),
        (r#"[{"type":"text"}]"#, "is no field: it has no `label`"),
        (r#"[{"label":"A"}]"#, "is no field: it has no `type`"),
        (
            r#"[{"label":"A","type":"text","placeholder":""}]"#,
            "field 1: `placeholder` is no key of a field",
        ),
        (r#"[{"label":"A","label":"A","type":"text"}]"#, "is no field: it has a key twice"),
        (r#"[{"label":" ","type":"text"}]"#, "field 1: ` ` is no label: it cannot be blank"),
        (r#"[{"label":"a\nb","type":"text"}]"#, r"field 1: `a\nb` is no label"),
        (r#"[{"label":"_gotcha","type":"text"}]"#, "field 1: `_gotcha` is no label"),
        (r#"[{"label":"_id","type":"text"}]"#, "field 1: `_id` is no label"),
        (r#"[{"label":"A","type":"file"}]"#, "field 1 (`A`): `file` is no type: text, long_text"),
        (r#"[{"label":"A","type":"text","help":""}]"#, "field 1 (`A`): `` is no help"),
        (
            r#"[{"label":"A","type":"text","max_length":0}]"#,
            "field 1 (`A`): `0` is no `max_length`",
        ),
        (r#"[{"label":"A","type":"text","max_length":200001}]"#, "`200001` is no `max_length`"),
        (
            r#"[{"label":"A","type":"text","max_length":-1}]"#,
            "field 1: `-1` is no `max_length`: it must be a whole number",
        ),
        (r#"[{"label":"A","type":"text","min":1}]"#, "`min` is no option of the type `text`"),
        (r#"[{"label":"A","type":"email","max_length":1}]"#, "`max_length` is no option of the"),
        (r#"[{"label":"A","type":"number","min":"x"}]"#, "`x` must be a number"),
        (r#"[{"label":"A","type":"number","min":2,"max":1}]"#, "`2` is a `min` above `max`"),
        (r#"[{"label":"A","type":"date","max":"2026-02-30"}]"#, "`2026-02-30` must be a day"),
        (r#"[{"label":"A","type":"choice"}]"#, "`0` is the number of `choices`"),
        (r#"[{"label":"A","type":"choice","choices":["a","a"]}]"#, "`a` is a choice already"),
        (r#"[{"label":"A","type":"choice","choices":[""]}]"#, "`` is no choice"),
        (
            r#"[{"label":"A","type":"text"},{"label":"A","type":"email"}]"#,
            "field 2: `A` is the label of field 1 already",
        ),
    ] {
        let error = Fields::parse(json).unwrap_err().to_string();
        assert!(error.contains(said), "{json}: {error}");
        for word in ["invalid", "expected", "sequence", "missing"] {
            assert!(!error.contains(word), "in our words: {error}");
        }
        // Of a field, or the line would be counted from its beginning.
        assert!(!error.starts_with("field") || !error.contains("line 1"), "{error}");
    }
}

#[test]
fn a_form_has_bounds() {
    let of = |count: usize| {
        let fields: Vec<_> =
            (0..count).map(|n| format!(r#"{{"label":"{n}","type":"text"}}"#)).collect();
        Fields::parse(&format!("[{}]", fields.join(",")))
    };
    assert!(of(FIELDS_MAX).is_ok());
    assert!(of(FIELDS_MAX + 1).unwrap_err().to_string().contains("`201` is the number of fields"));
    let choices = |count: usize| {
        let choices: Vec<_> = (0..count).map(|n| format!("\"{n}\"")).collect();
        let choices = choices.join(",");
        Fields::parse(&format!(r#"[{{"label":"A","type":"choice","choices":[{choices}]}}]"#))
    };
    assert!(choices(500).is_ok());
    assert!(choices(501).is_err());
    let label = |length: usize| {
        Fields::parse(&format!(r#"[{{"label":"{}","type":"text"}}]"#, "é".repeat(length)))
    };
    assert!(label(LABEL_MAX).is_ok());
    assert!(label(LABEL_MAX + 1).is_err());
    let spaces = " ".repeat(DEFINITIONS_MAX);
    assert!(Fields::parse(&format!("{spaces}[]")).unwrap_err().to_string().contains("bytes"));
}

#[test]
fn hostile_definitions_are_told_harmlessly() {
    let long = format!(r#"[{{"label":"A","type":"\u001b[31m{}"}}]"#, "x".repeat(5_000));
    let error = Fields::parse(&long).unwrap_err().to_string();
    assert!(error.len() < 300 && !error.contains('\u{1b}'), "{error}");
}
