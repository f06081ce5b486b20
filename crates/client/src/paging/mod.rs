//! The submissions of a form, page by page or one by one.
//!
//! | Task | Module | I/O |
//! |---|---|---|
//! | settings of a list, of a follow | `query`, `follow_query` | no |
//! | decide which rows of a page are new and where the list continues | `walk` | no |
//! | choose cursors that lose no rows of one time | `tie` | no |
//! | rows that may be repeated | `known_rows` | no |
//! | limits of the caller: time range, stop condition | `bounds` | no |
//! | position to resume from, state between two syncs | `resume_token`, `sync_point` | no |
//! | rows that a sync reads again | `overlap` | no |
//! | text and file of both | `sealed_text` | files |
//! | one page | `page` | no |
//! | events and errors | `report` | no |
//! | stream of pages | `pages` | yes |
//! | stream of submissions | `submissions` | through `pages` |
//! | pages of any list, as JSON texts | `raw_pages` | yes |
//! | streams of new submissions and of their pages | `new_submissions` | through `pages` |
//! | stream that waits for new submissions | `follow` | through `pages` |

/// The result of polling a list for its next item.
type PollItem<T> = std::task::Poll<Option<Result<T, crate::Error>>>;

/// Implements `try_next`, [`Stream`](futures_core::Stream) and
/// [`FusedStream`](futures_core::FusedStream) for a list with a method that polls for the next item,
/// and with `is_done`.
macro_rules! list_stream {
    ($list:ident, $poll:ident, $item:ty) => {
        impl $list {
            /// Returns the next item; `None` at the end. Cancel safe: a dropped call loses nothing.
            pub async fn try_next(&mut self) -> Result<Option<$item>, crate::Error> {
                std::future::poll_fn(|cx| self.$poll(cx)).await.transpose()
            }
        }

        impl futures_core::Stream for $list {
            type Item = Result<$item, crate::Error>;

            fn poll_next(
                mut self: std::pin::Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> PollItem<$item> {
                self.$poll(cx)
            }
        }

        impl futures_core::FusedStream for $list {
            fn is_terminated(&self) -> bool {
                self.is_done()
            }
        }
    };
}

mod bounds;
mod follow;
mod follow_query;
mod known_rows;
mod new_submissions;
mod overlap;
mod page;
mod pages;
mod query;
mod raw_pages;
mod report;
mod resume_token;
mod sealed_text;
mod submissions;
mod sync_point;
mod tie;
mod walk;

pub use follow::Follow;
pub use follow_query::FollowQuery;
pub use new_submissions::{NewSubmissionPage, NewSubmissionPages, NewSubmissions};
pub use page::SubmissionPage;
pub use pages::SubmissionPages;
pub use query::SubmissionQuery;
pub use raw_pages::RawPages;
pub use resume_token::{ResumeToken, ResumeTokenError};
pub use submissions::Submissions;
pub use sync_point::{SyncPoint, SyncPointError};
