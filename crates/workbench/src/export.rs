//! Formats deliveries and replay requests as HTTP, curl, HAR or NDJSON.

mod curl;
mod har;
mod message;

use formsvc_contract::send::Outgoing;
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use http::header;
use jiff::Timestamp;

pub use self::curl::{CurlCommand, curl, signed_curl};
pub use self::message::message;

use crate::delivery::{CaptureNumber, Delivery};
use crate::mask;
use crate::record::DeliveryRecord;

/// A format for deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    Http,
    Curl,
    Har,
    Ndjson,
}

/// Properties of a format.
#[derive(Debug)]
pub struct FormatRow {
    pub format: ExportFormat,
    /// The name of the format on the command line.
    pub name: &'static str,
    pub description: &'static str,
    /// True if the format contains only requests, so that they can be sent again.
    pub is_request: bool,
}

const fn row(
    format: ExportFormat,
    name: &'static str,
    description: &'static str,
    is_request: bool,
) -> FormatRow {
    FormatRow { format, name, description, is_request }
}

pub const FORMATS: [FormatRow; 4] = [
    row(ExportFormat::Http, "http", "HTTP requests, separated by lines that begin with ###", true),
    row(ExportFormat::Curl, "curl", "Shell commands, one for each delivery", true),
    row(ExportFormat::Har, "har", "An HTTP archive (HAR 1.2), with responses", false),
    row(ExportFormat::Ndjson, "ndjson", "One JSON object per line, with all fields", false),
];

impl ExportFormat {
    /// Returns the properties of the format.
    pub fn row(self) -> &'static FormatRow {
        FORMATS.iter().find(|row| row.format == self).expect("every format has a row")
    }
}

/// Formats deliveries one after another, in one format.
#[derive(Debug)]
pub struct Exporter {
    format: ExportFormat,
    reveal: bool,
    count: usize,
    has_masked: bool,
    has_http_file_syntax: bool,
    /// The first delivery with a signature that receivers refuse by now.
    expired: Option<CaptureNumber>,
}

impl Exporter {
    /// Creates an exporter, which masks signatures and secrets unless `reveal`.
    pub fn new(format: ExportFormat, reveal: bool) -> Self {
        let (has_masked, has_http_file_syntax) = (false, false);
        Self { format, reveal, count: 0, has_masked, has_http_file_syntax, expired: None }
    }

    /// Returns the text before the first delivery.
    pub fn begin(&self) -> &'static str {
        if self.format == ExportFormat::Har { har::BEGIN } else { "" }
    }

    /// Returns the text after the last delivery.
    pub fn end(&self) -> &'static str {
        if self.format == ExportFormat::Har { har::END } else { "" }
    }

    /// Formats a delivery.
    pub fn delivery(&mut self, delivery: &Delivery) -> Vec<u8> {
        let summary = &delivery.summary;
        self.has_masked |= mask::hides_in_request(&delivery.headers, &summary.request_target);
        let since = Timestamp::now().as_second() - summary.received_at.as_second();
        let age = summary.verdict.age_secs.map(|age| age.saturating_add(since));
        let age = age.filter(|age| age.unsigned_abs() > SIGNATURE_TOLERANCE.as_secs());
        self.expired = self.expired.or(summary.number.filter(|_| age.is_some()));
        let text = match self.format {
            ExportFormat::Http => message::received(delivery, self.reveal),
            ExportFormat::Curl => curl::received(delivery, self.reveal).on_lines().into_bytes(),
            ExportFormat::Har => har::entry(delivery, self.reveal).to_string().into_bytes(),
            ExportFormat::Ndjson => {
                let record = DeliveryRecord::of(delivery, self.reveal);
                serde_json::to_vec(&record).expect("a record serializes")
            }
        };
        self.append(summary.number, &text)
    }

    /// Formats a request built from a delivery. Returns an empty vector for HAR and NDJSON.
    pub fn request(&mut self, number: Option<CaptureNumber>, outgoing: &Outgoing) -> Vec<u8> {
        let text = match self.format {
            ExportFormat::Http => message(outgoing, self.reveal),
            ExportFormat::Curl => curl(outgoing, self.reveal).on_lines().into_bytes(),
            ExportFormat::Har | ExportFormat::Ndjson => return Vec::new(),
        };
        self.has_masked |= mask::hides_in_request(&outgoing.headers, outgoing.url.as_str());
        self.append(number, &text)
    }

    /// Returns warnings about the exported requests.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.has_masked && !self.reveal && self.format.row().is_request {
            warnings.push(
                "signatures and secrets are masked, so receivers reject these requests; use \
                 `--reveal` to export them"
                    .to_owned(),
            );
        }
        if let Some(number) = self.expired.filter(|_| self.reveal)
            && self.format.row().is_request
        {
            let limit = SIGNATURE_TOLERANCE.as_secs() / 60;
            warnings.push(format!(
                "the signature of capture {number} is older than {limit} minutes, so receivers \
                 refuse it; `formsvc webhook replay {number}` sends it with a new one"
            ));
        }
        if self.has_http_file_syntax {
            warnings.push(
                "a request contains `{{`, or a body has a line that begins with `###`, `<` or `>`, \
                 which is syntax in an HTTP file: check it before you send it, or use \
                 `webhook events export --as har`"
                    .to_owned(),
            );
        }
        warnings
    }

    /// Returns the number of exported deliveries.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Counts a delivery. Returns its text with a separator, which contains the number in some formats.
    fn append(&mut self, number: Option<CaptureNumber>, text: &[u8]) -> Vec<u8> {
        let is_first = self.count == 0;
        self.count += 1;
        let title = number.map_or("capture".to_owned(), |number| format!("capture {number}"));
        let mut lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
        self.has_http_file_syntax |= self.format == ExportFormat::Http
            && (text.windows(2).any(|pair| pair == b"{{")
                || lines.any(|line| {
                    line.starts_with(b"###") || matches!(line.first(), Some(b'<' | b'>'))
                }));
        let (before, after) = match (self.format, is_first) {
            // The first request has no separator, so that the export of one request is that request.
            (ExportFormat::Http | ExportFormat::Har, true) => (String::new(), ""),
            (ExportFormat::Http, false) => (format!("\n\n### {title}\n"), ""),
            (ExportFormat::Curl, true) => (format!("# {title}\n"), ""),
            (ExportFormat::Curl, false) => (format!("\n# {title}\n"), ""),
            (ExportFormat::Har, false) => (",\n".to_owned(), ""),
            (ExportFormat::Ndjson, _) => (String::new(), "\n"),
        };
        [before.as_bytes(), text, after.as_bytes()].concat()
    }
}

/// Returns the URL that a request was sent to. The host comes from the `Host` header, which is untrusted. A polled
/// delivery has no such header: its URL is that of the first target.
fn address(delivery: &Delivery) -> String {
    let host = delivery.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    match (host.filter(|host| !host.is_empty()), delivery.forwards.first()) {
        (None, Some(forward)) => forward.url.clone(),
        (host, _) => {
            format!("http://{}{}", host.unwrap_or("localhost"), delivery.summary.request_target)
        }
    }
}

#[cfg(test)]
mod tests;
