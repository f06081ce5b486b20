//! The submissions of a form, page by page or one by one.
//!
//! | Task | Module | I/O |
//! |---|---|---|
//! | settings of a list | `query` | no |
//! | decide which rows of a page are new and where the list continues | `walk` | no |
//! | choose cursors that lose no rows of one time | `tie` | no |
//! | limits of the caller: time range, stop condition | `bounds` | no |
//! | the same decisions for callers that fetch pages themselves | `page_walk` | no |
//! | position to resume from | `resume_token` | no |
//! | one page | `page`, `fetch` | `fetch` |
//! | stream of pages | `pages` | yes |
//! | stream of submissions | `submissions` | through `pages` |

mod bounds;
mod fetch;
mod page;
mod page_walk;
mod pages;
mod query;
mod resume_token;
mod submissions;
mod tie;
mod walk;

pub use page::SubmissionPage;
pub use page_walk::{PageNext, PageStep, PageWalk};
pub use pages::SubmissionPages;
pub use query::SubmissionQuery;
pub use resume_token::{ResumeToken, ResumeTokenError};
pub use submissions::Submissions;
pub use tie::{Completeness, CursorUnit, FallbackReason, TieOverflow};
