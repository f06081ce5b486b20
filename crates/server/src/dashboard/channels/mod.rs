//! Channels: the webhooks of a form (SPEC §1).

pub(super) mod add;
pub(super) mod endpoint;
pub(super) mod list;
pub(super) mod test;

use formsvc_protocol::Form;

use super::forms::path_of;
use super::visit::Visit;
use super::when::When;
use crate::store::{EndpointRecord, EndpointStatus};

/// An endpoint as a page shows it.
pub(super) struct EndpointView {
    pub(super) id: String,
    pub(super) path: String,
    pub(super) url: String,
    pub(super) is_enabled: bool,
    pub(super) created: When,
    /// Until when deliveries are signed with the secret before, too.
    pub(super) grace: Option<When>,
}

impl EndpointView {
    fn new(visit: &Visit, form: &Form, record: &EndpointRecord) -> Self {
        let grace = record.previous_secret_until.as_ref();
        let is_to_come =
            |until: &&formsvc_protocol::Timestamp| until.unix_micros() > visit.now.micros();
        Self {
            id: record.id.as_str().to_owned(),
            path: format!("{}/channels/{}", path_of(form), record.id),
            url: record.url.clone(),
            is_enabled: record.status == EndpointStatus::Enabled,
            created: When::new(&record.created_at, visit.now),
            grace: grace.filter(is_to_come).map(|until| When::new(until, visit.now)),
        }
    }
}
