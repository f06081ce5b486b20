//! Output in large blocks of one size.

use std::io::{self, Write};

/// Bytes of a block. File systems take few large aligned writes with a third of the work that many
/// small ones cost.
const BLOCK: usize = 256 * 1024;

/// Collects what is written and hands it on in whole blocks, the last one excepted.
pub(crate) struct Blocks<W> {
    out: W,
    pending: Vec<u8>,
    handed_on: u64,
}

impl<W: Write> Blocks<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, pending: Vec::with_capacity(BLOCK + BLOCK / 4), handed_on: 0 }
    }

    /// Bytes taken so far.
    pub(crate) fn position(&self) -> u64 {
        self.handed_on + self.pending.len() as u64
    }

    pub(crate) fn get_ref(&self) -> &W {
        &self.out
    }

    /// Takes what `put` appends to the buffer, about `length` bytes. Large rows of like sizes make it
    /// grow once, not a little each time.
    pub(crate) fn append(
        &mut self,
        length: usize,
        put: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let needed = self.pending.len() + length;
        if needed > self.pending.capacity() {
            self.pending.reserve_exact(needed.next_power_of_two() - self.pending.len());
        }
        put(&mut self.pending);
        if self.pending.len() < BLOCK {
            return Ok(());
        }
        self.hand_on(self.pending.len() - self.pending.len() % BLOCK)
    }

    fn hand_on(&mut self, length: usize) -> io::Result<()> {
        self.out.write_all(&self.pending[..length])?;
        self.pending.drain(..length);
        self.handed_on += length as u64;
        Ok(())
    }

    /// The output, once everything has reached it.
    pub(crate) fn into_inner(mut self) -> Result<W, (io::Error, W)> {
        match self.flush() {
            Ok(()) => Ok(self.out),
            Err(error) => Err((error, self.out)),
        }
    }
}

impl<W: Write> Write for Blocks<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.append(buf.len(), |pending| pending.extend_from_slice(buf))?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hand_on(self.pending.len())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes the size of every write.
    #[derive(Default)]
    struct Sizes(Vec<usize>);

    impl Write for Sizes {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.0.push(buf.len());
            Ok(buf.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn blocks_are_whole_until_the_last() {
        let mut blocks = Blocks::new(Sizes::default());
        let mut taken = 0;
        for size in [1, BLOCK - 2, 5, 3 * BLOCK, 0, 7] {
            blocks.write_all(&vec![b'x'; size]).unwrap();
            taken += size as u64;
            assert_eq!(blocks.position(), taken);
        }
        let Sizes(sizes) = blocks.into_inner().ok().unwrap();
        assert_eq!(sizes, [BLOCK, 3 * BLOCK, 11]);
    }
}
