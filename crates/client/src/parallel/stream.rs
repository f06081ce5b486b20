//! The requests of several walkers, made and polled by one stream.

use std::sync::Mutex;
use std::task::{Context, Poll};

use formsvc_protocol::{FormId, Pagination};

use super::plan::{Finish, Planner, Settings};
use super::range::{Answer, Out};
use super::{Parallel, RANGE_PAGES};
use crate::error::{Error, ErrorKind};
use crate::operation::SUBMISSIONS;
use crate::pager::{
    Fetched, Next, Notice, OnTieStorm, RawPage, TieStorm, Turn, Walk, cursor_at, fetch,
    millisecond, refuses_cursor, tell,
};
use crate::{BoxFuture, Client, ResponseMeta};

/// A page of one of the walkers.
pub(crate) struct Arrival {
    pub(crate) page: RawPage,
    pub(crate) meta: ResponseMeta,
    /// The rows that count.
    pub(crate) turn: Turn,
    /// Where to go on after it.
    pub(crate) next: Next,
}

/// How the list ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// At the end of the service's list.
    AtEnd,
    /// Before it: where no older row is wanted, or with the fault of the last page.
    Before,
    /// With an error.
    Failed(Error),
}

/// A list under way, read by several walkers. Nothing is spawned: the requests go on while the stream
/// is polled.
pub(crate) struct Walkers {
    client: Client,
    form: FormId,
    page_size: u32,
    planner: Planner<(RawPage, ResponseMeta)>,
    under_way: Vec<UnderWay>,
    errors: Vec<(u64, Error)>,
    storms: Vec<TieStorm>,
}

struct UnderWay {
    id: u64,
    /// The lock is never taken: it makes a future that can only be sent part of a stream that can
    /// also be shared.
    future: Mutex<BoxFuture<'static, Fetched>>,
}

impl Answer for (RawPage, ResponseMeta) {
    fn rows(&self) -> impl Iterator<Item = (&str, i64)> + Clone {
        self.0.rows()
    }

    fn pagination(&self) -> &Pagination {
        self.0.pagination()
    }
}

impl Walkers {
    /// Begins with the walk that a plain list would take. `floor` is the oldest time that is wanted,
    /// in microseconds.
    pub(crate) fn new(
        client: Client,
        form: FormId,
        page_size: u32,
        parallel: &Parallel,
        ties: Option<OnTieStorm>,
        floor: Option<i64>,
        walk: Walk,
    ) -> Self {
        let walkers = parallel.walkers as usize;
        let held = parallel.held.map_or(walkers * RANGE_PAGES, |pages| pages as usize);
        let settings = Settings {
            walkers,
            page: page_size as usize,
            range_pages: (held / walkers).clamp(2, RANGE_PAGES),
            held,
            ordered: parallel.ordered,
            ties,
            floor: floor.map_or(i64::MIN, millisecond),
            begins: parallel.begins.as_ref().map_or(i64::MIN, |t| millisecond(t.unix_micros())),
        };
        Self {
            client,
            form,
            page_size,
            planner: Planner::new(settings, walk),
            under_way: Vec::new(),
            errors: Vec::new(),
            storms: Vec::new(),
        }
    }

    /// The next page, or how the list ended.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Arrival, Ended>> {
        loop {
            self.send();
            let progress = self.poll_requests(cx);
            if progress {
                continue;
            }
            if let Some(out) = self.planner.next() {
                let Out { page: (page, meta), turn, next } = out;
                // What the page made room for is on its way while the caller is busy with it.
                self.send();
                self.poll_requests(cx);
                return Poll::Ready(Ok(Arrival { page, meta, turn, next }));
            }
            return match self.planner.finish() {
                Some(finish) => Poll::Ready(Err(self.end(finish))),
                None => Poll::Pending,
            };
        }
    }

    /// Drops what is under way. Requests that nobody polls would keep their place in the limiter.
    pub(crate) fn stop(&mut self) {
        self.under_way.clear();
    }

    /// The milliseconds that could not be proven complete, newest first.
    pub(crate) fn storms(&self) -> &[TieStorm] {
        &self.storms
    }

    fn send(&mut self) {
        for request in self.planner.requests() {
            let (client, form) = (self.client.clone(), self.form.clone());
            let future = fetch(client, form, self.page_size, request.cursor);
            let future: BoxFuture<'static, Fetched> = Box::pin(future);
            self.under_way.push(UnderWay { id: request.id, future: Mutex::new(future) });
        }
    }

    /// Goes on with every request; whether one was answered.
    fn poll_requests(&mut self, cx: &mut Context<'_>) -> bool {
        let mut progress = false;
        let mut at = 0;
        while at < self.under_way.len() {
            let request = &mut self.under_way[at];
            let id = request.id;
            if !self.planner.wants(id) {
                self.under_way.remove(at);
                self.planner.dropped();
                progress = true;
                continue;
            }
            let future = request.future.get_mut().expect("no code panics while it holds this lock");
            let Poll::Ready(fetched) = future.as_mut().poll(cx) else {
                at += 1;
                continue;
            };
            self.under_way.remove(at);
            self.answered(id, fetched);
            progress = true;
        }
        progress
    }

    fn answered(&mut self, id: u64, fetched: Fetched) {
        match fetched {
            Ok(page) => self.planner.arrived(id, page),
            Err(error) if refuses_cursor(&error) && self.planner.refused(id) => {}
            Err(error) => {
                self.planner.failed(id);
                self.errors.push((id, error));
            }
        }
        for notice in self.planner.notices() {
            if let Notice::Storm(storm) = notice {
                let time = |storm: &TieStorm| storm.created_at().unix_micros();
                let storm = TieStorm::from(storm);
                let at = self.storms.partition_point(|newer| time(newer) > time(&storm));
                self.storms.insert(at, storm);
            }
            tell(&self.client, Some(notice));
        }
    }

    fn end(&mut self, finish: Finish) -> Ended {
        self.stop();
        match finish {
            Finish::End => Ended::AtEnd,
            Finish::Floor | Finish::Fault => Ended::Before,
            Finish::Request(id) => {
                let at = self.errors.iter().position(|(request, _)| *request == id);
                let at = at.expect("a request that failed leaves its error");
                Ended::Failed(self.errors.swap_remove(at).1)
            }
            Finish::SeamBroken(ms) => {
                let seam = cursor_at(ms.saturating_mul(1_000));
                let what = format!(
                    "two walkers did not meet at `{seam}`: submissions may be missing there, and \
                     older ones were handed on already"
                );
                Ended::Failed(Error::parts(ErrorKind::SeamBroken, SUBMISSIONS, what).into())
            }
        }
    }
}
