//! Output in large blocks of one size.

use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Bytes of a block. Writing 512 MiB to ext4 in aligned blocks of this size took 0.13 s of the kernel's
/// time, of 64 KiB 0.15 s, of 16 KiB 0.23 s.
const BLOCK: usize = 256 * 1024;

/// How long somebody who reads along waits for what is there, at most.
const HELD_BACK: Duration = Duration::from_millis(200);

/// Collects what is written and hands it on in whole blocks, the last one excepted.
pub(crate) struct Blocks<W> {
    out: W,
    pending: Vec<u8>,
    handed_on: u64,
    handed_on_at: Instant,
}

impl<W: Write> Blocks<W> {
    pub(crate) fn new(out: W) -> Self {
        let pending = Vec::with_capacity(BLOCK + BLOCK / 4);
        Self { out, pending, handed_on: 0, handed_on_at: Instant::now() }
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

    /// Hands on what is there, for somebody who reads along, unless they were given something just now.
    pub(crate) fn let_through(&mut self) -> io::Result<()> {
        if self.handed_on_at.elapsed() < HELD_BACK { Ok(()) } else { self.flush() }
    }

    /// Hands on so many bytes. After an error, what was not taken is still pending: nothing is
    /// written twice.
    fn hand_on(&mut self, length: usize) -> io::Result<()> {
        let mut taken = 0;
        let outcome = loop {
            if taken == length {
                break Ok(());
            }
            match self.out.write(&self.pending[taken..length]) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => taken += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.pending.drain(..taken);
        self.handed_on += taken as u64;
        self.handed_on_at = Instant::now();
        outcome
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

    /// Takes seven bytes at a time, and fails every second time.
    #[derive(Default)]
    struct Tired {
        taken: Vec<u8>,
        calls: usize,
    }

    impl Write for Tired {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.calls += 1;
            if self.calls.is_multiple_of(2) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let length = buf.len().min(7);
            self.taken.extend_from_slice(&buf[..length]);
            Ok(length)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_write_that_failed_halfway_is_gone_on_with_not_repeated() {
        let mut blocks = Blocks::new(Tired::default());
        let text = b"twenty bytes of text";
        blocks.write_all(text).unwrap();
        while let Err(error) = blocks.flush() {
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
        assert_eq!(blocks.get_ref().taken, text);
        assert_eq!(blocks.position(), text.len() as u64);
    }

    #[test]
    fn whoever_reads_along_has_what_is_there_after_a_moment() {
        let mut blocks = Blocks::new(Sizes::default());
        blocks.write_all(b"first").unwrap();
        blocks.let_through().unwrap();
        assert!(blocks.get_ref().0.is_empty(), "a block is collected first");
        blocks.handed_on_at = Instant::now().checked_sub(HELD_BACK).unwrap();
        blocks.let_through().unwrap();
        assert_eq!(blocks.get_ref().0, [5]);
        blocks.write_all(b"more").unwrap();
        blocks.let_through().unwrap();
        assert_eq!(blocks.get_ref().0, [5], "it was given something just now");
        assert_eq!(blocks.position(), 9);
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
