use super::*;

const SIGNED: &str = "t=1,v1=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn masked_value(name: &'static str, text: &str) -> String {
    let value = value(&HeaderName::from_static(name), &HeaderValue::from_str(text).unwrap(), false);
    String::from_utf8(value.as_bytes().to_vec()).unwrap()
}

#[test]
fn signature_header_shows_time_and_first_digits() {
    let digits = "0123456789abcdef".repeat(4);
    for (text, expected) in [
        (format!("t=1700000000,v1={digits}"), "t=1700000000,v1=0123…"),
        (format!("t=1,v1={digits},v1={digits}"), "t=1,v1=0123…,v1=0123…"),
        (format!("{digits},t=x{digits}"), "…,t=…"),
        (format!("v1={digits}x"), "v1=0123…"),
        (digits.clone(), "…"),
        ("v1=0123".to_owned(), "v1=…"),
        (String::new(), "…"),
    ] {
        assert_eq!(masked_value("x-service-signature", &text), expected, "{text}");
    }
}

#[test]
fn secret_headers_are_masked_and_others_are_exact() {
    for (name, text, expected) in [
        ("authorization", "Bearer abc", "Bearer …"),
        ("authorization", "abc", "…"),
        ("authorization", "whsec_abc def", "…"),
        ("cookie", "session=1; a=b", "…"),
        ("x-api-key", "abc", "…"),
        ("x-gitlab-token", "abc", "…"),
        ("x-session", "abc", "…"),
        ("referer", "http://u:p@h/a?token=abc&b=1", "http://…@h/a?token=…&b=1"),
        ("location", "/done?b=1&code=abc", "/done?b=1&code=…"),
        ("x-copy", SIGNED, "t=1,v1=0123…"),
        ("www-authenticate", "Basic realm=\"a\"", "Basic realm=\"a\""),
        ("user-agent", "a whsec_AbC+/= b fsk_12, c", "a whsec_… b fsk_…, c"),
        ("user-agent", "service-webhooks/1.0", "service-webhooks/1.0"),
    ] {
        assert_eq!(masked_value(name, text), expected, "{name}: {text}");
    }
    let latin = HeaderValue::from_bytes(b"Zo\xeb").unwrap();
    assert_eq!(value(&header::USER_AGENT, &latin, false), latin);
}

