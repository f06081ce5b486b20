//! The names of the operations in errors and events. Never a path itself: it contains ids and cursors,
//! which must not get into logs.

use formsvc_protocol::paths;

pub(crate) const BUILD: &str = "client.build";
pub(crate) const ME: &str = paths::ME.operation;
pub(crate) const FORMS: &str = paths::FORMS.operation;
pub(crate) const RAW: &str = "raw";
pub(crate) const SUBMISSIONS: &str = paths::SUBMISSIONS.operation;
