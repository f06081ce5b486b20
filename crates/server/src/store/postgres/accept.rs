//! Accepting submissions that wait at the same time, in a transaction of two round trips: what has to be
//! known first, and then all that is written, with the commit; and where more wait by then, with what has to
//! be known for those, in the next transaction. What is sent together is carried out in
//! order, and once one statement failed the database carries out none of those behind it, the commit
//! included.

use std::collections::{HashMap, HashSet};
use std::future::ready;
use std::pin::pin;
use std::sync::Arc;

use deadpool_postgres::{GenericClient, Object};
use formsvc_protocol::{FormId, FormInstant, FormStatus};
use futures_util::future::{BoxFuture, Either, select, try_join3, try_join4};
use futures_util::{FutureExt, TryFutureExt};
use tokio_postgres::Statement;
use tokio_postgres::error::DbError;

use super::lent::{Lent, in_time};
use super::pages::SEQ_BITS;
use super::repeats::{self, Repeats};
use super::rows::{Params, column, instant, instant_opt, prepare, query, text_id};
use super::submitter::Desk;
use super::time::Time;
use crate::store::rules::no_form;
use crate::store::{Accepted, EndpointNo, NewSubmission, Revision, StoreError, item};

/// The forms that are submitted to, locked in one order until the commit: nobody else takes an instant of
/// theirs meanwhile, and no two transactions wait for each other.
const FORMS: &str =
    "SELECT form_no, id, last_seq, last_instant_us, status, title, now_us($2), revision
    FROM forms WHERE id = ANY($1) AND ready ORDER BY form_no FOR UPDATE";
/// Their enabled endpoints, which cannot be removed or disabled before the commit.
const ENDPOINTS: &str = "SELECT e.form_no, e.endpoint_no FROM endpoints e JOIN forms f USING (form_no)
    WHERE f.id = ANY($1) AND f.ready AND e.status = 'enabled' ORDER BY e.endpoint_no FOR SHARE OF e";

/// Submissions, their deliveries, and the new ends of their forms. One statement, for each costs the
/// database as much as some rows do.
const WRITE: &str = "WITH
    added AS (INSERT INTO submissions (key, form_no, instant_us, id, item)
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])),
    delivered AS (INSERT INTO deliveries (submission, endpoint_no, state, attempts, form_title)
        SELECT n.submission, n.endpoint_no, 0, 0, n.title
        FROM unnest($6::bigint[], $7::bigint[], $8::text[]) AS n (submission, endpoint_no, title)),
    queued AS (INSERT INTO queue (endpoint_no, submission, lane, at_us, retries, claims, resend)
        SELECT n.endpoint_no, n.submission, 0, n.at_us, 0, 0, false
        FROM unnest($6::bigint[], $7::bigint[], $9::bigint[]) AS n (submission, endpoint_no, at_us))
    UPDATE forms f SET last_seq = n.seq, last_instant_us = n.at_us
    FROM unnest($10::bigint[], $11::bigint[], $12::bigint[]) AS n (form_no, seq, at_us)
    WHERE f.form_no = n.form_no";
const KEYS: &str = "INSERT INTO idempotency (form_no, key, fingerprint, submission, created_us)
    SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[])
    ON CONFLICT (form_no, key) DO UPDATE SET fingerprint = excluded.fingerprint,
        submission = excluded.submission, created_us = excluded.created_us";
/// The constraint by which an id is there once.
const ID_ONCE: &str = "submissions_id_key";

/// What became of a batch.
pub(super) struct Outcome {
    /// In the order of the submissions.
    pub(super) answers: Vec<Result<Accepted, StoreError>>,
    /// The endpoints that get deliveries.
    pub(super) endpoints: Vec<EndpointNo>,
}

/// A form in the transaction under way.
struct Open {
    form_no: i64,
    seq: i64,
    last: Option<FormInstant>,
    status: FormStatus,
    revision: Revision,
    title: String,
    now: FormInstant,
    endpoints: Vec<EndpointNo>,
    changed: bool,
}

