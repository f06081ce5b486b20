//! What durability costs at least: appending to a file and having it reach the disk, again and again.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::BenchError;

/// Bytes appended each time.
const APPENDED: [u8; 1_024] = [b'x'; 1_024];
/// How long it is done.
const WINDOW: Duration = Duration::from_millis(400);

/// Times a second that an append of 1 KiB reached the disk of a directory, one after the other.
pub(crate) fn syncs_per_second(dir: &Path) -> Result<f64, BenchError> {
    let failed = |why| BenchError::io("cannot write to the disk", why);
    let mut file = tempfile::tempfile_in(dir).map_err(failed)?;
    let since = Instant::now();
    let mut made = 0_u32;
    while since.elapsed() < WINDOW {
        file.write_all(&APPENDED).and_then(|()| file.sync_data()).map_err(failed)?;
        made += 1;
    }
    Ok(f64::from(made) / since.elapsed().as_secs_f64())
}
