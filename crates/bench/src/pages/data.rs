//! The database the page server reads, and the requests it is asked.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use formsvc_protocol::{Answers, FormId, FormInstant, FormStatus, SubmissionId};
use formsvc_server::admin::Admin;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{NewForm, PageRequest, StagedSubmission, Store, system_clock};
use secrecy::ExposeSecret;

use super::Ask;
use crate::database;
use crate::error::BenchError;
use crate::export::Directory;

pub(super) const FORMS: u64 = 3;
pub(super) const PER_FORM: u64 = 100_000;
/// For the note below the table.
pub(super) const PAGE_BYTES_ABOUT: &str = "about 31 000";

const EMAIL: &str = "bench@formsvc.invalid";
/// 2026-01-01T00:00:00Z, the instant of the oldest submissions.
const OLDEST_MICROS: i64 = 1_767_225_600_000_000;
/// Between two submissions of a form.
const STEP_MICROS: i64 = 1_001_000;
/// Places that pages are asked at.
const PLACES: u64 = 5_000;
/// Submissions staged at once.
const BATCH: u64 = 5_000;

/// A database, a key for it, and a page of it as the API answers it.
pub(super) struct Prepared {
    dir: Directory,
    key: String,
    forms: Vec<FormId>,
}

impl Prepared {
    pub(super) fn new(dir: Directory) -> Result<Self, BenchError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|why| BenchError::io("cannot start", why))?;
        runtime.block_on(Self::prepare(dir))
    }

    async fn prepare(dir: Directory) -> Result<Self, BenchError> {
        let failed = |why: &dyn std::error::Error| BenchError::caused("cannot fill", why);
        let store = SqliteStore::open(&database(dir.path()), system_clock());
        let store: Arc<dyn Store> = Arc::new(store.map_err(|why| failed(&why))?);
        let admin = Admin::new(Arc::clone(&store));
        let kept = store.user_by_email(EMAIL).await.map_err(|why| failed(&why))?;
        let user = match kept {
            Some(user) => user,
            None => admin.create_user(EMAIL, "Bench").await.map_err(|why| failed(&why))?,
        };
        let mut forms = Vec::new();
        for number in 0..FORMS {
            let id = FormId::new(&format!("frm_bench_{number}")).expect("letters and digits");
            let public_id = format!("bench-{number}").parse().expect("letters and digits");
            if store.form_by_public_id(&public_id).await.map_err(|why| failed(&why))?.is_none() {
                let title = format!("Bench {number}");
                let status = FormStatus::Published;
                let user = user.id.clone();
                let form = NewForm { id: id.clone(), user, public_id, title, status };
                fill(&*store, form, number).await?;
            }
            forms.push(id);
        }
        let key = admin.create_key(&user.id, "bench").await.map_err(|why| failed(&why))?;
        let first = PageRequest { user: user.id, form: forms[0].clone(), before: None, limit: 100 };
        let page = store.page(first).await.map_err(|why| failed(&why))?;
        let page = page.ok_or_else(|| BenchError::new("a form is not the user's"))?;
        let cursor = page
            .last
            .map(FormInstant::to_cursor)
            .ok_or_else(|| BenchError::new("a form is empty"))?;
        let mut body = br#"{"data":["#.to_vec();
        body.extend_from_slice(&page.items);
        let tail = format!(r#"],"pagination":{{"next_cursor":"{cursor}","has_more":true}}}}"#);
        body.extend_from_slice(tail.as_bytes());
        let path = dir.path().join("page.json");
        fs::write(&path, body).map_err(BenchError::at(&path))?;
        store.close().await.map_err(|why| failed(&why))?;
        Ok(Self { dir, key: key.secret.expose_secret().to_owned(), forms })
    }

    pub(super) fn database(&self) -> PathBuf {
        database(self.dir.path())
    }

    pub(super) fn page(&self) -> PathBuf {
        self.dir.path().join("page.json")
    }

    /// A fresh file for the log of a server.
    pub(super) fn log(&self) -> Result<File, BenchError> {
        let path = self.dir.path().join("server.log");
        File::create(&path).map_err(BenchError::at(&path))
    }

    /// Whole requests, as bytes on the wire.
    pub(super) fn requests(&self, ask: Ask) -> Vec<String> {
        let newest = PER_FORM - 1;
        match ask {
            Ask::First => vec![self.request(0, None)],
            Ask::Deep => vec![self.request(0, Some(newest / 2))],
            Ask::Anywhere => (0..PLACES)
                .map(|n| {
                    let form = usize::try_from(n % FORMS).expect("there are few forms");
                    // A stride that meets the places out of order, as callers do.
                    self.request(form, Some(100 + n * 7_919 % (newest - 100)))
                })
                .collect(),
        }
    }

    fn request(&self, form: usize, place: Option<u64>) -> String {
        let form = &self.forms[form];
        let cursor =
            place.map_or(String::new(), |place| format!("&cursor={}", at(place).to_cursor()));
        format!(
            "GET /api/v1/forms/{form}/submissions?limit=100{cursor} HTTP/1.1\r\nHost: localhost\r\n\
             Authorization: Bearer {}\r\nAccept: application/json\r\n\r\n",
            self.key
        )
    }
}

fn database(dir: &Path) -> PathBuf {
    dir.join("pages.db")
}

fn at(place: u64) -> FormInstant {
    let place = i64::try_from(place).expect("there are few submissions");
    FormInstant::from_micros(OLDEST_MICROS + place * STEP_MICROS)
}

async fn fill(store: &dyn Store, form: NewForm, number: u64) -> Result<(), BenchError> {
    let failed = |why| BenchError::caused("cannot fill a form", &why);
    let staged = store.stage_form(form).await.map_err(failed)?;
    for start in (0..PER_FORM).step_by(usize::try_from(BATCH).expect("a small number")) {
        let batch = (start..start + BATCH).map(|place| submission(number, place)).collect();
        store.stage_submissions(&staged, batch).await.map_err(failed)?;
    }
    store.publish_staged(&staged).await.map_err(failed).map(|_| ())
}

/// Eight answers; about 300 bytes as an item.
fn submission(form: u64, place: u64) -> StagedSubmission {
    let instant = at(place);
    let millis = u64::try_from(instant.micros() / 1_000).expect("after 1970");
    let mut bits = [0; 16];
    bits[..8].copy_from_slice(&(millis << 16 | 0x7000).to_be_bytes());
    bits[8..].copy_from_slice(&(1 << 63 | form << 40 | place).to_be_bytes());
    let data = database::answers(place);
    let answers = Answers::parse(data).expect("one JSON object");
    StagedSubmission { id: SubmissionId::from_bits(bits), at: Some(instant), answers }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_of_the_promised_size() {
        for place in [0, 77_777] {
            let made = submission(2, place);
            assert_eq!(made.answers.fields().len(), 8);
            assert!((200..330).contains(&made.answers.as_json().len()));
        }
        assert_ne!(submission(1, 5).id, submission(2, 5).id);
    }
}
