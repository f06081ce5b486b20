//! What came.

use crate::output::Look;
use crate::webhook::capture::{Capture, Source};
use crate::webhook::mask;
use crate::webhook::tui::doc::Doc;
use crate::webhook::tui::facts::Facts;

use super::body::{self, Shown};

pub(super) fn write(doc: &mut Doc, capture: &Capture, facts: &Facts, raw: bool) {
    let received = &*capture.received;
    let target = mask::target(&received.request_target, facts.reveal);
    doc.line(&[
        (Look::Heading, received.method.as_str()),
        (Look::Plain, " "),
        (Look::Plain, &target),
    ]);
    let came = received.at.to_zoned(facts.zone.clone()).strftime("%Y-%m-%d %H:%M:%S%.3f %:z");
    let from = match received.source {
        Source::Request(from) => format!("from {from}"),
        Source::Poll => "made here of a submission that the service has: synthetic".to_owned(),
    };
    doc.line(&[(Look::Past, &format!("{came}, {from}"))]);
    for (name, value) in [
        ("event", &received.event),
        ("submission", &received.submission_id),
        ("form", &received.form_id),
    ] {
        if let Some(value) = value {
            doc.pair(name, value);
        }
    }
    let shown = Shown::of(&received.body, raw);
    doc.heading(&format!("Body, {} bytes{}", received.body.len(), shown.how()));
    shown.write(doc);
    doc.heading("Headers");
    body::headers(doc, &received.headers, facts.reveal);
}
