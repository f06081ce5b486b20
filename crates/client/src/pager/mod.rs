//! The pages of a form's submissions.
//!
//! | Part | Module | I/O |
//! |---|---|---|
//! | what to ask for | `list` | no |
//! | which rows of a page are new, and where the list goes on | `walk` | no |
//! | where the caller wants it to end | `bounds` | no |
//! | which cursor keeps rows that share a millisecond | `tie` | no |
//! | where to resume | `token` | no |
//! | one page, and rows that borrow from it | `page`, `row` | no |
//! | page by page | `pages` | yes |
//! | item by item | `items` | by `pages` |
//! | items with the caller's type of answers | `typed` | by `items` |

mod bounds;
mod id_set;
mod items;
mod list;
mod page;
mod pages;
mod row;
mod tie;
mod token;
mod typed;
mod walk;

pub use items::Submissions;
#[cfg(feature = "blocking")]
pub(crate) use items::more_than;
pub use list::ListSubmissions;
pub use page::SubmissionPage;
pub use pages::SubmissionPages;
pub use row::Row;
pub use tie::{FallbackReason, OnTieStorm, TieStorm};
pub use token::{ResumeToken, ResumeTokenError};
pub use typed::{TypedSubmission, TypedSubmissions};
