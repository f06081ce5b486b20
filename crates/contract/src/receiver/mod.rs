//! Whether a receiver does what the service needs of it: anybody's, in any language, seen from outside.
//!
//! | Question | Where |
//! |---|---|
//! | what is checked, why it matters and how to mend it | [`CHECKS`], one row a check |
//! | which bytes are sent | `bodies`, `mark`, `make` |
//! | what an answer means | `judge`, without I/O |
//! | in which order, and when to stop | [`Runner`] |
//!
//! Every request is a submission of its own, whose ids say that it is a check ([`ID_PREFIX`]).

mod bodies;
mod check;
mod clock;
mod judge;
mod leak;
mod make;
mod mark;
mod runner;
mod seen;
mod table;

pub use check::Check;
pub use make::{FORM_ID, ID_PREFIX};
pub use runner::{Given, Report, Runner};
pub use seen::Outcome;
pub use table::CHECKS;

/// The check of an id.
pub fn of_id(id: &str) -> Option<&'static Check> {
    CHECKS.iter().find(|check| check.id == id)
}
