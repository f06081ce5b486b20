//! The parameters of the submissions list (SPEC §4).

use std::borrow::Cow;

use formsvc_protocol::{FormId, FormInstant, limits};

use super::problem::Problem;
use crate::admin::parse_id;
use crate::percent::{Plus, decode};
use crate::printable::Excerpt;

/// What page is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageParameters {
    /// Submissions at most, 1 to 100.
    pub(super) limit: u32,
    /// Only those strictly older.
    pub(super) before: Option<FormInstant>,
}

impl PageParameters {
    /// Reads a raw query. Parameters other than `limit` and `cursor` are not looked at; each of the
    /// two may stand once.
    pub(super) fn parse(query: Option<&str>) -> Result<Self, Problem> {
        let (mut limit, mut cursor) = (None, None);
        for pair in query.unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(name) = decode(name, Plus::IsSpace) else { continue };
            let (name, place) = match &*name {
                "limit" => ("limit", &mut limit),
                "cursor" => ("cursor", &mut cursor),
                _ => continue,
            };
            if let Some(before) = place.replace(value) {
                return Err(sent_twice(name, before, value));
            }
        }
        Ok(Self {
            limit: limit.map_or(Ok(limits::PAGE_SIZE_DEFAULT), parse_limit)?,
            before: cursor.map(parse_cursor).transpose()?,
        })
    }
}

fn parse_limit(raw: &str) -> Result<u32, Problem> {
    let text = decode(raw, Plus::IsSpace).ok_or_else(|| undecodable("limit", raw))?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let limit =
        text.parse().ok().filter(|limit| digits && (1..=limits::PAGE_SIZE_MAX).contains(limit));
    limit.ok_or_else(|| {
        Problem::bad_request(format!(
            "`limit` must be a whole number from 1 to {}, not `{}`",
            limits::PAGE_SIZE_MAX,
            Excerpt(&text),
        ))
    })
}

fn parse_cursor(raw: &str) -> Result<FormInstant, Problem> {
    let text = decode(raw, Plus::IsSpace).ok_or_else(|| undecodable("cursor", raw))?;
    FormInstant::parse_cursor(&text).map_err(|rule| {
        // The usual way to a space is an offset whose `+` was sent as it is.
        let plus_would_do = FormInstant::parse_cursor(&text.replace(' ', "+")).is_ok();
        let hint = if plus_would_do { "; a `+` must be sent as `%2B`" } else { "" };
        Problem::bad_request(format!("`cursor` cannot be `{}`: {rule}{hint}", Excerpt(&text)))
    })
}

fn sent_twice(name: &str, first: &str, second: &str) -> Problem {
    let [first, second] =
        [first, second].map(|raw| decode(raw, Plus::IsSpace).unwrap_or(Cow::Borrowed(raw)));
    Problem::bad_request(format!(
        "`{name}` may be sent only once, not as `{}` and `{}`",
        Excerpt(&first),
        Excerpt(&second)
    ))
}

fn undecodable(name: &str, raw: &str) -> Problem {
    Problem::bad_request(format!("`{name}` is not percent-encoded UTF-8: `{}`", Excerpt(raw)))
}

