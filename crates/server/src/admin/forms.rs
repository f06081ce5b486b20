//! What an operator does with a form: what it asks, who may send to it, what robots sent.

use formsvc_protocol::{Form, FormId, FormStatus, PublicId, UserId};

use super::{Admin, AdminError, FormOptions, check_name};
use crate::fields::Fields;
use crate::public::Origin;
use crate::store::{FormChange, PublicForm, SpamRecord, SpamRequest, StoreError};

/// Origins of one form, at most.
const ORIGINS_MAX: usize = 100;

/// What to change of a form; what is `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct FormEdit {
    /// Title.
    pub title: Option<String>,
    /// Status.
    pub status: Option<FormStatus>,
    /// Fields; [`Fields::free`] takes any answers.
    pub fields: Option<Fields>,
    /// Origins whose pages may submit, at most 100; `Some(None)` lets all.
    pub origins: Option<Option<Vec<Origin>>>,
}

impl FormEdit {
    /// Whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        let Self { title, status, fields, origins } = self;
        title.is_none() && status.is_none() && fields.is_none() && origins.is_none()
    }

    /// What the store is to change, status apart.
    fn change(&self) -> Result<FormChange, AdminError> {
        if let Some(title) = &self.title {
            check_name("title", title)?;
        }
        let origins = self.origins.as_ref().map(|origins| {
            origins.as_ref().map(|origins| {
                origins.iter().map(|origin| origin.as_str().to_owned()).collect::<Vec<_>>()
            })
        });
        match &origins {
            Some(Some(listed)) if listed.is_empty() || listed.len() > ORIGINS_MAX => {
                return Err(AdminError::Invalid {
                    what: "number of origins",
                    value: listed.len().to_string(),
                    rule: "must be 1 to 100",
                });
            }
            _ => {}
        }
        let fields = self.fields.as_ref().map(Fields::to_json);
        Ok(FormChange { title: self.title.clone(), fields, origins, revision: None })
    }
}

impl Admin {
    /// The form with a public id, as its visitors meet it.
    pub async fn public_form(&self, id: &PublicId) -> Result<PublicForm, AdminError> {
        let found = self.store().public_form(id).await?;
        let missing = || StoreError::NotFound { what: "form", value: id.as_str().to_owned() };
        found.ok_or_else(|| missing().into())
    }

    /// Adds a form with fields, origins or both. It is a draft until it has them, so that it takes
    /// nothing it should not.
    pub async fn create_form_with(
        &self,
        user: &UserId,
        form: FormOptions,
        fields: Option<Fields>,
        origins: Option<Vec<Origin>>,
    ) -> Result<Form, AdminError> {
        let status = form.status.clone();
        let edit = FormEdit {
            status: Some(status),
            fields,
            origins: origins.map(Some),
            ..FormEdit::default()
        };
        // Judged before there is a form.
        edit.change()?;
        let draft =
            self.create_form(user, FormOptions { status: FormStatus::Draft, ..form }).await?;
        self.edit_form(&draft.id, edit).await
    }

    /// Changes a form; its status last.
    pub async fn edit_form(&self, form: &FormId, edit: FormEdit) -> Result<Form, AdminError> {
        let changed = self.store().change_form(form, edit.change()?).await?;
        match edit.status {
            Some(status) => self.set_form_status(form, status).await,
            None => Ok(changed),
        }
    }

    /// What robots sent to a form, newest first.
    pub async fn list_spam(&self, request: SpamRequest) -> Result<Vec<SpamRecord>, AdminError> {
        Ok(self.store().spam(request).await?)
    }
}
