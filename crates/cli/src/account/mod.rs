//! API keys and signing secrets: where a command finds them, and where they are stored.

pub(crate) mod credentials;
pub(crate) mod key;
