//! What the webhook commands share: captures, verdicts, secrets, the store of captures, the listener, and
//! the inspector page.

mod accept;
pub(crate) mod advice;
pub(crate) mod attempts;
pub(crate) mod capture;
pub(crate) mod changes;
pub(crate) mod columns;
pub(crate) mod diff;
mod edit;
pub(crate) mod end_to_end;
pub(crate) mod expected;
pub(crate) mod explanation;
pub(crate) mod export;
pub(crate) mod fields;
pub(crate) mod har;
pub(crate) mod history;
pub(crate) mod inspector;
pub(crate) mod kept;
pub(crate) mod listen;
pub(crate) mod mask;
pub(crate) mod message;
pub(crate) mod moment;
pub(crate) mod payload;
pub(crate) mod replay;
pub(crate) mod secrets;
pub(crate) mod sender;
pub(crate) mod shape;
pub(crate) mod simulate;
pub(crate) mod statuses;
pub(crate) mod store;
pub(crate) mod target;
pub(crate) mod tone;
pub(crate) mod variants;
pub(crate) mod verdict;
