//! Progress on standard error: a moving line on a terminal, a line every ten seconds elsewhere, nothing with
//! `--quiet`.

mod estimate;
mod screen;

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{
    HumanCount, HumanFloatCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use jiff::tz::TimeZone;

use self::estimate::Estimate;
pub(crate) use self::estimate::Expected;
use self::screen::Screen;
use crate::base::env::Lookup;
use crate::base::sanitize::one_line;
use crate::base::text::{approximate, duration, truncate};
use crate::base::when::zone;
use crate::error::ErrorFormat;
use crate::error::message::Message;
use crate::output::{OutputOptions, is_dumb};

/// The moving line is hidden for this time after the first data.
const ASIDE: Duration = Duration::from_secs(1);

/// Time between two lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Reports progress. A clone is cheap and shares its state.
#[derive(Clone)]
pub(crate) struct Progress(Arc<Mutex<State>>);

struct State {
    mode: Mode,
    /// Format of messages and of progress that is written line by line.
    format: ErrorFormat,
    told: Arc<Mutex<OperationState>>,
}

/// The state that a moving line formats each time it is drawn.
struct OperationState {
    began: Instant,
    status: Status,
    estimate: Estimate,
    wait: Option<Wait>,
    /// The time of all waits since the beginning.
    waited: Duration,
    /// The time of the waits that the next operation includes: those before the first one.
    waited_before: Duration,
    has_begun: bool,
}

/// The current status.
enum Status {
    Words(String),
    /// The number of submissions so far, and the time of the oldest one.
    Submissions {
        done: u64,
        reached: String,
    },
}

/// A wait, and its reason.
struct Wait {
    until: Instant,
    why: String,
}

enum Mode {
    Quiet,
    /// A moving line, hidden until an instant or for ever.
    Moving {
        from: Option<Instant>,
        bar: Option<ProgressBar>,
    },
    Lines {
        last: Instant,
    },
}

/// Returns true if a line is due without a terminal: ten seconds after the last one, or before a wait of ten
/// seconds.
fn line_is_due(since_last: Duration, wait: Option<Duration>) -> bool {
    since_last >= LINE_EVERY || wait.is_some_and(|wait| wait >= LINE_EVERY)
}

impl Progress {
    pub(crate) fn new(options: &OutputOptions, env: Lookup<'_>) -> Self {
        let (began, format) = (Instant::now(), options.error_format);
        let mode = if options.quiet {
            Mode::Quiet
        } else if options.stderr_is_terminal && !is_dumb(env) && format == ErrorFormat::Text {
            Mode::Moving { from: Some(began), bar: None }
        } else {
            Mode::Lines { last: began }
        };
        let status = Status::Words(String::new());
        let told = OperationState {
            began,
            status,
            estimate: Estimate::default(),
            wait: None,
            waited: Duration::ZERO,
            waited_before: Duration::ZERO,
            has_begun: false,
        };
        let told = Arc::new(Mutex::new(told));
        Self(Arc::new(Mutex::new(State { mode, format, told })))
    }

    /// Starts an operation. The time of the first one includes the waits before it.
    pub(crate) fn begin(&self) {
        let state = self.state();
        let mut operation = locked(&state.told);
        let (now, waited) = (Instant::now(), std::mem::take(&mut operation.waited_before));
        operation.began = now.checked_sub(waited).unwrap_or(now);
        operation.waited = waited;
        operation.has_begun = true;
        operation.status = Status::Words(String::new());
        operation.estimate = Estimate::default();
        operation.wait = None;
    }

    /// Sets the end of the walk that begins now, for an estimate of the remaining time.
    pub(crate) fn expect(&self, expected: Expected) {
        locked(&self.state().told).estimate = Estimate::new(expected);
    }

    /// Removes the moving line for ever, because data goes to the same terminal.
    pub(crate) fn share_terminal(&self) {
        self.draw_from(None);
    }

    /// Hides the moving line for a second: the reader of a pipe, such as `head`, can print the first data on this
    /// terminal.
    pub(crate) fn step_aside(&self) {
        self.draw_from(Instant::now().checked_add(ASIDE));
    }

    fn draw_from(&self, at: Option<Instant>) {
        if let Mode::Moving { from, .. } = &mut self.state().mode {
            *from = at;
        }
        self.end();
    }

    /// Reports the number of submissions so far, and the time of the oldest of them.
    pub(crate) fn submissions(&self, done: u64, reached: &str) {
        locked(&self.state().told).estimate.observe(Instant::now(), done, reached);
        self.state().has_come_to(|| Status::Submissions { done, reached: reached.to_owned() });
    }

    /// Reports the status as text.
    pub(crate) fn doing(&self, what: &str) {
        self.state().has_come_to(|| Status::Words(what.to_owned()));
    }

    /// Reports a wait and its reason.
    pub(crate) fn waiting(&self, wait: Duration, why: &str) {
        let mut state = self.state();
        {
            let mut progress = locked(&state.told);
            progress.waited += wait;
            if !progress.has_begun {
                progress.waited_before += wait;
            }
            progress.estimate.wait(wait);
        }
        if let Mode::Lines { last } = &state.mode
            && !line_is_due(last.elapsed(), Some(wait))
        {
            return;
        }
        if let Some(until) = Instant::now().checked_add(wait) {
            locked(&state.told).wait = Some(Wait { until, why: why.to_owned() });
        }
        state.show();
    }

    /// Prints a line; not with `--quiet`. The text is sanitized.
    pub(crate) fn remark(&self, text: &str) {
        self.report(&Message::info(text));
    }

    /// Prints a warning, of which `text` has no prefix; not with `--quiet`.
    pub(crate) fn warn(&self, text: &str) {
        self.report(&Message::warning(text));
    }

    /// Warns that the service does not respond, and that requests are retried.
    pub(crate) fn outage(&self, reason: &str) {
        self.warn(&format!("{reason}; retrying until the service responds"));
    }

    /// Reports the end of an outage.
    pub(crate) fn outage_end(&self, elapsed: Duration) {
        self.remark(&format!("the service is back after {}", duration(elapsed)));
    }

    /// Prints a command to copy, on one line.
    pub(crate) fn command(&self, title: &str, command: &str) {
        self.report(&Message::command(title, command));
    }

    /// Prints a message; not with `--quiet`.
    pub(crate) fn report(&self, message: &Message) {
        let state = self.state();
        match &state.mode {
            Mode::Quiet => {}
            Mode::Moving { bar: Some(bar), .. } => bar.suspend(|| message.print(state.format)),
            _ => message.print(state.format),
        }
    }

    /// Ends the line in which the terminal shows `^C`. Never waits for a thread that is inside a write.
    pub(crate) fn interrupted(&self) {
        let Ok(state) = self.0.try_lock() else { return };
        let Mode::Moving { from, bar } = &state.mode else { return };
        let is_drawn = bar.is_some() && from.is_some_and(|from| from <= Instant::now());
        if !is_drawn {
            // A failed write to standard error cannot be reported.
            let _ = writeln!(std::io::stderr().lock());
        }
    }

    /// Removes the moving line.
    pub(crate) fn end(&self) {
        if let Mode::Moving { bar, .. } = &mut self.state().mode
            && let Some(bar) = bar.take()
        {
            bar.finish_and_clear();
        }
    }

    /// Returns the time of all waits since the beginning.
    pub(crate) fn waited(&self) -> Duration {
        locked(&self.state().told).waited
    }

    /// Returns the time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        locked(&self.state().told).began.elapsed()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }
}

/// Locks a mutex, even after a panic of another thread.
fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Sets the status if it will be shown. Runs once per page.
    fn has_come_to(&mut self, status: impl FnOnce() -> Status) {
        let due = match &self.mode {
            Mode::Quiet => false,
            Mode::Moving { from, .. } => from.is_some(),
            Mode::Lines { last } => line_is_due(last.elapsed(), None),
        };
        if due {
            locked(&self.told).status = status();
            self.show();
        }
    }

    fn show(&mut self) {
        match &mut self.mode {
            Mode::Moving { from: Some(from), bar } => {
                bar.get_or_insert_with(|| spinner(&self.told, *from)).set_message("");
            }
            Mode::Quiet | Mode::Moving { from: None, .. } => {}
            Mode::Lines { last } => {
                *last = Instant::now();
                locked(&self.told).message(*last, &zone()).print(self.format);
            }
        }
    }
}

