//! What is sent where, before anything is: a capture without a target ends the command then.

use url::Url;

use crate::error::CliError;
use crate::webhook::capture::{Capture, CaptureNumber, Forward};
use crate::webhook::kept::get;
use crate::webhook::store::Captures;

/// What is sent where.
pub(super) struct Plan {
    pub(super) sends: Vec<Send>,
    /// How many were chosen by what they are, and were not forwarded anywhere.
    pub(super) skipped: usize,
    /// How many were chosen by what they are, and are of the kind that a receiver refuses.
    pub(super) refused: usize,
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
        match nowhere.first() {
            Some(number) if chosen == Chosen::Named || sends.is_empty() => {
                Err(not_forwarded(*number))
            }
            _ => Ok(Self { sends, skipped: nowhere.len(), refused }),
        }
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

fn not_forwarded(number: CaptureNumber) -> CliError {
    let what = format!("capture {number} was not forwarded anywhere");
    CliError::usage(what).hint(
        "say where it goes: `--to 4242/hook`, `--to localhost:4242/hook` or a URL; \
         `webhook listen --forward-to` remembers it",
    )
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
