//! The checks of a receiver: one table.

use super::bodies::Body;
use super::check::Plan::{Concurrent, Same, Separate};
use super::check::{ReceiverCheck, SendMode, Step, check, step};
use super::judge;
use super::signature_kind::SignatureKind::{self, ClockOffset, Literal, Variant};
use crate::variant::Variant as V;

/// A valid signature of the current time.
const VALID: SignatureKind = Variant(V::Fresh);
const GET: Step = Step { mode: SendMode::Get, ..step("", Body::Plain, Variant(V::Missing)) };
const TAMPERED: Step = Step { mode: SendMode::Tampered, ..step("one digit", Body::Plain, VALID) };

const REFUSAL: &str = "a refusal, best 401";
const FIX_RAW: &str = "verify the raw bytes of the body before anything parses or decodes them: ask \
    the framework for the raw body";

/// All checks, in the order of their execution. The gates are first.
pub const RECEIVER_CHECKS: &[ReceiverCheck] = &[
    check("answers-in-time", 6, Separate(&[step("", Body::Plain, VALID)]), judge::within_timeout)
        .sends("a valid delivery")
        .wants("an answer within 10 seconds (`--timeout` sets another limit)")
        .why("after 10 seconds the service counts the attempt as failed and retries")
        .fix("store the delivery, answer 2xx at once, and do the work afterwards")
        .gate(),
    check("no-redirect", 6, Separate(&[step("", Body::Plain, VALID)]), judge::no_redirect)
        .sends("a valid delivery")
        .wants("an answer that is not a redirect")
        .why("the service follows no redirect: 3xx is a failed attempt")
        .fix("register the final URL; check http or https, www, and the slash at the end")
        .gate(),
    check("fresh-accepted", 6, Separate(&[step("", Body::Plain, VALID)]), judge::accepted_by_clock)
        .sends("a valid delivery")
        .wants("2xx")
        .why("any other answer is a failed attempt; after 4 of them the delivery is lost")
        .fix(
            "set the whole secret of this endpoint, with `whsec_` and without a line \
             break; `formsvc webhook verify --explain` names the cause",
        )
        .gate(),
    check("missing-header", 5, Separate(&[step("", Body::Plain, Variant(V::Missing))]), judge::refused)
        .sends("no X-Service-Signature")
        .wants(REFUSAL)
        .why("a receiver that accepts unsigned requests verifies nothing")
        .fix("refuse a request without the header first"),
    check("malformed", 5, Separate(MALFORMED), judge::refused)
        .sends("an empty header, a header that is not a signature, or a word as `t`")
        .wants(REFUSAL)
        .why("a malformed `t` is neither too old nor too new when it is compared with the clock")
        .fix("accept decimal digits only as `t`, and refuse a header that does not parse"),
    check("missing-t", 5, Separate(&[step("", Body::Plain, Variant(V::NoT))]), judge::refused)
        .sends("a valid `v1` without `t`")
        .wants(REFUSAL)
        .why("without `t` a recorded delivery is valid for ever")
        .fix("refuse if `t` or `v1` is missing"),
    check("missing-v1", 5, Separate(MISSING_V1), judge::refused)
        .sends("`t` without `v1`, and with the valid signature as `v0`")
        .wants(REFUSAL)
        .why("without a signature there is nothing to verify")
        .fix("refuse if `t` or `v1` is missing; a loop over no signatures must end in a refusal"),
    check("bad-mac", 5, Separate(BAD_MAC), judge::refused)
        .sends("a `v1` without a correct digit, and a valid one in base64")
        .wants(REFUSAL)
        .why("anyone who knows the URL could forge submissions")
        .fix("compute HMAC-SHA256 of `<t>.<body>` as lower-case hex and compare it with each `v1`"),
    check("partial-mac", 5, Separate(PARTIAL_MAC), judge::refused)
        .sends("a `v1` with a wrong last digit, the first half of a valid one, and an empty one")
        .wants(REFUSAL)
        .why("a signature that is compared in part can be guessed digit by digit")
        .fix(
            "compare the whole signature in constant time: hmac.compare_digest, \
             crypto.timingSafeEqual, hmac.Equal, hash_equals",
        ),
    check("other-secret", 5, Separate(&[step("", Body::Plain, Variant(V::WrongSecret))]), judge::refused)
        .sends("a valid signature by another secret")
        .wants(REFUSAL)
        .why("each endpoint has its own secret; the owner of another one could write into this one")
        .fix("verify with the secret of this endpoint only"),
    check("tampered", 5, Separate(CHANGED_BODY), judge::refused)
        .sends("a body with a digit changed after signing, and one that lost its line break")
        .wants(REFUSAL)
        .why("bytes that the signature does not cover can be changed")
        .fix("verify the whole raw body, not an id, a hash or a trimmed copy of it"),
    check("changed-time", 5, Separate(CHANGED_TIME), judge::refused)
        .sends(
            "a valid signature of 360 seconds ago with the current time: beside its `t`, instead of \
             it, and with a MAC that does not cover the time",
        )
        .wants(REFUSAL)
        .why("a recorded delivery could be replayed again and again")
        .fix("sign `<t>.<body>` with the `t` that is compared, and refuse a header with two"),
    check("stale", 5, Separate(&[step("", Body::Plain, ClockOffset(-301))]), judge::refused_by_clock)
        .sends("a valid signature that is 301 seconds old")
        .wants(REFUSAL)
        .why("a recorded delivery could be replayed at any time")
        .fix("refuse if `t` is more than 300 seconds before the clock; check the clock (NTP)"),
    check("future", 5, Separate(&[step("", Body::Plain, ClockOffset(311))]), judge::refused_by_clock)
        .sends("a valid signature that is 311 seconds ahead")
        .wants(REFUSAL)
        .why("a signature of next year would be valid for a year")
        .fix("compare the absolute difference with 300 seconds; check the clock (NTP)"),
    check("edges", 5, Separate(EDGES), judge::accepted_by_clock)
        .sends("valid signatures that are 290 seconds old and 299 seconds ahead")
        .wants("2xx")
        .why("clocks differ and deliveries are delayed: 300 seconds are within the tolerance")
        .fix("accept 300 seconds in both directions; check the clock (NTP)"),
    check("several-v1", 5, Separate(SEVERAL_V1), judge::accepted)
        .sends("two `v1`, of which the first is valid, then the last")
        .wants("2xx")
        .why("during the rotation of a secret, deliveries are signed with both")
        .fix("compare with every `v1`; a header parsed into a map keeps only one of them"),
    check("unknown-keys", 9, Separate(UNKNOWN_KEYS), judge::accepted)
        .sends("a `v0` before the `v1`, and unknown keys after it")
        .wants("2xx")
        .why("signatures of a later scheme will be added beside `v1`, which stays valid")
        .fix("skip unknown keys; do not rely on positions or lengths"),
    check("upper-case", 5, Separate(&[step("", Body::Plain, Variant(V::UpperCase))]), judge::preferably_refused)
        .sends("the valid signature in upper-case hex")
        .wants("a refusal; 2xx is harmless")
        .why("the service writes lower case, and a second spelling is a source of errors")
        .fix("compare the unchanged text of `v1`"),
    check("raw-unicode", 5, Separate(&[step("", Body::Unicode, VALID)]), judge::accepted)
        .sends("letters, emoji and marks beyond ASCII, in UTF-8")
        .wants("2xx")
        .why("names are written in every script; a signature covers bytes, not text")
        .fix(FIX_RAW),
    check("raw-escapes", 5, Separate(&[step("", Body::Escapes, VALID)]), judge::accepted)
        .sends("JSON with `\\/`, `\\u00eb` and a surrogate pair")
        .wants("2xx")
        .why("JSON that is printed again has other escapes and another signature")
        .fix(FIX_RAW),
    check("raw-pretty", 5, Separate(&[step("", Body::Pretty, VALID)]), judge::accepted)
        .sends("JSON with line breaks and indentation")
        .wants("2xx")
        .why("the signature covers white space between the values")
        .fix(FIX_RAW),
    check("raw-key-order", 5, Separate(&[step("", Body::KeyOrder, VALID)]), judge::accepted)
        .sends("members in another order, some named by numbers")
        .wants("2xx")
        .why("maps sort their keys or put numbers first; the signature covers the original order")
        .fix(FIX_RAW),
    check("raw-numbers", 5, Separate(&[step("", Body::Numbers, VALID)]), judge::accepted)
        .sends("numbers with more digits than a float has, `1.10` and `1E+2`")
        .wants("2xx")
        .why("a parser that reads numbers as floats changes them")
        .fix(FIX_RAW),
    check("raw-newline", 5, Separate(&[step("", Body::TrailingNewline, VALID)]), judge::accepted)
        .sends("a line break after the JSON")
        .wants("2xx")
        .why("a trimmed body has another signature")
        .fix(FIX_RAW),
    check("unknown-event", 6, Separate(&[step("", Body::UnknownEvent, VALID)]), judge::accepted)
        .sends("an event of an unknown kind")
        .wants("2xx")
        .why("the service retries a refused event, which stays unknown")
        .fix("read `event`, and answer 2xx to kinds that you do not handle"),
    check("unknown-fields", 9, Separate(&[step("", Body::UnknownFields, VALID)]), judge::accepted)
        .sends("a submission with unknown members")
        .wants("2xx")
        .why("members may be added to the payload")
        .fix("ignore unknown members"),
    check("large", 6, Separate(&[step("", Body::Large, VALID)]), judge::preferably_accepted)
        .sends("a valid delivery of 200 KiB")
        .wants("2xx")
        .why("long answers make large deliveries; some frameworks refuse bodies above 100 kB")
        .fix("raise the framework's limit for this path to 1 MiB"),
    check("duplicate", 6, Same(DUPLICATE), judge::accepted)
        .sends("one submission, signed anew, and then again byte for byte")
        .wants("2xx each time")
        .why("a delivery is repeated if its answer is lost; a refusal counts as a failure")
        .fix("store the ids of handled submissions, and answer 2xx to a known one"),
    check("duplicates-at-once", 6, Concurrent(step("", Body::Plain, VALID), 4), judge::concurrent_accepted)
        .sends("one submission 4 times at once")
        .wants("2xx, at the latest on the repeat after 503")
        .why("a repeat can overtake the first delivery; it must be handled once and not be lost")
        .fix(
            "let the database decide (a unique id); answer the others 2xx, or 503 with Retry-After \
             while the first is being handled",
        ),
    check("oversize", 6, Separate(&[step("", Body::Oversize, VALID)]), judge::oversize_refused)
        .sends("a valid delivery of 2 MiB, more than any form makes")
        .wants("a refusal (413), or a closed connection")
        .why("a body is read before it is verified: without a limit anyone can fill the memory")
        .fix("stop reading at 1 MiB and answer 413"),
    check("get", 6, Separate(&[GET]), judge::preferably_refused)
        .sends("GET, without a body")
        .wants("a refusal, best 405")
        .why("deliveries are POST; other methods are not meant for this path")
        .fix("accept only POST on this path, and answer 405 to other methods"),
    check("no-leak", 5, Separate(&[step("", Body::Plain, SignatureKind::WrongMac)]), judge::no_leak)
        .sends("a wrong signature")
        .wants("no answer of the run with the valid one, or the secret")
        .why("an attacker who receives the valid signature can sign anything with one more request")
        .fix("answer a refusal with a fixed text, also on error pages"),
];

