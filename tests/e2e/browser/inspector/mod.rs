//! The inspector page of `formsvc webhook listen --ui`: a listener in a process of its own, deliveries
//! that are signed, and a browser that looks.

mod hostile;
mod listener;
mod live;
mod looks;
mod refusals;
mod replays;