/// Why a batch was not accepted.
pub(super) enum Failed {
    /// Nothing of it is kept.
    Refused(StoreError),
    /// Its commit was sent and not answered: it may be kept.
    InDoubt(Outcome, StoreError),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

/// A transaction that has begun, on a connection of its own: forms that are locked, and what is known of
/// them. Dropped, it is rolled back with its connection.
pub(super) struct Begun {
    db: Arc<Lent>,
    forms: HashMap<FormId, Open>,
    repeats: Repeats,
    statements: [Statement; 2],
}

impl Begun {
    /// Begins, for some submissions.
    pub(super) async fn of(batch: &[NewSubmission], with: &Desk) -> Result<Self, StoreError> {
        let db = Arc::new(Lent::by(&with.pool).await?);
        in_time(&with.pool, with.within, begin(db, Asked::of(batch), with.time.clone())).await?
    }

    /// Does nothing in it.
    pub(super) async fn undo(self, with: &Desk) {
        let Self { db, .. } = self;
        let undone = in_time(&with.pool, with.within, db.batch_execute("ROLLBACK")).await;
        if matches!(undone, Ok(Ok(()))) {
            give_back(db);
        }
    }

    /// Whether all that has to be known of these is known.
    pub(super) fn is_for(&self, batch: &[NewSubmission]) -> bool {
        batch.iter().all(|new| new.idempotency.is_none() && self.forms.contains_key(&new.form))
    }
}

fn give_back(db: Arc<Lent>) {
    if let Some(db) = Arc::into_inner(db) {
        db.give_back();
    }
}

/// A transaction that is about to begin.
pub(super) type Beginning = BoxFuture<'static, Result<Result<Begun, StoreError>, StoreError>>;

/// Accepts submissions and commits. Where that is wanted, the next transaction, for the same forms, is begun right
/// behind the commit, in the same round trip: submissions wait for it already. Where this one fails that
/// one is lost with its connection.
pub(super) async fn accept(
    begun: Begun,
    batch: &[NewSubmission],
    with: &Desk,
    is_ahead: impl FnOnce() -> bool,
) -> Result<(Outcome, Option<Beginning>), Failed> {
    let Begun { db, mut forms, mut repeats, statements } = begun;
    let mut rows = Rows::default();
    let answers = batch
        .iter()
        .map(|new| {
            let open = forms.get_mut(&new.form).ok_or_else(|| no_form(&new.form))?;
            admit(open, &mut repeats, new, &mut rows)
        })
        .collect();
    let asked = is_ahead().then(|| Asked::forms(forms.keys()));
    let changed: Vec<_> = forms.into_values().filter(|open| open.changed).collect();
    let ends = Ends::of(&changed);
    let endpoints: Vec<_> = changed.into_iter().flat_map(|open| open.endpoints).collect();
    let outcome = Outcome { answers, endpoints };
    let beginning: Option<Beginning> = asked.map(|asked| {
        let (db, with) = (Arc::clone(&db), with.clone());
        async move { in_time(&with.pool, with.within, begin(db, asked, with.time.clone())).await }
            .boxed()
    });
    let writing = in_time(&with.pool, with.within, write(&db, &statements, &rows, &ends));
    // What is polled first is sent first; the answer to the second comes behind that to the first.
    let (written, beginning) = match beginning {
        None => (writing.await, None),
        Some(beginning) => match select(pin!(writing), beginning).await {
            Either::Left((written, beginning)) => (written, Some(beginning)),
            Either::Right((begun, writing)) => (writing.await, Some(ready(begun).boxed())),
        },
    };
    match written {
        Ok(Ok(())) => {
            if beginning.is_none() {
                give_back(db);
            }
            Ok((outcome, beginning))
        }
        // A statement before the commit, which the database then did not carry out.
        Ok(Err((Sent::Statement, error))) if error.code().is_some() => {
            Err(Failed::Refused(refused(error, &rows)))
        }
        Ok(Err((_, error))) => Err(Failed::InDoubt(outcome, error.into())),
        Err(error) => Err(Failed::InDoubt(outcome, error)),
    }
}

/// What is to be known before submissions are accepted.
struct Asked {
    forms: Vec<FormId>,
    keys: (Vec<FormId>, Vec<Vec<u8>>),
}

impl Asked {
    fn of(batch: &[NewSubmission]) -> Self {
        let keys = batch
            .iter()
            .filter_map(|new| new.idempotency.map(|known| (new.form.clone(), known.key.to_vec())));
        Self { keys: keys.unzip(), ..Self::forms(batch.iter().map(|new| &new.form)) }
    }

