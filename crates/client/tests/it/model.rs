//! Model of a list that is interrupted again and again: the service cuts pages irregularly and fails
//! at random, and the reader is killed and resumes from its token.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use formsvc_client::{ErrorKind, ResumeToken, SubmissionQuery};
use proptest::prelude::*;

use crate::support::bodies::{last, page, page_of, row};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok, status};

/// The rows of a page: the number of new rows, and of rows repeated from the page before.
type Cut = (u32, u32);

/// The failure of the first request for a page.
#[derive(Clone, Copy, Debug)]
enum Mishap {
    Refused,
    /// 503 more often than the client retries.
    Down,
    CutShort,
}

#[derive(Clone, Debug)]
struct Plan {
    cuts: Vec<Cut>,
    mishaps: Vec<(usize, Mishap)>,
    /// From this page on the list is stuck: without a cursor, or with its own.
    stuck_at: Option<(usize, bool)>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let mishap = prop::sample::select(vec![Mishap::Refused, Mishap::Down, Mishap::CutShort]);
    (
        prop::collection::vec((0_u32..5, 0_u32..3), 1..12),
        prop::collection::vec((0_usize..12, mishap), 0..4),
        prop::option::weighted(0.3, (0_usize..12, any::<bool>())),
    )
        .prop_map(|(cuts, mishaps, stuck_at)| Plan { cuts, mishaps, stuck_at })
}

impl Plan {
    /// The rows of page `at`, and all rows before the page after it.
    fn rows(&self, at: usize) -> (std::ops::Range<u32>, u32) {
        let from: u32 = self.cuts[..at].iter().map(|(fresh, _)| fresh).sum();
        let (fresh, again) = self.cuts[at];
        // Only rows of the last page with rows may be repeated.
        let before = self.cuts[..at].iter().rev().find(|(fresh, _)| *fresh > 0);
        let again = again.min(before.map_or(0, |(fresh, _)| *fresh));
        // An empty page repeats nothing.
        let start = if fresh == 0 { from } else { from - again };
        (start..from + fresh, from + fresh)
    }

    fn answer(&self, at: usize) -> String {
        let (rows, _) = self.rows(at);
        if let Some((stuck, circles)) = self.stuck_at
            && stuck == at
        {
            let rows: Vec<_> = rows.map(row).collect();
            return page_of(&rows, circles.then(|| at.to_string()).as_deref(), true);
        }
        if at + 1 == self.cuts.len() { last(rows) } else { page(rows, &(at + 1).to_string()) }
    }

    /// Returns the rows that can be reached, and the error at the end.
    fn promise(&self) -> (Vec<u32>, Option<ErrorKind>) {
        let stuck = self.stuck_at.map(|(at, _)| at).filter(|at| *at < self.cuts.len());
        let (_, rows) = self.rows(stuck.unwrap_or(self.cuts.len() - 1));
        ((0..rows).collect(), stuck.map(|_| ErrorKind::Pagination))
    }

    fn serve(self) -> Arc<Fake> {
        let left = Mutex::new(self.mishaps.clone());
        let downs = Mutex::new(BTreeSet::new());
        let tries = Mutex::new(0);
        Fake::rule(move |request| {
            let query = request.uri().query().unwrap();
            let cursor = query.split_once("cursor=").map_or("0", |(_, at)| at);
            // It takes only cursors that it issued.
            let Ok(at) = cursor.parse::<usize>() else { return status(400) };
            let (mut left, mut downs) = (left.lock().unwrap(), downs.lock().unwrap());
            if downs.contains(&at) {
                let mut tries = tries.lock().unwrap();
                *tries += 1;
                if *tries % 4 == 0 {
                    downs.remove(&at);
                }
                return status(503);
            }
            let Some(place) = left.iter().position(|(page, _)| *page == at) else {
                return ok(self.answer(at));
            };
            match left.remove(place).1 {
                Mishap::Refused => status(403),
                Mishap::CutShort => Answer::BreaksOff(200, "req_broken"),
                Mishap::Down => {
                    downs.insert(at);
                    *tries.lock().unwrap() += 1;
                    status(503)
                }
            }
        })
    }
}

/// Reads at most this many rows. Only the token's text remains.
async fn life(
    list: SubmissionQuery,
    rows: usize,
    read: &mut Vec<u32>,
) -> (String, Option<ErrorKind>) {
    let mut items = list.items();
    let mut ended = None;
    for _ in 0..rows {
        match items.try_next().await {
            Ok(Some(item)) => read.push(item.id.as_str()["sub_".len()..].parse().unwrap()),
            Ok(None) => break,
            Err(error) => {
                ended = Some(error.kind());
                break;
            }
        }
    }
    (items.resume_token().to_string(), ended)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_id_is_yielded_once_or_error_is_typed(
        plan in plans(),
        lives in prop::collection::vec(0_usize..9, 0..9),
    ) {
        let (promised, reason) = plan.promise();
        let fake = plan.serve();
        let client = builder().transport(fake.wire()).build().unwrap();
        let list = || client.form("frm_1").submissions();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let (read, ended) = runtime.block_on(async {
            let (mut read, mut ended, mut next) = (Vec::new(), None, list());
            // The last runs read to the end. Each failure ends a run at most once.
            for rows in lives.iter().copied().chain([1_000; 9]) {
                let (token, reason) = life(next, rows, &mut read).await;
                ended = reason;
                let token: ResumeToken = token.parse().unwrap();
                if token.is_finished() {
                    break;
                }
                next = list().resume_from(token);
            }
            (read, ended)
        });
        prop_assert_eq!(read, promised);
        prop_assert_eq!(ended, reason);
    }
}