#[test]
fn masked_headers_keep_their_order() {
    let mut original = HeaderMap::new();
    for (name, value) in [("x-b", "1"), ("cookie", "a"), ("x-a", "2"), ("x-b", "3")] {
        original.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let masked = headers(&original, false);
    let pairs: Vec<_> = masked.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let expected = [("x-b", "1"), ("x-b", "3"), ("cookie", "…"), ("x-a", "2")];
    let expected = expected.map(|(name, value)| (name, HeaderValue::from_bytes(value.as_bytes())));
    assert_eq!(pairs, expected.each_ref().map(|(name, value)| (*name, value.as_ref().unwrap())));
    assert_eq!(headers(&original, true), original);
    assert!(hides_in_request(&original, "/") && !hides_in_request(&HeaderMap::new(), "/a?b=1"));
    assert!(hides_in_request(&HeaderMap::new(), "/a?token=1"));
    assert!(is_masked("a…".as_bytes()) && !is_masked(b"a") && !is_masked(b"\xff"));
}

#[test]
fn request_target_secrets_are_masked() {
    for (original, expected) in [
        ("/hook?token=abc&b=1", "/hook?token=…&b=1"),
        ("/hook?b=1&api_key=a'b\"c<d>;e#f", "/hook?b=1&api_key=…#f"),
        ("/hook?to%6Ben=abc", "/hook?to%6Ben=…"),
        ("/hook?a=1&token", "/hook?a=1&token"),
        ("/hook?token=", "/hook?token="),
        ("/hook?token==a=b&sig=c", "/hook?token=…&sig=…"),
        ("/hook;session=abc?b=1", "/hook;session=…"),
        ("/hook#access_token=abc", "/hook#access_token=…"),
        ("/hook?a=Größe&sid=Größe", "/hook?a=Größe&sid=…"),
        ("/whsec_abc?b=1", "/whsec_…?b=1"),
        ("/hook?fsk_abc_token=d&b=1", "/hook?fsk_…&b=1"),
        ("http://u:p@h:1/a?key=b", "http://…@h:1/a?key=…"),
        ("https://a@b@[::1]:1?x=@", "https://…@[::1]:1?x=@"),
        ("http://@h/", "http://@h/"),
        ("*", "*"),
        ("/a/b?c=d", "/a/b?c=d"),
    ] {
        assert_eq!(target(original, false), expected, "{original}");
        assert_eq!(target(expected, false), expected, "masked twice");
        assert_eq!(target(original, true), original);
    }
}

#[test]
fn url_in_text_ends_at_quote_or_space() {
    for (original, expected) in [
        ("to http://u:p@h/?key=a now", "to http://…@h/?key=… now"),
        (r#"{"url":"/a?token=b","c":1}"#, r#"{"url":"/a?token=…","c":1}"#),
        ("<a href='/?a=1&amp;token=b'>x", "<a href='/?a=1&amp;token=…'>x"),
    ] {
        assert_eq!(text(original), expected);
        assert_eq!(text(expected), expected, "masked twice");
    }
    for same in ["a: b; key = c", "what? token", "10:20 a@b", "mailto:a@b", "a://b c@d"] {
        assert!(matches!(text(same), Cow::Borrowed(_)), "{same}");
    }
}

#[test]
fn url_shows_neither_credentials_nor_query() {
    for (original, expected) in [
        ("http://u:pw@localhost:1/hook?key=1#x", "http://localhost:1/hook?…#x"),
        ("http://localhost:1/whsec_abc", "http://localhost:1/whsec_…"),
        ("https://a@b@[::1]:1?x", "https://[::1]:1?…"),
        ("http://localhost:1/a/../b?c?d", "http://localhost:1/a/../b?…"),
        ("http://localhost:1/@a#?b", "http://localhost:1/@a#?b"),
        ("nonsense fsk_1", "nonsense fsk_…"),
        ("//nonsense?token=1", "//nonsense?…"),
    ] {
        assert_eq!(url(original, false), expected);
        assert_eq!(url(original, true), original);
    }
}

#[test]
fn masking_takes_linear_time() {
    // In quadratic time, each of these texts would take minutes.
    let parts = [
        "?token=",
        "&&&",
        ";a",
        "://",
        "http:",
        "?token",
        "cookie=",
        "cookie\"",
        "cookie: ",
        "authorization",
        "bearer ",
        "bearer a",
        "v1=",
        "v1=0",
        "whsec_",
        "a:",
    ];
    for part in parts {
        let long = part.repeat(1 << 15);
        assert!(target(&long, false).len() <= long.len() + MASK.len_utf8());
        text(&long);
        response_body(long.as_bytes(), false);
    }
    let lines = "cookie=…\nauthorization: secret";
    assert_eq!(text(lines), "cookie=…\nauthorization: …");
}

#[test]
fn signatures_in_text_show_their_first_digits() {
    let mac = "0123456789abcdef".repeat(4);
    let upper = mac.to_uppercase();
    for (original, expected) in [
        (format!("é X-Sig: t=1,v1={mac},v1={upper} é"), "é X-Sig: t=1,v1=0123…,v1=0123… é"),
        (format!("(V1={upper})"), "(V1=0123…)"),
        (format!("v1=v1={mac}"), "v1=v1=0123…"),
        (format!("v1={mac}0v1={mac}"), "v1=0123…v1=0123…"),
        (format!("whsec_a v1={mac}"), "whsec_… v1=0123…"),
    ] {
        assert_eq!(text(&original), expected, "{original}");
        assert_eq!(&*response_body(original.as_bytes(), false), expected.as_bytes());
        assert_eq!(&*response_body(original.as_bytes(), true), original.as_bytes());
    }
    let short = &mac[1..];
    for same in [mac.clone(), format!("v1={short}"), format!("v1 ={mac}"), "v1=".to_owned()] {
        assert!(matches!(text(&same), Cow::Borrowed(_)), "{same}");
    }
    assert_eq!(&*response_body(b"Zo\xeb v1=", false), b"Zo\xeb v1=");
    let binary = [b"\xff v1=", mac.as_bytes(), b"!"].concat();
    assert_eq!(&*response_body(&binary, false), "\u{fffd} v1=0123…!".as_bytes());
}

#[test]
fn printed_credentials_are_masked_in_any_notation() {
    for (original, expected) in [
        ("X: 1\r\nAuthorization: Bearer abc\r\nY: 2", "X: 1\r\nAuthorization: Bearer …\r\nY: 2"),
        ("cookie: a=b; c=d\nHost: x", "cookie: …\nHost: x"),
        ("cookie: bearer=1; c=fsk_…", "cookie: …"),
        ("Set-Cookie: s=1; Path=/", "Set-Cookie: …"),
        (r#"{"Cookie":"a='b'","x":1}"#, r#"{"Cookie":"…","x":1}"#),
        (r#"{"cookie":["a=b"],"x":1}"#, r#"{"cookie":["…"],"x":1}"#),
        (r#""{\"Cookie\":\"a=b\",\"x\":1}""#, r#""{\"Cookie\":\"…\",\"x\":1}""#),
        ("{'authorization': 'Basic dTpw', 'x': 1}", "{'authorization': 'Basic …', 'x': 1}"),
        ("[HTTP_COOKIE] => a=b\n[X] => 1", "[HTTP_COOKIE] => …\n[X] => 1"),
        ("('Authorization', 'abc'), ('X', '1')", "('Authorization', '…'), ('X', '1')"),
        ("'Authorization',\n  'Bearer abc',\n  'X'", "'Authorization',\n  'Bearer …',\n  'X'"),
        (
            "<th>Authorization</th><td>Bearer ABCD1234</td>",
            "<th>Authorization</th><td>Bearer …</td>",
        ),
        ("bearer eyJh.bGci-_ é", "bearer … é"),
        ("Authorization: é", "Authorization: …"),
        ("é?token=é é", "é?token=… é"),
    ] {
        assert_eq!(text(original), expected, "{original}");
        assert_eq!(text(expected), expected, "masked twice");
    }
    for same in [
        "cookies are not needed",
        "authorization",
        "Authorization:",
        "basic authentication is required",
        "Bearer abc",
        "é cookie",
    ] {
        assert!(matches!(text(same), Cow::Borrowed(_)), "{same}");
    }
}
