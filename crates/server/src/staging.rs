//! Loads a form with many submissions: all of it or nothing, in bounded memory, and without holding
//! up other writers.

use std::sync::Arc;

use formsvc_protocol::Form;
use tokio::sync::mpsc;

use crate::store::{NewForm, StagedForm, StagedSubmission, Store, StoreError};

/// Submissions staged in one transaction, at most.
const CHUNK_ROWS: usize = 1_000;
/// Bytes of answers at which a chunk is sent though it has fewer rows.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks that wait while one is written.
const CHUNKS_AHEAD: usize = 2;

/// Where a producer puts submissions.
pub(crate) struct Sink {
    chunk: Vec<StagedSubmission>,
    bytes: usize,
    count: u64,
    chunks: mpsc::Sender<Vec<StagedSubmission>>,
}

/// The loading has ended, for a reason its caller knows; the producer is to return.
#[derive(Debug)]
pub(crate) struct Stopped;

impl Sink {
    /// Adds a submission; blocks while the store is behind.
    pub(crate) fn push(&mut self, submission: StagedSubmission) -> Result<(), Stopped> {
        self.bytes += submission.answers.as_json().len();
        self.count += 1;
        self.chunk.push(submission);
        if self.chunk.len() >= CHUNK_ROWS || self.bytes >= CHUNK_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<(), Stopped> {
        self.bytes = 0;
        let chunk = std::mem::take(&mut self.chunk);
        if chunk.is_empty() {
            return Ok(());
        }
        self.chunks.blocking_send(chunk).map_err(|_| Stopped)
    }
}

/// Why nothing was loaded.
pub(crate) enum LoadError<E> {
    Store(StoreError),
    Producer(E),
}

/// Makes a form of what `produce` pushes, on a thread that may block.
pub(crate) async fn load<E, P>(
    store: &Arc<dyn Store>,
    form: NewForm,
    produce: P,
) -> Result<(Form, u64), LoadError<E>>
where
    E: From<Stopped> + Send + 'static,
    P: FnOnce(&mut Sink) -> Result<(), E> + Send + 'static,
{
    let staged = store.stage_form(form).await.map_err(LoadError::Store)?;
    let mut discard = Discard { store: Arc::clone(store), staged: Some(staged.clone()) };
    let (chunks, mut ready) = mpsc::channel(CHUNKS_AHEAD);
    let producer = tokio::task::spawn_blocking(move || {
        let mut sink = Sink { chunk: Vec::new(), bytes: 0, count: 0, chunks };
        produce(&mut sink)?;
        sink.flush()?;
        Ok(sink.count)
    });
    let outcome = async {
        while let Some(chunk) = ready.recv().await {
            store.stage_submissions(&staged, chunk).await.map_err(LoadError::Store)?;
        }
        let count = producer
            .await
            .map_err(|panic| LoadError::Store(StoreError::Internal(Box::new(panic))))?
            .map_err(LoadError::Producer)?;
        let form = store.publish_staged(&staged).await.map_err(LoadError::Store)?;
        Ok((form, count))
    }
    .await;
    discard.staged = None;
    if outcome.is_err()
        && let Err(error) = store.discard_staged(&staged).await
    {
        // It stays unseen; a later import, or start of a server, removes it.
        tracing::warn!(%error, form = %staged.id, "a failed import could not be removed");
    }
    outcome
}

/// Removes what was staged when the load is dropped half way.
struct Discard {
    store: Arc<dyn Store>,
    staged: Option<StagedForm>,
}

impl Drop for Discard {
    fn drop(&mut self) {
        let Some(staged) = self.staged.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let store = Arc::clone(&self.store);
            runtime.spawn(async move { store.discard_staged(&staged).await });
        }
    }
}
