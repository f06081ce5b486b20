//! `formsvc webhook listen`, through the binary.

mod answers;
mod disk;
mod ends;
mod forwarding;
mod hostile;
mod lines;
pub(crate) mod listener;
mod records;
mod running;
