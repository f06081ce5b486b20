//! Forms of the key's owner.

use formsvc_protocol::{Form, FormId, IdError};

use crate::error::{Error, ErrorKind, EscapedText};
use crate::operation::FORMS;
use crate::paging::{FollowQuery, SubmissionQuery};
use crate::skipped_item::SkippedItem;
use crate::{Client, ResponseMeta};

/// A form of the key's owner; cheap to create and to clone. Created by [`Client::form`].
#[derive(Clone, Debug)]
pub struct FormHandle {
    client: Client,
    id: Result<FormId, IdError>,
}

impl Client {
    /// Returns a handle to a form, by its id (`&str`, `String`, [`FormId`], `&FormId`) or by a `&Form`.
    ///
    /// Any text without NUL is an id; it is percent-encoded in the path of requests. Sends nothing. The
    /// first call that uses the handle fails with [`ErrorKind::Config`] if the id is invalid, or `.` or
    /// `..`, which cannot be a segment of a path, and with the service's `form_not_found` if the form does not exist.
    pub fn form<I>(&self, id: I) -> FormHandle
    where
        I: TryInto<FormId>,
        I::Error: Into<IdError>,
    {
        FormHandle { client: self.clone(), id: id.try_into().map_err(Into::into) }
    }

    /// Returns the form with exactly this title; `None` if there is none. Two forms with the title
    /// are an [`ErrorKind::Config`] that names both ids. Requests the list of forms.
    ///
    /// An [item that violates the API](crate::list::Forms::skipped) is an
    /// [`ErrorKind::InvalidItem`] if it has the title, or if it has none and no other form has the title.
    ///
    /// ```no_run
    /// # async fn example(client: formsvc_client::Client) -> Result<(), formsvc_client::Error> {
    /// if let Some(form) = client.find_form("Contact").await? {
    ///     let submissions = client.form(&form.id).submissions().items().try_collect_max(100).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn find_form(&self, title: &str) -> Result<Option<Form>, Error> {
        let forms = self.forms().await?;
        let mut found = forms.iter().filter(|form| form.title == title);
        let first = found.next();
        if let (Some(first), Some(second)) = (first, found.next()) {
            let what = format!(
                "two forms have the title `{}`: `{}` and `{}`; use the id",
                EscapedText(title),
                EscapedText(first.id.as_str()),
                EscapedText(second.id.as_str())
            );
            return Err(Error::config(FORMS, what));
        }
        let mut skipped = forms.skipped().iter();
        let in_doubt = skipped.clone().find(|item| item.title() == Some(title));
        let untitled = || skipped.find(|item| first.is_none() && item.title().is_none());
        match in_doubt.or_else(untitled) {
            Some(item) => Err(undecided(title, item, forms.meta())),
            None => Ok(first.cloned()),
        }
    }
}

/// Returns the error of a look-up by title that an unusable item leaves undecided.
fn undecided(title: &str, item: &SkippedItem, meta: &ResponseMeta) -> Error {
    let what = format!(
        "the form `{}` cannot be looked up by its title, because a form of the list violates the API; use \
         the id",
        EscapedText(title)
    );
    let mut parts = Error::parts(ErrorKind::InvalidItem, FORMS, what);
    parts.json_path = Some(item.json_path().to_owned());
    parts.source = Some(item.to_string().into());
    parts.with_meta(meta).into()
}

impl FormHandle {
    /// Returns the id; `None` if it is invalid, so that every call will fail.
    pub fn id(&self) -> Option<&FormId> {
        self.id.as_ref().ok()
    }

    /// Returns a query for the form's submissions, newest first (SPEC §4). Sends nothing.
    pub fn submissions(&self) -> SubmissionQuery {
        SubmissionQuery::new(self.client.clone(), self.id.clone())
    }

    /// Returns the settings of a stream of the form's new submissions as they come. Sends nothing.
    pub fn follow(&self) -> FollowQuery {
        FollowQuery::new(self.submissions())
    }
}
