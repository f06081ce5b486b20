//! The checks: one table, from which runs, lists, reports and documents follow.

use super::bodies::Body;
use super::check::{Check, Plan, Step, Way, step};
use super::judge;
use super::mark::Mark::{self, Of};
use crate::numbers::{
    answer_seconds, at_once, attempts, cap_mib, large_kib, outside, oversize_mib, tolerance,
    well_outside, within,
};
use crate::variant::Variant;

/// A right signature of now.
const RIGHT: Mark = Of(Variant::Fresh);

/// A plan of one request.
const fn once(body: Body, mark: Mark) -> [Step; 1] {
    [step("", body, mark)]
}

/// How raw bytes are mended: the same for all checks of them.
const FIX_RAW: &str = "verify the bytes of the body as they came, before anything parses or decodes \
    them: ask the framework for the raw body";

/// Every check, in the order they are made. The first ones are what the others rest on.
pub const CHECKS: &[Check] = &[
    Check {
        id: "answers-in-time",
        section: 6,
        sends: "a right delivery",
        wants: concat!(
            "an answer within ",
            answer_seconds!(),
            " seconds (`--timeout` says otherwise)"
        ),
        why: concat!(
            "the service waits ",
            answer_seconds!(),
            " seconds, then counts the attempt as failed and sends it again"
        ),
        fix: "keep the delivery, answer 2xx at once, and do the work afterwards",
        is_gate: true,
        plan: Plan::Each(&once(Body::Plain, RIGHT)),
        judge: judge::in_time,
    },
    Check {
        id: "no-redirect",
        section: 6,
        sends: "a right delivery",
        wants: "an answer that is no redirect",
        why: "the service follows no redirect: 3xx is a failed attempt",
        fix: "register the address that it leads to; mind http or https, www, and the slash at the \
              end",
        is_gate: true,
        plan: Plan::Each(&once(Body::Plain, RIGHT)),
        judge: judge::no_redirect,
    },
    Check {
        id: "fresh-accepted",
        section: 6,
        sends: "a right delivery",
        wants: "2xx",
        why: concat!(
            "anything else is a failed attempt; after ",
            attempts!(),
            " of them the delivery is given up"
        ),
        fix: "is it this endpoint's secret, whole, with `whsec_` and without a line end? `formsvc \
              webhook verify --explain` says what is wrong with a signature",
        is_gate: true,
        plan: Plan::Each(&once(Body::Plain, RIGHT)),
        judge: judge::accepted_in_time,
    },
    Check {
        id: "missing-header",
        section: 5,
        sends: "no X-Service-Signature",
        wants: "a refusal, best 401",
        why: "a receiver that lets unsigned requests pass verifies nothing",
        fix: "refuse a request without the header before you look at anything else",
        is_gate: false,
        plan: Plan::Each(&once(Body::Plain, Of(Variant::Missing))),
        judge: judge::refused,
    },
    Check {
        id: "malformed",
        section: 5,
        sends: "a header that is empty, or no signature, or has a word for `t`",
        wants: "a refusal, best 401",
        why: "what cannot be read must not count as right: compared with the clock, a `t` that is no \
              number is neither too old nor too new",
        fix: "take `t` only where it is decimal digits and nothing else, and refuse whatever does \
              not parse",
        is_gate: false,
        plan: Plan::Each(&[
            step("empty", Body::Plain, Mark::Text("")),
            step("no key=value", Body::Plain, Mark::Text("garbage")),
            step("`t` is a word, signed rightly", Body::Plain, Of(Variant::TNotANumber)),
        ]),
        judge: judge::refused,
    },
    Check {
        id: "missing-t",
        section: 5,
        sends: "a right `v1` without `t`",
        wants: "a refusal, best 401",
        why: "without `t` a delivery that somebody recorded is right for ever",
        fix: "refuse when `t` or `v1` is missing",
        is_gate: false,
        plan: Plan::Each(&once(Body::Plain, Of(Variant::NoT))),
        judge: judge::refused,
    },
    Check {
        id: "missing-v1",
        section: 5,
        sends: "`t` without `v1`, and with the right signature as `v0`",
        wants: "a refusal, best 401",
        why: "with nothing to compare, nothing is verified",
        fix: "refuse when `t` or `v1` is missing; a loop over no signatures must end in a refusal",
        is_gate: false,
        plan: Plan::Each(&[
            step("no signature", Body::Plain, Of(Variant::NoV1)),
            step("v0 alone", Body::Plain, Of(Variant::V0Only)),
        ]),
        judge: judge::refused,
    },
    Check {
        id: "bad-mac",
        section: 5,
        sends: "a `v1` of which no digit is right, and a right one in base64",
        wants: "a refusal, best 401",
        why: "anybody who knows the address could make up submissions",
        fix: "compute HMAC-SHA256 of `<t>.<body>` with the secret, as lower-case hex, and compare it \
              with each `v1`",
        is_gate: false,
        plan: Plan::Each(&[
            step("no digit right", Body::Plain, Mark::WrongMac),
            step("base64", Body::Plain, Of(Variant::Base64)),
        ]),
        judge: judge::refused,
    },
    Check {
        id: "partial-mac",
        section: 5,
        sends: "a `v1` with a wrong last digit, the first half of a right one, and an empty one",
        wants: "a refusal, best 401",
        why: "who compares only a part can be guessed at, digit by digit",
        fix: "compare the whole of it with a function for that: hmac.compare_digest, \
              crypto.timingSafeEqual, hmac.Equal, hash_equals",
        is_gate: false,
        plan: Plan::Each(&[
            step("last digit wrong", Body::Plain, Mark::LastDigit),
            step("first half", Body::Plain, Of(Variant::Truncated)),
            step("empty", Body::Plain, Of(Variant::EmptyV1)),
        ]),
        judge: judge::refused,
    },
    Check {
        id: "other-secret",
        section: 5,
        sends: "a right signature by another secret",
        wants: "a refusal, best 401",
        why: "every endpoint has a secret of its own; who has another one could write into this one",
        fix: "verify with this endpoint's secret alone",
        is_gate: false,
        plan: Plan::Each(&once(Body::Plain, Of(Variant::WrongSecret))),
        judge: judge::refused,
    },
    Check {
        id: "tampered",
        section: 5,
        sends: "a body of which one digit was changed after it was signed, and one that lost a line end",
        wants: "a refusal, best 401",
        why: "what is not covered by the signature can be changed on the way",
        fix: "verify the whole body as it came, and not an id or a hash out of it, nor a trimmed copy",
        is_gate: false,
        plan: Plan::Each(&[
            Step { way: Way::Tampered, ..step("one digit", Body::Plain, RIGHT) },
            step("line end lost", Body::Plain, Of(Variant::LineFeed)),
        ]),
        judge: judge::refused,
    },
    Check {
        id: "changed-time",
        section: 5,
        sends: concat!(
            "a right signature of ",
            well_outside!(),
            " seconds ago with the time of now: beside it, instead of it, and one that never covered the time"
        ),
        wants: "a refusal, best 401",
        why: "what somebody recorded would pass for new, again and again",
        fix: "sign `<t>.<body>` with the very `t` whose age you look at, and refuse a header with two",
        is_gate: false,
        plan: Plan::Each(&[
            step("two `t`", Body::Plain, Of(Variant::TwoT)),
            step("another `t`", Body::Plain, Of(Variant::TamperedTime)),
            step("body alone", Body::Plain, Of(Variant::BodyOnly)),
        ]),
        judge: judge::refused,
    },
    Check {
        id: "stale",
        section: 5,
        sends: concat!("a right signature that is ", outside!(), " seconds old"),
        wants: "a refusal, best 401",
        why: "a delivery that somebody recorded could be sent again at any time",
        fix: concat!(
            "refuse when `t` is more than ",
            tolerance!(),
            " seconds before your clock; is that clock right (NTP)?"
        ),
        is_gate: false,
        plan: Plan::Each(&once(Body::Plain, Mark::Off(-outside!()))),
        judge: judge::refused_in_time,
    },
    Check {
        id: "future",
        section: 5,
        sends: concat!("a right signature from ", outside!(), " seconds ahead"),
        wants: "a refusal, best 401",
        why: "a signature of next year would be right for a year",
        fix: concat!(
            "compare the absolute difference with ",
            tolerance!(),
            " seconds; is your clock right (NTP)?"
        ),
        is_gate: false,
        plan: Plan::Each(&once(Body::Plain, Mark::Off(outside!()))),
        judge: judge::refused_in_time,
    },
    Check {
        id: "edges",
        section: 5,
        sends: concat!(
            "right signatures that are ",
            within!(),
            " seconds old, and ",
            within!(),
            " seconds ahead"
        ),
        wants: "2xx",
        why: concat!(
            "clocks differ, and deliveries wait: what is within ",
            tolerance!(),
            " seconds is right"
        ),
        fix: concat!("allow ", tolerance!(), " seconds either way; is your clock right (NTP)?"),
        is_gate: false,
        plan: Plan::Each(&[
            step(concat!(within!(), " s old"), Body::Plain, Mark::Off(-within!())),
            step(concat!(within!(), " s ahead"), Body::Plain, Mark::Off(within!())),
        ]),
        judge: judge::accepted_in_time,
    },
    Check {
        id: "several-v1",
        section: 5,
        sends: "two `v1`, the first right, then the last right",
        wants: "2xx",
        why: "while a secret is rotated, deliveries are signed with both",
        fix: "compare with every `v1`; reading the header into a map keeps only one of them",
        is_gate: false,
        plan: Plan::Each(&[
            step("first is right", Body::Plain, Of(Variant::TwoV1First)),
            step("last is right", Body::Plain, Of(Variant::TwoV1)),
        ]),
        judge: judge::accepted,
    },
    Check {
        id: "unknown-keys",
        section: 9,
        sends: "a `v0` before the `v1`, and unknown keys after it",
        wants: "2xx",
        why: "signatures of a later scheme will stand beside `v1`, which must go on being right",
        fix: "skip the keys that you do not know; do not go by places or lengths",
        is_gate: false,
        plan: Plan::Each(&[
            step("v0 before v1", Body::Plain, Mark::OlderScheme),
            step("x and alg after v1", Body::Plain, Mark::UnknownKeys),
        ]),
        judge: judge::accepted,
    },
    Check {
        id: "upper-case",
        section: 5,
        sends: "the right signature in upper-case hex",
        wants: "a refusal; 2xx harms nobody",
        why: "the service writes lower case, and two spellings of one signature are one more way to go \
              wrong",
        fix: "compare the text of `v1` as it came",
        is_gate: false,
        plan: Plan::Each(&once(Body::Plain, Of(Variant::UpperCase))),
        judge: judge::better_refused,
    },
    Check {
        id: "raw-unicode",
        section: 5,
        sends: "letters, emoji and marks beyond ASCII, in UTF-8",
        wants: "2xx",
        why: "names are written in every script; a signature is of bytes, not of text",
        fix: FIX_RAW,
        is_gate: false,
        plan: Plan::Each(&once(Body::Unicode, RIGHT)),
        judge: judge::accepted,
    },
    Check {
        id: "raw-escapes",
        section: 5,
        sends: "JSON with `\\/`, `\\u00eb` and a pair of surrogates",
        wants: "2xx",
        why: "JSON has many spellings; who prints it again picks another and gets another signature",
        fix: FIX_RAW,
        is_gate: false,
        plan: Plan::Each(&once(Body::Escapes, RIGHT)),
        judge: judge::accepted,
    },
    Check {
        id: "raw-pretty",
        section: 5,
        sends: "JSON with line ends and indentation",
        wants: "2xx",
        why: "white space between the values is signed too",
        fix: FIX_RAW,
        is_gate: false,
        plan: Plan::Each(&once(Body::Pretty, RIGHT)),
        judge: judge::accepted,
    },
    Check {
        id: "raw-key-order",
        section: 5,
        sends: "members in another order, some named by numbers",
        wants: "2xx",
        why: "maps sort their keys, or put numbers first; the signature is of the order that came",
        fix: FIX_RAW,
        is_gate: false,
        plan: Plan::Each(&once(Body::KeyOrder, RIGHT)),
        judge: judge::accepted,
    },
    Check {
        id: "raw-numbers",
        section: 5,
        sends: "numbers with more digits than a float holds, `1.10` and `1E+2`",
        wants: "2xx",
        why: "a parser that reads numbers as floats changes them",
        fix: FIX_RAW,
        is_gate: false,
        plan: Plan::Each(&once(Body::Numbers, RIGHT)),
        judge: judge::accepted,
    },
    Check {
        id: "raw-newline",
        section: 5,
        sends: "a line end after the JSON",
        wants: "2xx",
        why: "who trims the body, or adds a line end, signs something else",
        fix: FIX_RAW,
        is_gate: false,
        plan: Plan::Each(&once(Body::TrailingNewline, RIGHT)),
        judge: judge::accepted,
    },
    Check {
        id: "unknown-event",
        section: 6,
        sends: "an event of a kind that there is not yet",
        wants: "2xx",
        why: "the service sends again what is not answered with 2xx, for nothing: it will still be \
              unknown",
        fix: "look at `event`, and answer 2xx to what you do not handle",
        is_gate: false,
        plan: Plan::Each(&once(Body::UnknownEvent, RIGHT)),
        judge: judge::accepted,
    },
    Check {
        id: "unknown-fields",
        section: 9,
        sends: "a submission with members that there are not yet",
        wants: "2xx",
        why: "members may be added to the payload",
        fix: "ignore the members that you do not know",
        is_gate: false,
        plan: Plan::Each(&once(Body::UnknownFields, RIGHT)),
        judge: judge::accepted,
    },
    Check {
        id: "large",
        section: 6,
        sends: concat!("a right delivery of ", large_kib!(), " KiB"),
        wants: "2xx",
        why: "a long answer makes a large delivery; some frameworks refuse bodies above 100 kB \
              unless told otherwise",
        fix: concat!("raise the framework's limit for this path to ", cap_mib!(), " MiB"),
        is_gate: false,
        plan: Plan::Each(&once(Body::Large, RIGHT)),
        judge: judge::better_accepted,
    },
    Check {
        id: "duplicate",
        section: 6,
        sends: "one submission, signed anew, and then again to the byte",
        wants: "2xx each time",
        why: "a delivery comes again when an answer got lost; refused, it is counted as failed \
              though you have it",
        fix: "keep the ids that you have handled, and answer 2xx to one that you know",
        is_gate: false,
        plan: Plan::Again(&[
            step("first", Body::Plain, Mark::Off(-2)),
            step("signed anew", Body::Plain, Mark::Off(-1)),
            step("to the byte", Body::Plain, Mark::Off(-1)),
        ]),
        judge: judge::accepted,
    },
    Check {
        id: "duplicates-at-once",
        section: 6,
        sends: concat!("one submission ", at_once!(), " times at once"),
        wants: "2xx, at the latest when it comes again after 503",
        why: "a repeat can overtake the first; both must not be handled, and neither refused for \
              good",
        fix: "let the database decide who is first (a unique id); answer the others 2xx, or 503 with \
              Retry-After while the first is being handled",
        is_gate: false,
        plan: Plan::AtOnce(step("", Body::Plain, RIGHT), at_once!()),
        judge: judge::at_once,
    },
    Check {
        id: "oversize",
        section: 6,
        sends: concat!("a right delivery of ", oversize_mib!(), " MiB, more than any form makes"),
        wants: "a refusal (413), or a closed connection",
        why: "a signature is verified after reading: without a limit anybody can fill your memory",
        fix: concat!("stop reading at ", cap_mib!(), " MiB and answer 413"),
        is_gate: false,
        plan: Plan::Each(&once(Body::Oversize, RIGHT)),
        judge: judge::bounded,
    },
    Check {
        id: "get",
        section: 6,
        sends: "GET, without a body",
        wants: "a refusal, best 405",
        why: "deliveries are POST; whatever else is taken is something you did not mean to",
        fix: "take POST alone on this path, and answer 405 to the rest",
        is_gate: false,
        plan: Plan::Each(&[Step { way: Way::Get, ..step("", Body::Plain, Of(Variant::Missing)) }]),
        judge: judge::better_refused,
    },
    Check {
        id: "no-leak",
        section: 5,
        sends: "a wrong signature",
        wants: "no answer of the run that holds the right one, or the secret",
        why: "who is told the right signature can sign anything, one request later",
        fix: "answer a refusal with a fixed text; keep what was computed out of answers, also of \
              error pages",
        is_gate: false,
        plan: Plan::Each(&once(Body::Plain, Mark::WrongMac)),
        judge: judge::silent,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_words_with_hyphens_and_told_once() {
        let mut ids = HashSet::new();
        for check in CHECKS {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(check.id.chars().all(plain), "{}", check.id);
            assert!(ids.insert(check.id), "{}", check.id);
        }
    }

    #[test]
    fn every_check_says_what_why_and_how_in_plain_text() {
        for check in CHECKS {
            let Check { id, sends, wants, why, fix, section, .. } = check;
            assert!((5..=9).contains(section), "{id}");
            assert!(check.requests() > 0, "{id}");
            for text in [sends, wants, why, fix] {
                assert!(!text.is_empty() && !text.contains("  ") && !text.ends_with('.'), "{id}");
                assert!(text.matches('`').count().is_multiple_of(2), "{id}: {text}");
            }
        }
    }

    #[test]
    fn what_the_others_rest_on_comes_first_and_what_they_gave_away_last() {
        let gates = CHECKS.iter().take_while(|check| check.is_gate).count();
        assert_eq!(gates, 3);
        assert!(CHECKS[gates..].iter().all(|check| !check.is_gate));
        assert_eq!(CHECKS.last().map(|check| check.id), Some("no-leak"));
    }

    #[test]
    fn requests_of_one_check_are_told_apart() {
        for check in CHECKS {
            let (Plan::Each(steps) | Plan::Again(steps)) = check.plan else { continue };
            let labels: HashSet<&str> = steps.iter().map(|step| step.label).collect();
            assert_eq!(labels.len(), steps.len(), "{}", check.id);
        }
    }
}