impl OperationState {
    /// The current line as a message.
    fn message(&self, now: Instant, zone: &TimeZone) -> Message {
        let message = Message::info(self.line(now, zone));
        match &self.status {
            Status::Words(_) => message,
            Status::Submissions { done, reached } => {
                let message = message.with("submissions", *done).with("reached", reached.as_str());
                match self.estimate.left(now) {
                    Some(left) => message.with("seconds_left", left.as_secs()),
                    None => message,
                }
            }
        }
    }

    /// Formats the wait and the status.
    fn line(&self, now: Instant, zone: &TimeZone) -> String {
        let status = match &self.status {
            Status::Words(words) => words.clone(),
            Status::Submissions { done, reached } => {
                let new = self.estimate.new_submissions(*done);
                let time = now.saturating_duration_since(self.began);
                let left = self.estimate.left(now);
                let left =
                    left.map_or(String::new(), |left| format!(" · {} left", approximate(left)));
                status(*done, new, reached, time, zone) + &left
            }
        };
        let wait = self.wait.as_ref().and_then(|wait| {
            let left = wait.until.checked_duration_since(now).filter(|left| !left.is_zero())?;
            Some(format!("waiting {} s for {}", left.as_secs_f64().ceil(), wait.why))
        });
        match wait {
            Some(wait) if status.is_empty() => wait,
            Some(wait) => format!("{wait} · {status}"),
            None => status,
        }
    }
}

