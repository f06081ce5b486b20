//! The operations of the API, as errors, events and spans name them.

use formsvc_protocol::paths::{self, Endpoint};

/// A call's name and the template of its path. Never the address itself: that holds ids and
/// cursors, which do not belong in logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) template: &'static str,
}

impl Operation {
    const fn of(endpoint: Endpoint) -> Self {
        Self { name: endpoint.operation, template: endpoint.template }
    }
}

pub(crate) const BUILD: Operation = Operation { name: "client.build", template: "" };
pub(crate) const ME: Operation = Operation::of(paths::ME);
pub(crate) const FORMS: Operation = Operation::of(paths::FORMS);
/// A path of the caller's own, which stays out of logs: it may hold ids and cursors.
pub(crate) const RAW: Operation = Operation { name: "raw", template: "" };
pub(crate) const SUBMISSIONS: Operation = Operation::of(paths::SUBMISSIONS);
