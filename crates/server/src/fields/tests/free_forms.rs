//! Forms without definitions.

use super::*;

#[test]
fn json_is_kept_to_the_byte() {
    let free = Fields::free();
    for json in [
        "{}",
        r#"{ "b" : 1.50, "a":[{"x":null}], "b":2 }"#,
        r#"{"\ud83e\udd80":"\u0041\r","n":1E300}"#,
    ] {
        assert_eq!(sent_json(&free, json).unwrap(), json);
    }
}

#[test]
fn only_what_the_page_needs_is_left_out() {
    let free = Fields::free();
    assert_eq!(
        sent_json(&free, r#"{"a": 1.0, "_id":"7", "\u005fgotcha":"", "\ud83e\udd80":"\/"}"#)
            .unwrap(),
        r#"{"a":1.0,"🦀":"\/"}"#
    );
    assert_eq!(sent(&free, "_id=7&a=1&_gotcha=").unwrap(), r#"{"a":"1"}"#);
}

#[test]
fn names_that_stand_several_times_become_lists() {
    let free = Fields::free();
    assert_eq!(
        sent(&free, "b=1&a=&b=2%0D%0A3&%C3%A9").unwrap(),
        r#"{"b":["1","2\n3"],"a":"","é":""}"#
    );
    assert_eq!(sent(&free, "").unwrap(), "{}");
}

#[test]
fn there_are_bounds() {
    let free = Fields::free();
    let pairs = |count: usize| (0..count).map(|n| format!("{n}=")).collect::<Vec<_>>().join("&");
    assert!(sent(&free, &pairs(200)).is_ok());
    assert!(sent(&free, &pairs(201)).unwrap_err()[0].contains("201 fields"));
    let nested =
        |depth: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(depth - 1), "]".repeat(depth - 1));
    assert!(sent_json(&free, &nested(8)).is_ok());
    assert!(sent_json(&free, &nested(9)).unwrap_err()[0].contains("9 deep"));
    assert!(sent_json(&free, &nested(100_000)).is_err());
    let many = vec!["a="; 4_097].join("&");
    assert!(matches!(Input::from_urlencoded(many.as_bytes()), Err(InputError::TooMany(4_097))));
}

#[test]
fn values_are_counted_before_they_are_decoded() {
    let many = "a&".repeat(4_096) + "%zz";
    assert!(matches!(Input::from_urlencoded(many.as_bytes()), Err(InputError::TooMany(4_097))));
    let empty = "&".repeat(5_000) + "a";
    assert!(Input::from_urlencoded(empty.as_bytes()).is_ok());
}

#[test]
fn number_out_of_bounds_is_refused_at_any_depth() {
    let free = Fields::free();
    let (long, most) = ("9".repeat(200_000), "9".repeat(128));
    for (number, bound) in [
        (long.as_str(), "of at most 128 characters"),
        ("1e309", "within the range of a 64-bit float (about ±1.8e308)"),
        ("-1E+400", "within the range of a 64-bit float (about ±1.8e308)"),
        ("1e-1234567890", "whose exponent has at most 9 digits"),
    ] {
        for json in [
            format!(r#"{{"ok":1.0,"a":{number}}}"#),
            format!(r#"{{"ok":1.0,"a":{{"b":[true,"x\"",[-{number}]]}}}}"#).replace("--", "-"),
        ] {
            let refused = sent_json(&free, &json).unwrap_err();
            assert_eq!(refused, [format!("a must contain only numbers {bound}")], "{number:.9}");
        }
    }
    for json in [
        format!(r#"{{"a":{most},"b":[1.0,-0,1e308,1.7976931348623157e308,1e-400]}}"#),
        format!(r#"{{"a":"{long}","{long}":true,"b":"\"1e400"}}"#),
    ] {
        assert_eq!(sent_json(&free, &json).unwrap(), json);
    }
}

#[test]
fn a_body_that_is_not_what_it_says_is_refused() {
    for bad in [&b"a=\xff"[..], b"\xff=a", b"a=%f", b"a=%zz", b"a=%ff", b"%c3=1"] {
        assert!(Input::from_urlencoded(bad).is_err(), "{bad:?}");
    }
    for bad in [&b""[..], b"[]", b"1", b"null", b"{", b"{} {}", b"{\"a\":\xff}", b"\xef\xbb\xbf{}"]
    {
        assert!(Input::from_json(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn the_trap_and_the_page_id_are_found() {
    let pairs = |body: &str| Input::from_urlencoded(body.as_bytes()).unwrap();
    let json = |body: &str| Input::from_json(body.as_bytes()).unwrap();
    for quiet in ["", "a=1", "_gotcha=", "_gotcha=+"] {
        assert!(!pairs(quiet).is_trapped(), "{quiet}");
    }
    for quiet in ["{}", r#"{"_gotcha":null}"#, r#"{"_gotcha":" "}"#, r#"{"_gotcha":false}"#] {
        assert!(!json(quiet).is_trapped(), "{quiet}");
    }
    for trapped in ["_gotcha=1", "_gotcha=&_gotcha=x", "%5Fgotcha=x"] {
        assert!(pairs(trapped).is_trapped(), "{trapped}");
    }
    for trapped in [r#"{"_gotcha":"x"}"#, r#"{"\u005fgotcha":1}"#, r#"{"_gotcha":["x"]}"#] {
        assert!(json(trapped).is_trapped(), "{trapped}");
    }
    assert_eq!(pairs("_id=&_id=7").page_id().as_deref(), Some("7"));
    assert_eq!(json(r#"{"_id":"7"}"#).page_id().as_deref(), Some("7"));
    assert_eq!(json(r#"{"_i\u0064":"7"}"#).page_id().as_deref(), Some("7"));
    assert_eq!(pairs("a=1").page_id(), None);
}
