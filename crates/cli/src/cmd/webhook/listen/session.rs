//! One run of a listener, from ready to its end.

use std::io::Read;
use std::thread;
use std::time::Duration;

use formsvc_protocol::RetrySchedule;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::CliError;
use crate::exit::Exit;
use crate::webhook::listen::goal::{End, Goal};
use crate::webhook::listen::happened::Happened;
use crate::webhook::listen::report::Report;
use crate::webhook::listen::server::Server;
use crate::webhook::listen::tally::Tally;

/// Time that deliveries under way have when it ends.
pub(super) const DRAIN: Duration = Duration::from_secs(10);

/// What happens that is told together, at most.
const TOGETHER: usize = 256;
/// Pause after a delivery was told: of many, to be woken for each would cost more than to tell of it.
const REST: Duration = Duration::from_millis(2);

/// A listener that answers.
pub(super) struct Session<'a> {
    pub(super) server: &'a Server,
    pub(super) happened: &'a mut mpsc::Receiver<Happened>,
    pub(super) report: Report<'a>,
    pub(super) goal: Goal,
    pub(super) schedule: RetrySchedule,
}

/// What ends it, besides what comes.
pub(super) struct Until {
    /// How it is to end: by a signal, or since what it polls cannot be polled any more.
    pub(super) stop: oneshot::Receiver<Exit>,
    /// The end of the time limit.
    pub(super) ends_at: Option<Instant>,
    pub(super) within: Option<Duration>,
    pub(super) stdin_eof: bool,
}

impl Session<'_> {
    /// Tells of what comes until the end; lets what is under way finish, and sums up.
    pub(super) async fn run(mut self, until: Until) -> Result<(), CliError> {
        let mut tally = Tally::default();
        let ended = self.listen(until, &mut tally).await;
        let drained = self.drain(&mut tally).await;
        let end = ended?;
        drained?;
        let lines = tally.lines(&self.schedule);
        self.report.summary(&tally, &lines, end, &self.goal.met(end))?;
        self.goal.outcome(end)
    }

    async fn listen(&mut self, until: Until, tally: &mut Tally) -> Result<End, CliError> {
        let Until { mut stop, ends_at, within, stdin_eof } = until;
        // A time beyond what a clock has is no time.
        let mut silent = within.and_then(|time| Instant::now().checked_add(time));
        let mut stdin_ended = std::pin::pin!(end_of_stdin(stdin_eof));
        let (mut news, mut resting) = (Vec::new(), None);
        loop {
            tokio::select! {
                biased;
                exit = &mut stop => return Ok(match exit {
                    Ok(Exit::Failed) => End::PollEnded,
                    _ => End::Stopped,
                }),
                () = at(ends_at) => return Ok(End::TimedOut),
                () = at(resting) => resting = None,
                1.. = self.happened.recv_many(&mut news, TOGETHER), if resting.is_none() => {
                    if let Some(end) = tell(&news, tally, &self.report, &mut self.goal)? {
                        return Ok(end);
                    }
                    let now = Instant::now();
                    let delivered = |happened: Happened| matches!(happened, Happened::Delivered(_));
                    if news.drain(..).any(delivered) {
                        silent = within.and_then(|time| now.checked_add(time));
                        resting = now.checked_add(REST);
                    } else if silent.is_some_and(|silent| silent <= now) {
                        // Whatever else anybody sends.
                        return Ok(End::Silence);
                    }
                }
                // What came in time is told first.
                () = at(silent), if resting.is_none() => return Ok(End::Silence),
                () = &mut stdin_ended => return Ok(End::StdinEof),
            }
        }
    }

    /// Lets what is under way end, and tells of it.
    async fn drain(&mut self, tally: &mut Tally) -> Result<(), CliError> {
        let Self { server, happened, report, goal, .. } = self;
        let mut drained = std::pin::pin!(timeout(DRAIN, server.drain()));
        let mut news = Vec::new();
        loop {
            tokio::select! {
                biased;
                1.. = happened.recv_many(&mut news, TOGETHER) => {}
                // What is left over when the time is up is dropped.
                _ = &mut drained => break,
            }
            tell(&news, tally, report, goal)?;
            news.clear();
        }
        while let Ok(more) = happened.try_recv() {
            tell(&[more], tally, report, goal)?;
        }
        Ok(())
    }
}

/// Tells of them, and counts them. Says whether the run ends with one.
fn tell(
    news: &[Happened],
    tally: &mut Tally,
    report: &Report<'_>,
    goal: &mut Goal,
) -> Result<Option<End>, CliError> {
    for happened in news {
        tally.add(happened);
    }
    report.tell(news)?;
    let mut end = None;
    for happened in news {
        if let Happened::Delivered(told) = happened {
            // Each counts, also one that came with the last that was awaited.
            let ended = goal.came(told);
            end = end.or(ended);
        }
    }
    Ok(end)
}

/// Waits until then; for ever where there is no such time.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of standard input, on a thread that nobody waits for; for ever if it is not asked for.
async fn end_of_stdin(asked: bool) {
    if asked {
        let (ended, end) = oneshot::channel::<()>();
        let reader = thread::Builder::new().name("stdin".into()).spawn(move || {
            let mut bytes = [0; 4096];
            let mut stdin = std::io::stdin().lock();
            // What cannot be read has ended.
            while stdin.read(&mut bytes).is_ok_and(|read| read > 0) {}
            drop(ended);
        });
        if reader.is_ok() {
            // The error is that it is gone, which is what is waited for.
            let _ = end.await;
        }
        return;
    }
    std::future::pending::<()>().await;
}
