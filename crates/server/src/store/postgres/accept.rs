//! Accepting submissions that wait at the same time, in one transaction.

use std::collections::HashMap;

use deadpool_postgres::{GenericClient, Transaction};
use formsvc_protocol::{FormId, FormInstant, FormStatus, SubmissionId};
use futures_util::future::{try_join3, try_join5};

use super::notify::Notice;
use super::pages::SEQ_BITS;
use super::repeats::{self, Repeats};
use super::rows::{column, instant, instant_opt, prepare, text_id};
use super::time::Time;
use crate::store::rules::no_form;
use crate::store::{Accepted, EndpointNo, Lane, NewSubmission, Revision, StoreError, item};

/// The forms that are submitted to, locked in one order until the commit: nobody else takes an instant of
/// theirs meanwhile, and no two transactions wait for each other.
const FORMS: &str =
    "SELECT form_no, id, last_seq, last_instant_us, status, title, now_us($2), revision
    FROM forms WHERE id = ANY($1) AND ready ORDER BY form_no FOR UPDATE";
/// Their enabled endpoints, which cannot be removed or disabled before the commit.
const ENDPOINTS: &str = "SELECT e.form_no, e.endpoint_no FROM endpoints e JOIN forms f USING (form_no)
    WHERE f.id = ANY($1) AND f.ready AND e.status = 'enabled' ORDER BY e.endpoint_no FOR SHARE OF e";

const SUBMISSIONS: &str = "INSERT INTO submissions (key, form_no, instant_us, id, item)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])
    ON CONFLICT (id) DO NOTHING";
const KEYS: &str = "INSERT INTO idempotency (form_no, key, fingerprint, submission, created_us)
    SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[])
    ON CONFLICT (form_no, key) DO UPDATE SET fingerprint = excluded.fingerprint,
        submission = excluded.submission, created_us = excluded.created_us";
const DELIVERIES: &str =
    "INSERT INTO deliveries (submission, endpoint_no, state, attempts, form_title)
    SELECT n.submission, n.endpoint_no, 0, 0, n.title
    FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS n (submission, endpoint_no, title)";
const QUEUE: &str =
    "INSERT INTO queue (endpoint_no, submission, lane, at_us, retries, claims, resend)
    SELECT n.endpoint_no, n.submission, 0, n.at_us, 0, 0, false
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (submission, endpoint_no, at_us)";
const ENDS: &str = "UPDATE forms f SET last_seq = n.seq, last_instant_us = n.at_us
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (form_no, seq, at_us)
    WHERE f.form_no = n.form_no";

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

/// Accepts submissions inside a transaction; fails when one of them cannot be kept, and then nothing
/// of it may be committed.
pub(super) async fn accept(
    tx: &Transaction<'_>,
    batch: &[NewSubmission],
    time: &Time,
    notice: &Notice,
) -> Result<Outcome, StoreError> {
    let (mut forms, mut repeats) = read(tx, batch, time).await?;
    let mut rows = Rows::default();
    let answers = batch
        .iter()
        .map(|new| {
            let open = forms.get_mut(&new.form).ok_or_else(|| no_form(&new.form))?;
            admit(open, &mut repeats, new, &mut rows)
        })
        .collect();
    if rows.keys.is_empty() {
        return Ok(Outcome { answers, endpoints: Vec::new() });
    }
    write(tx, &rows, forms.values().filter(|open| open.changed)).await?;
    let changed = forms.into_values().filter(|open| open.changed);
    let endpoints: Vec<_> = changed.flat_map(|open| open.endpoints).collect();
    notice.send(tx, endpoints.iter().map(|endpoint| (*endpoint, Lane::Fresh))).await?;
    Ok(Outcome { answers, endpoints })
}

/// What has to be known of the forms, read in one round trip.
async fn read(
    tx: &Transaction<'_>,
    batch: &[NewSubmission],
    time: &Time,
) -> Result<(HashMap<FormId, Open>, Repeats), StoreError> {
    let mut ids: Vec<_> = batch.iter().map(|new| new.form.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let asked: (Vec<_>, Vec<_>) = batch
        .iter()
        .filter_map(|new| new.idempotency.map(|known| (new.form.as_str(), known.key.to_vec())))
        .unzip();
    let [forms, endpoints, known] = prepare(tx, [FORMS, ENDPOINTS, repeats::FIND]).await?;
    let given = time.given();
    // They are carried out in this order: the locks of the first stand before the others look.
    let (forms, endpoints, known) = try_join3(
        tx.query(&forms, &[&ids, &given]),
        tx.query(&endpoints, &[&ids]),
        tx.query(&known, &[&asked.0, &asked.1]),
    )
    .await?;
    let mut open = HashMap::new();
    for row in &forms {
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
        open.insert(text_id(row, 1, FormId::new)?, form);
    }
    Ok((open, Repeats::of(&known)?))
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

/// Writes all of it in one round trip.
async fn write(
    tx: &Transaction<'_>,
    rows: &Rows,
    ends: impl Iterator<Item = &Open>,
) -> Result<(), StoreError> {
    let mut columns = (Vec::new(), Vec::new(), Vec::new());
    for open in ends {
        columns.0.push(open.form_no);
        columns.1.push(open.seq);
        columns.2.push(open.last.map(FormInstant::micros));
    }
    let [submissions, keys, deliveries, queue, ends] =
        prepare(tx, [SUBMISSIONS, KEYS, DELIVERIES, QUEUE, ENDS]).await?;
    let (added, ..) = try_join5(
        tx.execute(
            &submissions,
            &[&rows.keys, &rows.forms, &rows.instants, &rows.ids, &rows.items],
        ),
        tx.execute(
            &keys,
            &[
                &rows.key_forms,
                &rows.key_texts,
                &rows.fingerprints,
                &rows.key_submissions,
                &rows.key_times,
            ],
        ),
        tx.execute(&deliveries, &[&rows.delivered, &rows.endpoints, &rows.titles]),
        tx.execute(&queue, &[&rows.delivered, &rows.endpoints, &rows.delivery_instants]),
        tx.execute(&ends, &[&columns.0, &columns.1, &columns.2]),
    )
    .await?;
    if added == rows.keys.len() as u64 {
        return Ok(());
    }
    // Which one was there already is told when they are accepted one by one.
    let value = rows.ids.first().cloned().unwrap_or_default();
    Err(StoreError::Exists { what: "submission id", value })
}

/// Submissions of these ids that are kept: what a commit came to that was not answered.
pub(super) async fn kept(
    db: &impl GenericClient,
    ids: &[SubmissionId],
) -> Result<HashMap<String, FormInstant>, StoreError> {
    let ids: Vec<_> = ids.iter().map(SubmissionId::as_str).collect();
    let sql = "SELECT id, instant_us FROM submissions WHERE id = ANY($1)";
    let found = super::rows::query(db, sql, &[&ids]).await?;
    found.iter().map(|row| Ok((column(row, 0)?, instant(row, 1)?))).collect()
}
