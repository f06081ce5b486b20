//! Forms and submissions with ids that no name can contain.

use std::collections::BTreeSet;

use formsvc_client::FormId;
use formsvc_client::test_util::{MockService, form, submission};
use formsvc_export::{ExportError, PostgresError, PullOptions, VerifyOptions};

use super::database::{Database, texts};
use super::{FORM, sync};

/// Ids that are equal where case, or the characters that a name cannot contain, are lost.
const SIMILAR: [&str; 7] = ["q7/3=", "Q7/3=", "q7_3_", "q7%2F3%3D", "q7\\3=", "q7/3=\n", "..q7/3="];
/// Ids that terminals, SQL or JSON treat specially.
const ODD: [&str; 6] = ["a b", "..", "\u{1b}[2J\n\t", "'); DROP TABLE x--", "\"\\u0000\"", "é%"];

#[tokio::test]
async fn similar_form_ids_have_rows_and_views_of_their_own() {
    let mut service = MockService::new();
    for id in SIMILAR {
        let row = |own| submission(own, &format!(r#"{{"Own":{id:?}}}"#), "2026-01-01T00:00:00Z");
        service = service.form(form(id, "Survey")).submissions(id, ODD.map(row));
    }
    let client = service.client();
    for database in Database::all().await {
        let store = database.open().await;
        let mut views = BTreeSet::new();
        for id in SIMILAR {
            let (id, options) = (FormId::new(id).unwrap(), PullOptions::default());
            let synced = store.sync(&client, &id, None, &options, |_| {}).await.unwrap();
            assert_eq!(synced.pull.new, 6, "{id:?}");
            views.insert(synced.view.to_lowercase());
            let count = format!("SELECT count(*) FROM {}", database.table(&synced.view));
            assert_eq!(database.query(&count).await, [texts(&["6"])]);
            let verify = VerifyOptions::default();
            let found = store.verify(&client, &id, &options, &verify, |_| {}).await.unwrap();
            assert_eq!((found.rows, found.missing, found.changed, found.deleted), (6, 0, 0, 0));
        }
        assert_eq!(views.len(), SIMILAR.len(), "{views:?}");
        assert!(views.iter().all(|view| view.len() <= 63), "{views:?}");
        let stored: BTreeSet<_> =
            database.rows().await.into_iter().map(|row| row[0].clone()).collect();
        assert_eq!(stored, ODD.map(|id| Some(id.to_owned())).into());
        let known = store.status().await.unwrap();
        assert!(known.iter().map(|form| form.form_id.as_str()).eq(SIMILAR));
    }
}

#[tokio::test]
async fn long_id_is_stored_or_named_in_the_error() {
    // Digits of a hash, so that PostgreSQL cannot compress the id.
    let digit = |n: u64| {
        char::from_digit(u32::try_from(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60).unwrap(), 16)
    };
    let digits: String = (1..6_400).filter_map(digit).collect();
    let service = MockService::new().form(form(FORM, "Survey"));
    service.submit(FORM, submission(&digits, "{}", "2026-01-01T00:00:00Z"));
    let sqlite = Database::sqlite();
    assert_eq!(sync(&sqlite.open().await, &service).await.unwrap().pull.new, 1);
    let Some(postgres) = Database::postgres().await else { return };
    let error = sync(&postgres.open().await, &service).await.unwrap_err();
    let ExportError::Postgres(PostgresError::LongId { bytes, .. }) = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*bytes, digits.len());
    assert!(error.to_string().starts_with(&format!("the id `{}…` has", &digits[..40])), "{error}");
    let longest = submission(&digits[..2_600], "{}", "2026-01-01T00:00:00Z");
    let service = MockService::new().form(form(FORM, "Survey")).submissions(FORM, [longest]);
    assert_eq!(sync(&postgres.open().await, &service).await.unwrap().pull.new, 1);
    let form = FormId::new(&digits).unwrap();
    let (store, options) = (postgres.open().await, PullOptions::default());
    let error = store.sync(&service.client(), &form, None, &options, |_| {}).await.unwrap_err();
    assert!(matches!(error, ExportError::Postgres(PostgresError::LongId { .. })), "{error:?}");
}
