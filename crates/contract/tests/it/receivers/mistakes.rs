//! The mistakes that twins make: those that people make.

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    /// Verifies JSON that was parsed and printed again.
    ReSerialises,
    /// Looks at no age.
    NoAge,
    /// Looks at the age of what is old alone.
    PastOnly,
    /// Compares the beginning of the signature.
    Prefix,
    /// Looks at the first `v1` alone.
    FirstV1,
    /// Keeps the last `v1` alone, as a map does.
    LastV1,
    /// Answers 409 to a submission that it knows.
    Conflict,
    /// Answers 302.
    Redirects,
    /// Works before it answers.
    Slow,
    /// Tells the right signature to who sent a wrong one.
    Echoes,
    /// Verifies only what is signed.
    UnsignedPasses,
    /// Fails on an event that it does not know.
    UnknownFails,
    /// Takes the body for Latin-1.
    Latin1,
    /// Reads however much there is.
    NoCap,
}

impl Mistake {
    /// Every one.
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

    /// The checks that it breaks, where that does not depend on the language.
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
