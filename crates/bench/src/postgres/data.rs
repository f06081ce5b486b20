//! The form that pages are read of, and the requests for them.

use std::path::Path;
use std::sync::Arc;

use formsvc_protocol::{Answers, FormId, FormInstant, FormStatus};
use formsvc_server::admin::Admin;
use formsvc_server::store::contract::cluster::Cluster;
use formsvc_server::store::postgres::{PostgresOptions, PostgresStore};
use formsvc_server::store::{NewForm, PageRequest, StagedSubmission, Store};
use secrecy::{ExposeSecret, SecretString};

use crate::database;
use crate::error::BenchError;

pub(super) const ROWS: u64 = 100_000;
/// 2026-01-01T00:00:00Z, the instant of the oldest submission, and the time between two.
const OLDEST_MICROS: i64 = 1_767_225_600_000_000;
const STEP_MICROS: i64 = 1_001_000;
/// Places that pages are asked at.
const PLACES: u64 = 5_000;
/// Submissions staged at once.
const BATCH: u64 = 5_000;
const FORM: &str = "frm_pages";

/// A form with submissions, and a key of its owner.
pub(super) struct Prepared {
    address: SecretString,
    key: String,
}

impl Prepared {
    pub(super) fn on(cluster: &Cluster, page: &Path) -> Result<Self, BenchError> {
        let address = cluster.fresh_schema();
        let key = database::block_on(fill(&address, page))?;
        // As it is once the database has looked at it by itself.
        cluster.sql("VACUUM ANALYZE");
        Ok(Self { address, key })
    }

    pub(super) fn address(&self) -> &str {
        self.address.expose_secret()
    }

    /// Whole requests, as bytes on the wire, for places out of order, as callers ask.
    pub(super) fn requests(&self) -> Vec<String> {
        let places = (0..PLACES).map(|n| 100 + n * 7_919 % (ROWS - 101));
        let request = |place| {
            format!(
                "GET /api/v1/forms/{FORM}/submissions?limit=100&cursor={} HTTP/1.1\r\n\
                 Host: localhost\r\nAuthorization: Bearer {}\r\nAccept: application/json\r\n\r\n",
                at(place).to_cursor(),
                self.key
            )
        };
        places.map(request).collect()
    }
}

fn at(place: u64) -> FormInstant {
    let place = i64::try_from(place).expect("there are few submissions");
    FormInstant::from_micros(OLDEST_MICROS + place * STEP_MICROS)
}

async fn fill(address: &SecretString, page: &Path) -> Result<String, BenchError> {
    let failed = |why: &dyn std::error::Error| BenchError::caused("cannot fill", why);
    let store = PostgresStore::open(&PostgresOptions::of(address.clone())).await;
    let store: Arc<dyn Store> = Arc::new(store.map_err(|why| failed(&why))?);
    let admin = Admin::new(Arc::clone(&store));
    let user = admin.create_user("pages@formsvc.invalid", "P").await;
    let user = user.map_err(|why| failed(&why))?.id;
    let id = FormId::new(FORM).expect("letters");
    let new = NewForm {
        id: id.clone(),
        user: user.clone(),
        public_id: "pages".parse().expect("letters"),
        title: "Pages".into(),
        status: FormStatus::Published,
    };
    let staged = store.stage_form(new).await.map_err(|why| failed(&why))?;
    for start in (0..ROWS).step_by(usize::try_from(BATCH).expect("a small number")) {
        let rows = (start..start + BATCH).map(|place| StagedSubmission {
            id: database::id_at(place),
            at: Some(at(place)),
            answers: Answers::parse(database::answers(place)).expect("one JSON object"),
        });
        let staged = store.stage_submissions(&staged, rows.collect()).await;
        staged.map_err(|why| failed(&why))?;
    }
    store.publish_staged(&staged).await.map_err(|why| failed(&why))?;
    let key = admin.create_key(&user, "bench").await.map_err(|why| failed(&why))?;
    let request = PageRequest { user, form: id, before: None, limit: 100 };
    let first = store.page(request).await.map_err(|why| failed(&why))?;
    let items = first.map(|page| page.items).unwrap_or_default();
    let body = [&b"{\"data\":["[..], &items, b"],\"has_more\":true,\"next_cursor\":null}"].concat();
    std::fs::write(page, body).map_err(BenchError::at(page))?;
    store.close().await.map_err(|why| failed(&why))?;
    Ok(key.secret.expose_secret().to_owned())
}
