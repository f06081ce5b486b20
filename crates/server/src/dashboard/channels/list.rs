//! `…/channels`: where the submissions of a form are delivered to.

use askama::Template;

use super::EndpointView;
use crate::dashboard::chrome::{Chrome, Section};
use crate::dashboard::deliveries::outcome;
use crate::dashboard::forms::{Head, Tab};
use crate::dashboard::reply::{self, Outcome};
use crate::dashboard::visit::{Visit, timely};
use crate::dashboard::when::When;
use crate::store::{DeliveriesRequest, DeliveryState, ENDPOINTS_MAX};

struct Line {
    endpoint: EndpointView,
    last: Option<Last>,
}

/// The newest delivery to an endpoint.
struct Last {
    state: DeliveryState,
    outcome: String,
    made: When,
}

#[derive(Template)]
#[template(path = "dashboard/channels.html")]
struct ChannelsPage<'a> {
    chrome: &'a Chrome,
    head: Head,
    lines: Vec<Line>,
    is_full: bool,
}

pub(in crate::dashboard) async fn show(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let store = &visit.dashboard.store;
    let endpoints = timely(store.endpoints(&form.id)).await?;
    let mut lines = Vec::with_capacity(endpoints.len());
    for endpoint in &endpoints {
        let request = DeliveriesRequest {
            form: form.id.clone(),
            endpoint: Some(endpoint.id.clone()),
            state: None,
            submission: None,
            after: None,
            limit: 1,
        };
        let newest = timely(store.deliveries(request)).await?.pop();
        let last = newest.map(|record| Last {
            state: record.state,
            outcome: outcome(record.attempts, record.last_status, record.last_error.as_deref()),
            made: When::new(&record.created_at, visit.now),
        });
        lines.push(Line { endpoint: EndpointView::new(visit, &form, endpoint), last });
    }
    let page = ChannelsPage {
        chrome: &visit.chrome(Section::Forms),
        head: Head::new(visit, &form, Tab::Channels),
        is_full: lines.len() >= ENDPOINTS_MAX,
        lines,
    };
    reply::page(&page)
}
