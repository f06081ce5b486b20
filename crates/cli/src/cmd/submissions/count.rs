//! `formsvc submissions count`

use std::collections::BTreeMap;
use std::time::Duration;

use clap::{Args, ValueEnum};
use formsvc_export::RowSource as _;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan};
use serde::Serialize;
use serde_json::json;

use super::database::{Database, DatabaseSource, check_stored};
use super::export::time_zone;
use super::range::{Bounds, Range};
use super::{incomplete_list, not_kept};
use crate::context::Context;
use crate::error::CliError;
use crate::form_ref;
use crate::output::Field;
use crate::settings::args::duration;

/// The fields of the result without `--by`.
pub(in crate::cmd) const FIELDS: [Field; 3] =
    [Field::new("count"), Field::time("first"), Field::time("last")];
/// The fields of a period. Only a terminal shows the last one.
const PERIOD_FIELDS: [Field; 3] = [Field::new("period"), Field::new("count"), Field::new("bar")];
/// Width of the longest bar.
const BAR_MAX: u64 = 40;

/// Count the submissions of a form, in total or per day, week or month
///
/// Reads the list of the service once, 100 submissions per request, or the database of `--from` without a
/// request. With `--by`, periods without submissions between the first and the last one count 0; a week
/// has the date of its Monday. A terminal shows a bar for each period.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo submissions count penguins\n  formsvc --demo submissions count penguins --by month\n  formsvc --demo submissions count anes96 --by day --time-zone Europe/Berlin\n  formsvc submissions count survey --by week --from sqlite:survey.db"
)]
pub(crate) struct Count {
    /// The form: its id, public id (as in /f/ID), exact title, or the beginning of either id
    form: String,
    /// Count per period
    #[arg(long, value_name = "PERIOD")]
    by: Option<Period>,
    #[command(flatten)]
    range: Range,
    /// Time zone of the periods, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "by")]
    time_zone: Option<String>,
    /// Stop after this time with exit 8
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
    #[command(flatten)]
    source: DatabaseSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Period {
    Day,
    Week,
    Month,
}

/// The counts so far. Submissions are added newest first.
struct Counter {
    by: Option<Period>,
    zone: TimeZone,
    total: u64,
    first: Option<String>,
    last: Option<String>,
    /// Counts by the first day of each period.
    periods: BTreeMap<Date, u64>,
}

#[derive(Serialize)]
struct PeriodRow {
    period: String,
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bar: Option<String>,
}

impl Count {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let has_bars = cx.settings.terminal.stdout && cx.output.is_for_reading();
        let mut listing = cx.output.listing(match self.by {
            None => &FIELDS[..],
            Some(_) if has_bars => &PERIOD_FIELDS,
            Some(_) => &PERIOD_FIELDS[..2],
        })?;
        let bounds = self.range.bounds(cx)?;
        let zone = self.time_zone.as_deref().map_or(Ok(TimeZone::UTC), time_zone)?;
        let mut counter = Counter::new(self.by, zone);
        let counting = async {
            match self.source.open(cx).await? {
                Some(database) => self.count_stored(cx, &database, &bounds, &mut counter).await,
                None => self.count_listed(cx, &bounds, &mut counter).await,
            }
        };
        let complete = cx.until(cx.deadline(self.max_time), counting).await?;
        if self.by.is_some() {
            counter.rows(has_bars).iter().for_each(|row| listing.push(row));
            cx.output.list(&listing)?;
        } else {
            let Counter { total, first, last, .. } = counter;
            listing.push(&json!({ "count": total, "first": first, "last": last }));
            cx.output.item(&listing)?;
        }
        complete
    }

    /// Counts the submissions of the service. Returns whether the list was complete.
    async fn count_listed(
        &self,
        cx: &Context,
        bounds: &Bounds,
        counter: &mut Counter,
    ) -> Result<Result<(), CliError>, CliError> {
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        let list = client.form(form.id).submissions().allow_incomplete(true);
        cx.progress.begin();
        let (mut pages, mut read) = (bounds.limit(list).pages(), 0);
        while let Some(page) = pages.try_next().await? {
            for row in &page {
                counter.add(row.created_at.as_str(), row.created_at.unix_micros());
            }
            read += page.len() as u64;
            cx.shutdown.set_saved(not_kept(read));
            if let Some(last) = page.submissions().last() {
                cx.progress.submissions(read, None, last.created_at.as_str());
            }
        }
        cx.progress.end();
        Ok(incomplete_list(&pages))
    }

