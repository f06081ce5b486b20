//! Synchronization with real databases.

mod database;
mod ids;
mod interruption;
mod labels;
mod pooler;
mod postgres;
mod postgres_damaged;
mod postgres_roles;
mod postgres_schema;
mod postgres_tls;
mod postgres_views;
mod process;
mod pull;
mod sqlite;
mod sqlite_hostile;
mod verify;

use std::time::{Duration, SystemTime};

use formsvc_client::test_util::{MockService, form, generate, submission};
use formsvc_client::{Client, FormId, Timestamp};
use formsvc_export::{ExportError, PullOptions, SyncStore, SyncSummary};

const FORM: &str = "frm_1";
const ORIGIN: &str = "https://forms.example";

fn form_id() -> FormId {
    FormId::new(FORM).unwrap()
}

fn service(rows: u32) -> MockService {
    MockService::new().form(form(FORM, "Survey")).submissions(FORM, generate(rows))
}

/// A service with one submission for each JSON text: `sub_000` is the newest, and each is a day older
/// than the one before.
fn service_with(answers: &[&str]) -> MockService {
    let service = MockService::new().form(form(FORM, "Survey"));
    for (age, data) in answers.iter().enumerate() {
        submit(&service, age, data);
    }
    service
}

/// Adds a submission that is `age` days old.
fn submit(service: &MockService, age: usize, data: &str) {
    let age_nanos = i128::try_from(age).unwrap() * 86_400_000_000_000;
    let time = Timestamp::from_unix_nanos(1_767_225_600_000_000_000 - age_nanos).unwrap();
    service.submit(FORM, submission(&format!("sub_{age:03}"), data, time.as_str()));
}

/// The time of the newest submission of [`service_with`].
fn newest() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600)
}

async fn sync(store: &SyncStore, service: &MockService) -> Result<SyncSummary, ExportError> {
    sync_by(store, &service.client()).await
}

async fn sync_by(store: &SyncStore, client: &Client) -> Result<SyncSummary, ExportError> {
    store
        .sync(client, &form_id(), Some(&form(FORM, "Survey")), &PullOptions::default(), |_| {})
        .await
}