/// Formats the progress of a walk: all submissions, the rate of those that are `new`, the time of the oldest.
fn status(done: u64, new: u64, reached: &str, time: Duration, zone: &TimeZone) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a rate for reading needs no more digits")]
    let rate = new as f64 / time.as_secs_f64().max(0.001);
    // Local time, like in tables, without seconds.
    let reached = reached.parse::<jiff::Timestamp>().map_or_else(
        |_| reached.to_owned(),
        |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
    );
    let s = if done == 1 { "" } else { "s" };
    let (done, rate) = (HumanCount(done), HumanFloatCount(rate.round()));
    format!("{done} submission{s} · {rate}/s · back to {reached}")
}

fn spinner(told: &Arc<Mutex<OperationState>>, from: Instant) -> ProgressBar {
    /// Width of the spinner.
    const BEFORE: usize = 2;
    let target = ProgressDrawTarget::term_like(Box::new(Screen { from }));
    let bar = ProgressBar::with_draw_target(None, target);
    let told = Arc::clone(told);
    let text = move |_: &ProgressState, out: &mut dyn fmt::Write| {
        let text = locked(&told).line(Instant::now(), &zone());
        let room = usize::from(screen::width()).saturating_sub(BEFORE);
        let _ = out.write_str(&truncate(&one_line(&text), room));
    };
    let style = ProgressStyle::with_template("{spinner} {told}");
    bar.set_style(style.expect("the template is well-formed").with_key("told", text));
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_due_every_ten_seconds_and_before_a_long_wait() {
        let s = Duration::from_secs;
        for (since_last, wait, due) in [
            (s(0), None, false),
            (s(9), None, false),
            (s(10), None, true),
            (s(1), Some(s(1)), false),
            (s(1), Some(s(61)), true),
            (s(11), Some(s(1)), true),
        ] {
            assert_eq!(line_is_due(since_last, wait), due, "{since_last:?} {wait:?}");
        }
    }

    #[test]
    fn status_has_count_rate_and_local_time() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let at = |done, seconds| {
            status(done, done, "2026-03-14T09:30:00.000Z", Duration::from_secs(seconds), &berlin)
        };
        assert_eq!(at(12_300, 10), "12,300 submissions · 1,230/s · back to 2026-03-14 10:30");
        assert_eq!(at(1, 1), "1 submission · 1/s · back to 2026-03-14 10:30");
    }

    #[test]
    fn wait_counts_down_and_lowers_the_rate() {
        let began = Instant::now();
        let after = |millis| began + Duration::from_millis(millis);
        let reached = "2026-03-14T09:30:00.000Z".to_owned();
        let wait = Wait { until: after(31_000), why: "the service's rate limit".to_owned() };
        let status = Status::Submissions { done: 5_900, reached };
        let told = OperationState {
            began,
            status,
            estimate: Estimate::default(),
            wait: Some(wait),
            waited: Duration::ZERO,
            waited_before: Duration::ZERO,
            has_begun: false,
        };
        for (millis, line) in [
            (1_000, "waiting 30 s for the service's rate limit · 5,900 submissions · 5,900/s"),
            (10_100, "waiting 21 s for the service's rate limit · 5,900 submissions · 584/s"),
            (30_999, "waiting 1 s for the service's rate limit · 5,900 submissions · 190/s"),
            (31_000, "5,900 submissions · 190/s"),
        ] {
            let line = format!("{line} · back to 2026-03-14 09:30");
            assert_eq!(told.line(after(millis), &TimeZone::UTC), line);
        }
    }
}
