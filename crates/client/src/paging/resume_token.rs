//! Where to resume a list.

use std::fmt::{self, Write};
use std::str::FromStr;

use formsvc_protocol::{Cursor, FormId, SubmissionId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::form_urlencoded::{byte_serialize, parse};

use super::walk::{ListPosition, Walk};

/// The first part of every token this release writes.
const VERSION: &str = "v1";

/// Times a row may have, in microseconds: the years 0 to 9999, and a day more on either side for
/// those that were written with an offset.
const TIMES: std::ops::Range<i64> = -62_167_305_600_000_000..253_402_387_200_000_000;

/// A place in a list of submissions, to go on from later, in another process too: see
/// [`SubmissionQuery::resume_from`](super::SubmissionQuery::resume_from).
///
/// It holds the form's id, the cursor of the page, and the ids that may come again: those already
/// yielded on that page, and those of the page before it. These are the ids of three pages at most,
/// with those of the submissions that share the oldest time, however often a list is resumed. No
/// key, no answers. One line of visible ASCII without spaces or
/// quotes; a few kilobytes within a page, so keep one and not all.
///
/// ```
/// use formsvc_client::ResumeToken;
/// let text = "v1:frm_1:.2026-01-31T09%3A30%3A00.000Z:1769851800000000:1769851800000000:sub_1";
/// let token: ResumeToken = text.parse()?;
/// assert_eq!(token.to_string(), text);
/// # Ok::<(), formsvc_client::ResumeTokenError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeToken {
    /// `None` if the id of the form was invalid.
    form: Option<FormId>,
    at: At,
    seen: Vec<SubmissionId>,
    seen_oldest: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    /// At a page.
    Page(ListPosition),
    /// The list was read to its end.
    End,
}

/// The text is not a resume token of a version this release reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeTokenError(&'static str);

impl ResumeToken {
    pub(super) fn at_page<'i>(
        form: Option<FormId>,
        position: ListPosition,
        seen: impl Iterator<Item = &'i str>,
        seen_oldest: Option<i64>,
    ) -> Self {
        let mut seen: Vec<_> = seen
            .map(|id| SubmissionId::new(id).expect("ids are checked as pages are read"))
            .collect();
        seen.sort_unstable();
        let seen_oldest = seen_oldest.filter(|_| !seen.is_empty());
        Self { form, at: At::Page(position), seen, seen_oldest }
    }

    pub(super) fn at_end(form: Option<FormId>) -> Self {
        Self { form, at: At::End, seen: Vec::new(), seen_oldest: None }
    }

    /// Returns the form; `None` in the token of a list whose form id was invalid.
    pub fn form_id(&self) -> Option<&FormId> {
        self.form.as_ref()
    }

    /// The cursor of the page to resume at; `None` at the newest page and at the end.
    pub fn cursor(&self) -> Option<&Cursor> {
        match &self.at {
            At::Page(position) => position.cursor.as_ref(),
            At::End => None,
        }
    }

    /// Whether the list was read to its end. Resuming then yields nothing and sends nothing.
    pub fn is_finished(&self) -> bool {
        self.at == At::End
    }

    /// The walk that goes on from here; `None` at the end.
    pub(super) fn walk(&self) -> Option<Walk> {
        match &self.at {
            At::Page(position) => {
                let seen = self.seen.iter().map(SubmissionId::as_str);
                Some(Walk::resume(position.clone(), seen, self.seen_oldest))
            }
            At::End => None,
        }
    }
}

/// `v1:<form>:<place>:<oldest>:<oldest seen>:<id>,<id>…`, parts percent-encoded; the place is
/// `newest`, `end`, or a dot and the cursor.
impl fmt::Display for ResumeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VERSION}:{}:", Encoded(self.form.as_ref().map_or("", FormId::as_str)))?;
        let oldest = match &self.at {
            At::Page(ListPosition { cursor: Some(cursor), oldest }) => {
                write!(f, ".{}", Encoded(cursor.as_str()))?;
                *oldest
            }
            At::Page(ListPosition { cursor: None, oldest }) => {
                f.write_str("newest")?;
                *oldest
            }
            At::End => {
                f.write_str("end")?;
                None
            }
        };
        for time in [oldest, self.seen_oldest] {
            match time {
                Some(micros) => write!(f, ":{micros}")?,
                None => f.write_char(':')?,
            }
        }
        for (at, id) in self.seen.iter().enumerate() {
            f.write_char(if at == 0 { ':' } else { ',' })?;
            Encoded(id.as_str()).fmt(f)?;
        }
        if self.seen.is_empty() { f.write_char(':') } else { Ok(()) }
    }
}

impl FromStr for ResumeToken {
    type Err = ResumeTokenError;