/// The form a path `/api/v1/forms/{form_id}/submissions` names; an id no form can have is a form
/// that does not exist.
pub(super) fn form_of(path: &str) -> Result<FormId, Problem> {
    path.split('/')
        .nth(4)
        .and_then(|segment| decode(segment, Plus::IsItself))
        .and_then(|id| parse_id(&id).ok())
        .ok_or_else(Problem::form_not_found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limit(query: &str) -> Option<u32> {
        PageParameters::parse(Some(query)).ok().map(|parameters| parameters.limit)
    }

    #[test]
    fn limit_is_a_whole_number_from_1_to_100() {
        let table = [
            ("", Some(25)),
            ("limit=1", Some(1)),
            ("limit=100", Some(100)),
            ("limit=007", Some(7)),
            ("limit=%35", Some(5)),
            ("%6cimit=5", Some(5)),
            ("limit=0", None),
            ("limit=101", None),
            ("limit=-1", None),
            ("limit", None),
            ("limit=", None),
            ("limit=+5", None),
            ("limit=%2B5", None),
            ("limit=%205", None),
            ("limit=5%20", None),
            ("limit=5.0", None),
            ("limit=0x5", None),
            ("limit=5e0", None),
            ("limit=1_0", None),
            ("limit=ten", None),
            ("limit=%D9%A5", None),
            ("limit=99999999999999999999", None),
            ("limit=5&limit=5", None),
            ("limit=5&%6Cimit=6", None),
            ("limit=%", None),
            ("limit=%3", None),
            ("limit=%zz", None),
            ("limit=%ff", None),
        ];
        for (query, expected) in table {
            assert_eq!(limit(query), expected, "{query}");
        }
    }

    #[test]
    fn parameters_we_do_not_know_are_not_looked_at() {
        for query in ["&&", "=", "a=1&a=2", "x=%zz", "%ff=1", "Limit=0", "LIMIT=x", "limit[]=0"] {
            assert_eq!(limit(query), Some(25), "{query}");
        }
    }

    #[test]
    fn cursor_is_any_rfc_3339_instant() {
        let before = |query| PageParameters::parse(Some(query)).map(|p| p.before.unwrap().micros());
        for query in [
            "cursor=1970-01-01T00:00:01Z",
            "cursor=1970-01-01t00:00:01.000z",
            "cursor=1970-01-01T00%3A00%3A01.000000000Z",
            "cursor=1970-01-01T02:00:01%2B02:00",
            "cursor=1969-12-31T23:00:01-01:00",
        ] {
            assert_eq!(before(query).unwrap(), 1_000_000, "{query}");
        }
        for query in [
            "cursor",
            "cursor=",
            "cursor=null",
            "cursor=1970-01-01",
            "cursor=1970-01-01+00:00:01Z",
            "cursor=1970-01-01T02:00:01+02:00",
            "cursor=%ff",
            "cursor=1970-01-01T00:00:01Z&cursor=1970-01-01T00:00:01Z",
        ] {
            assert!(before(query).is_err(), "{query}");
        }
    }

    #[test]
    fn refusals_name_the_value_and_the_rule() {
        let message = |query: &str| {
            let problem = PageParameters::parse(Some(query)).unwrap_err();
            problem.message().to_owned()
        };
        assert_eq!(message("limit=101"), "`limit` must be a whole number from 1 to 100, not `101`");
        assert!(message("cursor=a%1b%E2%80%AEb").contains(r"`a\u{1b}\u{202e}b`"));
        let offset = message("cursor=1970-01-01T02:00:01+02:00");
        assert!(offset.ends_with("a `+` must be sent as `%2B`"), "{offset}");
        assert!(!message("cursor=a+b").contains("%2B"));
        assert!(message(&format!("cursor={}", "9".repeat(5000))).len() < 400);
        assert_eq!(message("limit=5&limit=6"), "`limit` may be sent only once, not as `5` and `6`");
        let twice = message(&format!("cursor=a%1b&x=1&cursor={}%zz", "9".repeat(5000)));
        assert!(twice.contains(r"not as `a\u{1b}` and `999") && twice.len() < 400, "{twice}");
    }

    #[test]
    fn the_form_is_the_fifth_segment_decoded() {
        let form = |path: &str| form_of(path).ok().map(|id| id.as_str().to_owned());
        assert_eq!(form("/api/v1/forms/frm_1/submissions").as_deref(), Some("frm_1"));
        assert_eq!(form("/api/v1/forms/a+%C3%A9/submissions").as_deref(), Some("a+é"));
        for bad in ["%2E%2E", "%ff", "%zz", "a%2Fb", "a%00", "%20", &"x".repeat(200)] {
            assert_eq!(form(&format!("/api/v1/forms/{bad}/submissions")), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_query_panics(query in "\\PC*") {
            let _ = PageParameters::parse(Some(&query));
        }
    }
}
