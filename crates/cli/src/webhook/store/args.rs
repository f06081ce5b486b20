//! Flags of a command that keeps captures.

use std::time::Duration;

use clap::Args;

use super::caps::{AGE_MAX, Caps, SIZE_MAX};
use super::{Store, StoreError, folder};
use crate::args::duration;
use crate::context::Context;
use crate::error::CliError;
use crate::key::aside;

/// Whether captures are kept, and how many.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StoreArgs {
    /// Keep nothing on the disk: what comes is gone with the listener
    #[arg(long, help_heading = "Store")]
    no_store: bool,
    /// How much is kept on the disk; the oldest goes first. An eighth of it is for what is not signed rightly
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size, help_heading = "Store")]
    store_max_size: u64,
    /// How long it is kept
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = age, help_heading = "Store")]
    store_max_age: Duration,
}

impl Default for StoreArgs {
    fn default() -> Self {
        Self { no_store: false, store_max_size: SIZE_MAX, store_max_age: AGE_MAX }
    }
}

impl StoreArgs {
    /// The store, and why it is one in memory where a file was wanted.
    pub(crate) async fn open(&self, cx: &Context) -> Result<(Store, Option<StoreError>), CliError> {
        let caps = Caps { size: self.store_max_size, age: self.store_max_age };
        let folder = (!self.no_store).then(|| folder(&cx.settings.paths));
        // Another process may hold the file, and its disk be slow.
        let opened = aside(move || match folder {
            None => Ok((Store::in_memory(caps)?, None)),
            Some(folder) => match folder.and_then(|folder| Store::open(&folder, caps)) {
                Ok(store) => Ok((store, None)),
                Err(why) => Ok((Store::in_memory(caps)?, Some(why))),
            },
        });
        opened.await?.map_err(|error: StoreError| error.into())
    }
}

/// Smallest store: less has no room for one delivery of the largest size.
const SIZE_MIN: u64 = 1 << 20;

/// Reads `64MiB`, `1GiB`, `500MB`.
fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 8] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("", 1),
    ];
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = UNITS.iter().find(|(name, _)| *name == unit.trim()).map(|(_, bytes)| *bytes);
    let size = number.parse::<u64>().ok().zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
    match size {
        Some(size) if (SIZE_MIN..1 << 46).contains(&size) => Ok(size),
        Some(_) => Err("expected at least 1MiB, and less than 64 TiB".to_owned()),
        None => Err("expected a size with its unit, such as 64MiB or 1GiB".to_owned()),
    }
}

/// Reads `7d`, `12h`, `2w`.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    const DAY: u64 = 24 * 60 * 60;
    let of = |unit: char, days: u64| {
        let number = text.strip_suffix(unit)?.parse::<u32>().ok().filter(|number| *number > 0)?;
        Some(Duration::from_secs(u64::from(number) * days * DAY))
    };
    let rule = "expected how long, with its unit, such as 7d, 12h or 30m";
    of('d', 1).or_else(|| of('w', 7)).map_or_else(|| duration(text).map_err(|_| rule.into()), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_have_units() {
        assert_eq!(size("256MiB"), Ok(SIZE_MAX));
        assert_eq!(size("1048576"), Ok(1 << 20));
        assert_eq!(size("2 GB"), Ok(2_000_000_000));
        for bad in ["", "MiB", "-1MiB", "1.5GiB", "10KiB", "99999999999GiB", "1TB", "ten"] {
            assert!(size(bad).is_err(), "{bad:?}");
        }
        assert_eq!(age("7d"), Ok(AGE_MAX));
        assert_eq!(age("2w"), Ok(2 * AGE_MAX));
        assert_eq!(age("30m"), Ok(Duration::from_secs(1800)));
        for bad in ["", "d", "0d", "-1d", "7", "é", "99999999999d", "7 fortnights"] {
            assert!(age(bad).is_err(), "{bad:?}");
        }
    }
}