    fn from_str(text: &str) -> Result<Self, ResumeTokenError> {
        let (version, rest) = text.split_once(':').ok_or(ResumeTokenError("no version"))?;
        if version != VERSION {
            return Err(ResumeTokenError("a version this release does not read"));
        }
        let parts: Vec<&str> = rest.split(':').collect();
        let [form, place, oldest, seen_oldest, seen] = parts[..] else {
            return Err(ResumeTokenError("not six parts"));
        };
        let form = Some(decode(form)).filter(|form| !form.is_empty());
        let form = form.map(|form| FormId::new(&form)).transpose();
        let form = form.map_err(|_| ResumeTokenError("no form id"))?;
        let oldest = time(oldest)?;
        let at = match place.strip_prefix('.') {
            Some(cursor) => {
                At::Page(ListPosition { cursor: Some(Cursor::new(decode(cursor))), oldest })
            }
            None if place == "newest" => At::Page(ListPosition { cursor: None, oldest }),
            None if place == "end" => At::End,
            None => return Err(ResumeTokenError("no place")),
        };
        let seen = seen.split(',').filter(|id| !id.is_empty()).map(|id| {
            SubmissionId::new(&decode(id)).map_err(|_| ResumeTokenError("no submission id"))
        });
        Ok(Self {
            form,
            at,
            seen: seen.collect::<Result<_, _>>()?,
            seen_oldest: time(seen_oldest)?,
        })
    }
}

fn time(text: &str) -> Result<Option<i64>, ResumeTokenError> {
    if text.is_empty() {
        return Ok(None);
    }
    let micros = text.parse().map_err(|_| ResumeTokenError("no time"))?;
    if !TIMES.contains(&micros) {
        return Err(ResumeTokenError("a time outside the years 0 to 9999"));
    }
    Ok(Some(micros))
}

/// Text that may stand between the separators.
struct Encoded<'a>(&'a str);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        byte_serialize(self.0.as_bytes()).try_for_each(|part| f.write_str(part))
    }
}

/// Undoes [`Encoded`]: one form-encoded name, since `=` and `&` never stand in it bare.
fn decode(text: &str) -> String {
    parse(text.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

impl fmt::Display for ResumeTokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a resume token: {}", self.0)
    }
}

impl std::error::Error for ResumeTokenError {}

impl Serialize for ResumeToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ResumeToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_token_survives_its_text(
            form in "[a-zA-Z0-9é:,.+&=_-]{1,20}",
            cursor in prop::option::of("\\PC*"),
            oldest in prop::option::of(TIMES),
            seen in prop::collection::vec("[a-z:,+&=é_]{1,9}", 0..5),
            floor in prop::option::of(TIMES),
        ) {
            prop_assume!(form != "." && form != "..");
            let place = ListPosition { cursor: cursor.map(Cursor::new), oldest };
            let form = Some(FormId::new(&form).unwrap());
            let token =
                ResumeToken::at_page(form, place, seen.iter().map(String::as_str), floor);
            let text = token.to_string();
            prop_assert!(text.bytes().all(|b| b.is_ascii_graphic() && !b"'\"`$\\".contains(&b)));
            prop_assert_eq!(text.parse::<ResumeToken>().unwrap(), token.clone());
            let json = serde_json::to_string(&token).unwrap();
            prop_assert_eq!(serde_json::from_str::<ResumeToken>(&json).unwrap(), token);
        }

        #[test]
        fn reading_never_panics(text in "(v1:)?\\PC*") {
            let _ = text.parse::<ResumeToken>();
        }
    }

    #[test]
    fn a_walk_from_the_edge_of_time_overflows_nowhere() {
        for oldest in [i64::MIN, TIMES.start, TIMES.end, i64::MAX] {
            for cursor in ["c", "9999-12-31T23:59:59.999999Z"] {
                let place =
                    ListPosition { cursor: Some(Cursor::new(cursor)), oldest: Some(oldest) };
                let walk = Walk::resume(place, std::iter::empty(), None);
                assert!(walk.cursor().is_some());
            }
        }
    }

    #[test]
    fn the_end_is_a_place_too() {
        let token = ResumeToken::at_end(FormId::new("frm_1").ok());
        assert_eq!(token.to_string(), "v1:frm_1:end:::");
        assert!(token.to_string().parse::<ResumeToken>().unwrap().is_finished());
    }

    #[test]
    fn what_is_no_token_is_refused_with_a_reason() {
        for (text, why) in [
            ("", "no version"),
            ("v2:frm_1:end:::", "a version this release does not read"),
            ("v1:frm_1:end::", "not six parts"),
            ("v1:frm_1:end::::", "not six parts"),
            ("v1:a%2Fb:end:::", "no form id"),
            ("v1:frm_1:somewhere:::", "no place"),
            ("v1:frm_1:newest:x::", "no time"),
            ("v1:frm_1:newest:9223372036854775808::", "no time"),
            ("v1:frm_1:newest:9223372036854775807::", "a time outside the years 0 to 9999"),
            ("v1:frm_1:.c::-9223372036854775808:", "a time outside the years 0 to 9999"),
            ("v1:frm_1:newest:::a%20b", "no submission id"),
        ] {
            assert_eq!(text.parse::<ResumeToken>(), Err(ResumeTokenError(why)), "{text}");
        }
    }
}
