//! The user (SPEC §2).

use serde::{Deserialize, Serialize};

use crate::UserId;

/// The owner of an API key, as `GET /api/v1/me` returns it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct User {
    /// Identifier of the user.
    pub id: UserId,
    /// E-mail address.
    pub email: String,
    /// Display name.
    pub name: String,
}

impl User {
    /// A user from its parts.
    pub fn new(id: UserId, email: impl Into<String>, name: impl Into<String>) -> Self {
        Self { id, email: email.into(), name: name.into() }
    }
}
