//! Services in memory, each with its own idea of a cursor, and a run of the planner against one.

use std::collections::BTreeSet;

use formsvc_protocol::{FormInstant, Pagination};

use super::*;
use crate::pager::cursor_at;

/// How a service reads cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Issues and takes instants to the microsecond.
    Exact,
    /// Stores, issues and compares milliseconds.
    Millis,
    /// Takes only what it issued: 400.
    Refusing,
    /// Answers with the newest page to what it did not issue.
    Newest,
    /// Answers with an empty last page to what it did not issue.
    Empty,
    /// Leaves out the first row after a cursor that it did not issue, once it has taken some.
    Skipping { after: usize },
    /// Takes some cursors that it did not issue, then refuses them.
    Tiring { after: usize },
    /// Takes some cursors that it did not issue, then answers with the newest page.
    Forgetful { after: usize },
}

/// A list by instants in microseconds, newest first.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) kind: Kind,
    pub(super) rows: Vec<i64>,
    pub(super) limit: usize,
    issued: BTreeSet<String>,
    /// Cursors that it did not issue, in the order they first came.
    foreign: Vec<String>,
}

pub(super) struct Page {
    rows: Vec<(String, i64)>,
    pagination: Pagination,
}

impl Page {
    pub(super) fn of(rows: &[i64], next: Option<i64>, has_more: bool) -> Self {
        let rows = rows.iter().map(|row| (format!("sub_{row}"), cut(*row))).collect();
        Self { rows, pagination: Pagination { next_cursor: next.map(cursor_at), has_more } }
    }
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "page of {}", self.rows.len())
    }
}

impl Answer for Page {
    fn rows(&self) -> impl Iterator<Item = (&str, i64)> + Clone {
        self.rows.iter().map(|(id, time)| (id.as_str(), *time))
    }
    fn pagination(&self) -> &Pagination {
        &self.pagination
    }
}

fn cut(row: i64) -> i64 {
    row - row.rem_euclid(1_000)
}

impl Service {
    pub(super) fn new(kind: Kind, rows: &[i64], limit: usize) -> Self {
        let mut rows = rows.to_vec();
        rows.sort_unstable_by_key(|row| -row);
        rows.dedup();
        Self { kind, rows, limit, issued: BTreeSet::new(), foreign: Vec::new() }
    }

    /// `None`: 400.
    pub(super) fn answer(&mut self, cursor: Option<&Cursor>) -> Option<Page> {
        let foreign = cursor.filter(|cursor| !self.issued.contains(cursor.as_str()));
        let number = foreign.map_or(0, |cursor| {
            // It may turn out to be where a page ends, but stays what it was.
            let known = self.foreign.iter().position(|known| known == cursor.as_str());
            known.unwrap_or_else(|| {
                self.foreign.push(cursor.as_str().to_owned());
                self.foreign.len() - 1
            })
        });
        let foreign = foreign.is_some();
        let mut bound = cursor.map_or(i64::MAX, |cursor| {
            FormInstant::parse_cursor(cursor.as_str()).unwrap().micros()
        });
        let mut skip = 0;
        match self.kind {
            Kind::Refusing if foreign => return None,
            Kind::Tiring { after } if foreign && number >= after => return None,
            Kind::Forgetful { after } if foreign && number >= after => bound = i64::MAX,
            Kind::Newest if foreign => bound = i64::MAX,
            Kind::Empty if foreign => bound = i64::MIN,
            Kind::Skipping { after } if foreign && number >= after => skip = 1,
            _ => {}
        }
        let millis = self.kind == Kind::Millis;
        let newer = |row: &i64| if millis { cut(*row) >= cut(bound) } else { *row >= bound };
        let from = self.rows.partition_point(newer);
        let rows = self.rows[from..].iter().skip(skip).take(self.limit + 1);
        let mut rows: Vec<i64> = rows.copied().collect();
        let has_more = rows.len() > self.limit;
        rows.truncate(self.limit);
        let next = rows.last().map(|row| if millis { cut(*row) } else { *row });
        let page = Page::of(&rows, next, has_more);
        let issued = page.pagination.next_cursor.iter().map(|cursor| cursor.as_str().to_owned());
        self.issued.extend(issued.filter(|cursor| !self.foreign.contains(cursor)));
        Some(page)
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) ids: Vec<String>,
    pub(super) requests: usize,
    /// Times at which answers came, when all under way come together.
    pub(super) rounds: usize,
    pub(super) held: usize,
    pub(super) under_way: usize,
    pub(super) notices: Vec<Notice>,
    pub(super) finish: Option<Finish>,
    pub(super) fault: Option<Then>,
}

