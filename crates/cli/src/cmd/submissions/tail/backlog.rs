//! Submissions that were read newest first and are shown oldest first.

use std::io::{self, Read, Seek, SeekFrom, Write};

use tempfile::SpooledTempFile;

/// Bytes that are held in memory; more go to a file without a name, which only this process can read.
const IN_MEMORY: usize = 8 << 20;

/// Lines, the last of which comes out first. Takes eight bytes of memory a line beyond [`IN_MEMORY`].
#[derive(Debug)]
pub(super) struct Backlog {
    lines: SpooledTempFile,
    /// Where each line begins.
    starts: Vec<u64>,
    end: u64,
}

impl Default for Backlog {
    fn default() -> Self {
        Self { lines: SpooledTempFile::new(IN_MEMORY), starts: Vec::new(), end: 0 }
    }
}

impl Backlog {
    pub(super) fn push(&mut self, line: &str) -> io::Result<()> {
        self.lines.seek(SeekFrom::Start(self.end))?;
        self.lines.write_all(line.as_bytes())?;
        self.starts.push(self.end);
        self.end += line.len() as u64;
        Ok(())
    }

    /// The line that was put in last.
    pub(super) fn pop(&mut self) -> io::Result<Option<String>> {
        let Some(start) = self.starts.pop() else { return Ok(None) };
        self.lines.seek(SeekFrom::Start(start))?;
        let length = self.end - start;
        let mut line = String::new();
        (&mut self.lines).take(length).read_to_string(&mut line)?;
        self.end = start;
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_last_comes_first_in_memory_and_beyond() {
        for limit in [1 << 20, 8] {
            let lines = SpooledTempFile::new(limit);
            let mut backlog = Backlog { lines, ..Backlog::default() };
            for line in ["one", "", "zwölf", "x"] {
                backlog.push(line).unwrap();
            }
            let mut popped = || backlog.pop().unwrap();
            assert_eq!(popped().as_deref(), Some("x"));
            assert_eq!(popped().as_deref(), Some("zwölf"));
            backlog.push("after").unwrap();
            let mut popped = || backlog.pop().unwrap();
            assert_eq!(popped().as_deref(), Some("after"));
            assert_eq!(popped().as_deref(), Some(""));
            assert_eq!(popped().as_deref(), Some("one"));
            assert_eq!(popped(), None);
        }
    }
}
