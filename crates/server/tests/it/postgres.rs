//! What several processes on one PostgreSQL database share, and what happens when it fails.

mod exhaustion;
mod limits;
pub(crate) mod proxy;
mod silence;
mod tls;
