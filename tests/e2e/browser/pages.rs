//! All pages of the dashboard, from the table of its routes.

use std::time::Duration;

use formsvc_protocol::FormId;
use formsvc_server::dashboard::{ROUTES, Verb};
use formsvc_server::store::{DeliveriesRequest, DeliveryState};

use formsvc_tests::browser::Browser;

use super::service::Service;

/// Values for the parameters of paths.
pub(super) struct Names(Vec<(&'static str, String)>);

impl Names {
    /// Waits for a failed delivery of the form. Returns the ids of the form, its submission and its webhook.
    pub(super) async fn of_form(service: &Service, form: &FormId) -> Self {
        let request = DeliveriesRequest {
            form: form.clone(),
            endpoint: None,
            submission: None,
            state: Some(DeliveryState::Failed),
            after: None,
            limit: 1,
        };
        let delivery = loop {
            let found = service.admin.list_deliveries(request.clone()).await.unwrap();
            if let Some(delivery) = found.into_iter().next() {
                break delivery;
            }
            // Sleeps because polling without a pause slows down the service on a busy machine.
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        let keys = service.admin.list_keys(&service.user.id).await.unwrap();
        Self(vec![
            ("{form}", form.as_str().to_owned()),
            ("{submission}", delivery.submission.as_str().to_owned()),
            ("{endpoint}", delivery.endpoint.as_str().to_owned()),
            ("{delivery}", delivery.key.id().as_str().to_owned()),
            ("{key}", keys[0].id.as_str().to_owned()),
            ("{at}", delivery.created_at.to_string()),
            ("{token}", "no-such-token".to_owned()),
        ])
    }

    pub(super) fn of(&self, part: &str) -> &str {
        &self.0.iter().find(|(known, _)| *known == part).unwrap().1
    }
}

/// Returns true unless the current page reports that the requested page does not exist.
pub(super) async fn is_there(browser: &Browser) -> bool {
    !browser.title().await.starts_with("Nothing here")
}

/// Returns the path of every page that the tests check.
pub(super) fn paths(names: &Names) -> Vec<String> {
    let pages = ROUTES.iter().filter(|route| route.verb == Verb::Get);
    pages
        .filter(|page| !page.path.contains("/assets/"))
        .map(|page| {
            // The only page that its query parameters identify.
            let when = if page.path.contains("{submission}") { "?at={at}" } else { "" };
            let path = format!("{}{when}", page.path);
            names.0.iter().fold(path, |path, (part, name)| path.replace(part, name))
        })
        .collect()
}
