//! What happened, as lines for people: one for each delivery, and a second one where it failed.

use std::time::Duration;

use compact_str::{CompactString, ToCompactString, format_compact};
use http::Method;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::happened::{Delivered, Refused};
use super::parts::Parts;
use crate::output::{Look, shortened, shortened_id};
use crate::sanitize::one_line;
use crate::webhook::capture::{AnsweredBy, Capture, Forward, Outcome, Source};
use crate::webhook::mask;
use crate::webhook::secrets::Secrets;
use crate::webhook::tone::Tone;
use crate::webhook::verdict::Search;
use crate::wrap::folded;

/// A line, in parts that have a look. Nearly all are so short that they need no memory of their own, which for many
/// deliveries would cost as much as all the rest of a line.
pub(crate) type Line = Vec<(Look, CompactString)>;

/// Characters of a target's answer that are shown.
const PREVIEW: usize = 200;
/// Where a second line begins: below the first one's second word.
pub(super) const INDENT: &str = "         ";
/// Attempts that the service makes.
const ATTEMPTS: u32 = 1 + formsvc_protocol::limits::DELIVERY_RETRIES;
/// The least that is left of a part of a line that may be shortened.
pub(super) const SHORTEST: usize = 8;
/// What is said of a delivery that was to be passed on, and went nowhere.
const UNROUTED: &str = "no route matches";
/// Cells of a method.
const METHOD_MAX: usize = 10;

/// What lines are made for.
pub(crate) struct View {
    pub(crate) zone: TimeZone,
    /// Cells in a line; none where nothing bounds it.
    pub(crate) width: Option<usize>,
    /// Of which the names are told.
    pub(crate) secrets: Secrets,
    /// Whether signatures and secrets are told as they came.
    pub(crate) reveal: bool,
    /// Whether there are several targets, so that an answer is of one or another.
    pub(crate) several: bool,
}

/// The lines of a delivery, none wider than the terminal as far as its parts can be shortened.
pub(crate) fn delivered(told: &Delivered, view: &View) -> Vec<Line> {
    let capture = &*told.capture;
    let Some(outcome) = &capture.outcome else { return Vec::new() };
    let mut lines = parts(told, outcome, view).lines(view.width);
    for hint in hints(capture, outcome, view) {
        let hint = one_line(&hint);
        let lines_of = match view.width {
            Some(width) => folded(&hint, width.saturating_sub(INDENT.len())),
            None => vec![hint.into_owned()],
        };
        lines.extend(
            lines_of
                .into_iter()
                .map(|line| vec![(Look::Plain, INDENT.into()), (Look::Past, line.into())]),
        );
    }
    lines
}

/// The parts of its line.
fn parts(told: &Delivered, outcome: &Outcome, view: &View) -> Parts {
    let capture = &*told.capture;
    let received = &*capture.received;
    let clean = |text: &String| CompactString::from(one_line(text));
    let mut begin: Line = vec![(Look::Past, time(received.at, &view.zone))];
    begin.extend(capture.number.map(|number| (Look::Heading, format_compact!("#{number}"))));
    begin.push((
        Look::Plain,
        match received.source {
            Source::Request(_) => method(&received.method),
            Source::Poll => "poll".into(),
        },
    ));
    let (verdict_look, verdict) = verdict(capture, &view.secrets);
    let mut found: Line = vec![(verdict_look, verdict)];
    let arrival = received.arrival;
    if arrival.duplicate {
        found.push((Look::Open, "duplicate".into()));
    } else if arrival.number > 1 {
        found.push((Look::Open, attempt(arrival.number)));
    }
    let (status_look, status) = status(outcome);
    Parts {
        begin,
        target: Some(target(&received.request_target, view.reveal)),
        event: received.event.as_ref().map(clean),
        id: received.submission_id.as_ref().map(clean),
        size: Some(size(received.body.len())),
        found,
        gap: arrival.gap.map(|gap| format_compact!("+{}", seconds(gap))),
        answer: vec![(Look::Past, "→".into()), (status_look, status)],
        went: if told.is_unrouted { Some(UNROUTED.into()) } else { went(outcome, view) },
        took: Some(took(outcome.took)),
    }
}

