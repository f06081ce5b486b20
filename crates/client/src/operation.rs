//! The operations of the API, as errors, events and spans name them.

/// A call's name and the template of its path. Never the address itself: that holds ids and
/// cursors, which do not belong in logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) template: &'static str,
}

pub(crate) const BUILD: Operation = Operation { name: "client.build", template: "" };
pub(crate) const ME: Operation = Operation { name: "me", template: "/api/v1/me" };
pub(crate) const FORMS: Operation = Operation { name: "forms.list", template: "/api/v1/forms" };
pub(crate) const SUBMISSIONS: Operation =
    Operation { name: "submissions.list", template: "/api/v1/forms/{formId}/submissions" };
