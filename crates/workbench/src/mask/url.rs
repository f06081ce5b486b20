//! URLs, and targets of requests: where something goes is shown, and not what lets somebody in there.

use std::borrow::Cow;
use std::ops::Range;

use super::names::is_secret_query;
use super::{MASK, text};

/// Longest name of a value in a query that is looked at.
const NAME_MAX: usize = 100;
/// What a value of a query ends before, in a target, where anything else may be a part of it.
const VALUE_ENDS: &[u8] = b"&#";
/// The same in a text, where a URL ends as well.
const VALUE_ENDS_IN_TEXT: &[u8] = b"&# \t\r\n\"'<>\\";
/// What the host of a URL ends before.
const HOST_ENDS: &[u8] = b"/?# \t\r\n\"'<>\\";

/// A URL as it may be shown: without a name and password, and without what a query may hold. What is left
/// stays as it is spelled, for a path may have been sent so.
pub fn url(url: &str, reveal: bool) -> String {
    if reveal {
        return url.to_owned();
    }
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + 3));
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (rest, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    let query = if query.is_empty() { String::new() } else { format!("?{MASK}") };
    text(&format!("{scheme}{host}{path}{query}{fragment}")).into_owned()
}

/// What was asked for, as it may be shown: without the values in its query that let somebody in, and without
/// a name and password before its host, where it has one. Also for a URL in a command that can be run.
pub fn target(target: &str, reveal: bool) -> Cow<'_, str> {
    if reveal {
        return Cow::Borrowed(target);
    }
    match without(target, VALUE_ENDS) {
        Some(hidden) => Cow::Owned(text(&hidden).into_owned()),
        None => text(target),
    }
}

/// A text in which URLs may stand, without what lets somebody in there; none where there is nothing of it.
pub(super) fn without_secrets(text: &str) -> Option<String> {
    without(text, VALUE_ENDS_IN_TEXT)
}

fn without(text: &str, value_ends: &[u8]) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut out, mut told, mut at) = (String::new(), 0, 0);
    while let Some(sign) = bytes[at..].iter().position(|byte| b"?&;#:".contains(byte)) {
        at += sign + 1;
        let secret = match bytes[at - 1] {
            b':' => before_host(text, at),
            _ => value_in_query(text, at, value_ends),
        };
        let Some(secret) = secret else { continue };
        at = secret.end;
        // What is masked already is left so.
        if text[secret.clone()].chars().ne([MASK]) {
            out.push_str(&text[told..secret.start]);
            out.push(MASK);
            told = secret.end;
        }
    }
    (told > 0).then(|| out + &text[told..])
}

/// How long the text is from there to one of these bytes.
fn length(text: &str, from: usize, ends: &[u8]) -> usize {
    text.as_bytes()[from..].iter().take_while(|byte| !ends.contains(byte)).count()
}

/// Where the name and password stand of a URL whose scheme ends there.
fn before_host(text: &str, scheme_end: usize) -> Option<Range<usize>> {
    let begin = scheme_end + text[scheme_end..].strip_prefix("//").map(|_| 2)?;
    let authority = &text[begin..begin + length(text, begin, HOST_ENDS)];
    let end = authority.rfind('@').filter(|at| *at > 0)?;
    Some(begin..begin + end)
}

/// Where the value stands whose name begins there, if it lets somebody in.
fn value_in_query(text: &str, begin: usize, value_ends: &[u8]) -> Option<Range<usize>> {
    let bytes = text.as_bytes()[begin..].iter().take(NAME_MAX);
    let name =
        bytes.take_while(|byte| !b"=?;".contains(byte) && !value_ends.contains(byte)).count();
    let is_named = text.as_bytes().get(begin + name) == Some(&b'=');
    // It is ASCII that stands there, so that a character ends before it.
    if !is_named || !is_secret_query(&text[begin..begin + name]) {
        return None;
    }
    let value = begin + name + 1;
    let length = length(text, value, value_ends);
    (length > 0).then(|| value..value + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_show_what_was_asked_for_and_no_value_that_lets_somebody_in() {
        for (came, expected) in [
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
            ("http://u:p@h:1/a?key=b", "http://…@h:1/a?key=…"),
            ("https://a@b@[::1]:1?x=@", "https://…@[::1]:1?x=@"),
            ("http://@h/", "http://@h/"),
            ("*", "*"),
            ("/a/b?c=d", "/a/b?c=d"),
        ] {
            assert_eq!(target(came, false), expected, "{came}");
            assert_eq!(target(expected, false), expected, "again");
            assert_eq!(target(came, true), came);
        }
    }

    #[test]
    fn in_a_text_a_url_ends_where_it_is_quoted() {
        for (said, expected) in [
            ("to http://u:p@h/?key=a now", "to http://…@h/?key=… now"),
            (r#"{"url":"/a?token=b","c":1}"#, r#"{"url":"/a?token=…","c":1}"#),
            ("<a href='/?a=1&amp;token=b'>x", "<a href='/?a=1&amp;token=…'>x"),
        ] {
            assert_eq!(text(said), expected);
            assert_eq!(text(expected), expected, "again");
        }
        for same in ["a: b; key = c", "what? token", "10:20 a@b", "mailto:a@b", "a://b c@d"] {
            assert!(matches!(text(same), Cow::Borrowed(_)), "{same}");
        }
    }

    #[test]
    fn a_text_of_nothing_but_signs_is_looked_at_once() {
        // Looking at the rest of the text for each sign takes hours.
        for part in ["?token=", "&&&", ";a", "://", "http:", "?token"] {
            let long = part.repeat(1 << 17);
            assert!(target(&long, false).len() <= long.len() + MASK.len_utf8());
            text(&long);
        }
    }

    #[test]
    fn urls_show_where_and_no_more() {
        for (text, expected) in [
            ("http://u:pw@localhost:1/hook?key=1#x", "http://localhost:1/hook?…#x"),
            ("http://localhost:1/whsec_abc", "http://localhost:1/whsec_…"),
            ("https://a@b@[::1]:1?x", "https://[::1]:1?…"),
            ("http://localhost:1/a/../b?c?d", "http://localhost:1/a/../b?…"),
            ("http://localhost:1/@a#?b", "http://localhost:1/@a#?b"),
            ("nonsense fsk_1", "nonsense fsk_…"),
            ("//nonsense?token=1", "//nonsense?…"),
        ] {
            assert_eq!(url(text, false), expected);
            assert_eq!(url(text, true), text);
        }
    }
}
