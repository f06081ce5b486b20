//! A run of a listener, from its first delivery to the summary.

use std::io::Read;
use std::pin::pin;
use std::thread;
use std::time::Duration;

use formsvc_workbench::listen::{Ended, Goal, Listener, ListenerEvent, Totals};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::poll::RunningPoll;
use super::report::Report;
use crate::error::CliError;
use crate::exit::Exit;

/// Time limit of the deliveries in flight at the end.
pub(super) const DRAIN: Duration = Duration::from_secs(10);

/// Number of events that are printed together at most.
const CHUNK: usize = 256;
/// Pause after a delivery was printed, so that many deliveries are printed together.
const PRINT_PAUSE: Duration = Duration::from_millis(2);

/// A run of a listener.
pub(super) struct Session<'a> {
    pub(super) listener: Listener,
    pub(super) events: mpsc::Receiver<ListenerEvent>,
    pub(super) report: Report<'a>,
    pub(super) goal: Goal,
    pub(super) poll: RunningPoll,
    pub(super) totals: Totals,
}

/// The conditions that end a run, in addition to its goal.
pub(super) struct Until {
    pub(super) signal: CancellationToken,
    pub(super) deadline: Option<Instant>,
    /// Standard input ends the run.
    pub(super) stdin_eof: bool,
}

impl Session<'_> {
    /// Prints events until the run ends. Then waits for the deliveries in flight, and prints the summary.
    pub(super) async fn run(mut self, until: Until) -> Result<(), CliError> {
        let ended = self.listen(until).await;
        let Self { listener, mut events, report, mut goal, mut poll, mut totals } = self;
        let drained = {
            let drain = async {
                tokio::join!(listener.shutdown(DRAIN), poll.stop());
            };
            let mut drain = pin!(drain);
            let mut chunk = Vec::new();
            loop {
                tokio::select! {
                    biased;
                    1.. = events.recv_many(&mut chunk, CHUNK) => {}
                    () = &mut drain => break,
                }
                print(&mut chunk, &report, &mut goal, &mut totals)?;
            }
            while let Ok(event) = events.try_recv() {
                chunk.push(event);
            }
            print(&mut chunk, &report, &mut goal, &mut totals)
        };
        let ended = ended?;
        drained?;
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

    async fn listen(&mut self, until: Until) -> Result<Ended, CliError> {
        let Self { events, report, goal, poll, totals, .. } = self;
        let Until { signal, deadline, stdin_eof } = until;
        let mut stdin_ended = pin!(end_of_stdin(stdin_eof));
        let (mut chunk, mut pause) = (Vec::new(), None);
        loop {
            let silence = goal.deadline().map(Instant::from_std);
            tokio::select! {
                biased;
                () = signal.cancelled() => return Ok(Ended::Stopped),
                () = at(deadline) => return Ok(Ended::TimedOut),
                () = poll.ended() => return Ok(Ended::PollEnded),
                () = at(pause) => pause = None,
                1.. = events.recv_many(&mut chunk, CHUNK), if pause.is_none() => {
                    let delivered = |event: &_| matches!(event, ListenerEvent::Delivered { .. });
                    let has_delivery = chunk.iter().any(delivered);
                    if let Some(ended) = print(&mut chunk, report, goal, totals)? {
                        return Ok(ended);
                    }
                    let now = Instant::now();
                    if has_delivery {
                        pause = Some(now + PRINT_PAUSE);
                    } else if silence.is_some_and(|silence| silence <= now) {
                        // Refused requests do not keep the run alive.
                        return Ok(Ended::Silence);
                    }
                }
                // Deliveries that arrived in time are printed first.
                () = at(silence), if pause.is_none() => return Ok(Ended::Silence),
                () = &mut stdin_ended => return Ok(Ended::StdinEof),
            }
        }
    }
}

/// Prints and counts events, and removes them from the chunk. Returns a value if the run ends with one.
fn print(
    chunk: &mut Vec<ListenerEvent>,
    report: &Report<'_>,
    goal: &mut Goal,
    totals: &mut Totals,
) -> Result<Option<Ended>, CliError> {
    report.events(chunk)?;
    let (now, mut ended) = (std::time::Instant::now(), None);
    for event in chunk.drain(..) {
        match event {
            ListenerEvent::Delivered { delivery, .. } => {
                totals.add(&delivery);
                // Deliveries after the last awaited one count too.
                let reached = goal.observe(&delivery, now);
                ended = ended.or(reached);
            }
            ListenerEvent::Refused(_) => totals.refused += 1,
        }
    }
    Ok(ended)
}

/// Waits until a time; forever if there is none.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of standard input, on a detached thread; forever if it does not matter.
async fn end_of_stdin(matters: bool) {
    if matters {
        let (ended, end) = oneshot::channel::<()>();
        let reader = thread::Builder::new().name("stdin".into()).spawn(move || {
            let mut bytes = [0; 4096];
            let mut stdin = std::io::stdin().lock();
            // A read error is an end.
            while stdin.read(&mut bytes).is_ok_and(|read| read > 0) {}
            drop(ended);
        });
        if reader.is_ok() {
            // The sender is dropped at the end.
            let _ = end.await;
            return;
        }
    }
    std::future::pending::<()>().await;
}
