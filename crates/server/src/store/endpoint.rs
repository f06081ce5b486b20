//! Webhook endpoints, as they go into a store and come out of it.

use formsvc_protocol::{EndpointId, FormId, Timestamp};

/// Endpoints of one form, removed ones not counted.
pub const ENDPOINTS_MAX: usize = 20;
/// The rule a form breaks that has so many already.
pub const ENDPOINTS_FULL: &str = "has 20 endpoints, and can have no more";

/// The rule a resend breaks when the delivery's endpoint is disabled.
pub const ENDPOINT_DISABLED: &str = "belongs to an endpoint that is not enabled";
/// The rule it breaks when the endpoint was removed.
pub const ENDPOINT_REMOVED: &str = "cannot be made again: its endpoint was removed";
/// What exists already when a form has an endpoint with a URL.
pub const ENDPOINT_URL: &str = "endpoint with this URL";

/// The number of an endpoint within its store: cheap to copy and compare, never shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EndpointNo(pub i64);

/// An endpoint to add.
#[derive(Clone, Debug)]
pub struct NewEndpoint {
    /// Identifier, made by the caller.
    pub id: EndpointId,
    /// The form whose submissions it gets.
    pub form: FormId,
    /// Where deliveries go; checked by the caller.
    pub url: String,
    /// Its signing secret.
    pub secret: SealedSecret,
}

/// A signing secret, encrypted by the caller: a store never sees one in the clear.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecret(pub Vec<u8>);

impl std::fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealedSecret(..)")
    }
}

/// Whether an endpoint gets deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointStatus {
    /// It does.
    Enabled,
    /// New submissions make no delivery for it; unfinished deliveries wait until it is enabled.
    Disabled,
    /// It is gone: unfinished deliveries are canceled, and the secret is erased.
    Removed,
}

impl EndpointStatus {
    /// Every status with its text.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Enabled, "enabled"), (Self::Disabled, "disabled"), (Self::Removed, "removed")];

    /// Its text, in storage and in output.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(status, _)| *status == self).expect("every status has a row").1
    }
}

/// An endpoint as listed.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointRecord {
    /// Identifier.
    pub id: EndpointId,
    /// The form whose submissions it gets.
    pub form: FormId,
    /// Where deliveries go.
    pub url: String,
    /// Whether it gets any.
    pub status: EndpointStatus,
    /// When it was added.
    pub created_at: Timestamp,
    /// Until when deliveries are signed with the previous secret too; none outside a rotation.
    pub previous_secret_until: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_form_is_told_the_number_it_is_full_with() {
        assert!(ENDPOINTS_FULL.starts_with(&format!("has {ENDPOINTS_MAX} endpoints")));
    }
}
