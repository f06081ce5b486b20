//! Flags that several webhook commands share.

mod body;
mod captures;
mod secrets;
mod sending;
mod time;

pub(in crate::cmd) use self::body::{BODY_MAX, BodySource};
pub(in crate::cmd) use self::captures::{CapturesArgs, FilterArgs, capture_number};
pub(in crate::cmd) use self::secrets::{SECRET_ADVICE, SecretArgs, read_stdin, require};
pub(in crate::cmd) use self::sending::{ChangeArgs, SenderArgs, export_format, response_timeout};
pub(in crate::cmd) use self::time::{age, unix_secs};