/// Which target took it, where there are several. What failed is named below.
fn went(outcome: &Outcome, view: &View) -> Option<CompactString> {
    let forwards = &outcome.forwards;
    if !view.several || !forwards.iter().all(Forward::is_accepted) {
        return None;
    }
    match &forwards[..] {
        [] => None,
        [one] => {
            let url = mask::url(&one.url, view.reveal);
            let place = url.split_once("://").map_or(&*url, |(_, place)| place);
            // As people type it.
            let place = place.strip_prefix("localhost:").unwrap_or(place);
            Some(format_compact!("by {}", one_line(place)))
        }
        several => Some(format_compact!("by {} targets", several.len())),
    }
}

/// The line of a request that went no further.
pub(crate) fn refused(refused: &Refused, view: &View) -> Line {
    let status = refused.refusal.status().to_compact_string();
    let (why, method) = (refused.refusal.message(), method(&refused.method));
    let mut target = target(&refused.request_target, view.reveal);
    if let Some(width) = view.width {
        let rest = 8 + 1 + method.len() + 1 + 3 + 4 + why.len();
        let over = (rest + target.width()).saturating_sub(width);
        shorten(&mut target, over, SHORTEST);
    }
    spaced(vec![
        (Look::Past, time(refused.at, &view.zone)),
        (Look::Plain, method),
        (Look::Plain, target),
        (Look::Past, "→".into()),
        (Tone::of_status(Some(refused.refusal.status())).look(), status),
        (Look::Past, why.into()),
    ])
}

/// What was asked for, which may be anything.
fn target(target: &str, reveal: bool) -> CompactString {
    one_line(&mask::target(target, reveal)).into()
}

/// A method, which may be any word.
fn method(method: &Method) -> CompactString {
    shortened(method.as_str(), METHOD_MAX).into()
}

/// Makes a text narrower by so many cells, down to a width.
pub(super) fn shorten(text: &mut CompactString, by: usize, least: usize) {
    let wanted = text.width().saturating_sub(by).max(least);
    *text = shortened(text, wanted).into();
}

/// As [`shorten`], down to a width, for an id.
pub(super) fn shorten_id(id: &mut CompactString, by: usize, least: usize) {
    let wanted = id.width().saturating_sub(by).max(least);
    *id = shortened_id(id, wanted).into();
}

pub(super) fn spaced(parts: Line) -> Line {
    let mut line = Line::with_capacity(parts.len() * 2);
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            line.push((Look::Plain, " ".into()));
        }
        line.push(part);
    }
    line
}

fn verdict(capture: &Capture, secrets: &Secrets) -> (Look, CompactString) {
    let verdict = &capture.received.verdict;
    let row = verdict.code.row();
    let previous = verdict.secret.as_deref().is_some_and(|name| secrets.is_previous(name));
    let name = if previous { " by a previous secret" } else { "" };
    // Of what is not signed the age is anybody's word.
    let age = verdict.age.filter(|_| row.is_signed);
    let age = age.map_or(CompactString::default(), |age| format_compact!(" {}", self::age(age)));
    (row.tone.look(), format_compact!("{}{name}{age}", row.short))
}

/// Which attempt it is.
fn attempt(number: u32) -> CompactString {
    if number <= ATTEMPTS {
        format_compact!("{number}/{ATTEMPTS}")
    } else {
        format_compact!("{number}th")
    }
}

fn status(outcome: &Outcome) -> (Look, CompactString) {
    let as_told = if outcome.by == AnsweredBy::Fault { " as told" } else { "" };
    let status = outcome.status.map_or("dropped".into(), |status| status.to_compact_string());
    (Tone::of_status(outcome.status).look(), status + as_told)
}

