//! One form.

use formsvc_protocol::FormId;
use serde::de::DeserializeOwned;

use crate::Client;
use crate::pager::{ListSubmissions, TypedSubmissions};

/// A form of the key's owner; cheap to make and to clone.
#[derive(Clone, Debug)]
pub struct FormHandle {
    client: Client,
    id: FormId,
}

impl FormHandle {
    pub(crate) fn new(client: Client, id: FormId) -> Self {
        Self { client, id }
    }

    /// The form's identifier.
    pub fn id(&self) -> &FormId {
        &self.id
    }

    /// The form's submissions with the answers read as a `T`: short for
    /// [`submissions().items_as()`](ListSubmissions::items_as).
    pub fn submissions_as<T: DeserializeOwned>(&self) -> TypedSubmissions<T> {
        self.submissions().items_as()
    }

    /// The form's submissions, newest first (SPEC §4). Sends nothing before the first page is
    /// asked for.
    pub fn submissions(&self) -> ListSubmissions {
        ListSubmissions::new(self.client.clone(), self.id.clone())
    }
}