    fn forms<'a>(forms: impl Iterator<Item = &'a FormId>) -> Self {
        let mut forms: Vec<_> = forms.cloned().collect();
        forms.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        forms.dedup();
        Self { forms, keys: Default::default() }
    }
}

/// Begins a transaction and reads, in one round trip, what has to be known of the forms; and prepares the
/// statements that end it.
async fn begin(db: Arc<Lent>, asked: Asked, time: Time) -> Result<Begun, StoreError> {
    let ids: Vec<_> = asked.forms.iter().map(FormId::as_str).collect();
    let key_forms: Vec<_> = asked.keys.0.iter().map(FormId::as_str).collect();
    let [forms, endpoints, known, statements @ ..] =
        prepare(&**db, [FORMS, ENDPOINTS, repeats::FIND, WRITE, KEYS]).await?;
    let given = time.given();
    // They are carried out in this order: the locks of the first stand before the others look.
    let ((), rows, endpoints, known) = try_join4(
        db.batch_execute("BEGIN"),
        db.query(&forms, &[&ids, &given]),
        db.query(&endpoints, &[&ids]),
        unless(key_forms.is_empty(), db.query(&known, &[&key_forms, &asked.keys.1])),
    )
    .await?;
    let repeats = Repeats::of(&known.unwrap_or_default())?;
    let mut forms = HashMap::new();
    for row in &rows {
        let form_no = column(row, 0)?;
        let (status, title): (&str, String) = (column(row, 4)?, column(row, 5)?);
        let own =
            endpoints.iter().filter(|row| row.try_get(0).is_ok_and(|own: i64| own == form_no));
        let own = own.map(|row| column(row, 1).map(EndpointNo)).collect::<Result<_, _>>()?;
        let form = Open {
            form_no,
            seq: column(row, 2)?,
            last: instant_opt(row, 3)?,
            status: FormStatus::from(status),
            revision: Revision(column(row, 7)?),
            title,
            now: instant(row, 6)?,
            endpoints: own,
            changed: false,
        };
        forms.insert(text_id(row, 1, FormId::new)?, form);
    }
    Ok(Begun { db, forms, repeats, statements })
}

/// Decides about one submission, and adds what is to be written.
fn admit(
    open: &mut Open,
    repeats: &mut Repeats,
    new: &NewSubmission,
    rows: &mut Rows,
) -> Result<Accepted, StoreError> {
    let changed = new.revision.is_some_and(|revision| revision != open.revision);
    if let Some(idempotency) = &new.idempotency {
        // Also when the form was changed or closed meanwhile: a repeat is told what the first was told.
        match repeats.find(open.form_no, idempotency, open.now) {
            Ok(None) => {}
            Ok(Some(accepted)) => return Ok(accepted),
            // By the form as it is now, what was sent may make the same answers as the first.
            Err(StoreError::KeyReused) if changed => {}
            Err(error) => return Err(error),
        }
    }
    if changed {
        return Err(StoreError::Changed { form: new.form.clone() });
    }
    if open.status != FormStatus::Published {
        return Err(StoreError::Closed { form: new.form.clone(), status: open.status.clone() });
    }
    item::check_size(&new.answers)?;
    let at = FormInstant::next(open.now, open.last);
    (open.seq, open.last, open.changed) = (open.seq + 1, Some(at), true);
    let key = open.form_no << SEQ_BITS | open.seq;
    rows.add_submission(open.form_no, key, at, new);
    if let Some(idempotency) = &new.idempotency {
        rows.key_forms.push(open.form_no);
        rows.key_texts.push(idempotency.key.to_vec());
        rows.fingerprints.push(idempotency.fingerprint.to_vec());
        rows.key_submissions.push(key);
        rows.key_times.push(open.now.micros());
        repeats.note(open.form_no, idempotency, &new.id, at, open.now);
    }
    for endpoint in &open.endpoints {
        rows.delivered.push(key);
        rows.endpoints.push(endpoint.0);
        rows.titles.push(open.title.clone());
        rows.delivery_instants.push(at.micros());
    }
    Ok(Accepted { id: new.id.clone(), instant: at, repeated: false })
}