/// What to do about a delivery that failed, and what its targets said.
fn hints(capture: &Capture, outcome: &Outcome, view: &View) -> Vec<String> {
    let of_forward = |forward| forward_hint(forward, view);
    let mut hints: Vec<String> = outcome.forwards.iter().filter_map(of_forward).collect();
    let received = &capture.received;
    let lack = received.verdict.code.lack(&received.body);
    hints.extend(lack.map(|lack| format!("not a valid event: {lack}")));
    hints.extend(verdict_hint(capture));
    hints
}

fn forward_hint(forward: &Forward, view: &View) -> Option<String> {
    let (url, took) =
        (one_line(&mask::url(&forward.url, view.reveal)).into_owned(), took(forward.took));
    // It may end with what a stranger asked for, of any length.
    let url = match view.width {
        Some(width) => shortened(&url, width.saturating_sub(INDENT.len() + 1).max(SHORTEST)),
        None => url,
    };
    match &forward.answer {
        Err(unanswered) => Some(format!("{url}: {}", unanswered.why)),
        Ok(answer) if (200..300).contains(&answer.status) => None,
        Ok(answer) => {
            // Masked before it is cut: of half a signature nobody knows that it is one.
            let body = mask::answer(&answer.body, view.reveal);
            let body = String::from_utf8_lossy(&body);
            let preview: String = body.trim().chars().take(PREVIEW).collect();
            let colon = if preview.is_empty() { "" } else { ": " };
            Some(format!("{url} answered {} in {took}{colon}{preview}", answer.status))
        }
    }
}

fn verdict_hint(capture: &Capture) -> Option<String> {
    let row = capture.received.verdict.code.row();
    if !row.is_refusal() {
        return None;
    }
    match (row.search, capture.number) {
        (Search::All, Some(number)) => Some(format!(
            "hint: `formsvc webhook verify --capture {number} --explain` says what fits"
        )),
        _ => row.next.map(|next| format!("hint: {next}")),
    }
}

fn time(at: Timestamp, zone: &TimeZone) -> CompactString {
    let time = zone.to_datetime(at).time();
    format_compact!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())
}

