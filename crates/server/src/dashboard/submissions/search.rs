//! Searching a form's submissions: from the newest back, a bounded stretch at a time, since no index
//! knows what is in answers. The page tells how far it came, and goes on from there.

use std::time::Duration;

use formsvc_protocol::limits::PAGE_SIZE_MAX;
use formsvc_protocol::{Form, FormInstant};
use tokio::time::Instant;

use super::answer::{Row, format_answer, rows};
use super::row::RowView;
use crate::dashboard::refusal::Refusal;
use crate::dashboard::turns::{Turns, at_turn};
use crate::dashboard::visit::timely;
use crate::store::{PageRequest, Store, StoredPage};

/// Searches at a time: each keeps a processor busy, and holds a page of the store.
const AT_A_TIME: usize = 2;
/// Searches that wait besides; more are sent away.
const WAITING_MAX: usize = 16;

/// How far a search goes at most for one page of the dashboard. The page of the store that is being
/// looked at is finished.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Submissions looked at.
    scanned: usize,
    /// Bytes of them.
    bytes: usize,
    /// Submissions found after which no more are looked for.
    found: usize,
    /// Time for it.
    time: Duration,
}

impl Default for Stretch {
    fn default() -> Self {
        Self { scanned: 5_000, bytes: 32 << 20, found: 50, time: Duration::from_millis(200) }
    }
}

/// Searches, a few at a time.
#[derive(Debug)]
pub(in crate::dashboard) struct Searches {
    stretch: Stretch,
    turns: Turns,
}

impl Default for Searches {
    fn default() -> Self {
        Self { stretch: Stretch::default(), turns: Turns::new(AT_A_TIME, WAITING_MAX) }
    }
}

/// What was found, and how far was looked.
pub(super) struct Found {
    /// Cut as a list has them, so that as many as there may be are no more than a few hundred KiB.
    pub(super) rows: Vec<RowView>,
    /// Submissions that were looked at.
    pub(super) scanned: usize,
    /// Where to go on; `None` when there is nothing older.
    pub(super) last: Option<FormInstant>,
    /// How far back was looked.
    pub(super) until: Option<FormInstant>,
}

impl Searches {
    /// The submissions of a form, from what a request asks for back, with a value that has the text in
    /// it, in any case. They are told by their age at `now`.
    pub(super) async fn search(
        &self,
        store: &dyn Store,
        form: &Form,
        request: PageRequest,
        sought: &str,
        now: FormInstant,
    ) -> Result<Found, Refusal> {
        let mut turn = self.turns.take("too many searches are being made").await?;
        let (began, needle) = (Instant::now(), sought.to_lowercase());
        let (mut found, mut bytes) =
            (Found { rows: Vec::new(), scanned: 0, last: None, until: None }, 0);
        let mut request = PageRequest { limit: PAGE_SIZE_MAX, ..request };
        loop {
            let page = timely(store.page(request.clone())).await?.ok_or(Refusal::NotFound)?;
            let (last, has_more) = (page.last, page.has_more);
            found.scanned += page.len;
            bytes += page.items.len();
            let (form, needle) = (form.clone(), needle.clone());
            let matches;
            (turn, matches) = at_turn(turn, move || matching(&page, &form, &needle, now)).await?;
            found.rows.extend(matches?);
            found.until = last.or(found.until);
            if !has_more {
                return Ok(found);
            }
            request.before = last;
            let max = self.stretch;
            let is_enough = found.rows.len() >= max.found
                || found.scanned >= max.scanned
                || bytes >= max.bytes
                || began.elapsed() >= max.time;
            if is_enough {
                return Ok(Found { last, ..found });
            }
        }
    }
}

/// Those of a page that are looked for.
fn matching(
    page: &StoredPage,
    form: &Form,
    needle: &str,
    now: FormInstant,
) -> Result<Vec<RowView>, Refusal> {
    let rows = rows(&page.items)?;
    let matches = rows.iter().filter(|row| has(row, needle));
    Ok(matches.map(|row| RowView::new(form, row, now)).collect())
}

