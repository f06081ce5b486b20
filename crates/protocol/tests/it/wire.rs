//! The wire types against goldens written by hand: exact, tolerant of what a later release adds, and
//! clear about what is missing or wrong.

use std::collections::BTreeSet;

use formsvc_protocol::{ErrorBody, ErrorCode, EventKind, Form, FormStatus, WebhookEvent};

use crate::fixtures;
use crate::json_tree::Json;
use crate::wire_types::{RoundTrip, WIRE_TYPES};

/// The golden's message: the file without its one final line feed.
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
fn every_golden_round_trips_to_the_byte() {
    each_golden(|name, text, round_trip| {
        assert_eq!(round_trip(text).as_deref(), Ok(text), "{name}");
    });
}

#[test]
fn the_tree_of_a_golden_prints_as_the_golden() {
    each_golden(|name, text, _| assert_eq!(Json::parse(text).print(), text, "{name}"));
}

#[test]
fn members_added_to_any_object_are_skipped() {
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
                assert_ne!(printed, text);
                assert_eq!(round_trip(&printed).as_deref(), Ok(text), "{name}: {printed}");
            }
        }
    });
}

#[test]
fn a_missing_member_is_named() {
    each_golden(|name, text, round_trip| {
        let tree = Json::parse(text);
        for (object, member, _) in tree.members() {
            let without =
                tree.with_object(object, |members| members.retain(|(name, _)| *name != member));
            let result = round_trip(&without.print());
            if member == "next_cursor" {
                // Absent reads as `null`: the last page of a service that leaves it out.
                assert!(result.is_ok(), "{name}: {result:?}");
            } else {
                let error = result.expect_err(&format!("{name} without `{member}`"));
                assert!(error.contains(&format!("missing field `{member}`")), "{name}: {error}");
            }
        }
    });
}

/// The member an error blames: the last step of the path it begins with.
fn blamed(error: &str) -> &str {
    let path = error.split(": ").next().unwrap_or_default();
    path.rsplit('.').next().unwrap_or_default()
}

/// One value of each kind of JSON.
const KINDS: [&str; 6] = ["null", "true", "7", "\"text\"", "[]", "{}"];

/// Whether a value of that kind may stand where the golden has `was`.
fn may_stand(member: &str, was: &Json, kind: &str) -> bool {
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
    same || member == "next_cursor" && matches!(kind, "null" | "\"text\"")
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_by_the_name_of_its_member() {
    each_golden(|name, text, round_trip| {
        let tree = Json::parse(text);
        for (object, member, was) in tree.members() {
            for kind in KINDS.into_iter().filter(|kind| !may_stand(&member, &was, kind)) {
                let wrong = tree.with_object(object, |members| {
                    let at = members.iter().position(|(name, _)| *name == member);
                    members[at.expect("the member is there")].1 = Json::Leaf(kind.to_owned());
                });
                let error = round_trip(&wrong.print())
                    .expect_err(&format!("{name}: `{member}` cannot be {kind}"));
                assert_eq!(blamed(&error), member, "{name}: `{member}` = {kind}: {error}");
            }
        }
    });
}

#[test]
fn a_text_that_breaks_its_rule_is_refused_by_the_name_of_its_member() {
    let rules: [(&str, &[&str]); 4] = [
        ("id", &["", "a/b", ".."]),
        ("form_id", &["", "a b"]),
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
                assert_eq!(blamed(&error), member, "{name}: {error}");
                refused += 1;
            }
        }
    });
    assert!(refused > 20, "{refused}");
}

#[test]
fn unknown_values_of_open_sets_are_kept_and_round_trip() {
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
fn every_golden_belongs_to_a_wire_type() {
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
fn every_specified_error_code_has_a_golden() {
    let specified = ErrorCode::KNOWN.iter().filter(|code| code.row().is_some_and(|r| r.specified));
    for code in specified {
        let body: ErrorBody = serde_json::from_str(&golden(&format!("error_{code}"))).unwrap();
        assert_eq!(&body.error.code, code);
    }
}

/// Structs that are read from JSON, by their source: a derive with `Deserialize`, then `pub struct`
/// with named members.
fn deserialized_structs() -> BTreeSet<String> {
    let mut paths = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut found = BTreeSet::new();
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(path).expect("is a directory");
            paths.extend(entries.map(|entry| entry.expect("is listed").path()));
            continue;
        }
        let text = std::fs::read_to_string(path).expect("is text");
        let mut derived = false;
        for line in text.lines() {
            if line.starts_with("#[derive(") {
                derived = line.contains("Deserialize");
            } else if let Some(rest) = line.strip_prefix("pub struct ") {
                if derived && line.ends_with('{') {
                    let end = rest.find(|c: char| !c.is_alphanumeric()).expect("ends in a brace");
                    found.insert(rest[..end].to_owned());
                }
                derived = false;
            }
        }
    }
    found
}

#[test]
fn every_wire_type_has_a_golden() {
    assert!(WIRE_TYPES.iter().all(|wire_type| !wire_type.goldens.is_empty()));
    let covered: BTreeSet<_> =
        WIRE_TYPES.iter().flat_map(|t| t.structs).map(|name| (*name).to_owned()).collect();
    assert_eq!(deserialized_structs(), covered);
}
