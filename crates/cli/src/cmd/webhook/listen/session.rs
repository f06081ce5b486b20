//! A run of a listener, from its first delivery to the summary.

use std::pin::pin;
use std::time::Duration;

use formsvc_workbench::listen::{Ended, Goal, Listener, ListenerEvent, Totals};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::poll::RunningPoll;
use super::report::Report;
use crate::cmd::webhook::wait_until;
use crate::error::CliError;
use crate::exit::Exit;

/// Time limit of the deliveries in flight at the end.
pub(super) const DRAIN: Duration = Duration::from_secs(10);

/// A run of a listener.
pub(super) struct Session<'a> {
    pub(super) listener: Listener,
    pub(super) events: mpsc::Receiver<ListenerEvent>,
    pub(super) report: Report<'a>,
    pub(super) goal: Goal,
    pub(super) poll: RunningPoll,
    pub(super) totals: Totals,
}

impl Session<'_> {
    /// Prints events until the goal, a signal or the deadline ends the run. Then waits for the deliveries in flight, and prints the summary.
    pub(super) async fn run(
        mut self,
        signal: CancellationToken,
        deadline: Option<Instant>,
    ) -> Result<(), CliError> {
        let ended = self.listen(signal, deadline).await;
        let Self { listener, mut events, report, mut goal, mut poll, mut totals } = self;
        {
            let mut drain = pin!(async { tokio::join!(listener.shutdown(DRAIN), poll.stop()) });
            loop {
                // The listener waits until its events are received.
                tokio::select! {
                    biased;
                    Some(event) = events.recv() => {
                        print(event, &report, &mut goal, &mut totals)?;
                    }
                    _ = &mut drain => break,
                }
            }
        }
        while let Ok(event) = events.try_recv() {
            print(event, &report, &mut goal, &mut totals)?;
        }
        let ended = ended?;
        let expectations = goal.result(ended);
        report.summary(&totals, ended, &expectations)?;
        // The end of the poll is the reason why expected deliveries did not arrive.
        poll.result()?;
        let unmet = expectations.into_iter().filter(|one| !one.met);
        let causes: Vec<_> = unmet
            .map(|one| format!("`--{}`: {}", one.text, one.reason.unwrap_or_default()))
            .collect();
        if causes.is_empty() {
            return Ok(());
        }
        let error = CliError::new(Exit::Unmet, "the expected deliveries did not all arrive");
        Err(causes.into_iter().fold(error, CliError::cause))
    }

    async fn listen(
        &mut self,
        signal: CancellationToken,
        deadline: Option<Instant>,
    ) -> Result<Ended, CliError> {
        let Self { events, report, goal, poll, totals, .. } = self;
        loop {
            let silence = goal.deadline().map(Instant::from_std);
            tokio::select! {
                biased;
                () = signal.cancelled() => return Ok(Ended::Stopped),
                () = wait_until(deadline) => return Ok(Ended::TimedOut),
                () = poll.ended() => return Ok(Ended::PollEnded),
                Some(event) = events.recv() => {
                    if let Some(ended) = print(event, report, goal, totals)? {
                        return Ok(ended);
                    }
                    // Refused requests do not keep the run alive.
                    if goal.deadline().is_some_and(|silence| silence <= std::time::Instant::now()) {
                        return Ok(Ended::Silence);
                    }
                }
                // Deliveries that arrived in time are printed first.
                () = wait_until(silence) => return Ok(Ended::Silence),
            }
        }
    }
}

/// Prints and counts an event. Returns a value if the run ends with it.
fn print(
    event: ListenerEvent,
    report: &Report<'_>,
    goal: &mut Goal,
    totals: &mut Totals,
) -> Result<Option<Ended>, CliError> {
    report.event(&event)?;
    match event {
        ListenerEvent::Delivered { delivery, .. } => {
            totals.add(&delivery);
            Ok(goal.observe(&delivery, std::time::Instant::now()))
        }
        ListenerEvent::Refused(_) => {
            totals.refused += 1;
            Ok(None)
        }
    }
}
