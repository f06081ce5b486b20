//! The endpoints of the REST API: one table, from which the server's routes, the client's
//! operations and the headings of docs/API.md follow.
//!
//! ```
//! use formsvc_protocol::paths::{ENDPOINTS, SUBMISSIONS};
//! assert!(ENDPOINTS.contains(&SUBMISSIONS));
//! let (before, after) = SUBMISSIONS.around_form_id().unwrap();
//! assert_eq!(format!("{before}frm_1{after}"), "/api/v1/forms/frm_1/submissions");
//! ```

/// The response header with the id of the request.
pub const REQUEST_ID: &str = "x-request-id";

/// Placeholder of the form's id in a template.
const FORM_ID: &str = "{form_id}";

/// One endpoint; its method is GET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Path, with `{form_id}` in place of the percent-encoded [`FormId`](crate::FormId).
    pub template: &'static str,
    /// Name of the operation in errors, events and spans.
    pub operation: &'static str,
}

/// Returns the owner of the key, a [`User`](crate::User).
pub const ME: Endpoint = Endpoint { template: "/api/v1/me", operation: "me" };

/// The owner's forms: a [`FormList`](crate::FormList).
pub const FORMS: Endpoint = Endpoint { template: "/api/v1/forms", operation: "forms.list" };

/// The submissions of a form: a [`Page`](crate::Page).
pub const SUBMISSIONS: Endpoint =
    Endpoint { template: "/api/v1/forms/{form_id}/submissions", operation: "submissions.list" };

/// Every endpoint.
pub const ENDPOINTS: [Endpoint; 3] = [ME, FORMS, SUBMISSIONS];

impl Endpoint {
    /// Returns the path before and after the form's id; `None` if the path has no form id.
    pub fn around_form_id(&self) -> Option<(&'static str, &'static str)> {
        self.template.split_once(FORM_ID)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn endpoints_have_distinct_paths_and_names() {
        let addresses: BTreeSet<_> = ENDPOINTS.iter().map(|e| e.template).collect();
        let names: BTreeSet<_> = ENDPOINTS.iter().map(|e| e.operation).collect();
        assert_eq!((addresses.len(), names.len()), (ENDPOINTS.len(), ENDPOINTS.len()));
    }
}
