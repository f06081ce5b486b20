//! The user (SPEC §2).

use crate::wire_object::wire_object;
use crate::{ExtraMembers, UserId};

wire_object! {
    /// The owner of an API key, as `GET /api/v1/me` returns it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct User {
        /// Identifier of the user.
        id: UserId,
        /// E-mail address.
        email: String,
        /// Display name.
        name: String,
    }
    +
    /// Members that a later release of the service added.
    extra
}

impl User {
    /// Creates a user from its parts.
    pub fn new(id: UserId, email: impl Into<String>, name: impl Into<String>) -> Self {
        Self { id, email: email.into(), name: name.into(), extra: ExtraMembers::default() }
    }
}
