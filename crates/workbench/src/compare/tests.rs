use proptest::prelude::*;

use super::*;

/// Returns each difference of two bodies as `path old new`.
fn listed(old: &str, new: &str) -> Vec<String> {
    let value = |value: Option<String>| value.unwrap_or("-".to_owned());
    let all = bodies(old.as_bytes(), new.as_bytes()).into_iter();
    all.map(|one| format!("{} {} {}", one.path, value(one.old), value(one.new))).collect()
}

fn kinds(old: &[u8], new: &[u8]) -> Vec<ChangeKind> {
    bodies(old, new).into_iter().map(|one| one.change).collect()
}

#[test]
fn json_bodies_are_compared_by_member() {
    let old = r#"{"a":1.50,"b":{"x y":[1,2,3],"n":null},"gone":{"deep":1},"same":"é"}"#;
    let new = r#"{"b":{"x y":[1,9,3,4],"n":{}},"same":"\u00e9","a":1.5,"new.er":true}"#;
    assert_eq!(
        listed(old, new),
        [
            "a 1.50 1.5",
            "b.n null {}",
            "b.x y.1 2 9",
            "b.x y.3 - 4",
            r#"gone {"deep":1} -"#,
            r"new\.er - true"
        ]
    );
    assert_eq!(listed("1", "[1]"), [" 1 [1]"]);
    assert_eq!(listed(r#"{"a":1,"b":2,"\u0061":3}"#, r#"{"a":4,"b":2}"#), ["a 3 4"]);
}

#[test]
fn added_element_does_not_change_those_after_it() {
    assert_eq!(listed("[1,2,3]", "[1,3]"), ["1 2 -"]);
    assert_eq!(listed("[1,3]", "[1,2,3]"), ["1 - 2"]);
    assert_eq!(listed("[1,1]", "[1,1,1]"), ["2 - 1"]);
}

#[test]
fn same_json_in_other_bytes_is_spelling() {
    assert_eq!(kinds(b"{}", b"{}"), []);
    assert_eq!(kinds(br#"{"a":1,"b":"/"}"#, br#"{ "b":"\/", "a":1}"#), [ChangeKind::Spelling]);
}

#[test]
fn other_bodies_are_compared_by_line_or_byte() {
    assert_eq!(listed("a\nb\nc\n", "a\nB\nc\nd"), ["line 2 b -", "line 2 - B", "line 4 - d"]);
    assert_eq!(listed("{", "["), ["line 1 { -", "line 1 - ["]);
    let binary = bodies(b"ab\xff", b"ab\xfe\0");
    assert_eq!((&*binary[0].path, binary[0].old.as_deref()), ("byte 2", Some("3 bytes")));
}

#[test]
fn many_members_are_compared_in_linear_time() {
    let object = |names: &mut dyn Iterator<Item = u32>| {
        let members: Vec<_> = names.map(|name| format!(r#""m{name}":{name}"#)).collect();
        format!("{{{}}}", members.join(","))
    };
    let start = Instant::now();
    let old = object(&mut (0..70_000));
    assert_eq!(listed(&old, &object(&mut (1..70_001).rev())), ["m0 0 -", "m70000 - 70000"]);
    let reversed = object(&mut (0..70_000).rev());
    assert_eq!(kinds(old.as_bytes(), reversed.as_bytes()), [ChangeKind::Spelling]);
    let all = bodies(old.as_bytes(), b"{}");
    assert_eq!((all.len(), all[MAX_LISTED].change), (MAX_LISTED + 1, ChangeKind::More));
    // A comparison in quadratic time would take minutes.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn comparison_by_line_has_a_time_limit() {
    let lines = |step: u32| {
        let lines = (0..60_000_u32).map(|at| (at * step % 60_013).to_string());
        lines.collect::<Vec<_>>().join("\n")
    };
    let start = Instant::now();
    assert_eq!(bodies(lines(7).as_bytes(), lines(11).as_bytes()).len(), MAX_LISTED + 1);
    assert!(start.elapsed() < 10 * LINES_TIMEOUT, "{:?}", start.elapsed());
}

#[test]
fn deep_or_long_names_stay_bounded() {
    let deep = |end: &str| format!("{}{end}{}", "[".repeat(100_000), "]".repeat(100_000));
    let found = bodies(deep("1").as_bytes(), deep("2").as_bytes());
    assert_eq!(found[0].path.split('.').count(), MAX_COMPARED_DEPTH);
    let long = format!(r#"{{"{}":1}}"#, "é".repeat(500));
    assert_eq!(bodies(long.as_bytes(), b"{}")[0].path, "é".repeat(MAX_NAME) + "…");
}

#[test]
fn secrets_are_compared_and_masked() {
    let map = |value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.append("authorization", http::HeaderValue::from_static(value));
        headers.append("x-a", http::HeaderValue::from_static("1"));
        headers
    };
    let found = headers(&map("Bearer a"), &map("Bearer b"), false);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].old, found[0].new);
    assert_eq!(found[0].change, ChangeKind::Changed);
    assert_eq!(
        headers(&map("Bearer a"), &map("Bearer b"), true)[0].new.as_deref(),
        Some("Bearer b")
    );
    let response = |status, header| TargetResponse {
        status,
        headers: HeaderMap::from_iter([(
            http::header::DATE,
            http::HeaderValue::from_static(header),
        )]),
        body: bytes::Bytes::from_static(b"whsec_abc"),
        is_truncated: false,
    };
    let found = responses(&response(200, "a"), &response(500, "b"), false);
    assert_eq!(found.iter().map(|one| &*one.path).collect::<Vec<_>>(), ["status"]);
    assert_eq!(found[0].part, Part::Response);
}

proptest! {
    #[test]
    fn bodies_differ_only_if_a_difference_is_listed(
        old in r#"(\{("a":1,)?"b":[0-3]\}|\[([0-2],){0,3}[0-2]\]|[a-c\n]{0,9})"#,
        new in r#"(\{("a":1,)?"b":[0-3]\}|\[([0-2],){0,3}[0-2]\]|[a-c\n]{0,9})"#,
    ) {
        let found = bodies(old.as_bytes(), new.as_bytes());
        prop_assert_eq!(found.is_empty(), old == new);
    }
}
