//! A folder and files in it that are their owner's alone: captures hold what people wrote, and signatures
//! that can be replayed.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::{file, folder};
#[cfg(unix)]
pub(crate) use unix::{file, folder};

#[cfg(all(test, unix))]
mod tests;
