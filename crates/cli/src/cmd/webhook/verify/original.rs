//! A delivery as a listener here received it, where what is judged is a copy that is not the same.

use serde::Deserialize;
use serde::Serialize;

use super::judged::is_signed;
use super::source::Delivery;
use crate::context::Context;
use crate::webhook::capture::CaptureNumber;
use crate::webhook::kept::captures;
use crate::webhook::secrets::Secrets;
use crate::webhook::store::Query;

/// Most captures of one submission that are compared: it comes four times, unless somebody sends it again.
const CAPTURES_MAX: usize = 8;
/// Bytes before the first difference that are shown, and bytes from there on.
const SHOWN: (usize, usize) = (8, 16);

/// The capture whose body is what was signed, and where the other one is not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Original {
    capture: CaptureNumber,
    /// The first byte that differs, counted from 0.
    byte: usize,
    /// What is there as it came, and as it was given.
    came: String,
    given: String,
}

/// The capture of the same submission that the signature is right for. Where there is no store to look into
/// there is none: nobody asked for it.
pub(super) async fn find(cx: &Context, given: &Delivery, secrets: &Secrets) -> Option<Original> {
    let id = submission_id(&given.body)?;
    let header = given.headers.signatures().next()?;
    let captures = captures(cx).await.ok()??;
    let (submission, limit) = (Some(id.clone()), Some(CAPTURES_MAX));
    let listed = captures.list(Query { submission, limit, ..Query::default() }).await.ok()?;
    let same = listed.into_iter().filter(|listed| listed.submission_id.as_ref() == Some(&id));
    for number in same.filter_map(|listed| listed.number) {
        let Some(capture) = captures.get(number).await.ok()? else { continue };
        let came = &capture.received.body;
        if *came != given.body && is_signed(header, came, secrets) {
            return Some(Original::of(number, came, &given.body));
        }
    }
    None
}

impl Original {
    fn of(capture: CaptureNumber, came: &[u8], given: &[u8]) -> Self {
        let byte = came.iter().zip(given).take_while(|(came, given)| came == given).count();
        let shown = |body: &[u8]| {
            let end = body.len().min(byte + SHOWN.1);
            plain(&body[byte.saturating_sub(SHOWN.0).min(end)..end])
        };
        Self { capture, byte, came: shown(came), given: shown(given) }
    }

    /// In a sentence.
    pub(super) fn told(&self) -> String {
        let Self { capture, byte, came, given } = self;
        format!(
            "the signature is right for the body of capture {capture}, which differs from byte {byte} on: \
             `{came}` came, and `{given}` was given"
        )
    }

    /// What to do about it.
    pub(super) fn fix(&self) -> String {
        format!("`formsvc webhook events show {} --raw` writes the body as it came", self.capture)
    }
}

/// Text on one line, in which what does not show can be seen.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let seen = |c: char| match c {
        '\n' => '␊',
        '\r' => '␍',
        '\t' => '␉',
        ' ' => '␠',
        c => c,
    };
    text.chars().map(seen).collect()
}

/// What a body says its submission is, however it is written.
fn submission_id(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        submission_id: String,
    }
    let body: Body = serde_json::from_slice(body).ok()?;
    Some(body.submission_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_shown_where_it_is() {
        let came = br#"{"event":"submission.created","a":"\/"}"#;
        let found = Original::of(7, came, b"{\n  \"event\": \"submission.created\"");
        assert_eq!((found.byte, &*found.came), (1, r#"{"event":"submiss"#));
        assert_eq!(found.given, "{␊␠␠\"event\":␠\"sub");
        let found = Original::of(7, came, &came[..came.len() - 3]);
        assert_eq!(found.byte, 36);
        assert_eq!((&*found.came, &*found.given), (r#"","a":"\/"}"#, r#"","a":"\"#));
        let told = found.told();
        assert!(told.contains("capture 7") && told.contains("byte 36"), "{told}");
        assert_eq!(Original::of(7, b"", b"x").byte, 0);
    }
}
