//! The checks of the API: one table.

use super::judge;
use super::probe::{Exchange, Probe as P};
use crate::judgement::Judgement;
use crate::report::Check;

/// A check of the API.
pub type ApiCheck = Check<ApiTest>;

/// The requests of a check, and the judge of their answers.
#[derive(Clone, Copy, Debug)]
pub struct ApiTest {
    pub(super) probes: &'static [P],
    pub(super) judge: fn(&[Exchange]) -> Judgement,
}

const fn check(
    id: &'static str,
    section: u8,
    probes: &'static [P],
    judge: fn(&[Exchange]) -> Judgement,
) -> ApiCheck {
    Check::new(id, section, ApiTest { probes, judge })
}

const FIX_TIME: &str = "print times in UTC with exactly three digits of milliseconds and `Z`";
const FIX_CURSOR: &str = "select rows strictly older than the cursor, and keep its full precision";
const FIX_FORM: &str =
    "answer 404 `form_not_found` for every form that the key's user does not own";

/// All checks of the API. The first is the gate of the others.
pub const API_CHECKS: &[ApiCheck] = &[
    check("me", 4, &[P::Me], judge::json_object)
        .states("`GET /api/v1/me` with a valid key answers 200 with a JSON object")
        .fix("check the base URL (without `/api/v1`) and the key"),
    check("user-fields", 2, &[P::Me], judge::user_fields)
        .states("a user has `id`, `email` and `name`, all strings")
        .fix("add the missing members"),
    check("forms", 4, &[P::Forms], judge::list)
        .states("`GET /api/v1/forms` answers 200 with an array `data`")
        .fix("answer an object with `data`, also if there are no forms"),
    check("form-fields", 2, &[P::Forms], judge::form_fields)
        .states(
            "a form has id, public_id, title, status, created_at, updated_at and url, all strings",
        )
        .fix("add the missing members"),
    check("form-times", 2, &[P::Forms], judge::form_times)
        .states("times of a form are `YYYY-MM-DDThh:mm:ss.sssZ`")
        .fix(FIX_TIME),
    check("form-url", 2, &[P::Forms], judge::form_url)
        .states("`url` of a form is `/f/<public_id>`")
        .fix("answer the relative path, without host"),
    check("forms-order", 4, &[P::Forms], judge::forms_order)
        .states("forms are listed newest first")
        .fix("sort by `created_at`, descending"),
    check("forms-count", 8, &[P::Forms], judge::forms_count)
        .states("at most 200 forms are listed")
        .fix("cut the list at 200"),
    check("submissions", 4, &[P::Rows, P::AllPages], judge::page_shape)
        .states("the submissions of a form are 200 with an array `data` and an object `pagination`")
        .fix("answer both members, also if there are no submissions"),
    check("content-type", 4, &[P::Me, P::Forms, P::Rows], judge::media_type)
        .states("answers are JSON")
        .fix("send `Content-Type: application/json`"),
    check("submission-fields", 2, &[P::Rows], judge::row_fields)
        .states("a submission has the strings `id` and `created_at` and the object `data`")
        .fix("add the missing members"),
    check("submission-times", 2, &[P::Rows], judge::row_times)
        .states("times of a submission are `YYYY-MM-DDThh:mm:ss.sssZ`")
        .fix(FIX_TIME),
    check("pagination-fields", 2, &[P::Rows, P::AllPages], judge::pagination_fields)
        .states("`has_more` is a boolean, and `next_cursor` a string while it is true")
        .fix("add the missing members"),
    check("cursor-time", 2, &[P::FourRows], judge::cursor_is_time)
        .states("`next_cursor` is an ISO 8601 timestamp")
        .fix("use the time of the page's last row"),
    check("submissions-order", 4, &[P::AllPages], judge::rows_order)
        .states("submissions are listed newest first")
        .fix("sort by `created_at`, descending"),
    check("limit-default", 8, &[P::Rows], |pages| judge::exact_limit(pages, 25))
        .states("without `limit` a page has 25 submissions")
        .fix("use 25 as the default"),
    check("limit", 4, &[P::OneRow], |pages| judge::exact_limit(pages, 1))
        .states("a page has `limit` submissions, unless it is the last")
        .fix("read the query parameter `limit`"),
    check("limit-maximum", 8, &[P::LargestPage], |pages| judge::exact_limit(pages, 100))
        .states("`limit=100` is accepted")
        .fix("accept values up to 100"),
    check("limit-above-maximum", 8, &[P::OverMax], judge::limit_over_max)
        .states("no page has more than 100 submissions")
        .fix("refuse larger values with 400 `bad_request`, or use 100"),
    check("cursor", 4, &[P::FourRows, P::TwoPages], judge::pages_continue)
        .states("the page at `next_cursor` continues the list without repeated or lost submissions")
        .fix(FIX_CURSOR),
    check("has-more", 2, &[P::FourRows, P::TwoPages], judge::more_rows_follow)
        .states("`has_more` is true while more submissions remain")
        .fix("look for one row more than the page shows"),
    check("list-end", 4, &[P::AllPages], judge::list_ends)
        .states("following `next_cursor` leads to a page with `has_more: false`")
        .fix(FIX_CURSOR),
    check("same-list", 4, &[P::AllPages, P::OtherPages], judge::pages_agree)
        .states("all pages together have each submission once, whatever the `limit`")
        .fix(FIX_CURSOR),
    check("unknown-form", 4, &[P::UnknownForm], |exchanges| {
        judge::error(&exchanges[0], 404, "form_not_found")
    })
    .states("a form that does not exist gets 404 `form_not_found`")
    .fix(FIX_FORM),
    check("missing-authorization", 5, &[P::MeWithoutKey], |exchanges| {
        judge::error(&exchanges[0], 401, "missing_authorization")
    })
    .states("a request without a key gets 401 `missing_authorization`")
    .fix("distinguish a missing header from an invalid key"),
    check("authorization-everywhere", 4, &[P::FormsWithoutKey, P::RowsWithoutKey], |exchanges| {
        exchanges.iter().try_for_each(|one| judge::error(one, 401, "missing_authorization"))
    })
    .states("the lists require the header `Authorization`")
    .fix("authenticate before anything else, on every path below `/api/v1`"),
    check("invalid-key", 5, &[P::MeWrongKey], |exchanges| {
        judge::error(&exchanges[0], 401, "invalid_key")
    })
    .states("a key that does not exist gets 401 `invalid_key`")
    .fix("compare the whole key"),
    check("key-revoked", 5, &[P::MeRevokedKey], |exchanges| {
        judge::error(&exchanges[0], 401, "key_revoked")
    })
    .states("a revoked key gets 401 `key_revoked`")
    .fix("keep revoked keys, to distinguish them from unknown ones")
    .enabled_by("--revoked-key-file"),
    check("foreign-form", 5, &[P::ForeignForm], |exchanges| {
        judge::error(&exchanges[0], 404, "form_not_found")
    })
    .states("a form of another user gets 404 `form_not_found`")
    .fix(FIX_FORM)
    .enabled_by("--foreign-form"),
    check("bad-request", 7, &[P::BadLimit, P::BadCursor], judge::bad_request)
        .states("a malformed request gets 400 `bad_request`")
        .fix("use this code for malformed parameters"),
    check(
        "error-shape",
        7,
        &[P::MeWithoutKey, P::MeWrongKey, P::UnknownForm, P::BadLimit],
        judge::error_shape,
    )
    .states("an error is an object `error` with the strings `code` and `message`")
    .fix("use one function for all error answers, also those of a proxy"),
    check("rate-limit", 8, &[P::Overload], judge::rate_limited)
        .states("more than 300 requests in a minute get 429 `rate_limited`")
        .fix("count the requests of each key")
        .enabled_by("--spend-quota"),
    check("rate-quota", 8, &[P::Overload], judge::full_quota)
        .states("300 requests in a minute are accepted")
        .fix("raise the limit to 300 requests a minute for each key")
        .enabled_by("--spend-quota"),
    check("retry-after", 7, &[P::Overload], judge::retry_after_seconds)
        .states("429 has `Retry-After` with the seconds to wait")
        .fix("send whole seconds, rounded up")
        .enabled_by("--spend-quota"),
    check("retry-after-wait", 7, &[P::Overload, P::AfterWait], judge::admitted_after_wait)
        .states("a request after the time in `Retry-After` is accepted")
        .fix("round up the time until the oldest request leaves the window")
        .enabled_by("--spend-quota"),
];