const MALFORMED: &[Step] = &[
    step("empty", Body::Plain, Literal("")),
    step("no key=value", Body::Plain, Literal("garbage")),
    step("`t` is a word, signed as such", Body::Plain, Variant(V::TNotANumber)),
];
const MISSING_V1: &[Step] = &[
    step("no signature", Body::Plain, Variant(V::NoV1)),
    step("v0 only", Body::Plain, Variant(V::V0Only)),
];
const BAD_MAC: &[Step] = &[
    step("no correct digit", Body::Plain, SignatureKind::WrongMac),
    step("base64", Body::Plain, Variant(V::Base64)),
];
const PARTIAL_MAC: &[Step] = &[
    step("last digit wrong", Body::Plain, SignatureKind::WrongLastDigit),
    step("first half", Body::Plain, Variant(V::Truncated)),
    step("empty", Body::Plain, Variant(V::EmptyV1)),
];
const CHANGED_BODY: &[Step] =
    &[TAMPERED, step("line break lost", Body::Plain, Variant(V::LineFeed))];
const CHANGED_TIME: &[Step] = &[
    step("two `t`", Body::Plain, Variant(V::TwoT)),
    step("another `t`", Body::Plain, Variant(V::TamperedTime)),
    step("body only", Body::Plain, Variant(V::BodyOnly)),
];
/// A delivery may arrive up to 10 s after it was signed. So `stale`, `future` and these steps keep that distance from
/// the limit of 300 s on the side where a delay could cross it.
const EDGES: &[Step] = &[
    step("290 s old", Body::Plain, ClockOffset(-290)),
    step("299 s ahead", Body::Plain, ClockOffset(299)),
];
const SEVERAL_V1: &[Step] = &[
    step("first is valid", Body::Plain, Variant(V::TwoV1First)),
    step("last is valid", Body::Plain, Variant(V::TwoV1)),
];
const UNKNOWN_KEYS: &[Step] = &[
    step("v0 before v1", Body::Plain, SignatureKind::V0BeforeV1),
    step("x and alg after v1", Body::Plain, SignatureKind::UnknownKeys),
];
const DUPLICATE: &[Step] = &[
    step("first", Body::Plain, ClockOffset(-2)),
    step("signed anew", Body::Plain, ClockOffset(-1)),
    step("byte for byte", Body::Plain, ClockOffset(-1)),
];

