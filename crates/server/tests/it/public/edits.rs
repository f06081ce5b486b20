//! Forms that are edited while they are sent to, by another process.

use std::sync::Arc;

use formsvc_protocol::{Form, FormStatus};
use formsvc_server::admin::{Admin, FormEdit};
use formsvc_server::fields::Fields;
use formsvc_server::public::{Origin, PublicOptions};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};
use http::Request;
use rusqlite::Connection;
use tempfile::TempDir;

use super::service::{Answer, Service, URLENCODED};

const NAME: &str = r#"[{"label":"Name","type":"text","required":true}]"#;
const NAME_OR_CITY: &str =
    r#"[{"label":"Name","type":"text"},{"label":"City","type":"text","max_length":5}]"#;

/// A service, and whoever edits its form `/f/form` beside it.
struct Edited {
    service: Service,
    beside: Admin,
    form: Form,
    dir: TempDir,
}

impl Edited {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("formsvc.db");
        let open =
            || -> Arc<dyn Store> { Arc::new(SqliteStore::open(&path, system_clock()).unwrap()) };
        let service = Service::over(open(), PublicOptions::default()).await;
        let form = service.form("form", Some(NAME)).await;
        Self { service, beside: Admin::new(open()), form, dir }
    }

    async fn edit(&self, edit: FormEdit) {
        self.beside.edit_form(&self.form.id, edit).await.unwrap();
    }

    async fn set_fields(&self, json: &str) {
        let fields = Some(Fields::parse(json).unwrap());
        self.edit(FormEdit { fields, ..FormEdit::default() }).await;
    }

    async fn set_status(&self, status: FormStatus) {
        self.edit(FormEdit { status: Some(status), ..FormEdit::default() }).await;
    }

    async fn post(&self, body: &'static str) -> Answer {
        self.service.post_json("/f/form", body).await
    }
}

#[tokio::test]
async fn new_fields_are_in_force_with_the_next_submission() {
    let edited = Edited::new().await;
    edited.post(r#"{"Name":"a"}"#).await.id();
    edited.set_fields(NAME_OR_CITY).await;
    // What was refused is taken.
    edited.post(r#"{"City":"Bonn"}"#).await.id();
    edited.set_fields(NAME).await;
    // What was taken is refused, by the rules of now.
    let refused = edited.post(r#"{"City":"Bonn"}"#).await;
    refused.assert_error(422, "invalid_answers");
    assert!(refused.body.contains("Name"), "{}", refused.body);
    edited.set_fields(NAME_OR_CITY).await;
    // Refused by either, and told by the rules of now.
    let refused = edited.post(r#"{"Name":"","City":"Winterthur"}"#).await;
    let fields = &refused.json()["error"]["fields"];
    assert_eq!((fields[0]["field"].as_str(), fields[1].as_str()), (Some("City"), None));
    edited.edit(FormEdit { fields: Some(Fields::free()), ..FormEdit::default() }).await;
    edited.post(r#"{"any":[1]}"#).await.id();
    let kept = edited.service.kept("form").await;
    assert_eq!(kept, [r#"{"any":[1]}"#, r#"{"City":"Bonn"}"#, r#"{"Name":"a"}"#]);
}

#[tokio::test]
async fn a_page_that_is_shown_again_is_the_one_of_now() {
    let edited = Edited::new().await;
    edited.service.post("/f/form", URLENCODED, "Name=a").await.assert_thanks("form");
    edited.set_fields(NAME_OR_CITY).await;
    let title = Some("Cities".to_owned());
    edited.edit(FormEdit { title, ..FormEdit::default() }).await;
    let again = edited.service.post("/f/form", URLENCODED, "City=Winterthur").await;
    again.assert_page(422);
    assert!(again.body.contains("Cities") && again.body.contains("Winterthur"));
    for _ in 0..2 {
        assert!(edited.service.get("/f/form").await.body.contains("Cities"));
    }
}

#[tokio::test]
async fn a_status_is_in_force_with_the_next_submission() {
    let edited = Edited::new().await;
    let sent = r#"{"Name":"a"}"#;
    edited.post(sent).await.id();
    edited.set_status(FormStatus::Closed).await;
    edited.post(sent).await.assert_error(410, "form_closed");
    edited.set_status(FormStatus::Published).await;
    edited.post(sent).await.id();
    edited.set_status(FormStatus::Draft).await;
    edited.post(sent).await.assert_error(404, "form_not_found");
    edited.set_status(FormStatus::Published).await;
    edited.post(sent).await.id();
    assert_eq!(edited.service.kept("form").await.len(), 3);
}

#[tokio::test]
async fn origins_are_in_force_with_the_next_submission() {
    let edited = Edited::new().await;
    let post = async |origin: &str| {
        let request = Request::post("/f/form").header("content-type", "application/json");
        edited.service.send(request.header("origin", origin), r#"{"Name":"a"}"#).await
    };
    let allow = async |origin: &str| {
        let origins = Some(Some(vec![Origin::parse(origin).unwrap()]));
        edited.edit(FormEdit { origins, ..FormEdit::default() }).await;
    };
    let taken = post("https://a.example").await;
    assert_eq!(taken.header("access-control-allow-origin"), "*");
    allow("https://a.example").await;
    let taken = post("https://a.example").await;
    assert_eq!(taken.header("access-control-allow-origin"), "https://a.example");
    allow("https://b.example").await;
    let refused = post("https://a.example").await;
    refused.assert_error(403, "origin_not_allowed");
    assert_eq!(refused.header("access-control-allow-origin"), "");
    post("https://b.example").await.id();
    allow("https://a.example").await;
    post("https://a.example").await.id();
}

#[tokio::test]
async fn a_form_that_was_not_changed_is_not_read_again() {
    let edited = Edited::new().await;
    edited.post(r#"{"Name":"a"}"#).await.id();
    // Behind the back of the store, which counts no change.
    let file = Connection::open(edited.dir.path().join("formsvc.db")).unwrap();
    assert_eq!(file.execute("UPDATE forms SET fields = 'unreadable'", []).unwrap(), 1);
    edited.post(r#"{"Name":"b"}"#).await.id();
    edited.post("{}").await.assert_error(422, "invalid_answers");
    assert_eq!(edited.service.kept("form").await.len(), 2);
    file.execute("UPDATE forms SET revision = revision + 1", []).unwrap();
    edited.post(r#"{"Name":"b"}"#).await.assert_error(500, "internal_error");
}

#[tokio::test]
async fn a_repeat_outlives_an_edit() {
    let edited = Edited::new().await;
    let post = async || {
        let request = Request::post("/f/form").header("content-type", "application/json");
        edited.service.send(request.header("idempotency-key", "k"), r#"{"Name":"a"}"#).await
    };
    let first = post().await.id();
    edited.set_fields(NAME_OR_CITY).await;
    assert_eq!(post().await.id(), first);
    assert_eq!(edited.service.kept("form").await.len(), 1);
}
