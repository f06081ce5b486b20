//! The operations of the API, as errors and events name them.

use formsvc_protocol::paths::{self, Endpoint};

/// The name of a call and the template of its path. Never the path itself: it contains ids and
/// cursors, which must not get into logs.
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
/// The caller's own path. It may contain ids and cursors, so it has no template.
pub(crate) const RAW: Operation = Operation { name: "raw", template: "" };
pub(crate) const SUBMISSIONS: Operation = Operation::of(paths::SUBMISSIONS);
