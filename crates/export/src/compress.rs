//! Compression of text formats.

use std::io::{self, Write};

use flate2::write::GzEncoder;

use crate::error::ExportError;
#[cfg(not(feature = "zstd"))]
use crate::error::Unsupported;
use crate::file_format::Compression;

/// Calls `write` with an output of which the bytes are compressed, then writes the trailer, without which
/// readers report a truncated file. `failed` makes the error of the output.
pub(crate) fn compressed<T>(
    mut out: impl Write,
    compression: Compression,
    write: impl FnOnce(&mut dyn Write) -> Result<T, ExportError>,
    failed: impl Fn(io::Error) -> ExportError,
) -> Result<T, ExportError> {
    let written = match compression {
        Compression::None => write(&mut out)?,
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(&mut out, flate2::Compression::default());
            let written = write(&mut encoder)?;
            encoder.finish().map_err(&failed)?;
            written
        }
        #[cfg(not(feature = "zstd"))]
        Compression::Zstd => return Err(Unsupported::Compression(compression).into()),
        #[cfg(feature = "zstd")]
        Compression::Zstd => {
            let mut encoder = zstd::Encoder::new(&mut out, 3).map_err(&failed)?;
            encoder.include_checksum(true).map_err(&failed)?;
            let written = write(&mut encoder)?;
            encoder.finish().map_err(&failed)?;
            written
        }
    };
    out.flush().map_err(failed)?;
    Ok(written)
}
