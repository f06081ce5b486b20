//! The forms in which captures, and requests that are made of them, are written down: one table, and one
//! writer for whoever exports.

use std::borrow::Cow;

use clap::ValueEnum;
use formsvc_contract::send::Outgoing;
use http::HeaderMap;
use url::Url;

use super::capture::{Capture, CaptureNumber};
use super::end_to_end::end_to_end;
use super::kept::whole_json;
use super::{har, mask, message};

/// What something is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// As they go over the wire, with a line that begins with ### before each but the first
    Http,
    /// Commands for a shell, each of which sends one
    Curl,
    /// An HTTP archive (HAR 1.2), with what was answered
    Har,
    /// One JSON object a line, with all that is known
    Ndjson,
}

impl Form {
    /// Those in which a request can be written that nobody has answered.
    pub(crate) const OF_REQUESTS: [Self; 2] = [Self::Curl, Self::Http];

    /// What stands before the first, and after the last.
    fn around(self) -> [&'static str; 2] {
        match self {
            Self::Har => har::AROUND,
            Self::Http | Self::Curl | Self::Ndjson => ["", ""],
        }
    }
}

/// Writes one after the other.
#[derive(Debug)]
pub(crate) struct Writer {
    form: Form,
    reveal: bool,
    count: usize,
    /// Whether something is shown otherwise than it is.
    hides: bool,
    /// A body has what readers of HTTP files take for something else than a body.
    forges: bool,
}

impl Writer {
    pub(crate) fn new(form: Form, reveal: bool) -> Self {
        Self { form, reveal, count: 0, hides: false, forges: false }
    }

    /// What stands before the first.
    pub(crate) fn begin(&self) -> &'static str {
        self.form.around()[0]
    }

    /// What stands after the last.
    pub(crate) fn end(&self) -> &'static str {
        self.form.around()[1]
    }

    /// A capture as it came; to another address, where one is given that the form can have.
    pub(crate) fn capture(&mut self, capture: &Capture, to: Option<&Url>) -> Vec<u8> {
        let received = &*capture.received;
        if let Some(to) = to.filter(|_| Form::OF_REQUESTS.contains(&self.form)) {
            let headers = end_to_end(&received.headers);
            let (method, url, body) = (received.method.clone(), to.clone(), received.body.clone());
            let outgoing = Outgoing { method, url, headers, body };
            return self.request(capture.number, &outgoing);
        }
        self.note(&received.headers, &received.request_target);
        let one = match self.form {
            Form::Http => message::received(received, self.reveal),
            Form::Curl => message::curl_of(received, self.reveal).in_lines(),
            Form::Har => har::entry(capture, self.reveal).to_string().into_bytes(),
            Form::Ndjson => whole_json(capture, self.reveal).get().as_bytes().to_vec(),
        };
        self.framed(capture.number, &one)
    }

    /// A request that is made of a capture. In a form that is of captures alone there is nothing to write.
    pub(crate) fn request(&mut self, of: Option<CaptureNumber>, outgoing: &Outgoing) -> Vec<u8> {
        self.note(&outgoing.headers, outgoing.url.as_str());
        let one = match self.form {
            Form::Curl => message::curl(outgoing, self.reveal).in_lines(),
            Form::Http => message::http(outgoing, self.reveal),
            Form::Har | Form::Ndjson => return Vec::new(),
        };
        self.framed(of, &one)
    }

    /// What stands after the last on a terminal, where something else is said below.
    pub(crate) fn end_of_line(&self) -> &'static str {
        if self.form == Form::Http && self.count > 0 { "\n" } else { "" }
    }

    /// Warnings about the written requests.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &'static str> {
        let is_sent = Form::OF_REQUESTS.contains(&self.form);
        let masked = (self.hides && !self.reveal && is_sent).then_some(
            "signatures and secrets are masked, so receivers refuse these requests; `--reveal` shows them",
        );
        let forged = self.forges.then_some(
            "a body has a line that begins with `###`, `<` or `>`, which is syntax in an HTTP file: check it \
             before you send it, or use `--as har` or `--as ndjson`",
        );
        masked.into_iter().chain(forged)
    }

    /// How many were written.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    fn note(&mut self, headers: &HeaderMap, target: &str) {
        self.hides |= mask::hides_of(headers, target);
    }

    fn framed(&mut self, number: Option<CaptureNumber>, one: &[u8]) -> Vec<u8> {
        let is_first = self.count == 0;
        self.count += 1;
        let mut lines = one.split(|byte| matches!(byte, b'\n' | b'\r'));
        self.forges |= self.form == Form::Http
            && lines
                .any(|line| [&b"###"[..], b"<", b">"].iter().any(|start| line.starts_with(start)));
        let number = number.unwrap_or_default();
        let (before, after): (Cow<'_, str>, &str) = match self.form {
            // What reads such files knows requests apart by it. One alone is there to the byte.
            Form::Http if is_first => ("".into(), ""),
            Form::Http => (format!("\n\n### capture {number}\n").into(), ""),
            Form::Curl => {
                (format!("{}# capture {number}\n", if is_first { "" } else { "\n" }).into(), "")
            }
            Form::Har => (if is_first { "\n" } else { ",\n" }.into(), ""),
            Form::Ndjson => ("".into(), "\n"),
        };
        [before.as_bytes(), one, after.as_bytes()].concat()
    }
}
