//! A reader that gives no more than an allowance, which its user renews from time to time.

use std::cell::{Cell, RefCell};
use std::io::{self, Read};

/// Bytes kept to show what an allowance was spent on.
const KEPT: usize = 256;

/// The allowance, as its user sees it.
pub(super) struct Meter {
    allowance: usize,
    left: Cell<usize>,
    start: RefCell<Vec<u8>>,
    spent: Cell<bool>,
}

impl Meter {
    pub(super) fn new(allowance: usize) -> Self {
        let (left, start) = (Cell::new(allowance), RefCell::default());
        Self { allowance, left, start, spent: Cell::new(false) }
    }

    /// Allows as much again, from here on.
    pub(super) fn renew(&self) {
        self.left.set(self.allowance);
        self.start.borrow_mut().clear();
    }

    /// Whether more was wanted than was allowed.
    pub(super) fn is_spent(&self) -> bool {
        self.spent.get()
    }

    /// The first bytes since the allowance was renewed.
    pub(super) fn start(&self) -> Vec<u8> {
        self.start.borrow().clone()
    }

    /// A reader that is held to it.
    pub(super) fn read<R: Read>(&self, input: R) -> Metered<'_, R> {
        Metered { input, meter: self }
    }
}

/// Fails once the allowance is spent.
pub(super) struct Metered<'a, R> {
    input: R,
    meter: &'a Meter,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.meter.left.get();
        if left == 0 {
            self.meter.spent.set(true);
            return Err(io::Error::other("more than is allowed"));
        }
        let most = buffer.len().min(left);
        let read = self.input.read(&mut buffer[..most])?;
        self.meter.left.set(left - read);
        let mut start = self.meter.start.borrow_mut();
        let room = KEPT - start.len();
        start.extend_from_slice(&buffer[..read.min(room)]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_is_allowed() {
        let meter = Meter::new(4);
        let mut input = meter.read(b"abcdefghij".as_slice());
        let mut buffer = [0; 3];
        assert_eq!(input.read(&mut buffer).unwrap(), 3);
        assert_eq!(input.read(&mut buffer).unwrap(), 1);
        assert!(!meter.is_spent() && meter.start() == b"abcd");
        meter.renew();
        assert_eq!(input.read(&mut buffer).unwrap(), 3);
        assert_eq!(input.read(&mut buffer).unwrap(), 1);
        assert!(input.read(&mut buffer).is_err());
        assert!(meter.is_spent() && meter.start() == b"efgh");
    }
}
