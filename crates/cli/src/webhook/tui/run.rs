//! The loop of the interface, on a thread of its own: a terminal that does not take what it is told holds up
//! no delivery.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use formsvc_contract::send::HttpSender;
use formsvc_protocol::RetrySchedule;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{broadcast, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use url::Url;

use super::desk::Desk;
use super::draw::draw;
use super::facts::Facts;
use super::look::Theme;
use super::model::{Effect, Input, Model};
use super::notes::{Counts, Notes};
use super::screen::{Screen, blank};
use super::signals::{Signaled, Signals};
use super::terminal::{Keys, State, Terminal};
use crate::abort::{Abort, WhileBusy};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Look;
use crate::progress::Progress;
use crate::webhook::capture::{Capture, CaptureNumber};
use crate::webhook::secrets::Secrets;
use crate::webhook::store::{Captures, Query};

/// How often times are told anew, and the store is looked at where nothing tells of it.
const TICK: Duration = Duration::from_secs(1);
/// Time between a change and the screen that shows it: what else changes meanwhile is shown with it.
const FRAME: Duration = Duration::from_millis(16);
/// Largest command that is put where it can be pasted: terminals take no more.
const CLIPBOARD_MAX: usize = 74_994;

/// What there is to show, and with what.
pub(crate) struct Watched {
    pub(crate) captures: Captures,
    /// Each capture twice: when it came, and when it was answered.
    pub(crate) bus: Option<broadcast::Receiver<Arc<Capture>>>,
    pub(crate) secrets: Secrets,
    /// What sends to the listener and its targets.
    pub(crate) sender: HttpSender,
    /// What sends to every other address.
    pub(crate) plain: HttpSender,
    /// What pauses between attempts are judged by.
    pub(crate) schedule: RetrySchedule,
    /// The listener's own address; none where only what was kept is shown.
    pub(crate) address: Option<Url>,
    /// What the listener forwards to.
    pub(crate) targets: Vec<Url>,
    pub(crate) reveal: bool,
    /// What flags leave of the list, and whether that is not all.
    pub(crate) within: Query,
    pub(crate) narrowed: bool,
    pub(crate) colors: bool,
    /// Where things are read and sent.
    pub(crate) runtime: Handle,
    pub(crate) abort: Abort,
}

/// An interface that is shown. Dropping it gives the terminal back.
pub(crate) struct Tui {
    terminal: Terminal,
    stop: Option<oneshot::Sender<()>>,
    quit: oneshot::Receiver<io::Result<()>>,
    notes: Notes,
    thread: Option<JoinHandle<()>>,
    progress: Progress,
}

impl Tui {
    /// Shows it. What else would be said on the terminal is said on it, and again once it has ended.
    pub(crate) fn start(watched: Watched, progress: &Progress) -> Result<Self, CliError> {
        let failed = |error: &io::Error| {
            CliError::new(Exit::LocalIo, "the terminal cannot be used for --tui").because(error)
        };
        let terminal = Terminal::take(&watched.abort).map_err(|error| failed(&error))?;
        let ((stop, stopped), (quitting, quit)) = (oneshot::channel(), oneshot::channel());
        let (told, inputs) = unbounded_channel();
        let (notes, said) = Notes::new(watched.reveal);
        let (shown, counts) = (terminal.clone(), notes.counts());
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let ended = runtime.and_then(|runtime| {
                runtime.block_on(run(watched, &shown, stopped, (told, inputs), (said, counts)))
            });
            shown.end();
            // Fails only where nobody waits any more.
            let _ = quitting.send(ended);
        };
        let thread = thread::Builder::new().name("terminal".into()).spawn(run);
        let thread = Some(thread.map_err(|error| failed(&error))?);
        let said = notes.clone();
        progress.hold(move |remark| said.say(remark));
        let progress = progress.clone();
        Ok(Self { terminal, stop: Some(stop), quit, notes, thread, progress })
    }

    pub(crate) fn notes(&self) -> Notes {
        self.notes.clone()
    }

    /// Waits until whoever looks at it ends it, or it cannot go on.
    pub(crate) async fn ended(&mut self) -> Result<(), CliError> {
        match (&mut self.quit).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                Err(CliError::new(Exit::LocalIo, "the terminal is gone").because(&error))
            }
            // It panicked, which was told.
            Err(_) => Err(CliError::silent(Exit::Failed)),
        }
    }

    /// Ends it; the terminal is as it was then. Waits for an editor that somebody is in.
    pub(crate) async fn leave(mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Fails only when it panicked, and that was told.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

impl Drop for Tui {
    fn drop(&mut self) {
        // Whoever drops this answers deliveries, and nobody may read what the terminal is told.
        self.terminal.end_soon();
        self.progress.release();
    }
}

/// What the loop works with.
struct Loop<'a> {
    model: Model,
    screen: Screen,
    terminal: &'a Terminal,
    counts: Arc<Counts>,
    desk: Desk,
    /// What reads the list.
    reading: Option<AbortHandle>,
    keys: Keys,
    wanted: watch::Sender<Option<CaptureNumber>>,
    abort: Abort,
    signals: Signals,
    /// While somebody is in an editor, which has the terminal.
    editing: Option<WhileBusy>,
    /// When what has changed is to be seen.
    draw_at: Option<Instant>,
}