/// The texts above contain these numbers.
const _: () = {
    use formsvc_protocol::limits::{DELIVERY_RETRIES, DELIVERY_TIMEOUT, SIGNATURE_TOLERANCE};
    assert!(SIGNATURE_TOLERANCE.as_secs() == 300 && DELIVERY_TIMEOUT.as_secs() == 10);
    assert!(DELIVERY_RETRIES == 3 && formsvc_receiver::DEFAULT_MAX_BODY == 1 << 20);
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_unique_words_with_hyphens() {
        let mut ids = HashSet::new();
        for check in RECEIVER_CHECKS {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(check.id.chars().all(plain), "{}", check.id);
            assert!(ids.insert(check.id), "{}", check.id);
        }
    }

    #[test]
    fn every_check_has_all_its_texts() {
        for check in RECEIVER_CHECKS {
            let ReceiverCheck { id, sends, wants, why, fix, section, .. } = check;
            assert!((5..=9).contains(section), "{id}");
            assert!(check.requests() > 0, "{id}");
            for text in [sends, wants, why, fix] {
                assert!(!text.is_empty() && !text.contains("  ") && !text.ends_with('.'), "{id}");
                assert!(text.matches('`').count().is_multiple_of(2), "{id}: {text}");
            }
        }
    }

    #[test]
    fn gates_are_first_and_no_leak_is_last() {
        let gates = RECEIVER_CHECKS.iter().take_while(|check| check.is_gate).count();
        assert_eq!(gates, 3);
        assert!(RECEIVER_CHECKS[gates..].iter().all(|check| !check.is_gate));
        assert_eq!(RECEIVER_CHECKS.last().map(|check| check.id), Some("no-leak"));
    }

    #[test]
    fn requests_of_one_check_have_distinct_labels() {
        for check in RECEIVER_CHECKS {
            let (Separate(steps) | Same(steps)) = check.plan else { continue };
            let labels: HashSet<&str> = steps.iter().map(|step| step.label).collect();
            assert_eq!(labels.len(), steps.len(), "{}", check.id);
        }
    }
}
