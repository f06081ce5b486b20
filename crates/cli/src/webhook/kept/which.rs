//! Which captures a command works with: by number, the newest ones, or by what they are.

use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;

use super::FilterArgs;
use crate::args::whole;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::webhook::capture::CaptureNumber;
use crate::webhook::store::{Captures, Query};

/// Most captures that one range may name.
const RANGE_MAX: u64 = 100_000;

/// Which captures.
#[derive(Clone, Debug, Args)]
pub(crate) struct WhichArgs {
    /// Captures by number, such as `17` or `17-20`
    #[arg(id = "captures", value_name = "N")]
    numbers: Vec<Numbers>,
    /// The newest so many, of those that the flags below leave
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=u64::MAX), conflicts_with = "captures", help_heading = "Which")]
    last: Option<usize>,
    #[command(flatten)]
    filter: FilterArgs,
}

/// `17`, or `17-20`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbers(RangeInclusive<CaptureNumber>);

/// Reads the number of a capture, as it is typed.
pub(crate) fn number(text: &str) -> Result<CaptureNumber, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_plain);
    number.ok_or_else(|| "expected the number of a capture, such as 17".to_owned())
}

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number =
            |text: &str| number(text).map_err(|rule| format!("{rule}, or a range such as 17-20"));
        let (first, last) = (number(first)?, number(last)?);
        match last.checked_sub(first) {
            None => Err(format!("{first} comes after {last}")),
            Some(more) if more >= RANGE_MAX => {
                Err(format!("a range has {RANGE_MAX} captures at most"))
            }
            Some(_) => Ok(Self(first..=last)),
        }
    }
}

impl WhichArgs {
    /// Whether they are named by number.
    pub(crate) fn are_named(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// Whether those are meant too that a receiver refuses: they are named, or chosen by their verdict.
    pub(crate) fn means_refused(&self) -> bool {
        self.are_named() || self.filter.names_a_verdict()
    }

    /// Their numbers, oldest first, as they came; those that were named in the order they were named.
    /// What a range names need not all be there.
    pub(crate) async fn numbers(
        &self,
        cx: &Context,
        captures: &Captures,
    ) -> Result<Vec<CaptureNumber>, CliError> {
        if !self.numbers.is_empty() {
            if self.filter.is_given() {
                let what = "numbers of captures and flags that choose captures say the same";
                return Err(CliError::usage(what).hint("give one or the other"));
            }
            return self.named(captures).await;
        }
        if self.last.is_none() && !self.filter.is_given() {
            let what = "which captures?";
            return Err(CliError::coded(Code::MissingArgument, what).hint(
                "name them, such as `17` or `17-20`, or `--last 1` for the newest; \
                 `formsvc webhook events list` shows them",
            ));
        }
        let query = Query { limit: self.last, ..self.filter.query(cx)? };
        let mut numbers: Vec<_> =
            captures.list(query).await?.into_iter().filter_map(|listed| listed.number).collect();
        numbers.reverse();
        Ok(numbers)
    }

    async fn named(&self, captures: &Captures) -> Result<Vec<CaptureNumber>, CliError> {
        let mut all = Vec::new();
        for Numbers(range) in &self.numbers {
            let (first, last) = (*range.start(), *range.end());
            if first == last {
                all.push(first);
                continue;
            }
            let query = Query {
                after: first.checked_sub(1),
                before: last.checked_add(1),
                ..Query::default()
            };
            let there = captures.list(query).await?;
            all.extend(there.iter().rev().filter_map(|listed| listed.number));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_ones_are_meant_where_numbers_or_a_verdict_say_so() {
        #[derive(Debug, clap::Parser)]
        struct Typed {
            #[command(flatten)]
            which: WhichArgs,
        }
        let meant = |args: &[&str]| {
            let typed = [&["formsvc"], args].concat();
            <Typed as clap::Parser>::try_parse_from(typed).unwrap().which.means_refused()
        };
        assert!(meant(&["3"]) && meant(&["3-5", "7"]));
        assert!(meant(&["--verdict", "invalid"]));
        assert!(meant(&["--verdict", "signature_mismatch", "--last", "2"]));
        assert!(!meant(&["--last", "2"]));
        assert!(!meant(&["--status", "failed", "--since", "2h"]));
    }

    #[test]
    fn captures_are_named_by_number_or_range() {
        assert_eq!("17".parse(), Ok(Numbers(17..=17)));
        assert_eq!("17-20".parse(), Ok(Numbers(17..=20)));
        for bad in ["", "-", "17-", "-17", "+1", "a", "1.5", "3-2", "1-9999999", "1 "] {
            assert!(bad.parse::<Numbers>().is_err(), "{bad:?}");
        }
    }
}
