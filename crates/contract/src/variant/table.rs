//! The variants: one table.

use super::{Expect, Variant};
use crate::numbers::{half_of_digits, tolerance, well_outside, well_within};

/// A row of the table of variants.
#[derive(Clone, Copy, Debug)]
pub struct VariantRow {
    /// Which.
    pub variant: Variant,
    /// Its name, which never changes.
    pub name: &'static str,
    /// What it makes.
    pub makes: &'static str,
    /// What a right receiver does with it.
    pub expect: Expect,
    /// The section of the specification that says so.
    pub section: u8,
    /// Why it matters: what comes of it where a receiver does otherwise.
    pub why: &'static str,
}

const fn row(
    variant: Variant,
    name: &'static str,
    expect: Expect,
    section: u8,
    makes: &'static str,
    why: &'static str,
) -> VariantRow {
    VariantRow { variant, name, makes, expect, section, why }
}

use Expect::{Accept, Either, Refuse};

/// Every variant there is: first what is accepted, then what is refused, then what is left open.
pub const VARIANTS: &[VariantRow] = &[
    row(
        Variant::Fresh,
        "fresh",
        Accept,
        5,
        "a signature as the service makes it, of now",
        "nothing that the service sends arrives",
    ),
    row(
        Variant::Old,
        "old",
        Accept,
        5,
        concat!(
            "a right signature of ",
            well_within!(),
            " seconds ago, within the tolerance of ",
            tolerance!()
        ),
        "deliveries are lost whenever a clock is off by a little",
    ),
    row(
        Variant::Ahead,
        "ahead",
        Accept,
        5,
        concat!(
            "a right signature whose time lies ",
            well_within!(),
            " seconds ahead, within the tolerance of ",
            tolerance!()
        ),
        "deliveries are lost whenever this machine's clock is late by a little",
    ),
    row(
        Variant::TwoV1,
        "two-v1",
        Accept,
        5,
        "two `v1`: one of another secret, then the right one",
        "deliveries are lost while the secret is rotated",
    ),
    row(
        Variant::TwoV1First,
        "two-v1-first",
        Accept,
        5,
        "two `v1`: the right one, then one of another secret",
        "deliveries are lost while the secret is rotated",
    ),
    row(
        Variant::UnknownScheme,
        "unknown-scheme",
        Accept,
        9,
        "the right `v1`, and a `v2` that does not exist yet",
        "deliveries are lost when the service adds a scheme",
    ),
    row(
        Variant::Missing,
        "missing",
        Refuse,
        5,
        "no signature header at all",
        "anybody can send anything",
    ),
    row(
        Variant::Empty,
        "empty",
        Refuse,
        5,
        "a signature header without a value",
        "anybody can send anything",
    ),
    row(Variant::NoT, "no-t", Refuse, 5, "a `v1` and no `t`", "what is old cannot be told"),
    row(
        Variant::NoV1,
        "no-v1",
        Refuse,
        5,
        "a `t` and no `v1`",
        "anybody can send anything, with the time alone",
    ),
    row(
        Variant::EmptyV1,
        "empty-v1",
        Refuse,
        5,
        "a `v1` without a digit",
        "anybody can send anything, where only the digits that are there are compared",
    ),
    row(
        Variant::V0Only,
        "v0-only",
        Refuse,
        9,
        "the right MAC under `v0` instead of `v1`",
        "a weaker scheme could be chosen by whoever forges",
    ),
    row(
        Variant::Stale,
        "stale",
        Refuse,
        5,
        concat!("a right signature of ", well_outside!(), " seconds ago"),
        "who recorded a delivery can send it again for ever",
    ),
    row(
        Variant::Future,
        "future",
        Refuse,
        5,
        concat!("a right signature whose time lies ", well_outside!(), " seconds ahead"),
        "who recorded a delivery can keep it until it is of now",
    ),
    row(
        Variant::TwoT,
        "two-t",
        Refuse,
        5,
        concat!(
            "the time of now, then the `t` and the right `v1` of ",
            well_outside!(),
            " seconds ago"
        ),
        "what was recorded passes for new, where the age is read from one `t` and the MAC from the other",
    ),
    row(
        Variant::TamperedTime,
        "tampered-time",
        Refuse,
        5,
        concat!("a right `v1` of ", well_outside!(), " seconds ago, with its `t` set to now"),
        "what was recorded passes for new, where `t` is not signed along",
    ),
    row(
        Variant::Millis,
        "millis",
        Refuse,
        5,
        "`t` in milliseconds, signed so",
        "the age is wrong by a factor of a thousand, and old deliveries pass",
    ),
    row(
        Variant::TNotANumber,
        "t-not-a-number",
        Refuse,
        5,
        "a `t` that is a word, signed so",
        "a time that is no number compares false with everything, and nothing is too old",
    ),
    row(
        Variant::WrongSecret,
        "wrong-secret",
        Refuse,
        5,
        "a signature made with another secret",
        "anybody can send anything",
    ),
    row(
        Variant::Tampered,
        "tampered",
        Refuse,
        5,
        "the signature of another body, one bit away",
        "what was signed can be changed on the way",
    ),
    row(
        Variant::LineFeed,
        "line-feed",
        Refuse,
        5,
        "the signature of the body with a line feed after it",
        "the body is judged after something has trimmed or parsed it, so not the bytes that came",
    ),
    row(
        Variant::BodyOnly,
        "body-only",
        Refuse,
        5,
        "the MAC of the body alone, without `<t>.` before it",
        "the time is not proven, and any old body passes for new",
    ),
    row(
        Variant::Truncated,
        "truncated",
        Refuse,
        5,
        concat!("the first ", half_of_digits!(), " digits of the right `v1`"),
        "a signature is guessed sooner the fewer digits are compared",
    ),
    row(
        Variant::Base64,
        "base64",
        Refuse,
        5,
        "the right MAC in base64 instead of hex",
        "two spellings of one signature are one more way to go wrong",
    ),
    row(
        Variant::UpperCase,
        "uppercase",
        Either,
        5,
        "the right MAC in upper-case hex",
        "the service writes lower case; who decodes the digits takes both, and that harms nobody",
    ),
    row(
        Variant::Spaced,
        "spaced",
        Either,
        5,
        "a space after the comma",
        "the service writes none; taking it harms nobody",
    ),
    row(
        Variant::TwoHeaders,
        "two-headers",
        Either,
        5,
        "two signature headers, the right one last",
        "the service sends one; who refuses two cannot be shown one and judge the other",
    ),
];
