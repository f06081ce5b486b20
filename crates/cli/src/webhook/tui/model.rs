//! All that the screen follows from, and what changes it.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;

use super::detail::{Detail, Known, Loaded};
use super::doc::{Doc, Part};
use super::explanations::Explanations;
use super::facts::Facts;
use super::field::Field;
use super::filter::Filter;
use super::keys::Key;
use super::layout::{Focus, Places};
use super::list::List;
use super::reads::{Part as ListPart, Reads};
use super::replay::{Replayed, Sending};
use super::row::Row;
use crate::output::Look;
use crate::webhook::capture::{Capture, CaptureNumber};
use crate::webhook::message::Command;
use crate::webhook::store::Query;

/// Replays whose answers are remembered.
const REPLAYS_MAX: usize = 50;

/// All that the screen follows from.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) facts: Facts,
    /// Columns and rows.
    pub(super) size: (u16, u16),
    pub(super) now: Timestamp,
    pub(super) list: List,
    pub(super) detail: Detail,
    pub(super) focus: Focus,
    pub(super) filter: Filter,
    /// The filter, as it was typed.
    pub(super) typed: String,
    pub(super) question: Option<Question>,
    /// What is read instead of the list: the keys, or a command.
    pub(super) sheet: Option<Sheet>,
    /// What is said at the bottom until the next key.
    pub(super) said: Option<Part>,
    pub(super) replays: VecDeque<Replayed>,
    pub(super) counts: Counts,
    pub(super) explanations: Explanations,
    pub(super) reads: Reads,
    /// How often the list is still read anew, since not all was heard of.
    pub(super) stale: u8,
}

/// What is asked at the bottom.
#[derive(Debug)]
pub(super) enum Question {
    /// What to show.
    Filter { field: Field, wrong: Option<String> },
    /// Where to send it.
    Where { capture: Arc<Capture>, edits: bool, field: Field, wrong: Option<String> },
    /// Whether what a receiver refuses is to be signed, and in which words it was refused.
    Sign { sending: Sending, verdict: String },
}

/// Something to read, from a row on.
#[derive(Debug)]
pub(super) struct Sheet {
    pub(super) title: String,
    pub(super) doc: Doc,
    pub(super) rows: Vec<Vec<Part>>,
    pub(super) top: usize,
}

/// What came since it is shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Deliveries that were answered, whether they were heard of here or not.
    pub(super) came: u64,
    /// Requests that went no further.
    pub(super) refused: u64,
    pub(super) last: Option<Timestamp>,
    /// Messages that nobody heard: two for each capture.
    pub(super) lost: u64,
}

/// Something that happened.
#[derive(Debug)]
pub(super) enum Input {
    Key(Key),
    Paste(String),
    Resize(u16, u16),
    Tick(Timestamp),
    /// A capture came, or was answered.
    Came(Arc<Capture>),
    /// So many messages were not heard.
    Lost(u64),
    /// What a read of the list came to, or why it failed.
    Listed {
        read: u64,
        found: Result<Found, String>,
    },
    Loaded(Box<Loaded>),
    /// It could not be read, and why.
    Unread {
        number: CaptureNumber,
        why: String,
    },
    /// There is no such capture any more.
    Gone(CaptureNumber),
    Explained {
        number: CaptureNumber,
        /// None where nothing could be searched.
        doc: Option<Doc>,
    },
    Replayed(Box<Replayed>),
    /// What somebody made of a body; nothing where it is as it was.
    Edited {
        sending: Sending,
        body: Result<Option<Bytes>, String>,
    },
    /// A command, and whether something is not shown in it.
    Command {
        number: CaptureNumber,
        command: Command,
        masked: bool,
    },
    Said(Look, String),
}

/// Rows of the list, newest first.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) rows: Vec<Row>,
    /// Whether there are older ones.
    pub(super) has_more: bool,
}

/// Something to do.
#[derive(Debug)]
pub(super) enum Effect {
    Quit,
    Suspend,
    Redraw,
    /// Read the list: the newest, or those before a number.
    List {
        read: u64,
        query: Box<Query>,
    },
    Load(CaptureNumber),
    Explain(CaptureNumber),
    Send(Sending),
    Edit(Sending),
    Command(CaptureNumber),
    /// Put something where it can be pasted.
    Clipboard(Vec<u8>),
}

impl Model {
    pub(super) fn new(facts: Facts, size: (u16, u16), now: Timestamp) -> Self {
        let mut model = Self {
            facts,
            size,
            now,
            list: List::new(),
            detail: Detail::default(),
            focus: Focus::default(),
            filter: Filter::default(),
            typed: String::new(),
            question: None,
            sheet: None,
            said: None,
            replays: VecDeque::new(),
            counts: Counts::default(),
            explanations: Explanations::default(),
            reads: Reads::default(),
            // What was answered just before it began may be kept a moment later.
            stale: 1,
        };
        model.lay_out();
        model
    }

    /// What is read first.
    pub(super) fn begin(&mut self) -> Effect {
        self.read_anew()
    }

    /// Where everything stands; nowhere on a screen that is too small.
    pub(super) fn places(&self) -> Option<Places> {
        let rows = self.foot(usize::from(self.size.0)).len();
        Places::of(self.size, self.focus, u16::try_from(rows).unwrap_or(u16::MAX))
    }

    /// Fits everything to the screen.
    pub(super) fn lay_out(&mut self) {
        let Some(places) = self.places() else { return };
        self.list.resize(places.list_rows());
        let (width, height) = places.text_size();
        let known =
            Known { facts: &self.facts, replays: &self.replays, explanations: &self.explanations };
        self.detail.lay_out(width, height, known);
        if let Some(sheet) = &mut self.sheet {
            let (width, height) = self.size;
            sheet.rows = sheet.doc.rows(usize::from(width).saturating_sub(2));
            // A row for the title of all, one for its own, and one at the bottom.
            let height = usize::from(height).saturating_sub(3);
            sheet.top = sheet.top.min(sheet.rows.len().saturating_sub(height));
        }
    }

    /// Says something at the bottom until the next key.
    pub(super) fn say(&mut self, look: Look, text: impl Into<String>) {
        self.said = Some((look, text.into()));
    }

    /// Reads the list anew, as the filter has it by now.
    pub(super) fn read_anew(&mut self) -> Effect {
        let read = self.reads.begin_anew();
        self.newest(read)
    }

    /// Reads the newest once more, unless something is being read.
    pub(super) fn read_newest(&mut self) -> Option<Effect> {
        let read = self.reads.begin(ListPart::Newest)?;
        Some(self.newest(read))
    }

    fn newest(&self, read: u64) -> Effect {
        Effect::List { read, query: Box::new(self.filter.query(&self.facts.within)) }
    }

    /// Reads those before the oldest that was read, if somebody is there.
    pub(super) fn read_older(&mut self) -> Option<Effect> {
        // What failed is tried again when somebody asks, or a second later.
        if !self.list.wants_more() || self.reads.failed.is_some() {
            return None;
        }
        let before = self.list.oldest()?;
        let read = self.reads.begin(ListPart::Older)?;
        let query = self.filter.query(&self.facts.within);
        let query = Box::new(Query { before: Some(before), ..query });
        Some(Effect::List { read, query })
    }

    /// Remembers what came of a replay.
    pub(super) fn remember(&mut self, replayed: Replayed) {
        self.replays.push_front(replayed);
        self.replays.truncate(REPLAYS_MAX);
        self.detail.outdate();
    }
}
