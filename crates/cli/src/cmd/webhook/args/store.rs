//! Flags of a command that stores deliveries.

use std::time::Duration;

use clap::Args;
use formsvc_workbench::store::{CaptureStore, StoreError, StoreLimits};

use super::super::captures::folder;
use crate::account::key::aside;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::args::duration;

/// Smallest store: a smaller one cannot store the largest delivery.
const BYTES_MIN: u64 = 1 << 20;

/// The location and limits of the store.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cmd) struct StoreArgs {
    /// Store deliveries in memory only; they are lost when the command ends
    #[arg(long, help_heading = "Store")]
    no_store: bool,
    /// Size of the store; the oldest deliveries are removed first. Deliveries without a valid signature get at
    /// most half of it
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size, help_heading = "Store")]
    store_max_size: u64,
    /// Remove deliveries after this time
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = age, help_heading = "Store")]
    store_max_age: Duration,
}

impl StoreArgs {
    /// Returns the limits.
    pub(in crate::cmd) fn limits(&self) -> StoreLimits {
        StoreLimits { bytes: self.store_max_size, age: self.store_max_age }
    }

    /// Opens the store. If the file cannot be used, returns a store in memory and the error.
    pub(in crate::cmd) async fn open(
        &self,
        cx: &Context,
    ) -> Result<(CaptureStore, Option<CliError>), CliError> {
        let limits = self.limits();
        let folder = if self.no_store { None } else { Some(folder(cx)) };
        let error = match folder {
            None => None,
            Some(Err(error)) => Some(error),
            // Another process may lock the file, and the disk may be slow.
            Some(Ok(folder)) => match aside(move || CaptureStore::open(&folder, limits)).await? {
                Ok(store) => return Ok((store, None)),
                Err(error) => Some(error.into()),
            },
        };
        let store = CaptureStore::in_memory(limits).map_err(|error: StoreError| error.into());
        store.map(|store: CaptureStore| (store, error))
    }
}

/// Parses `64MiB`, `1GiB`, `500MB`.
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
        Some(size) if (BYTES_MIN..1 << 46).contains(&size) => Ok(size),
        Some(_) => Err("expected at least 1MiB, and less than 64 TiB".to_owned()),
        None => Err("expected a size with its unit, such as 64MiB or 1GiB".to_owned()),
    }
}

/// Parses `7d`, `12h`, `2w`.
pub(in crate::cmd) fn age(text: &str) -> Result<Duration, String> {
    const DAY: u64 = 24 * 60 * 60;
    let of = |unit: char, days: u64| {
        let number = text.strip_suffix(unit)?.parse::<u32>().ok().filter(|number| *number > 0)?;
        Some(Duration::from_secs(u64::from(number) * days * DAY))
    };
    let rule = "expected a duration with its unit, such as 7d, 12h or 30m";
    of('d', 1).or_else(|| of('w', 7)).map_or_else(|| duration(text).map_err(|_| rule.into()), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_and_age_have_units() {
        assert_eq!(size("256MiB"), Ok(256 << 20));
        assert_eq!(size("1048576"), Ok(1 << 20));
        assert_eq!(size("2 GB"), Ok(2_000_000_000));
        for bad in ["", "MiB", "-1MiB", "1.5GiB", "10KiB", "99999999999GiB", "1TB", "ten"] {
            assert!(size(bad).is_err(), "{bad:?}");
        }
        let day = Duration::from_secs(86_400);
        assert_eq!(age("7d"), Ok(7 * day));
        assert_eq!(age("2w"), Ok(14 * day));
        assert_eq!(age("30m"), Ok(Duration::from_secs(1800)));
        for bad in ["", "d", "0d", "-1d", "7", "é", "99999999999d", "7 fortnights"] {
            assert!(age(bad).is_err(), "{bad:?}");
        }
    }
}
