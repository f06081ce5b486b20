//! Detects that the reader of standard output has closed it, for commands that write rarely. Other commands
//! notice it when a write fails.

use std::time::Duration;

/// Time between two checks.
const INTERVAL: Duration = Duration::from_millis(250);

/// Waits until the reader of standard output has closed it.
pub(crate) async fn gone() {
    while !is_gone() {
        tokio::time::sleep(INTERVAL).await;
    }
}

#[cfg(unix)]
fn is_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = std::io::stdout();
    // Without requested events, `poll` reports only errors, and a pipe without a reader is one.
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let no_wait = Timespec { tv_sec: 0, tv_nsec: 0 };
    let has_event = poll(&mut fds, Some(&no_wait)).unwrap_or(0) > 0;
    has_event && fds[0].revents().intersects(PollFlags::ERR)
}

#[cfg(not(unix))]
fn is_gone() -> bool {
    false
}
