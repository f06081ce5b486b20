//! Databases for what writes: one user, one form, one endpoint, and as many submissions as asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use formsvc_protocol::{Answers, EndpointId, Form, FormId, FormStatus, SubmissionId, UserId};
use formsvc_server::secrets::{KeyFile, Missing, Vault, generate};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{
    NewEndpoint, NewForm, NewSubmission, SealedSecret, Store, StoreError, UserRecord, steady_clock,
    system_clock,
};

use crate::error::BenchError;

/// The form's public id.
pub(crate) const PUBLIC_ID: &str = "bench";
/// Title of the form.
pub(crate) const TITLE: &str = "Bench";
/// An endpoint that nobody delivers to.
pub(crate) const NOWHERE: &str = "http://localhost:9/hook";

/// Submissions under way while a database is filled.
const AT_A_TIME: u64 = 512;

/// A database in a directory of its own, which goes away.
pub(crate) struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    /// Nothing yet.
    pub(crate) fn empty(beside: &Path) -> Result<Self, BenchError> {
        let dir = tempfile::TempDir::new_in(beside);
        let dir = dir.map_err(|why| BenchError::io("cannot make a directory", why))?;
        Ok(Self { dir })
    }

    /// A copy of a database that nobody has open, with its key, on the disk.
    pub(crate) fn copy(template: &Path, beside: &Path) -> Result<Self, BenchError> {
        let scratch = Self::empty(beside)?;
        for (from, to) in [
            (template.to_path_buf(), scratch.database()),
            (key(template), key(&scratch.database())),
        ] {
            std::fs::copy(&from, &to).map_err(BenchError::at(&from))?;
            // What the copy left to be written must not be what the measurement waits for.
            let synced = std::fs::File::open(&to).and_then(|file| file.sync_all());
            synced.map_err(BenchError::at(&to))?;
        }
        Ok(scratch)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.dir.path().join("bench.db")
    }
}

fn key(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(".key");
    path.into()
}

/// Runs something with a runtime of its own.
pub(crate) fn block_on<T>(
    work: impl Future<Output = Result<T, BenchError>>,
) -> Result<T, BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|why| BenchError::io("cannot start", why))?.block_on(work)
}

/// What opens the secrets of a database that is there.
pub(crate) fn vault(database: &Path) -> Result<Vault, BenchError> {
    let file = KeyFile::beside(database).map_err(BenchError::at(database))?;
    let key = file.open(Missing::Create);
    Ok(Vault::new(&key.map_err(|why| BenchError::caused("no key", &why))?))
}

pub(crate) fn open(database: &Path) -> Result<SqliteStore, BenchError> {
    let store = SqliteStore::open_exclusive(database, system_clock());
    let store = store.map_err(|why| BenchError::caused("cannot open the database", &why))?;
    Ok(store.with_steady_clock(steady_clock()))
}

/// Adds a user and a form.
pub(crate) async fn add_form(store: &dyn Store) -> Result<Form, BenchError> {
    let failed = |why| BenchError::caused("cannot make a form", &why);
    let user = UserId::new("usr_bench").expect("letters");
    let email = "bench@formsvc.invalid".to_owned();
    let record = UserRecord { id: user.clone(), email, name: "Bench".to_owned() };
    store.add_user(record).await.map_err(failed)?;
    let new = NewForm {
        id: FormId::new("frm_bench").expect("letters"),
        user,
        public_id: PUBLIC_ID.parse().expect("letters"),
        title: TITLE.to_owned(),
        status: FormStatus::Published,
    };
    store.add_form(new).await.map_err(failed)
}

/// Adds an endpoint, with a secret that the vault opens.
pub(crate) async fn add_endpoint(
    store: &dyn Store,
    vault: &Vault,
    form: &Form,
    url: &str,
) -> Result<(), BenchError> {
    let id = EndpointId::new("whe_bench").expect("letters");
    let secret = generate().map_err(|why| BenchError::caused("no secret", &why))?;
    let sealed = vault.seal(id.as_str().as_bytes(), &secret);
    let secret = SealedSecret(sealed.map_err(|why| BenchError::caused("no secret", &why))?);
    let new = NewEndpoint { id, form: form.id.clone(), url: url.to_owned(), secret };
    let added = store.add_endpoint(new).await;
    added.map_err(|why| BenchError::caused("cannot add an endpoint", &why)).map(|_| ())
}

/// Submits, many at a time, and waits for all.
pub(crate) async fn submit(
    store: &Arc<dyn Store>,
    form: &Form,
    places: std::ops::Range<u64>,
) -> Result<(), BenchError> {
    let mut tasks = tokio::task::JoinSet::new();
    for first in 0..AT_A_TIME {
        let (store, form, places) = (Arc::clone(store), form.id.clone(), places.clone());
        let step = usize::try_from(AT_A_TIME).expect("a small number");
        tasks.spawn(async move {
            for place in (places.start + first..places.end).step_by(step) {
                let new = NewSubmission {
                    id: id_at(place),
                    form: form.clone(),
                    answers: Answers::parse(answers(place)).expect("one JSON object"),
                    revision: None,
                    idempotency: None,
                };
                store.submit(new).await?;
            }
            Ok(())
        });
    }
    let all: Result<Vec<()>, StoreError> = tasks.join_all().await.into_iter().collect();
    all.map_err(|why| BenchError::caused("cannot submit", &why)).map(|_| ())
}

/// The id of a submission: in the order of their places, as ids made by the service are in that of
/// time.
pub(crate) fn id_at(place: u64) -> SubmissionId {
    let mut bits = [0; 16];
    bits[..8].copy_from_slice(&place.to_be_bytes());
    bits[8..].copy_from_slice(&place.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    SubmissionId::from_bits(bits)
}

/// Eight answers: text, numbers, a date, a choice; about 250 bytes.
pub(crate) fn answers(place: u64) -> String {
    format!(
        r#"{{"Name":"Participant {place}","E-mail":"user{place}@example.org","Age":{},"Score":{}.{:02},"City":"Ålesund","Visited":"2025-{:02}-{:02}","Recommends":{},"Comment":"The staff were friendly and the wait was short, number {place}."}}"#,
        18 + place % 60,
        place % 100,
        place % 97,
        1 + place % 12,
        1 + place % 28,
        place.is_multiple_of(3),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_of_the_promised_size() {
        for place in [0, 77_777, 999_999] {
            let made = Answers::parse(answers(place)).unwrap();
            assert_eq!(made.fields().len(), 8);
            assert!((200..330).contains(&made.as_json().len()), "{}", made.as_json().len());
        }
        assert_ne!(id_at(1), id_at(2));
    }
}
