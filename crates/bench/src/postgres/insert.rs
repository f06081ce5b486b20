//! The child `bare-insert`: connections that insert the rows of submissions in batches, and nothing else.
//! The rows are those that the service writes, in the tables it makes.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::LocalSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

use super::VISITORS;
use super::serve::{make_form, open};
use crate::args::BareInsert;
use crate::database::{self, TITLE};
use crate::error::BenchError;
use crate::intake::writer::{Waiting, put};
use crate::{child, pin};

/// As the service has them.
const CONNECTIONS: usize = 2;
const BATCH_MAX: usize = 128;

const SUBMISSIONS: &str = "INSERT INTO submissions (key, form_no, instant_us, id, item)
    SELECT n.key, 1, n.at_us, n.id, n.item
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS n (key, at_us, id, item)";
const DELIVERIES: &str =
    "INSERT INTO deliveries (submission, endpoint_no, state, attempts, form_title)
    SELECT n.key, 1, 0, 0, $2 FROM unnest($1::bigint[]) AS n (key)";
const QUEUE: &str = "INSERT INTO queue (endpoint_no, submission, lane, at_us, retries, claims, resend)
    SELECT 1, n.key, 0, n.at_us, 0, 0, false FROM unnest($1::bigint[], $2::bigint[]) AS n (key, at_us)";

pub(crate) fn run(args: &BareInsert) -> Result<(), BenchError> {
    database::block_on(async {
        let store = open(&args.address).await?;
        make_form(&*store).await?;
        store.close().await.map_err(|why| BenchError::caused("cannot close", &why))
    })?;
    pin::to_core(pin::CLIENT)?;
    let (rows, waiting) = mpsc::channel(VISITORS);
    let address = args.address.clone();
    let thread = std::thread::spawn(move || {
        pin::to_core(pin::SERVER)?;
        database::block_on(write(address, waiting))
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| BenchError::io("cannot start", why))?;
    let window = Duration::from_secs(args.window);
    let loaded = LocalSet::new().block_on(&runtime, put(rows, window));
    // Only now: when the writer fails, so do its clients, for less of a reason.
    thread.join().map_err(|_| BenchError::new("the writer panicked"))??;
    child::print_json(&loaded?)
}

async fn write(address: String, waiting: mpsc::Receiver<Waiting>) -> Result<(), BenchError> {
    let waiting = Arc::new(Mutex::new(waiting));
    let mut working = tokio::task::JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (address, waiting) = (address.clone(), Arc::clone(&waiting));
        working.spawn(async move {
            let failed = |why| BenchError::because("the bare insert failed", why);
            let (mut client, connection) =
                tokio_postgres::connect(&address, NoTls).await.map_err(failed)?;
            tokio::spawn(connection);
            let mut statements = Vec::new();
            for sql in [SUBMISSIONS, DELIVERIES, QUEUE] {
                statements.push(client.prepare(sql).await.map_err(failed)?);
            }
            let statements = statements.try_into().expect("one for each");
            let mut batch = Vec::with_capacity(BATCH_MAX);
            while waiting.lock().await.recv_many(&mut batch, BATCH_MAX).await > 0 {
                commit(&mut client, &statements, &batch).await.map_err(failed)?;
                for (_, done) in batch.drain(..) {
                    // The client may have been stopped.
                    let _ = done.send(());
                }
            }
            Ok(())
        });
    }
    working.join_all().await.into_iter().collect()
}

async fn commit(
    client: &mut Client,
    statements: &[Statement; 3],
    batch: &[Waiting],
) -> Result<(), tokio_postgres::Error> {
    let (mut keys, mut instants, mut ids, mut items) = (vec![], vec![], vec![], vec![]);
    for (row, _) in batch {
        let place = i64::try_from(row.place).expect("there are few rows");
        keys.push(1 << 40 | (place + 1));
        instants.push(place);
        ids.push(database::id_at(row.place).as_str().to_owned());
        items.push(row.item.as_str());
    }
    let [submissions, deliveries, queue] = statements;
    let tx = client.transaction().await?;
    let rows: &[&(dyn ToSql + Sync)] = &[&keys, &instants, &ids, &items];
    let delivered: &[&(dyn ToSql + Sync)] = &[&keys, &TITLE];
    let queued: &[&(dyn ToSql + Sync)] = &[&keys, &instants];
    // In one round trip.
    tokio::try_join!(
        tx.execute(submissions, rows),
        tx.execute(deliveries, delivered),
        tx.execute(queue, queued)
    )?;
    tx.commit().await
}