async fn run(
    watched: Watched,
    terminal: &Terminal,
    mut stop: oneshot::Receiver<()>,
    (told, mut inputs): (UnboundedSender<Input>, UnboundedReceiver<Input>),
    (mut notes, counts): (Receiver<Input>, Arc<Counts>),
) -> io::Result<()> {
    let (mut shown, mut bus) = Loop::begin(watched, terminal, counts, told)?;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stopped = false;
    loop {
        let mut typed = false;
        let input = tokio::select! {
            biased;
            _ = &mut stop, if !stopped => {
                stopped = true;
                None
            }
            event = shown.keys.event() => {
                typed = true;
                event?
            }
            Some(input) = inputs.recv() => Some(input),
            Some(note) = notes.recv() => Some(note),
            signaled = shown.signals.next() => {
                match signaled {
                    Signaled::Stop => shown.stop(false).await?,
                    Signaled::GoOn => shown.come_back()?,
                }
                None
            }
            _ = ticks.tick() => Some(Input::Tick(Timestamp::now())),
            () = at(shown.draw_at) => {
                shown.draw()?;
                None
            }
            came = heard(&mut bus) => Some(came),
        };
        let quits = match input {
            Some(input) => shown.take(input).await?,
            None => false,
        };
        // Whoever is in an editor ends that first.
        if quits || (stopped && shown.editing.is_none()) {
            return Ok(());
        }
        if typed && shown.editing.is_none() {
            shown.keys.next();
        }
    }
}

impl<'a> Loop<'a> {
    fn begin(
        watched: Watched,
        terminal: &'a Terminal,
        counts: Arc<Counts>,
        told: UnboundedSender<Input>,
    ) -> io::Result<(Self, Option<Bus>)> {
        let Watched { captures, bus, secrets, sender, plain, schedule, address, targets, .. } =
            watched;
        let reveal = watched.reveal;
        let facts = Facts {
            address: address.clone(),
            targets: targets.clone(),
            can_sign: !secrets.is_empty(),
            reveal,
            within: watched.within,
            narrowed: watched.narrowed,
            zone: TimeZone::system(),
            theme: Theme { colors: watched.colors },
        };
        let runtime = watched.runtime;
        let desk = Desk {
            captures,
            secrets,
            sender,
            plain,
            targets,
            schedule,
            address,
            reveal,
            runtime,
            told,
            explaining: Arc::default(),
        };
        let (wanted, wants) = watch::channel(None);
        desk.load(wants);
        let mut model = Model::new(facts, crossterm::terminal::size()?, Timestamp::now());
        let first = model.begin();
        let mut shown = Self {
            model,
            screen: Screen::default(),
            terminal,
            counts,
            desk,
            reading: None,
            keys: Keys::read()?,
            wanted,
            abort: watched.abort,
            signals: Signals::listen()?,
            editing: None,
            draw_at: Some(Instant::now()),
        };
        shown.begin_reading(first);
        Ok((shown, bus))
    }

