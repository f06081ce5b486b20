//! Flags that several webhook commands share.

mod body;
mod captures;
mod changes;
mod export_format;
mod filter;
mod secrets;
mod sender;
mod signing_time;
mod store;

pub(in crate::cmd) use self::body::{BODY_MAX, BodySource};
pub(in crate::cmd) use self::captures::{CapturesArgs, capture_number};
pub(in crate::cmd) use self::changes::{ChangeArgs, edit_in_editor};
pub(in crate::cmd) use self::export_format::export_format;
pub(in crate::cmd) use self::filter::FilterArgs;
pub(in crate::cmd) use self::secrets::{SECRET_ADVICE, SecretArgs, require};
pub(in crate::cmd) use self::sender::{SenderArgs, TimeoutFlag, response_timeout};
pub(in crate::cmd) use self::signing_time::{SigningTime, format_unix, skew};
pub(in crate::cmd) use self::store::{StoreArgs, age};