fn has(row: &Row, needle: &str) -> bool {
    let mut values = row.answers.fields().into_iter().map(|(_, value)| format_answer(value));
    values.any(|text| text.to_lowercase().contains(needle))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use formsvc_protocol::{ErrorCode, FormStatus, PublicId};

    use super::*;
    use crate::admin::{Admin, FormOptions};
    use crate::store::sqlite::SqliteStore;
    use crate::store::system_clock;

    struct World {
        admin: Admin,
        form: Form,
        first: PageRequest,
        searches: Searches,
    }

    impl World {
        /// A form of so many submissions, of which the oldest and each 250th after it say `KÖLN`.
        async fn new(submissions: usize, stretch: Stretch) -> Self {
            let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(system_clock()).unwrap());
            let admin = Admin::new(store);
            let user = admin.create_user("a@example.org", "A").await.unwrap().id;
            let options = FormOptions {
                public_id: Some(PublicId::new("form").unwrap()),
                title: "Form".into(),
                status: FormStatus::Published,
            };
            let form = admin.create_form_with(&user, options, None, None).await.unwrap();
            for n in 0..submissions {
                let city = if n % 250 == 0 { "KÖLN" } else { "Ulm" };
                admin.submit(&form.id, &format!(r#"{{"n":{n},"City":"{city}"}}"#)).await.unwrap();
            }
            let first = PageRequest { user, form: form.id.clone(), before: None, limit: 1 };
            let searches = Searches { stretch, ..Searches::default() };
            Self { admin, form, first, searches }
        }

        async fn search(
            &self,
            before: Option<FormInstant>,
            sought: &str,
        ) -> Result<Found, Refusal> {
            let request = PageRequest { before, ..self.first.clone() };
            let store = &**self.admin.store();
            let now = FormInstant::from_micros(0);
            self.searches.search(store, &self.form, request, sought, now).await
        }

        /// The pages of a search: how many were looked at, and found, for each.
        async fn pages(&self, sought: &str) -> Vec<(usize, usize)> {
            let (mut pages, mut before) = (Vec::new(), None);
            loop {
                let Ok(found) = self.search(before, sought).await else { panic!() };
                pages.push((found.scanned, found.rows.len()));
                before = found.last;
                if before.is_none() {
                    return pages;
                }
            }
        }
    }

    fn endless() -> Stretch {
        let (most, ever) = (usize::MAX, Duration::MAX);
        Stretch { scanned: most, bytes: most, found: most, time: ever }
    }

    #[tokio::test]
    async fn a_search_ends_at_each_of_its_bounds_and_goes_on_from_there() {
        let mut world = World::new(750, endless()).await;
        assert_eq!(world.pages("köln").await, [(750, 3)]);
        let (usual, pages_of_store) = (endless(), vec![100, 100, 100, 100, 100, 100, 100, 50]);
        for (stretch, scanned) in [
            (Stretch { scanned: 300, ..usual }, vec![300, 300, 150]),
            // The second newest of them is in the fifth hundred.
            (Stretch { found: 2, ..usual }, vec![500, 250]),
            (Stretch { time: Duration::ZERO, ..usual }, pages_of_store.clone()),
            (Stretch { bytes: 1, ..usual }, pages_of_store),
        ] {
            world.searches.stretch = stretch;
            let pages = world.pages("köln").await;
            assert_eq!(pages.iter().map(|page| page.0).collect::<Vec<_>>(), scanned, "{stretch:?}");
            assert_eq!(pages.iter().map(|page| page.1).sum::<usize>(), 3, "{stretch:?}");
        }
    }

    #[tokio::test]
    async fn no_more_than_two_search_at_a_time_and_those_beyond_who_may_wait_are_sent_away() {
        let world = World::new(1, endless()).await;
        let mut turns = Vec::new();
        for _ in 0..AT_A_TIME {
            turns.push(world.searches.turns.take("busy").await.unwrap());
        }
        let mut waiting = Vec::new();
        for _ in 0..WAITING_MAX {
            let mut search = Box::pin(world.search(None, "köln"));
            assert!(tokio::time::timeout(Duration::ZERO, &mut search).await.is_err());
            waiting.push(search);
        }
        let Err(Refusal::Problem(problem)) = world.search(None, "köln").await else { panic!() };
        assert_eq!(problem.code(), &ErrorCode::Unavailable);
        drop(turns);
        for search in waiting {
            assert_eq!(search.await.ok().map(|found| found.rows.len()), Some(1));
        }
        assert!(world.search(None, "köln").await.is_ok());
    }
}
