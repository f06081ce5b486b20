//! One of everything that a path can name, of one user.

use formsvc_protocol::User;
use formsvc_server::admin::Registrar;
use formsvc_server::egress::EgressPolicy;
use formsvc_server::store::{DeliveriesRequest, DeliveryState};

use super::service::Service;

/// What the parameters of paths stand for.
#[derive(Clone)]
pub(super) struct Things {
    pub(super) form: String,
    pub(super) endpoint: String,
    pub(super) key: String,
    pub(super) delivery: String,
    pub(super) submission: String,
    /// When the submission was made, as its address has it.
    at: String,
}

impl Things {
    /// Makes them: a form, an endpoint that nobody answers at, a submission, its delivery, a key.
    pub(super) async fn of(service: &Service, user: &User, name: &str) -> Self {
        let form = service.form(user, name, None).await;
        let registrar = Registrar::new(service.vault.clone(), EgressPolicy::dev());
        let url = format!("http://127.0.0.1:9/{name}");
        let endpoint = service.admin.add_endpoint(&form.id, &url, &registrar).await.unwrap();
        let made = service.admin.submit(&form.id, r#"{"Say":"hello"}"#).await.unwrap();
        let key = service.admin.create_key(&user.id, name).await.unwrap();
        let request = DeliveriesRequest {
            form: form.id.clone(),
            endpoint: None,
            state: Some(DeliveryState::Pending),
            submission: None,
            after: None,
            limit: 1,
        };
        let delivery = service.store.deliveries(request).await.unwrap().remove(0);
        Self {
            form: form.id.as_str().to_owned(),
            endpoint: endpoint.record.id.as_str().to_owned(),
            key: key.record.id.as_str().to_owned(),
            delivery: delivery.key.id().as_str().to_owned(),
            submission: made.id.as_str().to_owned(),
            at: made.instant.to_timestamp().as_str().to_owned(),
        }
    }

    /// A path of the table of routes with these things in it.
    pub(super) fn path(&self, template: &str) -> String {
        let pairs = [
            ("{form}", &self.form),
            ("{endpoint}", &self.endpoint),
            ("{key}", &self.key),
            ("{delivery}", &self.delivery),
            ("{submission}", &self.submission),
        ];
        let path =
            pairs.iter().fold(template.to_owned(), |path, (name, value)| path.replace(name, value));
        if template.ends_with("{submission}") { format!("{path}?at={}", self.at) } else { path }
    }
}
