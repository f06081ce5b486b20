//! A service in this process, that a browser is pointed at.

use std::sync::Arc;

use formsvc_protocol::{Form, FormStatus, User};
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::fields::Fields;
use formsvc_server::rate_limit::RateLimit;
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};

/// A service with a user.
pub(super) struct Service {
    pub(super) admin: Admin,
    pub(super) user: User,
    running: Running,
}

impl Service {
    pub(super) async fn start() -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(system_clock()).unwrap());
        let admin = Admin::new(Arc::clone(&store));
        let user = admin.create_user("ada@example.org", "Ada").await.unwrap();
        let mut options = ServeOptions { rate_limit: RateLimit::Off, ..ServeOptions::default() };
        (options.public.per_address, options.public.per_form) = (RateLimit::Off, RateLimit::Off);
        let running = Server::bind(options, store).await.unwrap();
        Self { admin, user, running }
    }

    /// Adds a published form.
    pub(super) async fn form(&self, title: &str, fields: &serde_json::Value) -> Form {
        let fields = Fields::parse(&fields.to_string()).unwrap();
        let mut form = FormOptions::titled(title);
        form.status = FormStatus::Published;
        self.admin.create_form_with(&self.user.id, form, Some(fields), None).await.unwrap()
    }

    /// Where something of the service is.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.running.base_url())
    }

    /// Whether an address is one of the service.
    pub(super) fn is_ours(&self, url: &str) -> bool {
        url.strip_prefix(&self.running.base_url()).is_some_and(|path| path.starts_with('/'))
    }

    pub(super) async fn stop(self) {
        self.running.shutdown().await.unwrap();
    }
}
