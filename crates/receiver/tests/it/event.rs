//! Reading events from JSON.

use formsvc_receiver::{EventProblem, WebhookEvent};

use crate::support::CREATED;

const FIELDS: [&str; 6] = ["event", "submission_id", "form_id", "form_title", "data", "created_at"];

fn error(body: &str) -> (EventProblem, Option<&'static str>) {
    let error = WebhookEvent::from_json(body.to_owned()).unwrap_err();
    (error.problem(), error.field_name())
}

#[test]
fn submission_keeps_unknown_fields() {
    let body = CREATED.replacen('{', r#"{"later":[ 1e400 ],"#, 1);
    let event = WebhookEvent::from_json(body.clone()).unwrap();
    assert_eq!((event.as_json(), event.kind()), (&*body, "submission.created"));
    let WebhookEvent::SubmissionCreated(event) = event else { panic!("{event:?}") };
    assert_eq!((event.submission_id.as_str(), event.form_id.as_str()), ("sub_1", "frm_1"));
    assert_eq!((&*event.form_title, event.data.as_json()), ("Größe", r#"{"n":9007199254740993}"#));
    assert_eq!(event.created_at.as_str(), "2026-01-01T00:00:00.000Z");
    assert_eq!(event.as_json(), body);
}

#[test]
fn event_survives_serialization_byte_for_byte() {
    for body in [
        CREATED,
        r#"{"event":"form.closed","n":12345678901234567890.10,"a":{"a":1,"a":2}}"#,
        r#"{ "x" : [ ] , "event" : "submission.\u0063losed\u001b" }"#,
        &CREATED.replace("created\"", "updated\""),
    ] {
        let event = WebhookEvent::from_json(body.to_owned()).unwrap();
        assert_eq!(matches!(event, WebhookEvent::Unknown(_)), body != CREATED, "{body}");
        let stored = serde_json::to_string(&[&event]).unwrap();
        assert_eq!(stored, format!("[{body}]"));
        let [read]: [WebhookEvent; 1] = serde_json::from_str(&stored).unwrap();
        assert_eq!((read.as_json(), &read), (body, &event));
    }
}

#[test]
fn only_json_white_space_around_event_is_removed() {
    let event = WebhookEvent::from_json(format!("\r\n\t {CREATED}\n")).unwrap();
    assert_eq!(event.as_json(), CREATED);
    assert!(WebhookEvent::from_json(format!("\u{a0}{CREATED}")).is_err());
}

#[test]
fn body_that_is_not_an_event_is_refused() {
    use EventProblem::{MissingField, NotAnObject, NotJson, RepeatedField, Truncated};
    let array = r#"["submission.created","sub_1","frm_1","T",{},"2026-01-31T09:30:00.120Z"]"#;
    for (body, problem) in [
        ("", Truncated),
        ("nonsense", NotJson),
        ("null", NotAnObject),
        ("7", NotAnObject),
        (array, NotAnObject),
        (r#"{"event":"a","event":"b"}"#, RepeatedField),
        (r#"{"event":"a"} {}"#, NotJson),
        (r#"{"event":"a""#, Truncated),
        (&CREATED.replacen('{', r#"{"form_id":"a","#, 1), RepeatedField),
    ] {
        assert_eq!(error(body), (problem, None), "{body}");
    }
    assert_eq!(error("{}"), (MissingField, Some("event")));
    let invalid = WebhookEvent::from_json(b"{\"event\":\"a\",\n\"x\":\"\xff\"}".to_vec());
    let invalid = invalid.unwrap_err();
    assert_eq!((invalid.problem(), invalid.position()), (EventProblem::NotUtf8, Some((2, 6))));
}

#[test]
fn missing_or_invalid_field_is_named() {
    let object: serde_json::Value = serde_json::from_str(CREATED).unwrap();
    for field in FIELDS {
        let mut without = object.clone();
        without.as_object_mut().unwrap().remove(field).unwrap();
        let expected = (EventProblem::MissingField, Some(field));
        assert_eq!(error(&without.to_string()), expected);
        let mut invalid = object.clone();
        invalid[field] = 7.into();
        assert_eq!(error(&invalid.to_string()), (EventProblem::InvalidField, Some(field)));
    }
}

#[test]
fn error_and_debug_contain_no_text_of_the_body() {
    let secret = CREATED.replace("sub_1", "hunter2").replace("Größe", "hunter2");
    let mut bodies = vec![
        CREATED.replace("sub_1", "hunter\\u00002"),
        CREATED.replace("2026-01-01T00:00:00.000Z", "hunter2"),
        CREATED.replace("{\"n\"", "{hunter2"),
        CREATED.replacen('{', r#"{"hunter2":{"hunter2":[hunter2]},"#, 1),
        format!("{secret}hunter2"),
        "\"hunter2\"".to_owned(),
    ];
    bodies.extend((0..secret.len()).filter_map(|end| secret.get(..end)).map(str::to_owned));
    for body in bodies {
        let error = WebhookEvent::from_json(body.clone()).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains("hunter"), "{body}: {text}");
    }
    for body in [CREATED.replace("Größe", "hunter2"), r#"{"event":"x","a":"hunter2"}"#.into()] {
        let text = format!("{:?}", WebhookEvent::from_json(body).unwrap());
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn event_ids_are_any_text() {
    for id in ["q7/3=", "a b", "..", "\u{1b}[2J", &"x".repeat(9_000)] {
        let json = serde_json::to_string(id).unwrap();
        let body = CREATED.replace(r#""sub_1""#, &json).replace(r#""frm_1""#, &json);
        let event = WebhookEvent::from_json(body).unwrap();
        let WebhookEvent::SubmissionCreated(event) = event else { panic!("{event:?}") };
        assert_eq!((event.submission_id.as_str(), event.form_id.as_str()), (id, id));
    }
}

#[test]
fn deeply_nested_body_does_not_overflow_the_stack() {
    let deep = "[".repeat(500_000) + &"]".repeat(500_000);
    let unknown = format!(r#"{{"event":"form.closed","x":{deep}}}"#);
    assert_eq!(WebhookEvent::from_json(unknown.clone()).unwrap().as_json(), unknown);
    assert!(WebhookEvent::from_json(unknown.replace("]]", "]")).is_err());
    assert!(WebhookEvent::from_json(format!(r#"{{"event":{deep}}}"#)).is_err());
    assert!(WebhookEvent::from_json(CREATED.replace("9007199254740993", &deep)).is_ok());
}
