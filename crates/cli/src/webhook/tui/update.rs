//! What happens to the model: keys, and what comes back from elsewhere. No I/O: what is to be done is
//! handed back.

use std::sync::Arc;

use jiff::Timestamp;

use super::doc::Doc;
use super::field::Field;
use super::filter::Filter;
use super::keys::{Action, Key, action};
use super::layout::Focus;
use super::model::{Effect, Found, Input, Model, Question, Sheet};
use super::reads::Part;
use super::replay::{Decision, Sending, addresses, decide, usual};
use super::row::{Row, RowKey};
use super::sheets;
use crate::output::Look;
use crate::webhook::capture::{Capture, CaptureNumber};
use crate::webhook::mask;
use crate::webhook::message::Command;
use crate::webhook::replay::Signature;
use crate::webhook::store::Listed;
use crate::webhook::target::target;

/// How often the list is read anew after messages were lost: what was answered meanwhile may be kept a
/// moment later.
const LOOKS: u8 = 2;

impl Model {
    /// Takes what happened, and says what is to be done.
    pub(super) fn update(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Key(key) => self.key(key, &mut effects),
            Input::Paste(text) => self.paste(&text, &mut effects),
            Input::Resize(width, height) => self.size = (width, height),
            Input::Tick(now) => self.tick(now, &mut effects),
            Input::Came(capture) => self.came(&capture),
            Input::Lost(messages) => self.lost(messages),
            Input::Listed { read, found } => {
                self.listed(read, found);
                effects.extend(self.load_answered());
            }
            Input::Loaded(loaded) => self.detail.loaded(*loaded),
            Input::Unread { number, why } => self.detail.failed(RowKey::Number(number), why),
            Input::Gone(number) => self.detail.gone(RowKey::Number(number)),
            Input::Explained { number, doc } => {
                self.explanations.ended(number, doc);
                self.detail.outdate();
            }
            Input::Replayed(replayed) => {
                let (look, text) = replayed.told();
                self.remember(*replayed);
                self.detail.show_answers();
                self.say(look, text);
            }
            Input::Edited { sending, body } => self.edited(sending, body, &mut effects),
            Input::Command { number, command, masked } => {
                self.command(number, &command, masked);
                effects.push(Effect::Clipboard(command.on_a_line()));
            }
            Input::Said(look, text) => self.say(look, text),
        }
        effects.extend(self.load_chosen());
        effects.extend(self.read_older());
        self.detail.answer_attempts(&self.list);
        self.lay_out();
        effects
    }

    fn tick(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        self.now = now;
        // Nothing tells of what other processes keep.
        let is_due = self.stale > 0 || !self.facts.is_live();
        if let Some(read) = is_due.then(|| self.read_newest()).flatten() {
            self.stale = self.stale.saturating_sub(1);
            effects.push(read);
        }
        effects.extend(self.load_answered());
    }

    /// What is chosen is read once more, where it was answered and that was not heard of.
    fn load_answered(&self) -> Option<Effect> {
        let open = self.detail.capture().filter(|capture| capture.outcome.is_none())?;
        let answered = self.list.chosen().is_some_and(|row| row.answer.is_some());
        open.number.filter(|_| answered).map(Effect::Load)
    }

    /// A read has ended. One whose filter is gone is of no use.
    fn listed(&mut self, read: u64, found: Result<Found, String>) {
        let Some(part) = self.reads.ended(read) else { return };
        match found {
            Ok(Found { rows, has_more }) => {
                self.reads.succeeded();
                match part {
                    Part::Newest => self.list.renew(rows, has_more),
                    Part::Older => self.list.extend(rows, has_more),
                }
            }
            Err(why) => {
                let text = format!("the list could not be read: {why}");
                if self.reads.failed(why) {
                    self.say(Look::Bad, text);
                }
            }
        }
    }

    /// Reads again what could not be read.
    fn try_again(&mut self, effects: &mut Vec<Effect>) {
        if self.reads.failed.is_some() {
            effects.push(self.read_anew());
        }
        if let Some(RowKey::Number(number)) = self.detail.try_again() {
            effects.push(Effect::Load(number));
        }
    }

    fn came(&mut self, capture: &Arc<Capture>) {
        self.counts.last = self.counts.last.max(Some(capture.received.at));
        let row = Row::from(&Listed::from(&**capture));
        self.detail.came(row.key(), capture);
        if self.filter.takes(capture) {
            self.list.put(row);
        } else {
            self.list.remove(row.key());
        }
    }

    fn lost(&mut self, messages: u64) {
        self.counts.lost += messages;
        self.stale = LOOKS;
        let captures = self.counts.lost.div_ceil(2);
        self.say(Look::Open, format!("{captures} came too fast to show; they are kept"));
    }

    /// What is chosen is read, unless it was.
    fn load_chosen(&mut self) -> Option<Effect> {
        let key = self.list.chosen().map(Row::key);
        if !self.detail.choose(key) {
            return None;
        }
        match key {
            Some(RowKey::Number(number)) => Some(Effect::Load(number)),
            Some(RowKey::At(_)) | None => None,
        }
    }

    fn key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        self.said = None;
        self.counts.lost = 0;
        // These work whatever is asked.
        match action(key) {
            Some(Action::Quit) if key == Key::Ctrl('c') => return effects.push(Effect::Quit),
            Some(Action::Suspend) => return effects.push(Effect::Suspend),
            Some(Action::Redraw) => {
                effects.push(Effect::Redraw);
                return self.try_again(effects);
            }
            _ => {}
        }
        if let Some(question) = self.question.take() {
            return self.answer(question, key, effects);
        }
        let Some(action) = action(key) else { return };
        if self.sheet.is_some() {
            return self.read_sheet(action, effects);
        }
        match (action, self.focus) {
            (Action::Up, Focus::List) => self.list.by(-1),
            (Action::Down, Focus::List) => self.list.by(1),
            (Action::PageUp, Focus::List) => self.list.page(false),
            (Action::PageDown, Focus::List) => self.list.page(true),
            (Action::First, Focus::List) => self.list.first(),
            (Action::Last, Focus::List) => self.list.last(),
            (
                Action::Up
                | Action::Down
                | Action::PageUp
                | Action::PageDown
                | Action::First
                | Action::Last,
                Focus::Text,
            ) => self.detail.scroll(action),
            (Action::Open, Focus::List) => self.focus = Focus::Text,
            (Action::Open | Action::Back, Focus::Text) => self.focus = Focus::List,
            (Action::Back, Focus::List) => self.unfilter(effects),
            (Action::NextTab, _) => self.detail.show_next(true),
            (Action::PreviousTab, _) => self.detail.show_next(false),
            (Action::Body, _) => self.detail.turn_body(),
            (Action::Filter, _) => self.ask_filter(),
            (Action::Help, _) => self.sheet = Some(Sheet::of("Keys", sheets::help())),
            (Action::Quit, _) => effects.push(Effect::Quit),
            (action, _) => self.with_chosen(action, effects),
        }
    }

    /// What is done with the chosen delivery.
    fn with_chosen(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let Some(capture) = self.detail.capture() else {
            self.say(Look::Past, "there is no delivery to do that with");
            return;
        };
        let Some(number) = capture.number else { return };
        // What is worked with stays chosen, whatever comes.
        self.list.following = false;
        match action {
            Action::Replay => self.send(None, false, effects),
            Action::Edit => self.send(None, true, effects),
            Action::ReplayTo => self.ask_where(capture, false),
            Action::Copy => effects.push(Effect::Command(number)),
            Action::Explain => {
                self.detail.show_verdict();
                if self.explanations.ask(number) {
                    effects.push(Effect::Explain(number));
                }
            }
            _ => {}
        }
    }

    /// Sends the chosen delivery, unless something has to be asked before.
    fn send(&mut self, address: Option<&url::Url>, edits: bool, effects: &mut Vec<Effect>) {
        if let Some(capture) = self.detail.capture() {
            self.send_one(capture, address, edits, effects);
        }
    }

    /// Sends this one, whichever is chosen by now.
    fn send_one(
        &mut self,
        capture: Arc<Capture>,
        address: Option<&url::Url>,
        edits: bool,
        effects: &mut Vec<Effect>,
    ) {
        match decide(&capture, &self.facts, address, edits) {
            Decision::Send(sending) => self.go(sending, effects),
            Decision::Ask(sending) => {
                let row = capture.received.verdict.code.row();
                let verdict = format!("{}: {}", row.short, row.meaning);
                self.question = Some(Question::Sign { sending, verdict });
            }
            Decision::Where => self.ask_where(capture, edits),
        }
    }

    fn go(&mut self, sending: Sending, effects: &mut Vec<Effect>) {
        if sending.edits {
            effects.push(Effect::Edit(sending));
            return;
        }
        self.say(
            Look::Past,
            format!("#{} goes to {} …", sending.number, addresses(&sending.to, self.facts.reveal)),
        );
        effects.push(Effect::Send(sending));
    }

    fn edited(
        &mut self,
        sending: Sending,
        body: Result<Option<bytes::Bytes>, String>,
        effects: &mut Vec<Effect>,
    ) {
        match body {
            Ok(Some(body)) => {
                let sending = Sending { body: Some(body), edits: false, ..sending };
                self.go(sending, effects);
            }
            Ok(None) => self.say(Look::Past, "the body is as it was, and was not sent; r sends it"),
            Err(why) => self.say(Look::Bad, why),
        }
    }

    fn ask_where(&mut self, capture: Arc<Capture>, edits: bool) {
        let usual = usual(&capture, &self.facts).first().map(ToString::to_string);
        // What is hidden elsewhere is not shown here, and half an address is none.
        let usual = usual.filter(|url| mask::url(url, self.facts.reveal) == *url);
        let field = Field::of(&usual.unwrap_or_default());
        self.question = Some(Question::Where { capture, edits, field, wrong: None });
    }

    fn ask_filter(&mut self) {
        let field = Field::of(&self.typed);
        self.question = Some(Question::Filter { field, wrong: None });
    }

    fn unfilter(&mut self, effects: &mut Vec<Effect>) {
        if !self.typed.is_empty() {
            self.show_only("", effects);
        }
    }

    /// Shows what a filter leaves; says what is wrong with one that is none.
    fn show_only(&mut self, typed: &str, effects: &mut Vec<Effect>) -> Option<String> {
        match Filter::read(typed) {
            Ok(filter) => {
                typed.trim().clone_into(&mut self.typed);
                if filter != self.filter {
                    self.filter = filter;
                    self.list.clear();
                    effects.push(self.read_anew());
                }
                None
            }
            Err(wrong) => Some(wrong),
        }
    }

    /// Takes a key for what is asked.
    fn answer(&mut self, question: Question, key: Key, effects: &mut Vec<Effect>) {
        match question {
            Question::Filter { mut field, .. } => match key {
                Key::Enter => {
                    let wrong = self.show_only(&field.text(), effects);
                    if wrong.is_some() {
                        self.question = Some(Question::Filter { field, wrong });
                    }
                }
                Key::Esc => drop(self.show_only("", effects)),
                _ => {
                    field.take(key);
                    // It is shown as it is typed, as far as it is understood.
                    let wrong = self.show_only(&field.text(), effects);
                    self.question = Some(Question::Filter { field, wrong });
                }
            },
            Question::Where { capture, edits, mut field, .. } => match key {
                Key::Enter => match target(&field.text()) {
                    Ok(url) => self.send_one(capture, Some(&url), edits, effects),
                    Err(wrong) => {
                        let wrong = Some(wrong);
                        self.question = Some(Question::Where { capture, edits, field, wrong });
                    }
                },
                Key::Esc => {}
                _ => {
                    field.take(key);
                    self.question = Some(Question::Where { capture, edits, field, wrong: None });
                }
            },
            Question::Sign { sending, .. } => match key {
                Key::Char('y' | 'Y') => self.go(sending, effects),
                Key::Char('k' | 'K') => {
                    self.go(Sending { signature: Signature::Kept, ..sending }, effects);
                }
                _ => self.say(Look::Past, "nothing was sent"),
            },
        }
    }

    fn paste(&mut self, text: &str, effects: &mut Vec<Effect>) {
        match &mut self.question {
            Some(Question::Where { field, wrong, .. }) => {
                field.paste(text);
                *wrong = None;
            }
            Some(Question::Filter { field, .. }) => {
                field.paste(text);
                let field = field.clone();
                let wrong = self.show_only(&field.text(), effects);
                self.question = Some(Question::Filter { field, wrong });
            }
            // A text is no key: nothing is done that nobody asked for.
            _ => {}
        }
    }

    /// Takes a key while something else is read.
    fn read_sheet(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let page = usize::from(self.size.1).saturating_sub(4).max(1);
        let Some(sheet) = &mut self.sheet else { return };
        match action {
            Action::Up => sheet.top = sheet.top.saturating_sub(1),
            Action::Down => sheet.top += 1,
            Action::PageUp => sheet.top = sheet.top.saturating_sub(page),
            Action::PageDown => sheet.top += page,
            Action::First => sheet.top = 0,
            Action::Last => sheet.top = usize::MAX / 2,
            Action::Quit if self.facts.is_live() => self.sheet = None,
            Action::Quit => effects.push(Effect::Quit),
            _ => self.sheet = None,
        }
    }

    /// Shows a command that can be copied by hand as well.
    fn command(&mut self, number: CaptureNumber, command: &Command, masked: bool) {
        let mut doc = Doc::default();
        if masked {
            let hidden =
                "Signatures and secrets show their beginning only; with --reveal they are whole.";
            doc.line(&[(Look::Open, hidden)]);
            doc.line(&[]);
        }
        doc.text(&String::from_utf8_lossy(&command.in_lines()));
        self.sheet = Some(Sheet::of(&format!("#{number} as a command of curl"), doc));
        let text = "copied, where the terminal lets programs copy; Esc goes back";
        self.say(Look::Good, text);
    }
}

impl Sheet {
    pub(super) fn of(title: &str, doc: Doc) -> Self {
        Self { title: title.to_owned(), doc, rows: Vec::new(), top: 0 }
    }
}
