//! Whether anybody still reads standard output, for commands that write seldom.

use std::time::Duration;

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(250);

/// Waits until the reader of standard output has closed it.
pub(crate) async fn gone() {
    loop {
        if is_gone() {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}

#[cfg(unix)]
fn is_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = std::io::stdout();
    // Asked for nothing, it tells errors and hang-ups alone: a pipe without a reader has one.
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let told = poll(&mut fds, Some(&at_once)).unwrap_or(0) > 0;
    told && fds[0].revents().intersects(PollFlags::ERR)
}

#[cfg(not(unix))]
fn is_gone() -> bool {
    false
}
