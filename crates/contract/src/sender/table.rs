//! The checks of a sender: one table.

use super::judge::{self, RunRecord};
use crate::judgement::{Judgement, is_wire_time};
use crate::report::Check;
use crate::send::USER_AGENT;

/// A check of a sender.
pub type SenderCheck = Check<SenderTest>;

/// The judge of a check.
#[derive(Clone, Copy, Debug)]
pub struct SenderTest(pub(super) fn(&RunRecord<'_>) -> Judgement<String>);

const fn check(
    id: &'static str,
    section: u8,
    judge: fn(&RunRecord<'_>) -> Judgement<String>,
) -> SenderCheck {
    Check::new(id, section, SenderTest(judge)).enabled_by("--deliveries")
}

const JSON: &str = "application/json";
const CREATED: &str = "submission.created";
const FIX_SIGN: &str =
    "sign `<t>.<body>` with the exact bytes that are sent, for each attempt anew";

/// All checks of a sender.
pub const SENDER_CHECKS: &[SenderCheck] = &[
    check("delivery", 6, judge::arrives)
        .states("each submission to a form with a webhook endpoint is delivered")
        .fix("check the endpoint's URL, and that it belongs to the form"),
    check("delivery-method", 6, judge::method)
        .states("a delivery is a POST request")
        .fix("send POST"),
    check("delivery-content-type", 6, |run| judge::header(run, "content-type", JSON))
        .states("a delivery has `Content-Type: application/json`")
        .fix("send this value, without parameters"),
    check("delivery-user-agent", 6, |run| judge::header(run, "user-agent", USER_AGENT))
        .states("a delivery has `User-Agent: service-webhooks/1.0`")
        .fix("send this value"),
    check("delivery-event", 6, |run| judge::header(run, "x-service-event", CREATED))
        .states("a delivery has `X-Service-Event: submission.created`")
        .fix("send this value"),
    check("signature-format", 5, judge::signature_format)
        .states("`X-Service-Signature` is `t=<unix-seconds>,v1=<hex-hmac-sha256>`")
        .fix("send one header with `t` in digits and 64 lower-case hex digits"),
    check("signature-valid", 5, judge::signature_valid)
        .states("the signature verifies on the unmodified raw body")
        .fix(FIX_SIGN),
    check("signature-time", 5, judge::signature_time)
        .states("`t` is within 300 seconds of the current time")
        .fix("sign with the current time in seconds, and synchronize the clock"),
    check("signature-fresh", 5, judge::fresh_time)
        .states("each attempt is signed anew")
        .fix(FIX_SIGN),
    check("body-fields", 6, judge::body_fields)
        .states("a body has event, submission_id, form_id, form_title, data and created_at")
        .fix("add the missing members: strings, and the object `data`"),
    check("body-event", 6, |run| judge::member(run, "event", |event| event == CREATED))
        .states("`event` is `submission.created`")
        .fix("send this value"),
    check("body-time", 6, |run| judge::member(run, "created_at", is_wire_time))
        .states("`created_at` is `YYYY-MM-DDThh:mm:ss.sssZ`")
        .fix("print the time in UTC with exactly three digits of milliseconds and `Z`"),
    check("ends-after-2xx", 3, judge::ends_after_2xx)
        .states("no attempt follows any 2xx answer")
        .fix("count every status from 200 to 299 as success"),
    check("retries", 6, judge::retries)
        .states("4xx, 5xx and a network error are followed by another attempt, up to 3 times")
        .fix("retry after every outcome but 2xx"),
    check("retry-succeeds", 3, judge::retry_succeeds)
        .states("no attempt follows a retry with a 2xx answer")
        .fix("record the delivery as delivered after the first 2xx"),
    check("backoff", 6, judge::pauses_grow)
        .states("the pauses between attempts grow")
        .fix("multiply the pause after each attempt"),
    check("same-body", 6, judge::identical_bodies)
        .states("all attempts of a delivery have the same body")
        .fix("store the body, and send the stored bytes"),
    check("ends-after-retries", 3, judge::ends_after_last)
        .states("no attempt follows the third retry")
        .fix("record the delivery as failed after 4 attempts"),
];
