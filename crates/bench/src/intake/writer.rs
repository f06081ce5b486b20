//! The child `bare-writer`: a thread that commits the rows of submissions in groups, and nothing else.
//! The rows are those that the service writes, in the tables it makes.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use formsvc_server::store::Store;
use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

use super::CLIENTS;
use crate::accounting::{Watch, cpu_of};
use crate::args::BareWriter;
use crate::database::{self, NOWHERE, TITLE};
use crate::error::BenchError;
use crate::load::{Loaded, Spent, micros};
use crate::{child, pin};

const WARM_UP: Duration = Duration::from_secs(1);
/// Rows that share a commit, at most.
const BATCH_MAX: usize = 64;

/// A submission to write.
pub(crate) struct Row {
    pub(crate) place: u64,
    pub(crate) item: String,
}

/// A submission on its way, and where to say that it is on the disk.
pub(crate) type Waiting = (Row, oneshot::Sender<()>);

pub(crate) fn run(args: &BareWriter) -> Result<(), BenchError> {
    make_tables(&args.database)?;
    pin::to_core(pin::CLIENT)?;
    let database = args.database.clone();
    let (rows, waiting) = mpsc::channel(CLIENTS);
    let thread = std::thread::spawn(move || {
        pin::to_core(pin::SERVER)?;
        write(&database, waiting)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| BenchError::io("cannot start", why))?;
    let window = Duration::from_secs(args.window);
    let loaded = LocalSet::new().block_on(&runtime, put(rows, window));
    // Only now: when the writer fails, so do its clients, for less of a reason.
    thread.join().map_err(|_| BenchError::new("the writer panicked"))??;
    child::print_json(&loaded?)
}

/// The service's tables, with its form and its endpoint.
fn make_tables(path: &Path) -> Result<(), BenchError> {
    database::block_on(async {
        let store = database::open(path)?;
        let vault = database::vault(path)?;
        let form = database::add_form(&store).await?;
        database::add_endpoint(&store, &vault, &form, NOWHERE).await?;
        store.close().await.map_err(|why| BenchError::caused("cannot close", &why))
    })
}

fn write(database: &Path, mut waiting: mpsc::Receiver<Waiting>) -> Result<(), BenchError> {
    let failed = |why| BenchError::because("the bare writer failed", why);
    let connection = connect(database).map_err(failed)?;
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while waiting.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
        commit(&connection, &batch).map_err(failed)?;
        for (_, done) in batch.drain(..) {
            // The client may have been stopped.
            let _ = done.send(());
        }
    }
    Ok(())
}

fn connect(database: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(database)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

fn commit(connection: &Connection, batch: &[Waiting]) -> rusqlite::Result<()> {
    let run = |sql| connection.prepare_cached(sql)?.execute([]).map(drop);
    run("BEGIN IMMEDIATE")?;
    let mut submissions = connection.prepare_cached(
        "INSERT INTO submissions (key, form_no, instant_us, id, item) VALUES (?1, 1, ?2, ?3, ?4)",
    )?;
    let mut deliveries = connection.prepare_cached(
        "INSERT INTO deliveries (submission, endpoint_no, state, attempts, form_title)
         VALUES (?1, 1, 0, 0, ?2)",
    )?;
    let mut queue = connection.prepare_cached(
        "INSERT INTO queue (endpoint_no, lane, at_us, submission, retries, claims, resend)
         VALUES (1, 0, ?2, ?1, 0, 0, 0)",
    )?;
    for (row, _) in batch {
        let place = i64::try_from(row.place).expect("there are few rows");
        let key = 1 << 40 | (place + 1);
        let id = database::id_at(row.place).to_bits().expect("made from bits");
        submissions.execute(params![key, place, id, row.item])?;
        deliveries.execute(params![key, TITLE])?;
        queue.execute(params![key, place])?;
    }
    run("COMMIT")
}

/// Closed-loop clients, for a second that is not counted and a window that is.
pub(crate) async fn put(
    rows: mpsc::Sender<Waiting>,
    window: Duration,
) -> Result<Loaded, BenchError> {
    let stop = Rc::new(Cell::new(false));
    let took = Rc::new(RefCell::new(Vec::<u32>::new()));
    let next = Rc::new(Cell::new(0));
    for _ in 0..CLIENTS {
        let (rows, stop, took) = (rows.clone(), Rc::clone(&stop), Rc::clone(&took));
        let next = Rc::clone(&next);
        tokio::task::spawn_local(async move {
            while !stop.get() {
                let place = next.replace(next.get() + 1);
                let item = format!(
                    r#"{{"id":"{}","data":{},"created_at":"2026-01-01T00:00:00.000Z"}}"#,
                    database::id_at(place),
                    database::answers(place)
                );
                let since = Instant::now();
                let (done, is_done) = oneshot::channel();
                if rows.send((Row { place, item }, done)).await.is_err() || is_done.await.is_err() {
                    // The writer has ended, and says why.
                    return;
                }
                took.borrow_mut().push(micros(since));
            }
        });
    }
    drop(rows);
    tokio::time::sleep(WARM_UP).await;
    took.borrow_mut().clear();
    let own = std::process::id();
    let (watch, since, cpu) = (Watch::start(), Instant::now(), cpu_of(own)?);
    tokio::time::sleep(window).await;
    let seconds = since.elapsed().as_secs_f64();
    let server_cpu = cpu_of(own)? - cpu;
    let foreign = watch.foreign(server_cpu);
    stop.set(true);
    let spent = Spent { server_cpu, loader_cpu: 0.0, foreign };
    Ok(Loaded::of(took.take(), seconds, spent))
}
