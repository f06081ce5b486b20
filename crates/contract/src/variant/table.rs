//! The variants: one table.

use super::{Expect, Variant};

/// A row of the table of variants.
#[derive(Clone, Copy, Debug)]
pub struct VariantRow {
    /// The variant.
    pub variant: Variant,
    /// Its stable name.
    pub name: &'static str,
    /// What it contains.
    pub makes: &'static str,
    /// The behaviour of a correct receiver.
    pub expect: Expect,
}

const fn row(
    variant: Variant,
    name: &'static str,
    expect: Expect,
    makes: &'static str,
) -> VariantRow {
    VariantRow { variant, name, makes, expect }
}

use Expect::{Accept, Either, Refuse};
use Variant as V;

/// All variants: first those to accept, then those to refuse, then those that the specification leaves
/// open.
pub const VARIANTS: &[VariantRow] = &[
    row(V::Fresh, "fresh", Accept, "a valid signature of the current time"),
    row(V::Old, "old", Accept, "a valid signature, 240 seconds old (tolerance: 300)"),
    row(V::Ahead, "ahead", Accept, "a valid signature, 240 seconds ahead (tolerance: 300)"),
    row(V::TwoV1, "two-v1", Accept, "two `v1`: one of another secret, then the valid one"),
    row(
        V::TwoV1First,
        "two-v1-first",
        Accept,
        "two `v1`: the valid one, then one of another secret",
    ),
    row(V::UnknownScheme, "unknown-scheme", Accept, "the valid `v1` and a `v2` of a later scheme"),
    row(V::Missing, "missing", Refuse, "no signature header"),
    row(V::Empty, "empty", Refuse, "an empty signature header"),
    row(V::NoT, "no-t", Refuse, "a `v1` without `t`"),
    row(V::NoV1, "no-v1", Refuse, "a `t` without `v1`"),
    row(V::EmptyV1, "empty-v1", Refuse, "an empty `v1`"),
    row(V::V0Only, "v0-only", Refuse, "the valid MAC as `v0` instead of `v1`"),
    row(V::Stale, "stale", Refuse, "a valid signature, 360 seconds old"),
    row(V::Future, "future", Refuse, "a valid signature, 360 seconds ahead"),
    row(V::TwoT, "two-t", Refuse, "the current `t`, then the valid signature of 360 seconds ago"),
    row(
        V::TamperedTime,
        "tampered-time",
        Refuse,
        "the `v1` of 360 seconds ago with the current `t`",
    ),
    row(V::Millis, "millis", Refuse, "`t` in milliseconds, signed as such"),
    row(V::TNotANumber, "t-not-a-number", Refuse, "a word as `t`, signed as such"),
    row(V::WrongSecret, "wrong-secret", Refuse, "a signature by another secret"),
    row(V::Tampered, "tampered", Refuse, "the signature of a body that differs in one bit"),
    row(V::LineFeed, "line-feed", Refuse, "the signature of the body with a line feed at its end"),
    row(V::BodyOnly, "body-only", Refuse, "the MAC of the body without `<t>.` before it"),
    row(V::Truncated, "truncated", Refuse, "the first 32 digits of the valid `v1`"),
    row(V::Base64, "base64", Refuse, "the valid MAC in base64 instead of hex"),
    row(V::UpperCase, "uppercase", Either, "the valid MAC in upper-case hex"),
    row(V::Spaced, "spaced", Either, "a valid signature with a space after the comma"),
    row(
        V::TwoHeaders,
        "two-headers",
        Either,
        "two signature headers (two lines), the valid one last",
    ),
];
