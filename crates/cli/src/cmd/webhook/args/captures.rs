//! Arguments that select captures: numbers, the newest ones, or conditions.

use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;
use formsvc_workbench::delivery::CaptureNumber;
use formsvc_workbench::replay::Selection;
use formsvc_workbench::store::{CaptureQuery, CaptureStore};

use super::FilterArgs;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::settings::args::whole;

/// Most captures of a range.
const RANGE_MAX: i64 = 100_000;

/// Selects captures.
#[derive(Clone, Debug, Args)]
pub(in crate::cmd) struct CapturesArgs {
    /// Numbers of captures, such as `17` or `17-20`
    #[arg(id = "captures", value_name = "N")]
    numbers: Vec<NumberRange>,
    /// The newest N captures that meet the conditions
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=u64::MAX), conflicts_with = "captures", help_heading = "Filter")]
    last: Option<usize>,
    #[command(flatten)]
    filter: FilterArgs,
}

/// `17`, or `17-20`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NumberRange(RangeInclusive<CaptureNumber>);

/// Parses the number of a capture.
pub(in crate::cmd) fn capture_number(text: &str) -> Result<CaptureNumber, String> {
    let has_only_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| has_only_digits);
    number.ok_or_else(|| "expected the number of a capture, such as 17".to_owned())
}

impl FromStr for NumberRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| {
            capture_number(text).map_err(|rule| format!("{rule}, or a range such as 17-20"))
        };
        let (first, last) = (number(first)?, number(last)?);
        match last - first {
            ..0 => Err(format!("{first} is greater than {last}")),
            RANGE_MAX.. => Err(format!("a range has at most {RANGE_MAX} captures")),
            _ => Ok(Self(first..=last)),
        }
    }
}

impl CapturesArgs {
    /// Returns the selected numbers and the kind of selection: named numbers in their order, others oldest
    /// first. Missing captures of a range are omitted.
    pub(in crate::cmd) async fn select(
        &self,
        cx: &Context,
        store: &CaptureStore,
    ) -> Result<(Selection, Vec<CaptureNumber>), CliError> {
        if !self.numbers.is_empty() {
            if self.filter.is_given() {
                let what = "numbers and conditions both select captures";
                return Err(CliError::usage(what).hint("pass one or the other"));
            }
            return Ok((Selection::Numbers, self.named(store).await?));
        }
        if self.last.is_none() && !self.filter.is_given() {
            return Err(CliError::coded(Code::MissingArgument, "no captures are selected").hint(
                "pass numbers, such as `17` or `17-20`, or `--last 1` for the newest; \
                 `formsvc webhook events list` lists them",
            ));
        }
        let filter = self.filter.resolve(cx)?.all;
        let selection = Selection::of_filter(&filter);
        let query = CaptureQuery { filter, limit: self.last, ..CaptureQuery::default() };
        Ok((selection, numbers(store, query).await?))
    }

    async fn named(&self, store: &CaptureStore) -> Result<Vec<CaptureNumber>, CliError> {
        let mut all = Vec::new();
        for NumberRange(range) in &self.numbers {
            let (first, last) = (*range.start(), *range.end());
            if first == last {
                // If it is missing, reading it is an error.
                all.push(first);
                continue;
            }
            let (after, before) = (first.checked_sub(1), last.checked_add(1));
            all.extend(numbers(store, CaptureQuery { after, before, ..Default::default() }).await?);
        }
        Ok(all)
    }
}

/// Returns the numbers of captures, oldest first.
async fn numbers(
    store: &CaptureStore,
    query: CaptureQuery,
) -> Result<Vec<CaptureNumber>, CliError> {
    let summaries = store.list(query).await?;
    Ok(summaries.iter().rev().filter_map(|summary| summary.number).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_single_or_a_range() {
        assert_eq!("17".parse(), Ok(NumberRange(17..=17)));
        assert_eq!("17-20".parse(), Ok(NumberRange(17..=20)));
        for bad in ["", "-", "17-", "-17", "+1", "a", "1.5", "3-2", "1-9999999", "1 "] {
            assert!(bad.parse::<NumberRange>().is_err(), "{bad:?}");
        }
    }
}
