//! How well something went: one scale for terminals and the page.

use serde::Serialize;

use super::statuses::is_accepted;
use crate::output::Look;

/// How well something went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tone {
    Good,
    /// Neither: nobody has judged it, or it is for its sender to mend.
    Open,
    Bad,
}

impl Tone {
    /// That of an answer's status; without one the connection was dropped, or nothing came back.
    pub(crate) fn of_status(status: Option<u16>) -> Self {
        match status {
            Some(status) if is_accepted(status) => Self::Good,
            Some(300..500) => Self::Open,
            _ => Self::Bad,
        }
    }

    /// How it looks on a terminal.
    pub(crate) fn look(self) -> Look {
        match self {
            Self::Good => Look::Good,
            Self::Open => Look::Open,
            Self::Bad => Look::Bad,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_good_or_the_senders_to_mend_or_bad() {
        for (status, tone) in [
            (200, Tone::Good),
            (299, Tone::Good),
            (300, Tone::Open),
            (401, Tone::Open),
            (499, Tone::Open),
            (500, Tone::Bad),
            (599, Tone::Bad),
            (100, Tone::Bad),
            (999, Tone::Bad),
        ] {
            assert_eq!(Tone::of_status(Some(status)), tone, "{status}");
        }
        assert_eq!(Tone::of_status(None), Tone::Bad);
    }
}