    /// Counts the submissions of a database. Returns whether it has all of them.
    async fn count_stored(
        &self,
        cx: &Context,
        database: &Database,
        bounds: &Bounds,
        counter: &mut Counter,
    ) -> Result<Result<(), CliError>, CliError> {
        let form = database.find(&self.form)?;
        let rows = database.rows(cx, form, bounds.rows()).await?;
        rows.for_each(&mut |row| {
            counter.add(row.created_at, row.instant);
            Ok(())
        })?;
        Ok(check_stored(&rows, form))
    }
}

impl Counter {
    fn new(by: Option<Period>, zone: TimeZone) -> Self {
        Self { by, zone, total: 0, first: None, last: None, periods: BTreeMap::new() }
    }

    /// Adds the next older submission; `micros` is its time since 1970.
    fn add(&mut self, created_at: &str, micros: i64) {
        self.total += 1;
        self.last.get_or_insert_with(|| created_at.to_owned());
        self.first = Some(created_at.to_owned());
        if let (Some(by), Ok(at)) = (self.by, jiff::Timestamp::from_microsecond(micros)) {
            let date = self.zone.to_datetime(at).date();
            *self.periods.entry(by.first_day(date)).or_default() += 1;
        }
    }

    /// Returns all periods from the first to the last one, oldest first.
    fn rows(&self, has_bars: bool) -> Vec<PeriodRow> {
        let ends = self.periods.keys().next().zip(self.periods.keys().next_back());
        let (Some(by), Some((first, last))) = (self.by, ends) else { return Vec::new() };
        let most = self.periods.values().max().copied().unwrap_or(1);
        let row = |day: Date| {
            let count = self.periods.get(&day).copied().unwrap_or_default();
            // A period with submissions has a bar, however short.
            let width = (count * BAR_MAX).div_ceil(most);
            let bar = has_bars.then(|| "█".repeat(usize::try_from(width).unwrap_or_default()));
            PeriodRow { period: by.name(day), count, bar }
        };
        first.series(by.span()).take_while(|day| day <= last).map(row).collect()
    }
}

impl Period {
    /// Returns the first day of the period that contains a day.
    fn first_day(self, date: Date) -> Date {
        match self {
            Self::Day => date,
            Self::Week => {
                let days = date.weekday().since(Weekday::Monday);
                date.checked_sub(i64::from(days).days()).unwrap_or(date)
            }
            Self::Month => date.first_of_month(),
        }
    }

    fn span(self) -> Span {
        match self {
            Self::Day => 1.day(),
            Self::Week => 1.week(),
            Self::Month => 1.month(),
        }
    }

    fn name(self, first_day: Date) -> String {
        match self {
            Self::Day | Self::Week => first_day.to_string(),
            Self::Month => first_day.strftime("%Y-%m").to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use formsvc_client::Timestamp;

    use super::*;

    fn count(by: Period, zone: &str, times: &[&str]) -> Vec<(String, u64, String)> {
        let mut counter = Counter::new(Some(by), TimeZone::get(zone).unwrap());
        for time in times {
            let instant: Timestamp = time.parse().unwrap();
            counter.add(time, instant.unix_micros());
        }
        let rows = counter.rows(true).into_iter();
        rows.map(|row| (row.period, row.count, row.bar.unwrap_or_default())).collect()
    }

    #[test]
    fn empty_periods_between_others_count_zero() {
        let times = ["2026-03-04T00:00:00Z", "2026-03-02T12:00:00Z", "2026-03-02T00:00:00Z"];
        let [monday, tuesday, wednesday] = &count(Period::Day, "UTC", &times)[..] else {
            panic!("three days")
        };
        assert_eq!((&*monday.0, monday.1), ("2026-03-02", 2));
        assert_eq!((&*tuesday.0, tuesday.1, &*tuesday.2), ("2026-03-03", 0, ""));
        assert_eq!((wednesday.1, wednesday.2.chars().count()), (1, 20));
    }

    #[test]
    fn week_begins_on_monday_and_month_on_its_first_day() {
        let times = ["2026-03-02T00:00:00Z", "2026-03-01T23:59:59Z"];
        let periods = |by, zone| -> Vec<String> {
            count(by, zone, &times).into_iter().map(|(period, ..)| period).collect()
        };
        assert_eq!(periods(Period::Week, "UTC"), ["2026-02-23", "2026-03-02"]);
        assert_eq!(periods(Period::Month, "UTC"), ["2026-03"]);
        // One hour ahead of UTC, both are on Monday.
        assert_eq!(periods(Period::Week, "Europe/Berlin"), ["2026-03-02"]);
    }

    #[test]
    fn form_without_submissions_has_no_periods() {
        assert!(count(Period::Day, "UTC", &[]).is_empty());
    }
}
