//! What each kind takes, and what it becomes.

use super::*;

/// A form of one field.
fn one(definition: &str) -> Fields {
    fields(&format!(r#"[{{"label":"A",{definition}}}]"#))
}

#[test]
fn answers_come_in_the_order_of_the_form() {
    let form = fields(
        r#"[{"label":"z","type":"text"},{"label":"a","type":"checkbox"},{"label":"m","type":"number"}]"#,
    );
    let answers = r#"{"z":"1","a":true,"m":2.50}"#;
    assert_eq!(sent(&form, "m=2.50&a=on&z=1").unwrap(), answers);
    assert_eq!(sent_json(&form, r#"{"m":2.50,"a":true,"z":"1"}"#).unwrap(), answers);
}

#[test]
fn what_is_not_answered_is_left_out_and_a_box_is_false() {
    let form = fields(
        r#"[{"label":"t","type":"text"},{"label":"l","type":"long_text"},{"label":"e","type":"email"},
            {"label":"n","type":"number"},{"label":"d","type":"date"},
            {"label":"c","type":"choice","choices":["x"]},
            {"label":"m","type":"multiple_choice","choices":["x"]},{"label":"b","type":"checkbox"}]"#,
    );
    assert_eq!(sent(&form, "").unwrap(), r#"{"b":false}"#);
    assert_eq!(sent(&form, "t=&l=&e=&n=&d=&c=&m=&b=").unwrap(), r#"{"b":false}"#);
    assert_eq!(sent_json(&form, "{}").unwrap(), r#"{"b":false}"#);
    let nulls = r#"{"t":null,"l":null,"e":null,"n":null,"d":null,"c":null,"m":null,"b":null}"#;
    assert_eq!(sent_json(&form, nulls).unwrap(), r#"{"b":false}"#);
    assert_eq!(sent_json(&form, r#"{"t":"","m":[],"n":""}"#).unwrap(), r#"{"b":false}"#);
}

#[test]
fn what_is_required_must_be_answered() {
    for (definition, rule) in [
        (r#""type":"text""#, "needs an answer"),
        (r#""type":"long_text""#, "needs an answer"),
        (r#""type":"email""#, "needs an answer"),
        (r#""type":"number""#, "needs an answer"),
        (r#""type":"date""#, "needs an answer"),
        (r#""type":"choice","choices":["x"]"#, "needs a choice"),
        (r#""type":"multiple_choice","choices":["x"]"#, "needs at least one choice"),
        (r#""type":"checkbox""#, "must be ticked"),
    ] {
        let form = one(&format!(r#"{definition},"required":true"#));
        for body in ["", "A="] {
            assert_eq!(sent(&form, body).unwrap_err(), [format!("A {rule}")], "{definition}");
        }
        assert_eq!(sent_json(&form, r#"{"A":null}"#).unwrap_err(), [format!("A {rule}")]);
    }
    let text = one(r#""type":"text","required":true"#);
    assert!(sent(&text, "A=+%09").is_err(), "white space is no answer");
    assert_eq!(sent(&one(r#""type":"text""#), "A=+%09").unwrap(), "{\"A\":\" \\t\"}");
}

#[test]
fn text_is_kept_to_the_character() {
    let form = one(r#""type":"long_text""#);
    let body = "A=%20%22a%5C%22+%3Cb%3E%0D%0A%E2%80%AE%F0%9F%98%80%0D%0A";
    assert_eq!(
        sent(&form, body).unwrap(),
        serde_json::json!({"A": " \"a\\\" <b>\n\u{202e}😀\n"}).to_string()
    );
    assert_eq!(sent_json(&form, r#"{"A":"\u0041\n\/"}"#).unwrap(), r#"{"A":"A\n/"}"#);
    assert!(sent(&form, "A=%00").unwrap_err()[0].contains("U+0000"));
    assert!(sent_json(&form, r#"{"A":"a\rb"}"#).unwrap_err()[0].contains("U+000D"));
    assert_eq!(sent(&one(r#""type":"text""#), "A=a%0D%0Ab").unwrap_err(), ["A takes one line"]);
}

#[test]
fn length_is_counted_in_characters_after_line_breaks_are_one() {
    let form = one(r#""type":"long_text","max_length":3"#);
    assert_eq!(sent(&form, "A=a%0D%0A%C3%A9").unwrap(), r#"{"A":"a\né"}"#);
    assert_eq!(sent(&form, "A=abcd").unwrap_err(), ["A takes at most 3 characters, not 4"]);
}

#[test]
fn numbers_keep_their_digits() {
    let form = one(r#""type":"number""#);
    for digits in
        ["1.5", "-2", "1e5", "0", "-0", "1.50", "1E+2", "1e300", "123456789012345678901.10"]
    {
        let wanted = format!(r#"{{"A":{digits}}}"#);
        assert_eq!(sent(&form, &format!("A={}", digits.replace('+', "%2B"))).unwrap(), wanted);
        assert_eq!(sent_json(&form, &wanted).unwrap(), wanted);
        assert_eq!(sent_json(&form, &format!(r#"{{"A":" {digits}\n"}}"#)).unwrap(), wanted);
    }
    for bad in [".5", "%2B1", "0x1", "1,5", "1.", "007", "NaN", "Infinity", "1 000", "ten", "1e"] {
        let refused = sent(&form, &format!("A={bad}")).unwrap_err();
        assert_eq!(refused, ["A must be a number, such as -12.5"], "{bad}");
    }
    for bad in ["1e309", "-1E+400"] {
        let rule = "must be a number within the range of a 64-bit float (about ±1.8e308)";
        assert_eq!(
            sent_json(&form, &format!(r#"{{"A":{bad}}}"#)).unwrap_err(),
            [format!("A {rule}")]
        );
    }
    for bad in ["true", "{}", "[1]", r#""a""#] {
        assert!(sent_json(&form, &format!(r#"{{"A":{bad}}}"#)).is_err(), "{bad}");
    }
}

#[test]
fn bounds_are_of_the_exact_value() {
    let form = one(r#""type":"number","min":0.1,"max":1e2"#);
    for good in ["0.1", "0.10", "100", "1e-1", "99.99999999999999999999"] {
        assert!(sent(&form, &format!("A={good}")).is_ok(), "{good}");
    }
    for bad in ["0.09999999999999999999", "100.00000000000000000001", "-1", "1e300"] {
        let refused = sent(&form, &format!("A={bad}")).unwrap_err();
        assert_eq!(refused, ["A must be from 0.1 to 1e2"], "{bad}");
    }
    let least = one(r#""type":"number","min":18"#);
    assert_eq!(sent(&least, "A=17").unwrap_err(), ["A must be 18 or more"]);
    let days = one(r#""type":"date","max":"2026-12-31""#);
    assert_eq!(sent(&days, "A=2026-12-31").unwrap(), r#"{"A":"2026-12-31"}"#);
    assert_eq!(sent(&days, "A=2027-01-01").unwrap_err(), ["A must be 2026-12-31 or earlier"]);
    assert!(sent(&days, "A=2026-02-29").unwrap_err()[0].contains("must be a day"));
}

#[test]
fn an_address_is_trimmed_and_has_a_shape() {
    let form = one(r#""type":"email""#);
    assert_eq!(sent(&form, "A=+a%40b.example+").unwrap(), r#"{"A":"a@b.example"}"#);
    assert!(sent(&form, "A=nobody").unwrap_err()[0].contains("must be an e-mail address"));
}

#[test]
fn choices_are_those_of_the_form() {
    let one_of = one(r#""type":"choice","choices":["S","M \"x\""]"#);
    assert_eq!(sent(&one_of, "A=M+%22x%22").unwrap(), r#"{"A":"M \"x\""}"#);
    assert_eq!(sent(&one_of, "A=s").unwrap_err(), ["A must be one of the choices"]);
    assert_eq!(sent(&one_of, "A=S&A=S").unwrap_err(), ["A takes one value, and several were sent"]);
    let any_of = one(r#""type":"multiple_choice","choices":["S","M","L"]"#);
    assert_eq!(sent(&any_of, "A=S").unwrap(), r#"{"A":["S"]}"#);
    assert_eq!(sent(&any_of, "A=L&A=&A=S").unwrap(), r#"{"A":["L","S"]}"#);
    assert_eq!(sent_json(&any_of, r#"{"A":["L","S"]}"#).unwrap(), r#"{"A":["L","S"]}"#);
    assert_eq!(sent_json(&any_of, r#"{"A":"L"}"#).unwrap(), r#"{"A":["L"]}"#);
    assert_eq!(sent(&any_of, "A=S&A=X").unwrap_err(), ["A must be among the choices"]);
    assert_eq!(sent(&any_of, "A=S&A=S").unwrap_err(), ["A takes each choice once"]);
    for bad in ["{}", "1", "[1]", r#"[["S"]]"#] {
        assert!(sent_json(&any_of, &format!(r#"{{"A":{bad}}}"#)).is_err(), "{bad}");
    }
}

#[test]
fn a_box_is_true_or_false() {
    let form = one(r#""type":"checkbox""#);
    for (value, ticked) in [("on", true), ("1", true), ("yes", true), ("off", false), ("0", false)]
    {
        assert_eq!(sent(&form, &format!("A={value}")).unwrap(), format!(r#"{{"A":{ticked}}}"#));
    }
    assert_eq!(sent_json(&form, r#"{"A":true}"#).unwrap(), r#"{"A":true}"#);
    assert_eq!(sent(&form, "A=maybe").unwrap_err(), ["A must be true or false"]);
    assert!(sent(&form, "A=on&A=on").is_err());
    assert!(sent_json(&form, r#"{"A":1}"#).is_err());
}

#[test]
fn one_value_is_one() {
    for kind in ["text", "long_text", "email", "number", "date"] {
        let form = one(&format!(r#""type":"{kind}""#));
        assert_eq!(
            sent(&form, "A=1&A=2").unwrap_err(),
            ["A takes one value, and several were sent"],
            "{kind}"
        );
        for bad in ["{}", "[[]]", "true", r#""\ud800""#] {
            assert!(sent_json(&form, &format!(r#"{{"A":{bad}}}"#)).is_err(), "{kind} {bad}");
        }
    }
    let text = one(r#""type":"text""#);
    assert_eq!(sent_json(&text, r#"{"A":1}"#).unwrap_err(), ["A must be text"]);
    assert_eq!(sent_json(&text, r#"{"A":"1","A":"2"}"#).unwrap_err(), ["A must be text"]);
}

#[test]
fn every_field_that_fails_is_told_in_the_order_of_the_form_then_strangers() {
    let form = fields(
        r#"[{"label":"a","type":"text","required":true},{"label":"b","type":"number"},
            {"label":"c","type":"email"}]"#,
    );
    let input = Input::from_urlencoded(b"y=1&c=d&x=2&b=e&y=3&_gotcha=&_id=7").unwrap();
    let errors = form.answer(&input).unwrap_err();
    let told: Vec<_> = errors.fields().iter().map(|error| (&*error.field, error.place)).collect();
    assert_eq!(told, [("a", Some(0)), ("b", Some(1)), ("c", Some(2)), ("y", None), ("x", None)]);
    assert_eq!(errors.fields()[3].rule, "is no field of this form");
}

#[test]
fn strangers_are_told_harmlessly_and_not_all_of_them() {
    let form = one(r#""type":"text""#);
    let names: Vec<_> = (0..1_000).map(|n| format!("%1b{}{n}=", "x".repeat(100))).collect();
    let told = sent(&form, &names.join("&")).unwrap_err();
    assert_eq!(told.len(), 20);
    assert!(told.iter().all(|name| name.len() < 120 && !name.contains('\u{1b}')), "{told:?}");
}
