//! Reading files of settings and states.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a file in bytes. A sync point with 10,000 ids of the reference service is about
/// 900 kB long, a PEM file with all public certificate authorities 250 kB.
pub(crate) const MAX_LEN: usize = 8 << 20;

/// Reads a regular file. Opening a pipe would block, and a device may have no end.
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut content = Vec::new();
    File::open(path)?.take(MAX_LEN as u64 + 1).read_to_end(&mut content)?;
    if content.len() > MAX_LEN {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "longer than 8 MiB"));
    }
    Ok(content)
}
