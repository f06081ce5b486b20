//! What is sent where, before anything is: a capture without a target ends the command then.

use url::Url;

use crate::error::CliError;
use crate::webhook::capture::{Capture, CaptureNumber, Forward};
use crate::webhook::kept::get;
use crate::webhook::mask;
use crate::webhook::store::{Captures, Query};

/// Captures that are looked at for one that was forwarded.
const LOOKED_AT: usize = 100;

/// What is sent where.
pub(super) struct Plan {
    pub(super) sends: Vec<Send>,
    /// How many were chosen by what they are, and were not forwarded anywhere.
    pub(super) skipped: usize,
    /// How many were chosen by what they are, and are of the kind that a receiver refuses.
    pub(super) refused: usize,
    /// Where others were forwarded, where some were not.
    others: Option<String>,
}

/// How captures were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// One by one, by number.
    Named,
    /// By what verification found.
    ByVerdict,
    /// By what they else are, which says nothing of who sent them.
    Otherwise,
}

/// A capture, and where it goes.
pub(super) struct Send {
    pub(super) number: CaptureNumber,
    pub(super) to: Url,
    /// Which of its forwards went there.
    forward: Option<usize>,
}

impl Plan {
    pub(super) async fn of(
        captures: &Captures,
        numbers: &[CaptureNumber],
        to: Option<&Url>,
        chosen: Chosen,
    ) -> Result<Self, CliError> {
        let (mut sends, mut nowhere) = (Vec::with_capacity(numbers.len()), Vec::new());
        let mut refused = 0;
        for &number in numbers {
            let capture = get(captures, number).await?;
            // A fresh signature would make a genuine delivery of whatever a stranger sent.
            if chosen == Chosen::Otherwise && capture.received.verdict.code.is_refusal() {
                refused += 1;
                continue;
            }
            match to {
                Some(to) => {
                    let same = forwards(&capture).iter().position(|old| old.url == to.as_str());
                    // Another target's answer is compared with, where this one has none.
                    let forward = same.or((!forwards(&capture).is_empty()).then_some(0));
                    sends.push(Send { number, to: to.clone(), forward });
                }
                None => match of_forwards(number, &capture) {
                    none if none.is_empty() => nowhere.push(number),
                    more => sends.extend(more),
                },
            }
        }
        let others = if nowhere.is_empty() { None } else { last_target(captures).await? };
        match nowhere.first() {
            Some(number) if chosen == Chosen::Named => {
                Err(not_forwarded(*number, others.as_deref()))
            }
            _ => Ok(Self { sends, skipped: nowhere.len(), refused, others }),
        }
    }

    /// What was left out of those that flags chose, and how it is meant too; or that there is nothing.
    pub(super) fn remarks(&self) -> Vec<String> {
        let (refused, skipped) = (self.refused, self.skipped);
        if refused + skipped == 0 && self.sends.is_empty() {
            return vec!["no captures like that".to_owned()];
        }
        let refused = (refused > 0).then(|| {
            format!(
                "left out {refused} that a receiver refuses: replayed, a stranger's words would be signed; \
                 `--verdict valid` chooses among the others, `--verdict invalid` or their numbers mean them"
            )
        });
        let skipped = (skipped > 0).then(|| {
            let others = said_of(self.others.as_deref());
            format!(
                "left out {skipped} that the listener did not forward; `--to 4242/hook`, or a URL, says \
                 where they go{others}"
            )
        });
        refused.into_iter().chain(skipped).collect()
    }
}

fn of_forwards(number: CaptureNumber, capture: &Capture) -> Vec<Send> {
    let urls = forwards(capture).iter().enumerate();
    urls.filter_map(|(at, forward)| {
        let to = Url::parse(&forward.url).ok()?;
        Some(Send { number, to, forward: Some(at) })
    })
    .collect()
}

