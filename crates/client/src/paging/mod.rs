//! The submissions of a form, page by page or one by one.
//!
//! | Task | Module | I/O |
//! |---|---|---|
//! | settings of a list | `query` | no |
//! | decide which rows of a page are new and where the list continues | `walk` | no |
//! | choose cursors that lose no rows of one time | `tie` | no |
//! | limits of the caller: time range, stop condition | `bounds` | no |
//! | the same decisions for callers that fetch pages themselves | `page_walk` | no |
//! | position to resume from, state between two syncs | `resume_token`, `sync_point` | no |
//! | text and file of both | `sealed_text` | files |
//! | one page | `page` | no |
//! | events and errors | `report` | no |
//! | stream of pages | `pages` | yes |
//! | stream of submissions | `submissions` | through `pages` |
//! | stream of new submissions | `new_submissions` | through `submissions` |

mod bounds;
mod new_submissions;
mod page;
mod page_walk;
mod pages;
mod query;
mod report;
mod resume_token;
mod sealed_text;
mod submissions;
mod sync_point;
mod tie;
mod walk;

pub use new_submissions::NewSubmissions;
pub use page::SubmissionPage;
pub use page_walk::{PageNext, PageStep, PageWalk};
pub use pages::SubmissionPages;
pub use query::SubmissionQuery;
pub use resume_token::{ResumeToken, ResumeTokenError};
pub use submissions::Submissions;
pub use sync_point::{SyncPoint, SyncPointError};
pub use tie::{Completeness, CursorUnit, FallbackReason, TieOverflow};
