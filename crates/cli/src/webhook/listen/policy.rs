//! What becomes of a delivery, by what verification found.

use clap::ValueEnum;

use crate::webhook::verdict::VerdictCode;

/// What is done with a delivery that is not valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnInvalid {
    /// Refuse it with 401, as a receiver must, and pass it on to nobody
    #[default]
    Reject,
    /// Answer 200, and pass it on to nobody
    Accept,
    /// Treat it as if it were valid
    Forward,
}

impl OnInvalid {
    /// All names, as they are given and told.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Self::value_variants().iter().map(|all| all.name())
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Accept => "accept",
            Self::Forward => "forward",
        }
    }
}

/// What becomes of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// It goes no further, and its sender is told why.
    Reject,
    /// It goes no further, and its sender is not told.
    Accept,
    /// It is what a receiver acts on: it goes on.
    GoOn,
}

/// What becomes of a delivery. Without a secret nothing can be said against any.
pub(super) fn treatment(verdict: VerdictCode, on_invalid: OnInvalid) -> Treatment {
    match on_invalid {
        _ if !verdict.is_refusal() => Treatment::GoOn,
        OnInvalid::Forward => Treatment::GoOn,
        OnInvalid::Reject => Treatment::Reject,
        OnInvalid::Accept => Treatment::Accept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::verdict::VERDICTS;

    #[test]
    fn names_are_those_of_the_flag() {
        for (on_invalid, name) in OnInvalid::value_variants().iter().zip(OnInvalid::names()) {
            assert_eq!(on_invalid.to_possible_value().unwrap().get_name(), name);
        }
    }

    #[test]
    fn only_what_is_valid_or_cannot_be_judged_goes_on_unless_told_otherwise() {
        for row in VERDICTS {
            let good = matches!(row.code, VerdictCode::Valid | VerdictCode::Unchecked);
            let treated = |on_invalid| treatment(row.code, on_invalid);
            let bad = |other| if good { Treatment::GoOn } else { other };
            assert_eq!(treated(OnInvalid::Reject), bad(Treatment::Reject), "{}", row.name);
            assert_eq!(treated(OnInvalid::Accept), bad(Treatment::Accept), "{}", row.name);
            assert_eq!(treated(OnInvalid::Forward), Treatment::GoOn, "{}", row.name);
        }
    }
}
