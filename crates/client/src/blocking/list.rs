//! What to ask for.

use std::sync::Arc;

use formsvc_protocol::{Cursor, Timestamp};
use serde::de::DeserializeOwned;

use super::runtime::Runtime;
use super::{SubmissionPages, Submissions, TypedSubmissions};
use crate::operation::SUBMISSIONS;
use crate::{Error, ResumeToken, Row, SubmissionPage};

/// A list of submissions about to be read, with the settings of
/// [`ListSubmissions`](crate::ListSubmissions). Sends nothing by itself.
#[derive(Clone, Debug)]
#[must_use = "a list does nothing until its items or pages are asked for"]
pub struct ListSubmissions {
    list: crate::ListSubmissions,
    runtime: Arc<Runtime>,
}

/// Setters that are those of the async list.
macro_rules! same_setters {
    ($( $name:ident($argument:ident: $type:ty); )+) => {
        $(
            #[doc = concat!(
                "See [`ListSubmissions::", stringify!($name), "`](crate::ListSubmissions::",
                stringify!($name), ")."
            )]
            pub fn $name(self, $argument: $type) -> Self {
                self.with(|list| list.$name($argument))
            }
        )+
    };
}

impl ListSubmissions {
    pub(super) fn new(list: crate::ListSubmissions, runtime: Arc<Runtime>) -> Self {
        Self { list, runtime }
    }

    same_setters! {
        page_size(rows: u32);
        before(cursor: Cursor);
        resume_from(token: ResumeToken);
        since(time: Timestamp);
        until(time: Timestamp);
        stop_when(stop: impl Fn(Row<'_>) -> bool + Send + Sync + 'static);
        max_pages(pages: u64);
        prefetch(on: bool);
        allow_incomplete(allow: bool);
    }

    /// Changes any setting of the async list.
    pub fn with(
        self,
        change: impl FnOnce(crate::ListSubmissions) -> crate::ListSubmissions,
    ) -> Self {
        Self { list: change(self.list), runtime: self.runtime }
    }

    /// The submissions one by one.
    pub fn items(self) -> Submissions {
        Submissions::new(self.list.items(), self.runtime)
    }

    /// The submissions one by one, the answers of each read as a `T`.
    pub fn items_as<T: DeserializeOwned>(self) -> TypedSubmissions<T> {
        TypedSubmissions::new(self.items())
    }

    /// The submissions page by page, which costs the least.
    pub fn pages(self) -> SubmissionPages {
        SubmissionPages::new(self.list.pages(), self.runtime)
    }

    /// One page alone.
    pub fn page(self) -> Result<SubmissionPage, Error> {
        self.runtime.check(SUBMISSIONS)?;
        let list = self.list;
        self.runtime.run(async move { list.page().await })
    }
}
