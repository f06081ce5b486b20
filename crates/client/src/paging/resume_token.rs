//! A position in a list, to resume from.

use formsvc_protocol::{Cursor, FormId};
use serde::{Deserialize, Serialize};

use super::sealed_text::{ListId, sealed_text};
use super::walk::{Walk, WalkRow, WalkState};
use crate::Client;
use crate::completeness::Completeness;

/// A position in a list of submissions, to resume from later or in another process: see
/// [`SubmissionQuery::resume_from`](super::SubmissionQuery::resume_from).
///
/// Contains the service's base URL, the form's id, the cursor of the page, the
/// [`Completeness`] of the list so far, and hashes of the ids that may be repeated: those yielded of that
/// page, those of the page before it, those that share the oldest time if the cursor is a time, and those
/// of the token that the list was resumed from, until the list has passed them; 10,000 at most. It contains
/// no API key and no answers.
///
/// The text is one line of visible ASCII with a checksum, which detects damage. It is no signature:
/// a text that was changed on purpose can be valid. A token of another form or another service is
/// refused. The text has a few kilobytes, at most about 400, so keep only the latest.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use formsvc_client::ResumeToken;
/// let token = ResumeToken::load("contact.token")?;
/// let mut items = client.form("frm_1").submissions().resume_from(token).items();
/// while let Some(submission) = items.try_next().await? {
///     println!("{}", submission.id);
///     items.resume_token().save("contact.token")?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeToken(Content);

sealed_text!(ResumeToken, ResumeTokenError, "fsr2_", "resume token");

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Content {
    list: ListId,
    /// `None` at the end of the list.
    state: Option<WalkState>,
    completeness: Completeness,
}

impl ResumeToken {
    pub(super) fn new(list: ListId, state: Option<WalkState>, completeness: Completeness) -> Self {
        Self(Content { list, state, completeness })
    }

    /// Returns the position after more rows of the page.
    pub(super) fn with_rows(&self, rows: &[WalkRow], completeness: Completeness) -> Self {
        let mut content = Content { completeness, ..self.0.clone() };
        if let Some(state) = &mut content.state {
            for &WalkRow { key, time } in rows {
                state.seen.push(key);
                state.seen_oldest = Some(state.seen_oldest.map_or(time, |oldest| oldest.min(time)));
            }
        }
        Self(content)
    }

    /// Returns the form; `None` in the token of a list with an invalid form id.
    pub fn form_id(&self) -> Option<&FormId> {
        self.0.list.form.as_ref()
    }

    /// Returns the cursor of the page to resume at; `None` at the newest page and at the end.
    pub fn cursor(&self) -> Option<&Cursor> {
        self.0.state.as_ref()?.position.cursor.as_ref()
    }

    /// Returns true at the end of the list. A list resumed there yields nothing and sends nothing.
    pub fn is_finished(&self) -> bool {
        self.0.state.is_none()
    }

    /// Returns whether the list up to this position contains every submission that the service has. A
    /// resumed list starts with this value.
    pub fn completeness(&self) -> Completeness {
        self.0.completeness
    }

    /// Returns the token for the same form after the service moved to the base URL of this client. The
    /// service must still have the same submissions, with the same ids, times and cursors.
    #[must_use]
    pub fn rebind(mut self, client: &Client) -> Self {
        self.0.list.rebind(client);
        self
    }

    /// Returns an error that names both lists if the token is for another one.
    pub(super) fn check(&self, list: &ListId) -> Result<(), String> {
        self.0.list.check(list, "resume token")
    }

    /// Returns the walk that continues here; `None` at the end.
    pub(super) fn walk(&self) -> Option<Walk> {
        self.0.state.clone().map(Walk::resume)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::paging::walk::ListPosition;
    use crate::row_key::RowKey;

    fn list(form: &str) -> ListId {
        ListId { base_url: "https://forms.example".to_owned(), form: FormId::new(form).ok() }
    }

    fn any_completeness() -> impl Strategy<Value = Completeness> {
        prop::sample::select(vec![
            Completeness::Proven,
            Completeness::Unproven,
            Completeness::Incomplete,
        ])
    }

    proptest! {
        #[test]
        fn token_survives_text_and_json(
            form in "[a-zA-Z0-9é:,.+&=_-]{1,20}",
            cursor in prop::option::of("\\PC*"),
            oldest in any::<Option<i64>>(),
            seen in prop::collection::vec("[a-z:,+&=é_]{1,9}", 0..5),
            seen_oldest in any::<Option<i64>>(),
            completeness in any_completeness(),
        ) {
            let position = ListPosition { cursor: cursor.map(Cursor::new), oldest, tied: 1 };
            let seen = seen.iter().map(|id| RowKey::of_id(id)).collect();
            let state = WalkState { position, seen, seen_oldest };
            let token = ResumeToken::new(list(&form), Some(state), completeness);
            let text = token.to_string();
            prop_assert!(text.bytes().all(|b| b.is_ascii_graphic() && !b"'\"`$\\".contains(&b)));
            prop_assert_eq!(text.parse::<ResumeToken>().unwrap(), token.clone());
            let json = serde_json::to_string(&token).unwrap();
            prop_assert_eq!(serde_json::from_str::<ResumeToken>(&json).unwrap(), token);
        }

        #[test]
        fn parsing_any_text_does_not_panic(text in "(fsr2_)?\\PC*") {
            prop_assert!(text.parse::<ResumeToken>().is_err());
        }
    }

    #[test]
    fn walk_from_an_extreme_time_does_not_overflow() {
        for oldest in [i64::MIN, i64::MAX] {
            for cursor in ["c", "9999-12-31T23:59:59.999999Z"] {
                let position = ListPosition {
                    cursor: Some(Cursor::new(cursor)),
                    oldest: Some(oldest),
                    tied: 1,
                };
                let walk = Walk::resume(WalkState { position, ..WalkState::default() });
                assert!(walk.cursor().is_some());
            }
        }
    }

    #[test]
    fn token_at_the_end_is_finished() {
        let token = ResumeToken::new(list("frm_1"), None, Completeness::Unproven);
        let token: ResumeToken = token.to_string().parse().unwrap();
        assert!(token.is_finished() && token.walk().is_none());
        assert_eq!(token.form_id().unwrap(), &"frm_1");
    }

    #[test]
    fn damaged_token_is_refused_with_the_rule() {
        let text = ResumeToken::new(list("frm_1"), None, Completeness::Proven).to_string();
        let error = text[..text.len() - 1].parse::<ResumeToken>().unwrap_err();
        assert_eq!(error.to_string(), "resume token is damaged: the checksum does not match");
        let error = "v1:frm_1:end:::".parse::<ResumeToken>().unwrap_err();
        assert_eq!(error.to_string(), "resume token has an unknown prefix");
    }
}
