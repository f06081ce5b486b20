//! What can go wrong in a store.

/// A store call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Something with this value exists already.
    #[error("{what} `{value}` exists already")]
    Exists {
        /// What: "e-mail address", "public id", "submission id".
        what: &'static str,
        /// The value.
        value: String,
    },
    /// There is no such thing.
    #[error("no {what} `{value}`")]
    NotFound {
        /// What: "form", "key", "user".
        what: &'static str,
        /// The value.
        value: String,
    },
    /// The form does not accept submissions.
    #[error("form `{form}` is {status}, and only published forms accept submissions")]
    Closed {
        /// The form.
        form: formsvc_protocol::FormId,
        /// Its status.
        status: formsvc_protocol::FormStatus,
    },
    /// The form is not what it was when the answers were checked.
    #[error("form `{form}` was changed since the answers were checked")]
    Changed {
        /// The form.
        form: formsvc_protocol::FormId,
    },
    /// The idempotency key came with other answers before.
    #[error("the idempotency key was used with other answers")]
    KeyReused,
    /// A value the store cannot keep.
    #[error("{what} `{value}` {rule}")]
    Invalid {
        /// What: "form status", "instant".
        what: &'static str,
        /// The value.
        value: String,
        /// The rule it breaks, as the end of a sentence: "is not later than …".
        rule: &'static str,
    },
    /// The store cannot answer now: full disk, lock held too long, closed. Nothing was written.
    #[error("the store cannot take the request now")]
    Unavailable(#[source] Option<Box<dyn std::error::Error + Send + Sync>>),
    /// The store answered something it never should.
    #[error("the store failed")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}
