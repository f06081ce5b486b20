//! The inspector page of `formsvc webhook listen --ui` and `formsvc webhook events open`, in a browser. The
//! programs run as processes of their own.

mod hostile;
mod listener;
mod live;
mod looks;
mod refusals;
mod replays;
mod store;
