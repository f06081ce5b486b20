//! Why an admin call failed.

use formsvc_protocol::NotAnObject;

use crate::egress::{Denied, EndpointUrlError};
use crate::printable::Excerpt;
use crate::random::NoRandomness;
use crate::store::StoreError;

/// An admin call failed; nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// A value breaks a rule.
    #[error("{what} `{value}` {rule}")]
    Invalid {
        /// What: "e-mail address", "title".
        what: &'static str,
        /// The value.
        value: String,
        /// The rule, as the end of a sentence: "cannot be blank".
        rule: &'static str,
    },
    /// An answer contains a number out of bounds.
    #[error("field `{}` {rule}", Excerpt(.field))]
    UnfitNumber {
        /// The label of the field.
        field: String,
        /// The rule, as the end of a sentence.
        rule: String,
    },
    /// The answers are not one JSON object.
    #[error(transparent)]
    Answers(#[from] NotAnObject),
    /// The URL of an endpoint breaks a rule.
    #[error(transparent)]
    Url(#[from] EndpointUrlError),
    /// An endpoint is where deliveries may not go.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No key could be made.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}