/// A size in bytes, as people say it.
fn size(bytes: usize) -> CompactString {
    match bytes {
        0..1_000 => format_compact!("{bytes} B"),
        1_000..1_000_000 => format_compact!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format_compact!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// A length of time that is most often short, to a tenth of a millisecond where it is.
pub(crate) fn took(time: Duration) -> CompactString {
    let tenths = (time.as_micros() + 50) / 100;
    match tenths {
        0..100 => format_compact!("{}.{}ms", tenths / 10, tenths % 10),
        100..9_995 => format_compact!("{}ms", (tenths + 5) / 10),
        _ => seconds(time),
    }
}

/// A length of time in seconds, or more when it is long.
pub(super) fn seconds(time: Duration) -> CompactString {
    let (seconds, tenths) = (time.as_secs(), (time.as_millis() + 50) / 100);
    match seconds {
        0..100 => format_compact!("{}.{}s", tenths / 10, tenths % 10),
        100..6_000 => format_compact!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format_compact!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// How old a signature is, in seconds; one of the future is ahead.
fn age(seconds: i64) -> CompactString {
    let far = seconds.unsigned_abs();
    let text = match far {
        0..6_000 => format_compact!("{far}s"),
        6_000..172_800 => format_compact!("{}h", far / 3_600),
        _ => format_compact!("{}d", far / 86_400),
    };
    if seconds < 0 { format_compact!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::capture::{Forwarded, Unanswered};
    use crate::webhook::listen::answers::Refusal;
    use crate::webhook::listen::record;
    use crate::webhook::listen::samples::{BODY, Sample};
    use crate::webhook::verdict::{VERDICTS, VerdictCode};

    fn lines(sample: Sample, width: Option<usize>) -> Vec<String> {
        let secrets = Secrets(vec![
            ("new".into(), "whsec_of_the_first_test".into()),
            ("old".into(), "whsec_of_the_second_test".into()),
        ]);
        let view = View { zone: TimeZone::UTC, width, secrets, reveal: false, several: true };
        of(&sample.told(), &view)
    }

    fn of(told: &Delivered, view: &View) -> Vec<String> {
        let told = delivered(told, view);
        told.into_iter().map(|line| line.into_iter().map(|(_, text)| text).collect()).collect()
    }

    #[test]
    fn what_went_no_further_shows_nothing_that_lets_somebody_in() {
        let refusal = Refusal::NotFound;
        let (at, method) = (Timestamp::UNIX_EPOCH, Method::POST);
        let refused = Refused { at, method, request_target: "/hook?token=abc".into(), refusal };
        let view = |reveal| View {
            zone: TimeZone::UTC,
            width: None,
            secrets: Secrets(Vec::new()),
            reveal,
            several: false,
        };
        for (reveal, shown) in [(false, "/hook?token=…"), (true, "/hook?token=abc")] {
            let line = super::refused(&refused, &view(reveal));
            assert!(line.iter().any(|(_, part)| part == shown), "{line:?}");
            let record: serde_json::Value =
                serde_json::from_str(&record::refused(&refused, reveal)).unwrap();
            assert_eq!(record["request_target"], shown);
        }
    }

    #[test]
    fn a_line_has_what_came_and_what_became_of_it() {
        let sample = || Sample::of(BODY);
        let first = "09:30:05 POST / submission.created sub_1 157 B";
        for (sample, rest) in [
            (sample(), "✓ signed 1s → 200 41ms"),
            (sample().attempt(2, 11, false), "✓ signed 1s 2/4 +11.0s → 200 41ms"),
            (sample().attempt(5, 4_000, false), "✓ signed 1s 5th +66m40s → 200 41ms"),
            (sample().attempt(3, 9_000, true), "✓ signed 1s duplicate +2h30m → 200 41ms"),
            (sample().answered(Some(503), AnsweredBy::Fault), "✓ signed 1s → 503 as told 41ms"),
            (sample().answered(None, AnsweredBy::Fault), "✓ signed 1s → dropped as told 41ms"),
            (sample().verdict(VerdictCode::Unchecked, Some(0)), "? unchecked → 200 41ms"),
        ] {
            assert_eq!(lines(sample, None), [format!("{first} {rest}")]);
        }
        let mut old = sample();
        old.received.verdict.secret = Some("old".into());
        assert!(lines(old, None)[0].contains("✓ signed by a previous secret 1s"));
    }

    #[test]
    fn a_failure_has_a_second_line() {
        let mut mismatch = Sample::of(BODY).verdict(VerdictCode::NoMatch, Some(7));
        assert!(lines(mismatch.clone(), None)[0].contains("✗ mismatch → "), "its age is no proof");
        assert!(lines(mismatch.clone(), None)[1].contains("is the secret that of this endpoint"));
        mismatch.number = Some(17);
        assert!(
            lines(mismatch, None)[1].contains("`formsvc webhook verify --capture 17 --explain`")
        );
        let stale = Sample::of(BODY).verdict(VerdictCode::TooOld, Some(100_000));
        assert!(lines(stale, None)[0].contains("✗ stale 27h → "));
        let future = Sample::of(BODY).verdict(VerdictCode::InFuture, Some(-400));
        assert!(lines(future, None)[0].contains("✗ future -400s → "));
        let mut forwarded = Sample::of(BODY);
        let url = "http://localhost:1/?token=1".to_owned();
        let took = Duration::from_millis(7);
        let why = "nothing listens there".to_owned();
        let body = format!("bad\r\nthings\u{1b}[2J v1={}", "0a".repeat(32)).into();
        let answer =
            Forwarded { status: 500, headers: http::HeaderMap::new(), body, truncated: false };
        let unanswered = Err(Unanswered { timed_out: false, garbled: false, why });
        forwarded.outcome.forwards = vec![
            Forward { url: url.clone(), answer: unanswered, took },
            Forward { url: url.clone(), answer: Ok(answer.clone()), took },
            Forward { url, answer: Ok(Forwarded { status: 204, ..answer }), took },
        ];
        assert_eq!(
            lines(forwarded, None)[1..],
            [
                "         http://localhost:1/?…: nothing listens there",
                "         http://localhost:1/?… answered 500 in 7.0ms: bad  things[2J v1=0a0a…",
            ]
        );
    }

    #[test]
    fn a_long_url_takes_one_line_of_a_window() {
        let mut sample = Sample::of(BODY);
        let url = format!("http://localhost:1/{}", "x".repeat(600));
        let unanswered =
            Err(Unanswered { timed_out: false, garbled: false, why: "nothing listens".to_owned() });
        let failed = Forward { url: url.clone(), answer: unanswered, took: Duration::ZERO };
        sample.outcome.forwards = vec![failed];
        assert!(lines(sample.clone(), None)[1].contains(&url), "whole where nothing bounds it");
        for width in [40, 80, 200] {
            let told = lines(sample.clone(), Some(width));
            assert!(told[1..].iter().all(|line| line.width() <= width), "{told:#?}");
            assert!(told[told.len() - 2].ends_with("x…:"), "{told:#?}");
            assert_eq!(told.last().unwrap().trim(), "nothing listens");
        }
    }

    fn accepted(url: &str) -> Forward {
        let (headers, body) = (http::HeaderMap::new(), bytes::Bytes::new());
        let answer = Ok(Forwarded { status: 200, headers, body, truncated: false });
        Forward { url: url.to_owned(), answer, took: Duration::ZERO }
    }

    #[test]
    fn where_there_are_several_targets_the_line_says_which_one_took_it() {
        let line = |urls: &[&str], several: bool, is_unrouted: bool, width| {
            let mut sample = Sample::of(BODY).answered(Some(200), AnsweredBy::Target);
            sample.outcome.forwards = urls.iter().map(|url| accepted(url)).collect();
            let secrets = Secrets(Vec::new());
            let view = View { zone: TimeZone::UTC, width, secrets, reveal: false, several };
            of(&Delivered { is_unrouted, ..sample.told() }, &view)
        };
        let one = ["http://localhost:4242/a?token=1"];
        for (urls, several, is_unrouted, end) in [
            (&one[..], true, false, "→ 200 by 4242/a?… 41ms"),
            (&one, false, false, "→ 200 41ms"),
            (&["https://shop.test/a", one[0]], true, false, "→ 200 by 2 targets 41ms"),
            (&[], true, true, "→ 200 no route matches 41ms"),
            (&[], false, true, "→ 200 no route matches 41ms"),
            (&[], true, false, "→ 200 41ms"),
        ] {
            let told = line(urls, several, is_unrouted, None);
            assert!(told.len() == 1 && told[0].ends_with(end), "{told:?}");
        }
        let long = format!("http://shop.test/{}", "x".repeat(300));
        let told = line(&[&long], true, false, Some(60));
        assert!(told.iter().all(|line| line.width() <= 60), "{told:#?}");
        assert!(told.last().unwrap().ends_with('…'), "{told:#?}");
    }

    #[test]
    fn what_says_least_gives_way_first_and_the_id_is_whole() {
        let id = "sub_0123456789abcdef0123456789abcdef";
        let mut sample = Sample::of(BODY).attempt(2, 11, false);
        sample.received.submission_id = Some(id.to_owned());
        sample.received.request_target = "/a/path".to_owned();
        let first = |width| lines(sample.clone(), Some(width)).remove(0);
        for (width, told) in [
            (117, "/a/path submission.created {id} 157 B ✓ signed 1s 2/4 +11.0s → 200 41ms"),
            (116, "/a/path {id} 157 B ✓ signed 1s 2/4 +11.0s → 200 41ms"),
            (97, "/a/path {id} ✓ signed 1s 2/4 +11.0s → 200 41ms"),
            (91, "/a/path {id} ✓ signed 1s 2/4 → 200 41ms"),
            (84, "/a/path {id} ✓ signed 1s 2/4 → 200"),
        ] {
            let told = format!("09:30:05 POST {}", told.replace("{id}", id));
            assert_eq!(first(width), told, "{width}");
        }
        // What there is no room for stands below, with all there is to say.
        let below = "         ✓ signed 1s 2/4 +11.0s → 200 41ms";
        assert_eq!(
            lines(sample.clone(), Some(79)),
            [&format!("09:30:05 POST /a/path {id} 157 B"), below]
        );
        let alone = format!("         {id} 157 B");
        let begin = "09:30:05 POST /a/path submission.created";
        assert_eq!(lines(sample.clone(), Some(55)), [begin, &alone, below]);
        sample.received.event = Some("form.of_a_later_release".to_owned());
        sample.number = Some(12_345);
        for (width, told) in [(112, "/a/path form.of_a_l… {id} ✓"), (94, "/a/path form.… {id} ✓")]
        {
            let line = lines(sample.clone(), Some(width)).remove(0);
            assert!(line.contains(&told.replace("{id}", id)), "{width}: {line}");
        }
    }

    #[test]
    fn no_line_is_wider_than_its_window() {
        let mut sample = Sample::of(BODY).attempt(12, 300_000, true);
        sample = sample.verdict(VerdictCode::InFuture, Some(-400_000));
        sample = sample.answered(Some(401), AnsweredBy::Listener);
        sample.number = Some(12_345);
        sample.received.method = Method::from_bytes(&[b'M'; 3_000]).unwrap();
        sample.received.event = Some("form.of_a_later_release".to_owned());
        sample.received.request_target = format!("/{}", "path".repeat(40));
        for id in ["sub_0123456789abcdef0123456789abcdef漢字", "sub_1", &"sub_漢字".repeat(40)]
        {
            sample.received.submission_id = Some(id.to_owned());
            for width in 53..300 {
                let told = lines(sample.clone(), Some(width));
                assert!(told.iter().all(|line| line.width() <= width), "{width}: {told:#?}");
                let is_whole = told.iter().any(|line| line.contains(id));
                assert!(is_whole || id.width() > width - INDENT.len(), "{width}: {told:#?}");
            }
        }
        assert!(lines(sample, None)[0].contains(" MMMMMMMMM… /"));
    }

    #[test]
    fn of_a_body_that_is_no_event_it_is_said_what_is_missing() {
        let mut sample = Sample::of(BODY).verdict(VerdictCode::BadEvent, Some(0));
        sample.received.body = bytes::Bytes::from_static(br#"{"event":"submission.created"}"#);
        let told = lines(sample, None);
        assert!(told[0].contains("✗ no event"), "{told:?}");
        let why = "not a valid event: `submission_id` is missing";
        assert_eq!(told[1].trim(), why);
        assert!(told.len() == 3 && told[2].contains("hint: look at the body"), "{told:?}");
    }

    #[test]
    fn what_to_do_is_folded_to_the_window() {
        for row in VERDICTS {
            let mut sample = Sample::of(BODY).verdict(row.code, None);
            sample.number = Some(17);
            let told = lines(sample, Some(60));
            assert!(told.iter().all(|line| line.width() <= 60), "{told:#?}");
            let hints = told[1..].join(" ");
            assert_eq!(
                hints.matches("hint: ").count(),
                usize::from(row.code.is_refusal()),
                "{hints}"
            );
        }
    }

    #[test]
    fn sizes_and_times_are_short() {
        assert_eq!(
            [0, 999, 1_000, 12_345, 1_048_576].map(size),
            ["0 B", "999 B", "1.0 kB", "12.3 kB", "1.0 MB"]
        );
        let millis = |millis| took(Duration::from_millis(millis));
        assert_eq!(
            [0, 999, 1_000, 61_500, 150_000].map(millis),
            ["0.0ms", "999ms", "1.0s", "61.5s", "2m30s"]
        );
    }
}