    /// Reads the list; what is being read of it is of no use then.
    fn begin_reading(&mut self, effect: Effect) {
        if let Effect::List { read, query } = effect {
            let before = self.reading.replace(self.desk.list(read, *query));
            if let Some(before) = before {
                before.abort();
            }
        }
    }

    /// Takes what happened, and does what follows from it. Says whether that is the end.
    async fn take(&mut self, input: Input) -> io::Result<bool> {
        if matches!(input, Input::Edited { .. }) && self.editing.take().is_some() {
            self.come_back()?;
            self.keys.next();
        }
        self.draw_at.get_or_insert_with(|| Instant::now() + FRAME);
        for effect in self.model.update(input) {
            match effect {
                Effect::Quit => return Ok(true),
                Effect::Suspend => self.stop(true).await?,
                Effect::Redraw => self.screen.forget(),
                effect @ Effect::List { .. } => self.begin_reading(effect),
                Effect::Load(number) => drop(self.wanted.send_replace(Some(number))),
                Effect::Explain(number) => self.desk.explain(number),
                Effect::Send(sending) => self.desk.send(&sending),
                Effect::Edit(sending) => {
                    self.terminal.leave();
                    self.editing = Some(self.abort.terminal_lent());
                    self.desk.edit(sending);
                }
                Effect::Command(number) => self.desk.command(number),
                Effect::Clipboard(text) => {
                    let text = STANDARD.encode(text);
                    if text.len() <= CLIPBOARD_MAX {
                        // OSC 52: what is between is base64, and nothing else.
                        self.terminal.write(&format!("\u{1b}]52;c;{text}\u{7}"))?;
                    }
                }
            }
        }
        Ok(false)
    }

    fn draw(&mut self) -> io::Result<()> {
        self.draw_at = None;
        if self.editing.is_some() {
            return Ok(());
        }
        if self.terminal.state() == State::Away {
            // Something else panicked, and has told so on the screen below.
            self.terminal.enter()?;
            self.screen.forget();
        }
        (self.model.counts.came, self.model.counts.refused) =
            (self.counts.came(), self.counts.refused());
        let unsaid = self.counts.take_unsaid();
        if unsaid > 0 {
            let text = format!("{unsaid} more remarks came at once; they are told at its end");
            self.model.say(Look::Open, text);
            self.model.lay_out();
        }
        let mut next = blank(self.model.size);
        let cursor = draw(&self.model, &mut next);
        let change = self.screen.change(next, cursor);
        self.terminal.write(&change)
    }

    /// Gives the terminal back to the shell and stops, until somebody has it go on.
    async fn stop(&mut self, by_key: bool) -> io::Result<()> {
        if by_key && !Signals::has_shell() {
            self.model.say(Look::Past, "there is no shell here that could have it go on");
            return Ok(());
        }
        self.terminal.leave();
        self.signals.stop(by_key).await?;
        self.come_back()
    }

    /// Takes the terminal again, which others may have changed.
    fn come_back(&mut self) -> io::Result<()> {
        if self.editing.is_some() {
            return Ok(());
        }
        self.terminal.leave();
        self.terminal.enter()?;
        self.screen.forget();
        let (width, height) = crossterm::terminal::size()?;
        self.model.update(Input::Resize(width, height));
        self.draw_at = Some(Instant::now());
        Ok(())
    }
}

/// Where captures are told.
type Bus = broadcast::Receiver<Arc<Capture>>;

/// Waits for a capture; for ever where none come.
async fn heard(bus: &mut Option<Bus>) -> Input {
    if let Some(receiver) = bus {
        match receiver.recv().await {
            Ok(capture) => return Input::Came(capture),
            Err(broadcast::error::RecvError::Lagged(messages)) => return Input::Lost(messages),
            Err(broadcast::error::RecvError::Closed) => *bus = None,
        }
    }
    std::future::pending().await
}

/// Waits until then; for ever where there is no such time.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
