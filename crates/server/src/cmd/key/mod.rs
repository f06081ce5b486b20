//! `formsvc-server key`.

pub(super) mod create;
pub(super) mod list;
pub(super) mod revoke;

use formsvc_protocol::{KeyId, Timestamp};
use serde::Serialize;

use crate::store::KeyRecord;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// Create an API key and print it. It is shown only once.
    Create(create::Args),
    /// Revoke an API key and print its record as JSON.
    Revoke(revoke::Args),
    /// List the API keys of a user, newest first.
    List(list::Args),
}

/// A key as JSON shows it.
#[derive(Serialize)]
struct Shown<'a> {
    id: &'a KeyId,
    name: &'a str,
    prefix: &'a str,
    created_at: &'a Timestamp,
    revoked_at: Option<&'a Timestamp>,
    last_used_at: Option<&'a Timestamp>,
}

fn record(key: &KeyRecord) -> Shown<'_> {
    Shown {
        id: &key.id,
        name: &key.name,
        prefix: &key.prefix,
        created_at: &key.created_at,
        revoked_at: key.revoked_at.as_ref(),
        last_used_at: key.last_used_at.as_ref(),
    }
}
