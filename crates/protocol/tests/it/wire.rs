//! Compares the wire types with hand-written goldens.

use std::collections::BTreeSet;

use formsvc_protocol::{ErrorBody, ErrorCode, EventKind, Form, FormStatus, WebhookEvent};

use crate::fixtures;
use crate::json_tree::Json;
use crate::wire_types::{RoundTrip, WIRE_TYPES};

/// Returns a golden without its final line feed.
fn golden(name: &str) -> String {
    let text = fixtures::text(&format!("wire/{name}.json"));
    text.strip_suffix('\n').expect("a golden ends in one line feed").to_owned()
}

fn each_golden(mut check: impl FnMut(&str, &str, RoundTrip)) {
    for wire_type in WIRE_TYPES {
        for name in wire_type.goldens {
            check(
                &format!("{name} as {}", wire_type.structs[0]),
                &golden(name),
                wire_type.round_trip,
            );
        }
    }
}

#[test]
fn golden_round_trips_byte_for_byte() {
    each_golden(|name, text, round_trip| {
        assert_eq!(round_trip(text).as_deref(), Ok(text), "{name}");
    });
}

#[test]
fn tree_of_a_golden_prints_the_golden() {
    each_golden(|name, text, _| assert_eq!(Json::parse(text).print(), text, "{name}"));
}

#[test]
fn added_members_are_skipped_or_kept() {
    each_golden(|name, text, round_trip| {
        let tree = Json::parse(text);
        for object in tree.objects() {
            for at_end in [false, true] {
                let later = tree.with_object(object, |members| {
                    let at = if at_end { members.len() } else { 0 };
                    let value = Json::Leaf(r#"{"deep":[1e999,null,{}],"id":7}"#.to_owned());
                    members.insert(at, ("added_later".to_owned(), value));
                });
                let printed = later.print();
                let read =
                    round_trip(&printed).unwrap_or_else(|e| panic!("{name}: {printed}: {e}"));
                let read = Json::parse(&read);
                let without = read.objects().fold(read, |tree, object| {
                    tree.with_object(object, |members| members.retain(|m| m.0 != "added_later"))
                });
                assert_eq!(without.print(), text, "{name}: {printed}");
            }
        }
    });
}

/// Returns the member that an error names: the last step of the path at its start.
fn named_member(error: &str) -> &str {
    let path = error.split(": ").next().unwrap_or_default();
    path.rsplit('.').next().unwrap_or_default()
}

/// One value of each JSON kind.
const KINDS: [&str; 6] = ["null", "true", "7", "\"text\"", "[]", "{}"];

/// Returns true if a value of that kind is valid in place of the golden's value.
fn is_valid_kind(member: &str, was: &Json, kind: &str) -> bool {
    let same = match was {
        Json::Object(_) => kind == "{}",
        Json::Array(_) => kind == "[]",
        Json::Leaf(text) => match text.as_bytes()[0] {
            b'"' => kind == "\"text\"",
            b'{' => kind == "{}",
            b't' | b'f' => kind == "true",
            _ => kind == text,
        },
    };
    let is_also_valid = match member {
        "next_cursor" => matches!(kind, "null" | "\"text\""),
        // PHP writes an empty object like that.
        "data" => kind == "[]",
        _ => false,
    };
    same || is_also_valid
}

#[test]
fn wrong_kind_error_names_the_member() {
    each_golden(|name, text, round_trip| {
        let tree = Json::parse(text);
        for (object, member, was) in tree.members() {
            for kind in KINDS.into_iter().filter(|kind| !is_valid_kind(&member, &was, kind)) {
                let wrong = tree.with_object(object, |members| {
                    let at = members.iter().position(|(name, _)| *name == member);
                    members[at.expect("the member is there")].1 = Json::Leaf(kind.to_owned());
                });
                let error = round_trip(&wrong.print())
                    .expect_err(&format!("{name}: `{member}` cannot be {kind}"));
                assert_eq!(named_member(&error), member, "{name}: `{member}` = {kind}: {error}");
            }
        }
    });
}

#[test]
fn invalid_text_error_names_the_member() {
    let rules: [(&str, &[&str]); 4] = [
        ("id", &["", "a\\u0000"]),
        ("form_id", &["", "\\u0000"]),
        ("submission_id", &["", "a\\u0000"]),
        ("created_at", &["", "yesterday", "2026-02-30T00:00:00.000Z", "2026-01-31 09:30:00Z"]),
    ];
    let mut refused = 0;
    each_golden(|name, text, round_trip| {
        let tree = Json::parse(text);
        for (object, member, _) in tree.members() {
            let texts = rules.iter().find(|(name, _)| *name == member).map_or(&[][..], |r| r.1);
            for wrong in texts {
                let wrong = tree.with_object(object, |members| {
                    let at = members.iter().position(|(name, _)| *name == member);
                    let text = format!("\"{wrong}\"");
                    members[at.expect("the member is there")].1 = Json::Leaf(text);
                });
                let error = round_trip(&wrong.print()).expect_err("breaks a rule");
                assert_eq!(named_member(&error), member, "{name}: {error}");
                refused += 1;
            }
        }
    });
    assert!(refused > 15, "{refused}");
}

#[test]
fn unknown_value_of_open_enum_is_kept() {
    let later = golden("form").replace("\"published\"", "\"archived \\\"1\\\"\"");
    let form: Form = serde_json::from_str(&later).unwrap();
    assert!(matches!(form.status, FormStatus::Other(_)));
    assert_eq!(form.status.as_str(), "archived \"1\"");
    assert_eq!(serde_json::to_string(&form).unwrap(), later);

    let later = golden("error_bad_request").replace("\"bad_request\"", "\"quota_exhausted\"");
    let body: ErrorBody = serde_json::from_str(&later).unwrap();
    assert!(matches!(body.error.code, ErrorCode::Other(_)));
    assert_eq!(serde_json::to_string(&body).unwrap(), later);

    let later = golden("webhook_event").replace("submission.created", "submission.deleted");
    let event: WebhookEvent = serde_json::from_str(&later).unwrap();
    assert!(matches!(event.event, EventKind::Other(_)));
    assert_eq!(serde_json::to_string(&event).unwrap(), later);
}

#[test]
fn golden_files_equal_the_table() {
    let files: BTreeSet<_> = std::fs::read_dir(fixtures::path("wire"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    let used: BTreeSet<_> =
        WIRE_TYPES.iter().flat_map(|t| t.goldens).map(|name| format!("{name}.json")).collect();
    assert_eq!(files, used);
}

#[test]
fn specified_error_code_has_a_golden() {
    let specified =
        ErrorCode::KNOWN.iter().filter(|code| code.info().is_some_and(|info| info.specified));
    for code in specified {
        let body: ErrorBody = serde_json::from_str(&golden(&format!("error_{code}"))).unwrap();
        assert_eq!(&body.error.code, code);
    }
}

#[test]
fn wire_types_all_have_goldens() {
    assert!(WIRE_TYPES.iter().all(|wire_type| !wire_type.goldens.is_empty()));
}
