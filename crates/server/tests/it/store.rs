//! The SQLite store.

use std::sync::Arc;

use formsvc_protocol::FormStatus;
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{PageRequest, Store, system_clock};

#[tokio::test]
async fn smoke() {
    let dir = tempfile::tempdir().unwrap();
    for store in [
        SqliteStore::open_exclusive(&dir.path().join("a.db"), system_clock()).unwrap(),
        SqliteStore::in_memory(system_clock()).unwrap(),
    ] {
        let store: Arc<dyn Store> = Arc::new(store);
        let admin = Admin::new(Arc::clone(&store));
        let user = admin.create_user("a@b.c", "A").await.unwrap();
        let key = admin.create_key(&user.id, "k").await.unwrap();
        assert_eq!(admin.list_keys(&user.id).await.unwrap(), [key.record]);
        let form = admin.create_form(&user.id, FormOptions::titled("T")).await.unwrap();
        assert_eq!(form.status, FormStatus::Published);
        for n in 0..3 {
            admin.submit(&form.id, &format!("{{\"n\":{n}}}")).await.unwrap();
        }
        let page = store
            .page(PageRequest { user: user.id, form: form.id, before: None, limit: 2 })
            .await
            .unwrap()
            .unwrap();
        assert!(page.has_more);
        assert_eq!(page.len, 2);
        store.probe().await.unwrap();
        store.close().await.unwrap();
        store.close().await.unwrap();
        assert!(store.probe().await.is_err());
    }
}
