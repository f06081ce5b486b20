//! A run of a listener, from its first delivery to the summary.

use std::pin::pin;
use std::time::Duration;

use formsvc_workbench::listen::{Ended, Listener, ListenerEvent};
use formsvc_workbench::poll::Poll;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::report::Report;
use crate::context::wait_until;
use crate::error::CliError;

/// Time limit of the deliveries in flight at the end.
pub(super) const DRAIN: Duration = Duration::from_secs(10);

/// A run of a listener.
pub(super) struct Session<'a> {
    pub(super) listener: Listener,
    pub(super) events: mpsc::Receiver<ListenerEvent>,
    pub(super) report: Report<'a>,
    pub(super) poll: Option<Poll>,
}

impl Session<'_> {
    /// Prints events until the goal, a signal or the deadline ends the run. Then waits for the deliveries in flight,
    /// and prints the summary.
    pub(super) async fn run(
        self,
        signal: CancellationToken,
        deadline: Option<Instant>,
    ) -> Result<(), CliError> {
        let Self { listener, mut events, mut report, poll } = self;
        let (stop, handle) = (CancellationToken::new(), listener.handle());
        let poll_events = handle.events();
        let deliver = move |method, request_target, headers, body| {
            let handle = handle.clone();
            async move { handle.deliver(method, request_target, headers, body).await }
        };
        let mut poll = pin!(async {
            if let Some(poll) = poll {
                return poll.run(deliver, poll_events, stop.clone()).await;
            }
            stop.cancelled().await;
            Ok(())
        });
        let mut poll_result = None;
        let listen = async {
            loop {
                let silence = report.goal.deadline().map(Instant::from_std);
                tokio::select! {
                    biased;
                    () = signal.cancelled() => return Ok(Ended::Stopped),
                    () = wait_until(deadline) => return Ok(Ended::TimedOut),
                    result = &mut poll => {
                        poll_result = Some(result);
                        return Ok(Ended::PollEnded);
                    }
                    Some(event) = events.recv() => {
                        if let Some(ended) = report.event(event)? {
                            return Ok(ended);
                        }
                        // Refused requests do not keep the run alive.
                        let silence = report.goal.deadline();
                        if silence.is_some_and(|silence| silence <= std::time::Instant::now()) {
                            return Ok(Ended::Silence);
                        }
                    }
                    // Deliveries that arrived in time are printed first.
                    () = wait_until(silence) => return Ok(Ended::Silence),
                }
            }
        };
        let ended: Result<Ended, CliError> = listen.await;
        stop.cancel();
        let end_poll = async {
            match poll_result {
                Some(result) => result,
                None => poll.await,
            }
        };
        let mut drain = pin!(async { tokio::join!(listener.shutdown(DRAIN), end_poll).1 });
        // The listener waits until its events are received. After a failed write, it still completes the deliveries in
        // flight.
        let mut failed = None;
        let poll_result = loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => {
                    failed = failed.or(report.event(event).err());
                }
                result = &mut drain => break result,
            }
        };
        while let Ok(event) = events.try_recv() {
            failed = failed.or(report.event(event).err());
        }
        report.end(failed.map_or(ended, Err)?, poll_result.map_err(CliError::from))
    }
}
