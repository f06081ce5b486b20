//! `formsvc-server key`.

pub(super) mod create;
pub(super) mod list;
pub(super) mod revoke;

use serde_json::{Value, json};

use crate::store::KeyRecord;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// Make an API key, and print it: it is shown this once.
    Create(create::Args),
    /// Revoke an API key, and print its record as JSON.
    Revoke(revoke::Args),
    /// Print a user's keys as JSON lines, newest first.
    List(list::Args),
}

fn record(key: &KeyRecord) -> Value {
    json!({
        "id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "created_at": key.created_at,
        "revoked_at": key.revoked_at,
    })
}
