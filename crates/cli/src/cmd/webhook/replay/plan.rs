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
        are_named: bool,
    ) -> Result<Self, CliError> {
        let (mut sends, mut nowhere) = (Vec::with_capacity(numbers.len()), Vec::new());
        for &number in numbers {
            let capture = get(captures, number).await?;
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
            Some(number) if are_named || sends.is_empty() => Err(not_forwarded(*number)),
            _ => Ok(Self { sends, skipped: nowhere.len() }),
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
