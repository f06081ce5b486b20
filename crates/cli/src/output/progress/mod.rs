//! What is said on standard error while something takes long: a moving line on a terminal, a line
//! every ten seconds elsewhere, nothing with `--quiet`.

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

/// How long no line moves after the first data went elsewhere.
const ASIDE: Duration = Duration::from_secs(1);

/// How often a line is written where nothing can move.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Says how far things are; cheap to clone, and shared with the client's event callback.
#[derive(Clone)]
pub(crate) struct Progress(Arc<Mutex<State>>);

struct State {
    mode: Mode,
    /// Format of messages and of progress that is written line by line.
    format: ErrorFormat,
    told: Arc<Mutex<Told>>,
}

/// What is told. A moving line asks for it whenever it is drawn: it never stands still while time goes on.
struct Told {
    began: Instant,
    status: Status,
    estimate: Estimate,
    wait: Option<Wait>,
}

/// How far things are.
enum Status {
    Words(String),
    /// So many are done, the oldest of them made then.
    Submissions {
        done: u64,
        reached: String,
    },
}

/// Nothing comes until then, and why.
struct Wait {
    until: Instant,
    why: String,
}

enum Mode {
    Quiet,
    /// It appears from then on, or never again.
    Moving {
        from: Option<Instant>,
        bar: Option<ProgressBar>,
    },
    Lines {
        last: Instant,
    },
}

/// Whether a line is due where nothing can move: ten seconds after the last one; or at once, for a
/// wait so long that silence would look like a hang.
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
        let told = Told { began, status, estimate: Estimate::default(), wait: None };
        let told = Arc::new(Mutex::new(told));
        Self(Arc::new(Mutex::new(State { mode, format, told })))
    }

    /// Starts the clock of an operation.
    pub(crate) fn begin(&self) {
        let status = Status::Words(String::new());
        let estimate = Estimate::default();
        *locked(&self.state().told) = Told { began: Instant::now(), status, estimate, wait: None };
    }

    /// Sets the end of the walk that begins now, for an estimate of the remaining time.
    pub(crate) fn expect(&self, expected: Expected) {
        locked(&self.state().told).estimate = Estimate::new(expected);
    }

    /// Data is about to be written to the terminal: a moving line would run through it. It is taken
    /// away, and none comes any more.
    pub(crate) fn share_terminal(&self) {
        self.draw_from(None);
    }

    /// The first data is about to go elsewhere. What reads a pipe, such as `head`, may print it on this
    /// terminal, and then end all of this: the moving line is out of its way for a moment.
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

    /// So far it is: in words, which a moving line shows at once.
    pub(crate) fn doing(&self, what: &str) {
        self.state().has_come_to(|| Status::Words(what.to_owned()));
    }

    /// Nothing will come for a while, and why.
    pub(crate) fn waiting(&self, wait: Duration, why: &str) {
        let mut state = self.state();
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

    /// Prints a line that stays; not with `--quiet`. It may contain text of strangers.
    pub(crate) fn remark(&self, text: &str) {
        self.report(&Message::info(text));
    }

    /// Prints a warning, of which `text` has no prefix; not with `--quiet`.
    pub(crate) fn warn(&self, text: &str) {
        self.report(&Message::warning(text));
    }

    /// Warns that the service does not answer, for this reason, and that requests are repeated.
    pub(crate) fn outage(&self, reason: &str) {
        self.warn(&format!("{reason}; asking again until the service answers"));
    }

    /// Reports the end of an outage.
    pub(crate) fn outage_end(&self, elapsed: Duration) {
        self.remark(&format!("the service is back after {}", duration(elapsed)));
    }

    /// Prints a command to continue with, on one line however long it is, to be copied.
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

    /// Ctrl-C was pressed: a terminal that shows that (`^C`) has it where the next line would begin.
    pub(crate) fn interrupted(&self) {
        let state = self.state();
        let Mode::Moving { from, bar } = &state.mode else { return };
        let is_drawn = bar.is_some() && from.is_some_and(|from| from <= Instant::now());
        if !is_drawn {
            // If nobody can read it, there is nobody to tell.
            let _ = writeln!(std::io::stderr().lock());
        }
    }

    /// Takes the moving line away.
    pub(crate) fn end(&self) {
        if let Mode::Moving { bar, .. } = &mut self.state().mode
            && let Some(bar) = bar.take()
        {
            bar.finish_and_clear();
        }
    }

    /// Time since it began.
    pub(crate) fn elapsed(&self) -> Duration {
        locked(&self.state().told).began.elapsed()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }
}

/// A panic elsewhere must not turn into a second one here.
fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// So far it is. Text is made only when it is shown: this runs once a page.
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
                // Drawn at once, and with each tick.
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

impl Told {
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

    /// All of it, as it is now: a wait that is not over, and how far things are.
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
    // The day and minute say where on the time axis it is; seconds would only flicker. By the clock
    // here, as tables tell it.
    let reached = reached.parse::<jiff::Timestamp>().map_or_else(
        |_| reached.to_owned(),
        |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
    );
    let s = if done == 1 { "" } else { "s" };
    let (done, rate) = (HumanCount(done), HumanFloatCount(rate.round()));
    format!("{done} submission{s} · {rate}/s · back to {reached}")
}

fn spinner(told: &Arc<Mutex<Told>>, from: Instant) -> ProgressBar {
    /// What stands before the text.
    const BEFORE: usize = 2;
    let target = ProgressDrawTarget::term_like(Box::new(Screen { from }));
    let bar = ProgressBar::with_draw_target(None, target);
    let told = Arc::clone(told);
    let text = move |_: &ProgressState, out: &mut dyn fmt::Write| {
        let text = locked(&told).line(Instant::now(), &zone());
        let room = usize::from(screen::width()).saturating_sub(BEFORE);
        // A line of text takes every write.
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
    fn a_line_comes_every_ten_seconds_and_before_a_long_wait() {
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
    fn the_status_says_how_many_how_fast_and_how_far_by_the_clock_here() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let at = |done, seconds| {
            status(done, done, "2026-03-14T09:30:00.000Z", Duration::from_secs(seconds), &berlin)
        };
        assert_eq!(at(12_300, 10), "12,300 submissions · 1,230/s · back to 2026-03-14 10:30");
        assert_eq!(at(1, 1), "1 submission · 1/s · back to 2026-03-14 10:30");
    }

    #[test]
    fn a_wait_is_counted_down_and_the_rate_goes_down_with_it() {
        let began = Instant::now();
        let after = |millis| began + Duration::from_millis(millis);
        let reached = "2026-03-14T09:30:00.000Z".to_owned();
        let wait = Wait { until: after(31_000), why: "the service's rate limit".to_owned() };
        let status = Status::Submissions { done: 5_900, reached };
        let told = Told { began, status, estimate: Estimate::default(), wait: Some(wait) };
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
