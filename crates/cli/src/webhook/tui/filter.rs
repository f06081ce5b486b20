//! What is shown of the list, as somebody types it: a text, and words such as `status:5xx`.

use crate::webhook::capture::Capture;
use crate::webhook::kept::filter::verdict;
use crate::webhook::statuses::Statuses;
use crate::webhook::store::{INVALID, Query};

/// What is wanted: all that every part says. What it leaves out is not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    status: Option<Statuses>,
    verdict: Option<&'static str>,
    event: Option<String>,
    form: Option<String>,
    submission: Option<String>,
    text: Option<String>,
}

/// Words that are no text but name a part, and what they may be followed by.
const PARTS: [(&str, &str); 5] = [
    ("status", "failed"),
    ("verdict", INVALID),
    ("event", "submission.created"),
    ("form", "frm_…"),
    ("submission", "sub_…"),
];

impl Filter {
    /// Reads what was typed.
    pub(super) fn read(typed: &str) -> Result<Self, String> {
        let (mut filter, mut text) = (Self::default(), Vec::new());
        for word in typed.split_whitespace() {
            let part = word.split_once(':').and_then(|(name, value)| {
                PARTS.iter().find(|(known, _)| *known == name).map(|(known, _)| (*known, value))
            });
            match part {
                None => text.push(word),
                // It is still being typed.
                Some((_, "")) => {}
                Some(("status", value)) => filter.status = Some(value.parse()?),
                Some(("verdict", value)) => filter.verdict = Some(verdict(value)?),
                Some(("event", value)) => filter.event = Some(value.to_owned()),
                Some(("form", value)) => filter.form = Some(value.to_owned()),
                Some((_, value)) => filter.submission = Some(value.to_owned()),
            }
        }
        filter.text = (!text.is_empty()).then(|| text.join(" "));
        Ok(filter)
    }

    /// Whether it leaves nothing out.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same, asked of the store.
    pub(super) fn query(&self, within: &Query) -> Query {
        let Self { status, verdict, event, form, submission, text } = self.clone();
        Query {
            status: status.or(within.status),
            verdict: verdict.or(within.verdict),
            event: event.or_else(|| within.event.clone()),
            form: form.or_else(|| within.form.clone()),
            submission: submission.or_else(|| within.submission.clone()),
            text,
            ..within.clone()
        }
    }

    /// The same, asked of a capture that has just come.
    pub(super) fn takes(&self, capture: &Capture) -> bool {
        let received = &*capture.received;
        let code = received.verdict.code;
        let begins = |own: &Option<String>, wanted: &String| {
            own.as_ref().is_some_and(|own| own.starts_with(wanted.as_str()))
        };
        let status = capture.outcome.as_ref().and_then(|outcome| outcome.status);
        self.status.is_none_or(|wanted| wanted.has(status))
            && self.verdict.is_none_or(|wanted| {
                wanted == code.row().name || (wanted == INVALID && code.is_refusal())
            })
            && self.event.as_ref().is_none_or(|wanted| received.event.as_ref() == Some(wanted))
            && self.form.as_ref().is_none_or(|wanted| begins(&received.form_id, wanted))
            && self.submission.as_ref().is_none_or(|wanted| begins(&received.submission_id, wanted))
            && self.text.as_ref().is_none_or(|wanted| has_text(capture, wanted))
    }
}

/// Whether a capture has a text, in whatever case ASCII letters are, where the store looks for it.
fn has_text(capture: &Capture, wanted: &str) -> bool {
    let received = &*capture.received;
    let word = |word: &Option<String>| word.clone().unwrap_or_default();
    let mut all = [
        word(&received.event),
        word(&received.submission_id),
        word(&received.form_id),
        received.request_target.clone(),
        String::new(),
    ]
    .join(" ")
    .into_bytes();
    all.extend_from_slice(&received.body);
    all.make_ascii_lowercase();
    let wanted = wanted.to_ascii_lowercase();
    all.windows(wanted.len().max(1)).any(|part| part == wanted.as_bytes())
}

/// What may be typed, in words.
pub(super) fn usage() -> String {
    let parts = PARTS.map(|(name, example)| format!("{name}:{example}"));
    format!("a text, or {}", parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::capture::AnsweredBy;
    use crate::webhook::store::{Caps, Store};
    use crate::webhook::tui::samples::Sample;
    use crate::webhook::verdict::VerdictCode;

    #[tokio::test]
    async fn what_comes_is_filtered_as_the_store_filters() {
        let store = Store::in_memory(Caps::default()).unwrap();
        let mut captures = Vec::new();
        for sample in [
            Sample::of("sub_a1"),
            Sample::of("sub_a2").answered(Some(503), AnsweredBy::Target),
            Sample::of("sub_b")
                .verdict(VerdictCode::NoMatch, None)
                .answered(None, AnsweredBy::Fault),
            Sample::of("sub_ä%_*").target("/hook?Größe=1").body(b"{\"n\":\"100% Sure\"}"),
            Sample::of("").unanswered().verdict(VerdictCode::Unchecked, None).body(b"\xff\x00Sure"),
        ] {
            captures.push(sample.kept(&store).await);
        }
        for (typed, expected) in [
            ("", 5),
            ("sub_a", 2),
            ("SUB_A", 2),
            ("status:failed", 3),
            ("status:5xx", 1),
            ("status:ok sure", 1),
            ("sure", 2),
            ("100% sure", 1),
            ("Größe", 1),
            ("verdict:invalid", 1),
            ("verdict:unchecked", 1),
            ("event:submission.created", 5),
            ("event:submission", 0),
            ("submission:sub_a", 2),
            ("submission:SUB_A", 0),
            ("form:frm_", 5),
            ("form:frm_2", 0),
            ("%", 1),
            ("nothing of the kind", 0),
        ] {
            let filter = Filter::read(typed).unwrap();
            let listed = store.list(filter.query(&Query::default())).await.unwrap();
            let stored: Vec<_> = listed.iter().rev().map(|listed| listed.number).collect();
            let taken = captures.iter().filter(|capture| filter.takes(capture));
            let taken: Vec<_> = taken.map(|capture| capture.number).collect();
            assert_eq!(taken, stored, "{typed}");
            assert_eq!(stored.len(), expected, "{typed}");
            assert_eq!(filter.is_empty(), typed.is_empty());
        }
    }

    #[test]
    fn words_that_name_a_part_are_read_and_others_are_text() {
        let read = |typed| Filter::read(typed).unwrap();
        assert_eq!(read("  a   b ").text.as_deref(), Some("a b"));
        assert_eq!(read("http://x other:y").text.as_deref(), Some("http://x other:y"));
        assert!(read("status: verdict:").is_empty(), "not typed to its end");
        assert!(Filter::read("status:9xx").unwrap_err().contains("from 100 to 599"));
        assert!(Filter::read("verdict:good").unwrap_err().contains("signature_mismatch"));
    }
}
