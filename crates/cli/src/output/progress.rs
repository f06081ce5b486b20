//! Progress on standard error: a moving line, which is redrawn, on a terminal; a new line every ten seconds
//! without a terminal; nothing with `--quiet`.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::HumanCount;
use terminal_size::terminal_size_of;
use unicode_width::UnicodeWidthStr;

use super::{OutputOptions, is_dumb};
use crate::base::env::Lookup;
use crate::base::masked::hide_secrets;
use crate::base::sanitize::one_line;
use crate::base::text::{count, duration, truncate};
use crate::base::when::zone;
use crate::error::ErrorFormat;
use crate::error::message::Message;

/// Interval of progress lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Interval of redraws of the moving line.
const REDRAW_EVERY: Duration = Duration::from_millis(120);
/// Free cells at the end of the moving line, for the `^C` that the terminal prints.
const FREE_CELLS: usize = 3;

/// Reports progress. A clone is cheap and shares its state.
#[derive(Clone)]
pub(crate) struct Progress(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    quiet: bool,
    format: ErrorFormat,
    mode: Mode,
    status: String,
    /// The number of submissions so far, and the time of the oldest one.
    submissions: Option<(u64, String)>,
    /// The end of the current wait, and its reason.
    wait: Option<(Instant, String)>,
    /// The start of the operation: its first wait, or the call of `begin`.
    began: Option<Instant>,
    has_begun: bool,
    /// Number of items on which an expression failed.
    failed_items: u32,
    /// The total time of the operation's waits.
    waited: Duration,
}

#[derive(Default)]
enum Mode {
    #[default]
    Hidden,
    Lines {
        last: Instant,
    },
    Moving(MovingLine),
}

#[derive(Default)]
struct MovingLine {
    is_active: bool,
    /// True if a thread redraws the line.
    has_thread: bool,
    /// Cells of the line on the screen.
    drawn: usize,
}

/// Returns true if a line without a terminal is due: ten seconds after the previous line, or before a wait of at
/// least ten seconds.
fn line_is_due(since_last: Duration, wait: Option<Duration>) -> bool {
    since_last >= LINE_EVERY || wait.is_some_and(|wait| wait >= LINE_EVERY)
}

impl Progress {
    pub(crate) fn new(options: &OutputOptions, env: Lookup<'_>) -> Self {
        let (quiet, format) = (options.quiet, options.error_format);
        let mode = if quiet {
            Mode::Hidden
        } else if options.stderr_is_terminal && !is_dumb(env) && format == ErrorFormat::Text {
            Mode::Moving(MovingLine::default())
        } else {
            Mode::Lines { last: Instant::now() }
        };
        Self(Arc::new(Mutex::new(State { quiet, format, mode, ..State::default() })))
    }

    /// Starts an operation. The first operation includes the waits before it.
    pub(crate) fn begin(&self) {
        let mut state = self.state();
        if state.has_begun {
            (state.began, state.waited) = (None, Duration::ZERO);
        }
        state.has_begun = true;
        state.began.get_or_insert_with(Instant::now);
        (state.status, state.submissions, state.wait) = (String::new(), None, None);
    }

    /// Hides the progress permanently, because data goes to the same terminal.
    pub(crate) fn share_terminal(&self) {
        self.end();
        self.state().mode = Mode::Hidden;
    }

    /// Replaces the moving line by separate lines, because the reader of a pipe, such as `head`, may print on
    /// the same terminal.
    pub(crate) fn stop_moving(&self) {
        self.end();
        let mut state = self.state();
        if matches!(state.mode, Mode::Moving(_)) {
            state.mode = Mode::Lines { last: Instant::now() };
        }
    }

    /// Reports the number of submissions so far, the limit, and the time of the oldest of them.
    pub(crate) fn submissions(&self, done: u64, limit: Option<u64>, reached: &str) {
        // Local time, like in tables, without seconds.
        let back_to = reached.parse::<jiff::Timestamp>().map_or_else(
            |_| reached.to_owned(),
            |at| at.to_zoned(zone()).strftime("%Y-%m-%d %H:%M").to_string(),
        );
        let submissions = match limit {
            Some(limit) => format!("{} of {}", HumanCount(done), count(limit, "submission")),
            None => count(done, "submission"),
        };
        let status = format!("{submissions} · back to {back_to}");
        self.update(status, Some((done, reached.to_owned())));
    }

    /// Reports the status as text.
    pub(crate) fn doing(&self, status: &str) {
        self.update(status.to_owned(), None);
    }

    fn update(&self, status: String, submissions: Option<(u64, String)>) {
        let mut state = self.state();
        (state.status, state.submissions) = (status, submissions);
        self.show(state, None);
    }

    /// Reports a wait and its reason.
    pub(crate) fn waiting(&self, wait: Duration, why: &str) {
        let (mut state, now) = (self.state(), Instant::now());
        state.began.get_or_insert(now);
        let Some(until) = now.checked_add(wait) else { return };
        // Several requests can wait for the same reason at the same time.
        let known = state.wait.take().filter(|(known, _)| *known > now);
        state.waited +=
            until.saturating_duration_since(known.as_ref().map_or(now, |known| known.0));
        let is_repeated = known.is_some_and(|(_, reason)| reason == why);
        state.wait = Some((until, why.to_owned()));
        self.show(state, Some(wait).filter(|_| !is_repeated));
    }

