//! The mistakes of the twins.

/// A common mistake of receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    /// Verifies JSON that was parsed and serialized.
    ReSerialises,
    /// Accepts any `t`.
    NoAge,
    /// Accepts any `t` in the future.
    PastOnly,
    /// Compares only the first half of the signature.
    Prefix,
    /// Compares only the first `v1`.
    FirstV1,
    /// Compares only the last `v1`, as a map keeps it.
    LastV1,
    /// Answers 409 to a known submission.
    Conflict,
    /// Answers 302.
    Redirects,
    /// Answers after its work.
    Slow,
    /// Answers a wrong signature with the valid one.
    Echoes,
    /// Accepts requests without a signature.
    UnsignedPasses,
    /// Answers 500 to an unknown event.
    UnknownFails,
    /// Decodes the body as Latin-1.
    Latin1,
    /// Has no size limit.
    NoCap,
}

impl Mistake {
    /// All mistakes.
    pub(super) const ALL: [Self; 14] = [
        Self::ReSerialises,
        Self::NoAge,
        Self::PastOnly,
        Self::Prefix,
        Self::FirstV1,
        Self::LastV1,
        Self::Conflict,
        Self::Redirects,
        Self::Slow,
        Self::Echoes,
        Self::UnsignedPasses,
        Self::UnknownFails,
        Self::Latin1,
        Self::NoCap,
    ];

    /// Returns the checks that fail, if they do not depend on the language.
    pub(super) const fn fails(self) -> &'static [&'static str] {
        match self {
            Self::ReSerialises => &[],
            Self::NoAge => &["stale", "future"],
            Self::PastOnly => &["future"],
            Self::Prefix => &["partial-mac"],
            Self::FirstV1 | Self::LastV1 => &["several-v1"],
            Self::Conflict => &["duplicate", "duplicates-at-once"],
            Self::Redirects => &["no-redirect"],
            Self::Slow => &["answers-in-time"],
            Self::Echoes => &["no-leak"],
            Self::UnsignedPasses => &["missing-header"],
            Self::UnknownFails => &["unknown-event"],
            Self::Latin1 => &["raw-unicode"],
            Self::NoCap => &["oversize"],
        }
    }
}
