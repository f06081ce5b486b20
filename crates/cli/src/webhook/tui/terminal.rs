//! The terminal: taken, lent to others, and given back as it was, whatever ends.

use std::io::{self, Write};
use std::panic;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::keys::Key;
use super::model::Input;
use crate::abort::Abort;

/// Another screen, and pastes that are told from keys.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?2004h\u{1b}[0m\u{1b}[2J";
/// No attributes, the screen there was before, and its cursor.
const LEAVE: &str = "\u{1b}[0m\u{1b}[?2004l\u{1b}[?25h\u{1b}[?1049l";
/// Time that giving it back has where somebody waits for that: nobody may read what it is told.
const PATIENCE: Duration = Duration::from_millis(500);

/// The terminal of standard output, taken until the last clone is dropped.
#[derive(Clone, Debug)]
pub(super) struct Terminal(Arc<Taken>);

#[derive(Debug, Default)]
struct Taken {
    /// Locked while it is written to, so that nothing comes after it was given back.
    state: Mutex<State>,
}

/// Whose the terminal is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Ours,
    /// Given back for now: to an editor, to the shell, or to what tells of a panic.
    Away,
    /// Given back for good.
    Over,
}

impl Terminal {
    /// Takes it. It is given back before a panic is told, and where the process ends by force.
    pub(super) fn take(abort: &Abort) -> io::Result<Self> {
        let terminal = Self(Arc::default());
        terminal.enter()?;
        let taken = Arc::downgrade(&terminal.0);
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if let Some(taken) = taken.upgrade() {
                taken.give_back(State::Away);
            }
            usual(info);
        }));
        let taken = Arc::downgrade(&terminal.0);
        abort.gives_back(Box::new(move || {
            if let Some(taken) = taken.upgrade() {
                Taken::end_soon(taken);
            }
        }));
        Ok(terminal)
    }

    /// Takes it again, unless it was given back for good.
    pub(super) fn enter(&self) -> io::Result<()> {
        let mut state = self.0.lock();
        if *state == State::Over {
            return Ok(());
        }
        enable_raw_mode()?;
        *state = State::Ours;
        put(ENTER)
    }

    /// Gives it back as it was, for now.
    pub(super) fn leave(&self) {
        self.0.give_back(State::Away);
    }

    /// Gives it back as it was, for good.
    pub(super) fn end(&self) {
        self.0.give_back(State::Over);
    }

    /// The same, for whoever cannot wait until somebody reads what it is told.
    pub(super) fn end_soon(&self) {
        Taken::end_soon(Arc::clone(&self.0));
    }

    pub(super) fn state(&self) -> State {
        *self.0.lock()
    }

    /// Writes to it, as long as it is ours.
    pub(super) fn write(&self, text: &str) -> io::Result<()> {
        let state = self.0.lock();
        if *state == State::Ours { put(text) } else { Ok(()) }
    }
}

impl Taken {
    fn end_soon(taken: Arc<Self>) {
        let (done, over) = channel();
        thread::spawn(move || {
            taken.give_back(State::Over);
            // Fails only where nobody waits any more.
            let _ = done.send(());
        });
        if over.recv_timeout(PATIENCE).is_err() {
            // It takes nothing, but what is typed can be a line of the shell again.
            let _ = disable_raw_mode();
        }
    }

    fn give_back(&self, to: State) {
        let mut state = self.lock();
        if *state == State::Ours {
            // Where it cannot be told, it is gone.
            let _ = put(LEAVE);
            let _ = disable_raw_mode();
        }
        if *state != State::Over {
            *state = to;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.give_back(State::Over);
    }
}

fn put(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What is typed, read on a thread of its own: one event at a time, and the next one only once
/// [`next`](Self::next) was asked. So nothing is read while somebody else has the terminal.
#[derive(Debug)]
pub(super) struct Keys {
    ask: Sender<()>,
    events: UnboundedReceiver<io::Result<Event>>,
}

impl Keys {
    /// Begins to read.
    pub(super) fn read() -> io::Result<Self> {
        let ((ask, asked), (told, events)) = (channel(), unbounded_channel());
        thread::Builder::new().name("keys".into()).spawn(move || {
            while asked.recv().is_ok() {
                let event = event::read();
                let failed = event.is_err();
                if told.send(event).is_err() || failed {
                    return;
                }
            }
        })?;
        let keys = Self { ask, events };
        keys.next();
        Ok(keys)
    }

    /// Asks for the next event.
    pub(super) fn next(&self) {
        // Fails where the terminal is gone, which the last event has said.
        let _ = self.ask.send(());
    }

    /// Waits for what was asked for. An error is that the terminal is gone.
    pub(super) async fn event(&mut self) -> io::Result<Option<Input>> {
        match self.events.recv().await {
            Some(event) => event.map(input),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// What an event means here, if anything.
fn input(event: Event) -> Option<Input> {
    match event {
        Event::Key(key) => self::key(key).map(Input::Key),
        Event::Paste(text) => Some(Input::Paste(text)),
        Event::Resize(width, height) => Some(Input::Resize(width, height)),
        _ => None,
    }
}

fn key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let modifiers = event.modifiers;
    if modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(match event.code {
        KeyCode::Char(c) if modifiers.contains(KeyModifiers::CONTROL) => {
            Key::Ctrl(c.to_ascii_lowercase())
        }
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_table_and_releases_are_none() {
        let of = |code, modifiers| key(KeyEvent::new(code, modifiers));
        assert_eq!(of(KeyCode::Char('R'), KeyModifiers::SHIFT), Some(Key::Char('R')));
        assert_eq!(of(KeyCode::Char('C'), KeyModifiers::CONTROL), Some(Key::Ctrl('c')));
        assert_eq!(of(KeyCode::Char('q'), KeyModifiers::ALT), None);
        assert_eq!(of(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Key::BackTab));
        assert_eq!(of(KeyCode::F(1), KeyModifiers::NONE), None);
        let release =
            KeyEvent::new_with_kind(KeyCode::Char('q'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(key(release), None);
    }
}
