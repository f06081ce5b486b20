//! Checks of a webhook receiver in any language, from outside (SPEC §5, §6, §9).
//!
//! | Question | Module |
//! |---|---|
//! | which rules are checked, why they matter and how to fix a failure | [`RECEIVER_CHECKS`] |
//! | which bytes are sent | `bodies`, `signature_kind`, `request` |
//! | whether an answer follows the rule, without I/O | `judge` |
//! | order of the requests, and when to stop | [`Runner`] |
//!
//! Each request delivers its own test submission, recognizable by its ids ([`ID_PREFIX`], [`FORM_ID`]).

mod bodies;
mod check;
mod clock;
mod exchange;
mod judge;
mod leak;
mod request;
mod runner;
mod signature_kind;
mod table;

pub use check::ReceiverCheck;
pub use request::{FORM_ID, ID_PREFIX};
pub use runner::{ReceiverOptions, ReceiverReport, Runner};
pub use table::RECEIVER_CHECKS;
