//! Calls that may never return.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Returns the result of a call, or `None` after the time limit. The call runs on its own thread; a call that does
/// not return ends with the process.
pub(super) fn within<T: Send + 'static>(
    limit: Duration,
    call: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, ended) = mpsc::sync_channel(1);
    thread::Builder::new()
        .name("keyring".into())
        .spawn(move || {
            // Nobody listens any more when it took too long.
            let _ = done.send(call());
        })
        .ok()?;
    ended.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_returns_is_given_and_what_does_not_is_left_behind() {
        assert_eq!(within(Duration::from_secs(60), || 7), Some(7));
        let (_open, never) = mpsc::channel::<()>();
        assert_eq!(within(Duration::from_millis(1), move || never.recv()), None);
    }
}