fn not_forwarded(number: CaptureNumber, others: Option<&str>) -> CliError {
    let what = format!("capture {number} was not forwarded anywhere");
    let others = said_of(others);
    CliError::usage(what).hint(format!(
        "say where it goes: `--to 4242/hook`, `--to localhost:4242/hook` or a URL{others}; \
         `webhook listen --forward-to` remembers it"
    ))
}

/// Where others were forwarded, as a flag says it, if it may be shown whole.
fn said_of(others: Option<&str>) -> String {
    let shown = others.filter(|url| mask::url(url, false) == *url);
    shown.map_or_else(String::new, |url| format!(", such as where others went: `--to {url}`"))
}

/// Where the newest that was forwarded went, among the newest there are.
async fn last_target(captures: &Captures) -> Result<Option<String>, CliError> {
    let query = Query { limit: Some(LOOKED_AT), ..Query::default() };
    for number in captures.list(query).await?.iter().filter_map(|listed| listed.number) {
        // One that is gone meanwhile went nowhere.
        let capture = captures.get(number).await?;
        if let Some(forward) = capture.iter().flat_map(forwards).next() {
            return Ok(Some(forward.url.clone()));
        }
    }
    Ok(None)
}

fn forwards(capture: &Capture) -> &[Forward] {
    capture.outcome.as_ref().map_or(&[], |outcome| &outcome.forwards)
}

impl Send {
    /// What came back when it was forwarded.
    pub(super) fn before<'a>(&self, capture: &'a Capture) -> Option<&'a Forward> {
        forwards(capture).get(self.forward?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::{HeaderMap, Method};
    use jiff::Timestamp;

    use super::*;
    use crate::webhook::capture::{Arrival, Received, Source};
    use crate::webhook::store::{Caps, Store};
    use crate::webhook::verdict::{VERDICTS, Verdict, VerdictCode};

    fn received(code: VerdictCode) -> Received {
        Received {
            at: Timestamp::now(),
            source: Source::Request(([127, 0, 0, 1], 4000).into()),
            method: Method::POST,
            request_target: "/".to_owned(),
            headers: HeaderMap::new(),
            body: "{}".into(),
            verdict: Verdict { code, secret: None, age: None },
            event: None,
            submission_id: None,
            form_id: None,
            arrival: Arrival { number: 1, gap: None, duplicate: false },
        }
    }

    #[tokio::test]
    async fn what_a_receiver_refuses_is_sent_only_where_it_is_meant() {
        let store = Store::in_memory(Caps::default()).unwrap();
        let (mut all, mut good) = (Vec::new(), Vec::new());
        for row in VERDICTS {
            let number = store.keep(Arc::new(received(row.code))).await.unwrap();
            all.push(number);
            if ["valid", "unchecked"].contains(&row.name) {
                good.push(number);
            }
        }
        let to = Url::parse("http://localhost:1/").unwrap();
        let nowhere = Plan::of(store.captures(), &all, None, Chosen::Otherwise).await.unwrap();
        let left_out = nowhere.remarks().join(" ");
        assert!(
            nowhere.sends.is_empty() && left_out.contains("left out 2 that the listener"),
            "{left_out}"
        );
        assert!(left_out.contains("left out 7 that a receiver refuses"), "{left_out}");
        assert!(Plan::of(store.captures(), &all, None, Chosen::Named).await.is_err());
        let planned = |chosen| Plan::of(store.captures(), &all, Some(&to), chosen);
        let sent = |plan: &Plan| plan.sends.iter().map(|send| send.number).collect::<Vec<_>>();
        let usual = planned(Chosen::Otherwise).await.unwrap();
        assert_eq!((sent(&usual), usual.refused), (good, VERDICTS.len() - 2));
        for chosen in [Chosen::Named, Chosen::ByVerdict] {
            let plan = planned(chosen).await.unwrap();
            assert_eq!((sent(&plan), plan.refused), (all.clone(), 0), "{chosen:?}");
        }
    }
}
