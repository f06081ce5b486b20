//! What several processes on one PostgreSQL database share, and what happens when it fails.

mod exhaustion;
mod limits;
mod tls;