/// Columns of what is to be written.
#[derive(Default)]
struct Rows {
    keys: Vec<i64>,
    forms: Vec<i64>,
    instants: Vec<i64>,
    ids: Vec<String>,
    items: Vec<String>,
    key_forms: Vec<i64>,
    key_texts: Vec<Vec<u8>>,
    fingerprints: Vec<Vec<u8>>,
    key_submissions: Vec<i64>,
    key_times: Vec<i64>,
    delivered: Vec<i64>,
    endpoints: Vec<i64>,
    titles: Vec<String>,
    delivery_instants: Vec<i64>,
}

impl Rows {
    fn add_submission(&mut self, form_no: i64, key: i64, at: FormInstant, new: &NewSubmission) {
        self.keys.push(key);
        self.forms.push(form_no);
        self.instants.push(at.micros());
        self.ids.push(new.id.as_str().to_owned());
        self.items.push(item::compose(&new.id, &new.answers, at));
    }
}

/// Columns of the ends that forms get.
#[derive(Default)]
struct Ends {
    forms: Vec<i64>,
    seqs: Vec<i64>,
    instants: Vec<Option<i64>>,
}

impl Ends {
    fn of(changed: &[Open]) -> Self {
        let mut ends = Self::default();
        for open in changed {
            ends.forms.push(open.form_no);
            ends.seqs.push(open.seq);
            ends.instants.push(open.last.map(FormInstant::micros));
        }
        ends
    }
}

/// What was sent.
#[derive(Clone, Copy)]
enum Sent {
    Statement,
    Commit,
}

/// Writes all of it, and commits, in one round trip.
async fn write(
    db: &Object,
    [write, keys]: &[Statement; 2],
    rows: &Rows,
    ends: &Ends,
) -> Result<(), (Sent, tokio_postgres::Error)> {
    let all: Params<'_> = &[
        &rows.keys,
        &rows.forms,
        &rows.instants,
        &rows.ids,
        &rows.items,
        &rows.delivered,
        &rows.endpoints,
        &rows.titles,
        &rows.delivery_instants,
        &ends.forms,
        &ends.seqs,
        &ends.instants,
    ];
    let remembered: Params<'_> = &[
        &rows.key_forms,
        &rows.key_texts,
        &rows.fingerprints,
        &rows.key_submissions,
        &rows.key_times,
    ];
    let of = |sent| move |error| (sent, error);
    try_join3(
        unless(rows.keys.is_empty(), db.execute(write, all)).map_err(of(Sent::Statement)),
        unless(rows.key_forms.is_empty(), db.execute(keys, remembered))
            .map_err(of(Sent::Statement)),
        db.batch_execute("COMMIT").map_err(of(Sent::Commit)),
    )
    .await?;
    Ok(())
}

/// Asks nothing when that is needless.
async fn unless<T, E>(
    needless: bool,
    asking: impl Future<Output = Result<T, E>>,
) -> Result<Option<T>, E> {
    if needless { Ok(None) } else { asking.await.map(Some) }
}

/// What the database refused. Which id was there already is told when they are accepted one by one.
fn refused(error: tokio_postgres::Error, rows: &Rows) -> StoreError {
    if error.as_db_error().and_then(DbError::constraint) != Some(ID_ONCE) {
        return error.into();
    }
    let value = rows.ids.first().cloned().unwrap_or_default();
    StoreError::Exists { what: "submission id", value }
}

/// Returns the ids of a batch that are stored, once no transaction holds its forms any more: the one
/// that wrote the batch has locked them until it ends, also if its connection is lost.
pub(super) async fn kept(
    db: &impl GenericClient,
    batch: &[NewSubmission],
) -> Result<HashSet<String>, StoreError> {
    let forms: Vec<_> = batch.iter().map(|new| new.form.as_str()).collect();
    // A statement of its own: the next one begins after the wait, and sees what was committed by then.
    let wait = "SELECT FROM forms WHERE id = ANY($1) ORDER BY form_no FOR SHARE";
    query(db, wait, &[&forms]).await?;
    let ids: Vec<_> = batch.iter().map(|new| new.id.as_str()).collect();
    let found = query(db, "SELECT id FROM submissions WHERE id = ANY($1)", &[&ids]).await?;
    found.iter().map(|row| column(row, 0)).collect()
}