impl Outcome {
    pub(super) fn once(&self) -> bool {
        self.ids.iter().collect::<BTreeSet<_>>().len() == self.ids.len()
    }
}

/// A run under way.
pub(super) struct Run {
    pub(super) service: Service,
    pub(super) planner: Planner<Page>,
    /// The walk that tells where to resume, as the stream has it.
    pub(super) walk: Walk,
    pub(super) under_way: Vec<Request>,
    pub(super) out: Outcome,
    ordered: bool,
}

pub(super) fn settings(walkers: usize, page: usize, ordered: bool) -> Settings {
    Settings {
        walkers,
        page,
        range_pages: 8,
        held: 8 * walkers,
        ordered,
        ties: None,
        floor: i64::MIN,
        begins: i64::MIN,
    }
}

impl Run {
    pub(super) fn new(service: Service, settings: Settings) -> Self {
        Self::resumed(service, settings, Walk::start(None), Walk::start(None))
    }

    pub(super) fn resumed(service: Service, settings: Settings, top: Walk, walk: Walk) -> Self {
        let ordered = settings.ordered;
        let top = match settings.ties {
            Some(on_storm) => top.tie_safe(on_storm),
            None => top,
        };
        let planner = Planner::new(settings, top);
        Self { service, planner, walk, under_way: Vec::new(), out: Outcome::default(), ordered }
    }

    /// Sends what is to be sent; how many requests are under way then.
    pub(super) fn send(&mut self) -> usize {
        let planner = &mut self.planner;
        self.under_way.retain(|request| {
            let wanted = planner.wants(request.id);
            if !wanted {
                planner.dropped();
            }
            wanted
        });
        let requests = self.planner.requests();
        self.out.requests += requests.len();
        self.under_way.extend(requests);
        assert!(self.out.requests < 100_000, "it does not end");
        self.out.held = self.out.held.max(self.planner.held());
        self.out.under_way = self.out.under_way.max(self.under_way.len());
        self.under_way.len()
    }

    /// Answers one of the requests under way.
    pub(super) fn answer(&mut self, which: usize) {
        let request = self.under_way.remove(which % self.under_way.len());
        if !self.planner.wants(request.id) {
            self.planner.dropped();
        } else if let Some(page) = self.service.answer(request.cursor.as_ref()) {
            self.planner.arrived(request.id, page);
        } else {
            assert!(self.planner.refused(request.id), "only cursors of others are refused");
        }
        self.out.notices.extend(self.planner.notices());
    }

    /// Takes a page, as the stream does; false when there is none.
    pub(super) fn take(&mut self) -> bool {
        let Some(Out { page, turn, next }) = self.planner.next() else { return false };
        let rows = page.rows.iter().take(turn.rows).enumerate();
        let rows = rows.map(|(at, (id, time))| (id.as_str(), *time, turn.duplicates.contains(&at)));
        if self.ordered {
            let recorded = self.walk.record(rows.clone(), next);
            assert_eq!(recorded.duplicates, turn.duplicates);
            assert_eq!(recorded.rows, turn.rows, "out of order");
        }
        self.out.ids.extend(rows.filter(|row| !row.2).map(|row| row.0.to_owned()));
        if let Then::Failed(_) = turn.then {
            self.out.fault = Some(turn.then);
        }
        true
    }

    /// Answers all that is under way, again and again, and takes pages as they come.
    pub(super) fn in_rounds(mut self) -> Outcome {
        while self.send() > 0 {
            self.out.rounds += 1;
            let mut left: Vec<u64> = self.under_way.iter().map(|request| request.id).collect();
            while let Some(id) = left.pop() {
                if let Some(at) = self.under_way.iter().position(|request| request.id == id) {
                    self.answer(at);
                }
            }
            while self.take() {}
        }
        while self.take() {}
        self.out.finish = self.planner.finish();
        self.out
    }

    /// Answers and takes in the order of the choices, then in turn.
    pub(super) fn at_random(
        mut self,
        choices: &[u8],
        mut meanwhile: impl FnMut(usize, &mut Service),
    ) -> Outcome {
        let mut choices = choices.iter().copied().cycle();
        for step in 0.. {
            assert!(step < 1_000_000, "it does not end");
            meanwhile(step, &mut self.service);
            let choice = choices.next().unwrap_or(1);
            let waiting = self.send();
            if choice % 3 == 0 && self.take() {
                continue;
            }
            if waiting > 0 {
                self.answer(usize::from(choice / 3));
            } else if !self.take() {
                break;
            }
        }
        self.out.finish = self.planner.finish();
        self.out
    }
}
