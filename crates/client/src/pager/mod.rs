//! The pages of a form's submissions.
//!
//! | Part | Module | I/O |
//! |---|---|---|
//! | what to ask for | `list` | no |
//! | which rows of a page are new, and where the list goes on | `walk` | no |
//! | where the caller wants it to end | `bounds` | no |
//! | which cursor keeps rows that share a unit of the cursor | `tie` | no |
//! | these decisions for callers that fetch pages themselves | `page_walk` | no |
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
mod page_walk;
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
pub use page_walk::{PageNext, PageStep, PageWalk};
pub use pages::SubmissionPages;
pub use row::Row;
pub use tie::{Completeness, CursorUnit, FallbackReason, TieOverflow};
pub use token::{ResumeToken, ResumeTokenError};
pub use typed::{TypedSubmission, TypedSubmissions};
