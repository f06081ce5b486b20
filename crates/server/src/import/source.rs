//! A file that may be read twice, or a stream that is kept while it is read.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use bytes::{Buf, Bytes};

/// What is imported.
pub(super) enum Source {
    File(File),
    Memory(Bytes),
    Stream(Box<dyn Read + Send>),
}

impl Source {
    /// A file by its path; a pipe or device is a stream.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(if file.metadata()?.is_file() { Self::File(file) } else { Self::stream(file) })
    }

    pub(super) fn stream(reader: impl Read + Send + 'static) -> Self {
        Self::Stream(Box::new(reader))
    }

    /// The bytes, once.
    pub(super) fn once(self) -> BufReader<Box<dyn Read + Send>> {
        BufReader::new(match self {
            Self::File(file) => Box::new(file),
            Self::Memory(bytes) => Box::new(bytes.reader()),
            Self::Stream(reader) => reader,
        })
    }

    /// Reads all, then gives the same bytes again.
    pub(super) fn twice<T, E: From<io::Error>>(
        self,
        first: impl FnOnce(&mut dyn Read) -> Result<T, E>,
    ) -> Result<(T, BufReader<Box<dyn Read + Send>>), E> {
        let (read, mut file) = match self {
            Self::File(mut file) => (first(&mut file)?, file),
            Self::Memory(bytes) => {
                let read = first(&mut bytes.clone().reader())?;
                return Ok((read, BufReader::new(Box::new(bytes.reader()))));
            }
            Self::Stream(reader) => {
                let mut tee = Tee { reader, copy: BufWriter::new(tempfile::tempfile()?) };
                let read = first(&mut tee)?;
                let copy = tee.copy.into_inner().map_err(io::IntoInnerError::into_error)?;
                (read, copy)
            }
        };
        file.rewind()?;
        Ok((read, BufReader::new(Box::new(file))))
    }
}

/// A reader whose bytes are copied as they are read.
struct Tee {
    reader: Box<dyn Read + Send>,
    copy: BufWriter<File>,
}

impl Read for Tee {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.reader.read(buffer)?;
        self.copy.write_all(&buffer[..len])?;
        Ok(len)
    }
}
