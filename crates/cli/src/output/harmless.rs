//! Data on its way to a terminal: exact text is for files and pipes, where nothing acts on it.

use std::io::{self, Write};

use crate::base::sanitize::Sieve;

/// Takes out what a terminal would act on, except line ends and tabs.
pub(crate) struct Harmless<W> {
    inner: W,
    /// The beginning of a character whose rest has not come yet.
    pending: Vec<u8>,
    sieve: Sieve,
}

impl<W: Write> Harmless<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, pending: Vec::new(), sieve: Sieve::default() }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let shown: String = text.chars().filter_map(|c| self.sieve.in_a_stream(c)).collect();
        self.inner.write_all(shown.as_bytes())
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut bytes = std::mem::take(&mut self.pending);
        bytes.extend_from_slice(buf);
        for chunk in bytes.utf8_chunks() {
            self.put(chunk.valid())?;
        }
        // What we write is UTF-8, so that invalid bytes at the end are half a character.
        if let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            self.pending = bytes.split_off(error.valid_up_to());
        }
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_the_terminal_wherever_writes_break() {
        let text = "id,\u{1b}[31mred\u{9b}8m\tZoë ❤\u{fe0f}\u{fe0e}漢\u{202e}字\r\n\u{7}end\n";
        for size in 1..=text.len() {
            let mut out = Harmless::new(Vec::new());
            for part in text.as_bytes().chunks(size) {
                out.write_all(part).unwrap();
            }
            let shown = String::from_utf8(out.inner).unwrap();
            assert_eq!(shown, "id,[31mred8m\tZoë ❤\u{fe0f}漢字 \nend\n", "writes of {size} bytes");
        }
    }
}