    fn show(&self, mut state: MutexGuard<'_, State>, wait: Option<Duration>) {
        let now = Instant::now();
        match &mut state.mode {
            Mode::Lines { last } if line_is_due(now - *last, wait) => {
                *last = now;
                state.message(now).print(state.format);
            }
            Mode::Moving(line) => {
                line.is_active = true;
                if !line.has_thread {
                    let shared = Arc::clone(&self.0);
                    let thread = thread::Builder::new().spawn(move || {
                        loop {
                            locked(&shared).redraw();
                            thread::sleep(REDRAW_EVERY);
                        }
                    });
                    line.has_thread = thread.is_ok();
                }
            }
            Mode::Hidden | Mode::Lines { .. } => {}
        }
    }

    /// Prints a line of sanitized text, unless `--quiet` is set.
    pub(crate) fn remark(&self, text: &str) {
        self.report(&Message::info(text));
    }

    /// Prints a warning, unless `--quiet` is set. `text` is the warning without its `warning:` prefix.
    pub(crate) fn warn(&self, text: &str) {
        self.report(&Message::warning(hide_secrets(text)));
    }

    /// Warns that the service does not respond and that requests are retried.
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

    /// Prints a message, unless `--quiet` is set.
    pub(crate) fn report(&self, message: &Message) {
        let mut state = self.state();
        if !state.quiet {
            state.draw("");
            message.print(state.format);
        }
    }

    /// Ends the line in which the terminal printed `^C`, if no moving line is on the screen. Does not block while
    /// another thread is inside a write.
    pub(crate) fn interrupted(&self) {
        let Ok(state) = self.0.try_lock() else { return };
        if matches!(&state.mode, Mode::Moving(line) if line.drawn == 0) {
            // A failed write to standard error cannot be reported.
            let _ = writeln!(io::stderr().lock());
        }
    }

    /// Removes the moving line from the screen.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        if let Mode::Moving(line) = &mut state.mode {
            line.is_active = false;
            state.draw("");
        }
    }

    /// Returns the total time of the operation's waits.
    pub(crate) fn waited(&self) -> Duration {
        self.state().waited
    }

    /// Returns the time since the start of the operation.
    pub(crate) fn elapsed(&self) -> Duration {
        self.state().began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// Counts an item on which an expression failed, and returns the number of such items.
    pub(super) fn count_failed_item(&self) -> u32 {
        let mut state = self.state();
        state.failed_items = state.failed_items.saturating_add(1);
        state.failed_items
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }
}

/// Locks a mutex, even after a panic of another thread.
fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Returns the current line as a message.
    fn message(&self, now: Instant) -> Message {
        let message = Message::info(self.line(now));
        match &self.submissions {
            Some((done, reached)) => {
                message.with("submissions", *done).with("reached", reached.as_str())
            }
            None => message,
        }
    }

    /// Formats the wait and the status.
    fn line(&self, now: Instant) -> String {
        let wait = self.wait.as_ref().and_then(|(until, why)| {
            let left = until.checked_duration_since(now).filter(|left| !left.is_zero())?;
            Some(format!("waiting {} s for {why}", left.as_secs_f64().ceil()))
        });
        match wait {
            Some(wait) if self.status.is_empty() => wait,
            Some(wait) => format!("{wait} · {}", self.status),
            None => self.status.clone(),
        }
    }

    /// Draws the current line if an operation is in progress.
    fn redraw(&mut self) {
        if matches!(&self.mode, Mode::Moving(line) if line.is_active) {
            let text = self.line(Instant::now());
            self.draw(&one_line(&text));
        }
    }

    /// Replaces the moving line on the screen. An empty text removes it.
    fn draw(&mut self, text: &str) {
        let Mode::Moving(line) = &mut self.mode else { return };
        let width = terminal_size_of(io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let text = truncate(text, width.saturating_sub(FREE_CELLS));
        let before = std::mem::replace(&mut line.drawn, text.width());
        if before > 0 || line.drawn > 0 {
            let rest = " ".repeat(before.saturating_sub(line.drawn));
            let end = if text.is_empty() { "\r" } else { "" };
            // A failed write to standard error cannot be reported.
            let _ = io::stderr().lock().write_all(format!("\r{text}{rest}{end}").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        Progress(Arc::new(Mutex::new(State::default())))
    }

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
    fn wait_counts_down_before_the_status() {
        let progress = progress();
        progress.waiting(Duration::from_secs(31), "the service's rate limit");
        progress.doing("5,900 submissions");
        let state = progress.state();
        let until = state.wait.as_ref().unwrap().0;
        for (millis, line) in [
            (30_000, "waiting 30 s for the service's rate limit · 5,900 submissions"),
            (20_900, "waiting 21 s for the service's rate limit · 5,900 submissions"),
            (1, "waiting 1 s for the service's rate limit · 5,900 submissions"),
            (0, "5,900 submissions"),
        ] {
            let now = until.checked_sub(Duration::from_millis(millis)).unwrap();
            assert_eq!(state.line(now), line);
        }
    }

    #[test]
    fn limited_command_shows_its_limit() {
        let progress = progress();
        for (limit, done) in
            [(Some(1_500), "1,288 of 1,500 submissions"), (None, "1,288 submissions")]
        {
            progress.submissions(1_288, limit, "2026-01-01T00:00:00Z");
            let line = progress.state().line(Instant::now());
            assert!(line.starts_with(&format!("{done} · back to 202")), "{line}");
        }
    }

    #[test]
    fn waits_at_the_same_time_count_once() {
        let progress = progress();
        progress.waiting(Duration::from_secs(63), "your limit");
        progress.waiting(Duration::from_secs(63), "your limit");
        assert_eq!(progress.waited().as_secs(), 63);
    }

    #[test]
    fn first_operation_includes_the_waits_before_it() {
        let progress = progress();
        progress.waiting(Duration::from_secs(3), "x");
        progress.begin();
        assert_eq!(progress.waited(), Duration::from_secs(3));
        progress.begin();
        assert_eq!(progress.waited(), Duration::ZERO);
    }
}
