//! Whatever is sent: no panic, and nothing lost.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// One field of each kind, none required.
fn lenient() -> Fields {
    fields(
        r#"[{"label":"a","type":"text"},{"label":"b","type":"long_text"},{"label":"c","type":"email"},
            {"label":"d","type":"number"},{"label":"e","type":"date"},
            {"label":"f","type":"choice","choices":["x","y"]},
            {"label":"g","type":"multiple_choice","choices":["x","y"]},
            {"label":"h","type":"checkbox"}]"#,
    )
}

/// Values that some kind takes, and any others.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-+.0-9eE]{0,6}",
        "[ -~]{0,6}",
        Just("x".to_owned()),
        Just("on".to_owned()),
        Just("a@b".to_owned()),
        Just("2026-01-31".to_owned()),
        "[a\r\n\t]{0,4}",
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![6 => "[a-h]", 1 => any::<String>(), 1 => Just("_id".to_owned())]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Whether an answer says what was sent for it.
fn says(answer: Option<&Value>, sent: &str) -> bool {
    let typed = sent.replace("\r\n", "\n");
    match answer {
        None => typed.trim().is_empty(),
        Some(Value::String(text)) => *text == typed || *text == typed.trim(),
        Some(Value::Array(texts)) => typed.is_empty() || texts.contains(&Value::from(typed)),
        Some(Value::Bool(ticked)) => *ticked == ["on", "1", "yes", "true"].contains(&&*typed),
        // Compared as text elsewhere; here the digits are all there.
        Some(number @ Value::Number(_)) => number.is_number(),
        Some(_) => false,
    }
}

proptest! {
    #[test]
    fn any_bytes_are_judged(body: Vec<u8>) {
        for input in [Input::from_urlencoded(&body), Input::from_json(&body)].into_iter().flatten() {
            let _ = lenient().answer(&input);
            let _ = Fields::free().answer(&input);
            let _ = (input.is_trapped(), input.page_id());
        }
    }

    #[test]
    fn any_definitions_are_judged(json in "[\\[\\]{}:,\"a-z_0-9 ]{0,80}") {
        let _ = Fields::parse(&json);
    }

    #[test]
    fn what_is_accepted_says_all_that_was_sent(
        pairs in prop::collection::vec((name(), text()), 0..6)
    ) {
        let input = Input::from_pairs(pairs.clone()).unwrap();
        if let Ok(answers) = lenient().answer(&input) {
            let object: Value = answers.to().unwrap();
            for (name, sent) in pairs.iter().filter(|(name, _)| name != "_id") {
                prop_assert!(says(object.get(name), sent), "{name}={sent:?}: {}", answers.as_json());
            }
        }
    }

    #[test]
    fn a_number_that_is_accepted_has_the_digits_that_were_sent(digits in "-?[0-9]{1,25}(\\.[0-9]{1,9})?") {
        let input = Input::from_pairs(vec![("d".into(), digits.clone())]).unwrap();
        if let Ok(answers) = lenient().answer(&input) {
            prop_assert_eq!(answers.as_json(), format!(r#"{{"d":{digits},"h":false}}"#));
        }
    }

    #[test]
    fn free_forms_keep_every_pair(pairs in prop::collection::vec((any::<String>(), text()), 0..20)) {
        let input = Input::from_pairs(pairs.clone()).unwrap();
        let answers: Value = Fields::free().answer(&input).unwrap().to().unwrap();
        for (name, sent) in &pairs {
            let typed = Value::from(sent.replace("\r\n", "\n"));
            let kept = &answers[name];
            let among = kept.as_array().is_some_and(|list| list.contains(&typed));
            prop_assert!(*kept == typed || among, "{name:?} {sent:?}: {answers}");
        }
    }

    #[test]
    fn free_forms_keep_every_object(object in prop::collection::btree_map(any::<String>(), json_value(), 0..6)) {
        let text = Value::Object(object.into_iter().collect()).to_string();
        let input = Input::from_json(text.as_bytes()).unwrap();
        let answers = Fields::free().answer(&input).unwrap();
        prop_assert_eq!(answers.as_json(), text);
    }

    #[test]
    fn objects_with_the_names_of_fields_are_judged(
        members in prop::collection::vec((name(), json_value()), 0..6)
    ) {
        let members: Vec<_> =
            members.iter().map(|(name, value)| format!("{}:{value}", Value::from(&**name))).collect();
        let input = Input::from_json(format!("{{{}}}", members.join(",")).as_bytes()).unwrap();
        if let Ok(answers) = lenient().answer(&input) {
            prop_assert!(answers.to::<Value>().unwrap().is_object());
        }
    }

    #[test]
    fn urlencoding_is_undone_to_the_letter(pairs in prop::collection::vec((any::<String>(), any::<String>()), 1..6)) {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
        let input = Input::from_urlencoded(body.as_bytes()).unwrap();
        prop_assert_eq!(input, Input::from_pairs(pairs).unwrap());
    }
}
