//! What an operator does with the service, typed: users, keys, forms, submissions, webhooks. Commands,
//! the sandbox and tests all go through here, on any store.

mod deliveries;
mod error;
mod forms;
mod ids;
mod links;
mod registrar;
mod webhooks;

use std::sync::Arc;

use formsvc_protocol::{Answers, Form, FormId, FormStatus, KeyId, PublicId, User, UserId};
use secrecy::{ExposeSecret, SecretString};

pub use crate::random::NoRandomness;
pub use error::AdminError;
pub use forms::FormEdit;
use ids::check_id;
pub(crate) use ids::new_id;
pub use ids::parse_id;
pub use links::{CreatedLink, LINK_LIFETIME, WELCOME_PATH};
pub use registrar::Registrar;
pub use webhooks::{AddedEndpoint, GRACE_DEFAULT, GRACE_MAX, RotatedSecret};

use crate::api_key;
use crate::json_number::unfit_numbers;
use crate::store::{
    Accepted, KeyRecord, NewForm, NewKey, NewSubmission, Store, StoreError, UserRecord,
};

/// Longest name or title, in characters.
const NAME_MAX: usize = 200;
/// Longest e-mail address, in bytes, as mail servers have it.
const EMAIL_MAX: usize = 254;

/// The typed admin API of a store. Cheap to clone.
#[derive(Clone)]
pub struct Admin {
    store: Arc<dyn Store>,
}

/// A key just made.
#[derive(Debug)]
pub struct CreatedKey {
    /// The key as listed from now on.
    pub record: KeyRecord,
    /// The key itself; it is kept nowhere, so this is the only time it can be shown.
    pub secret: SecretString,
}

/// A form to create.
#[derive(Clone, Debug)]
pub struct FormOptions {
    /// Identifier in the public address; made up when none is given.
    pub public_id: Option<PublicId>,
    /// Title.
    pub title: String,
    /// Status to begin with.
    pub status: FormStatus,
}

impl FormOptions {
    /// A published form with a public id of its own.
    pub fn titled(title: impl Into<String>) -> Self {
        Self { public_id: None, title: title.into(), status: FormStatus::Published }
    }
}

impl Admin {
    /// The admin API of a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// The store underneath.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Adds a user. The address must look like one and be new, whatever its case; the name must
    /// not be blank.
    pub async fn create_user(&self, email: &str, name: &str) -> Result<User, AdminError> {
        check_user(email, name)?;
        let user = UserRecord {
            id: UserId::from_bits(new_id()),
            email: email.to_owned(),
            name: name.to_owned(),
        };
        Ok(self.store.add_user(user).await?)
    }

    /// The user with an e-mail address.
    pub async fn user(&self, email: &str) -> Result<User, AdminError> {
        let user = self.store.user_by_email(email).await?;
        user.ok_or_else(|| StoreError::NotFound { what: "user", value: email.to_owned() }.into())
    }

    /// All users, oldest first.
    pub async fn list_users(&self) -> Result<Vec<User>, AdminError> {
        Ok(self.store.users().await?)
    }

    /// Makes an API key for a user.
    pub async fn create_key(&self, user: &UserId, name: &str) -> Result<CreatedKey, AdminError> {
        check_name("key name", name)?;
        let secret = api_key::generate()?;
        let key = NewKey {
            id: KeyId::from_bits(new_id()),
            user: user.clone(),
            name: name.to_owned(),
            prefix: api_key::shown_prefix(&secret),
            hash: api_key::hash(secret.expose_secret()),
        };
        Ok(CreatedKey { record: self.store.add_key(key).await?, secret })
    }

    /// Revokes a key. Doing it twice keeps the first time.
    pub async fn revoke_key(&self, key: &KeyId) -> Result<KeyRecord, AdminError> {
        Ok(self.store.revoke_key(key).await?)
    }

    /// A user's keys, newest first.
    pub async fn list_keys(&self, user: &UserId) -> Result<Vec<KeyRecord>, AdminError> {
        Ok(self.store.keys(user).await?)
    }

    /// Adds a form.
    pub async fn create_form(&self, user: &UserId, form: FormOptions) -> Result<Form, AdminError> {
        Ok(self.store.add_form(new_form(user, form)?).await?)
    }

    /// Sets the status of a form.
    pub async fn set_form_status(
        &self,
        form: &FormId,
        status: FormStatus,
    ) -> Result<Form, AdminError> {
        Ok(self.store.set_form_status(form, status).await?)
    }

    /// The form with an id or, if none has that, with a public id.
    pub async fn find_form(&self, named: &str) -> Result<Form, AdminError> {
        if let Ok(id) = parse_id(named)
            && let Some(form) = self.store.form(&id).await?
        {
            return Ok(form);
        }
        if let Ok(id) = parse_id(named)
            && let Some(form) = self.store.form_by_public_id(&id).await?
        {
            return Ok(form);
        }
        Err(no_form(named).into())
    }

    /// A user's forms, newest first, at most 200.
    pub async fn list_forms(&self, user: &UserId) -> Result<Vec<Form>, AdminError> {
        Ok(self.store.forms(user).await?)
    }

    /// Submits answers, JSON text of one object, to a published form.
    pub async fn submit(&self, form: &FormId, answers: &str) -> Result<Accepted, AdminError> {
        let answers = Answers::parse(answers)?;
        self.submit_answers(form, answers).await
    }

    /// Submits answers to a published form.
    pub async fn submit_answers(
        &self,
        form: &FormId,
        answers: Answers,
    ) -> Result<Accepted, AdminError> {
        if let Some(unfit) = unfit_numbers(&answers).next() {
            return Err(AdminError::UnfitNumber { field: unfit.label, rule: unfit.rule });
        }
        let id = formsvc_protocol::SubmissionId::from_bits(new_id());
        Ok(self
            .store
            .submit(NewSubmission {
                id,
                form: form.clone(),
                answers,
                revision: None,
                idempotency: None,
            })
            .await?)
    }
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Admin")
    }
}

/// A form record with a new id, checked.
pub(crate) fn new_form(user: &UserId, form: FormOptions) -> Result<NewForm, AdminError> {
    check_name("title", &form.title)?;
    let public_id = match form.public_id {
        Some(public_id) => {
            let checked = check_id(public_id.as_str());
            checked.map_err(|rule| invalid("public id", public_id.as_str(), rule))?;
            public_id
        }
        None => PublicId::from_bits(new_id()),
    };
    Ok(NewForm {
        id: FormId::from_bits(new_id()),
        user: user.clone(),
        public_id,
        title: form.title,
        status: form.status,
    })
}

fn no_form(named: &str) -> StoreError {
    StoreError::NotFound { what: "form", value: named.to_owned() }
}

fn invalid(what: &'static str, value: &str, rule: &'static str) -> AdminError {
    AdminError::Invalid { what, value: value.to_owned(), rule }
}

fn check_name(what: &'static str, value: &str) -> Result<(), AdminError> {
    if value.trim().is_empty() {
        Err(invalid(what, value, "cannot be blank"))
    } else if value.chars().count() > NAME_MAX {
        Err(invalid(what, value, "must have at most 200 characters"))
    } else if value.chars().any(char::is_control) {
        Err(invalid(what, value, "must have no control characters"))
    } else {
        Ok(())
    }
}

/// Whether a user could be made with this e-mail address and name.
pub(crate) fn check_user(email: &str, name: &str) -> Result<(), AdminError> {
    check_email(email)?;
    check_name("name", name)
}

/// Whether a user can have an e-mail address.
pub(crate) fn is_email(email: &str) -> bool {
    check_email(email).is_ok()
}

fn check_email(email: &str) -> Result<(), AdminError> {
    let rule = match email.rsplit_once('@') {
        _ if email.len() > EMAIL_MAX => "must have at most 254 bytes",
        _ if email.chars().any(|c| c.is_whitespace() || c.is_control()) => "must have no spaces",
        Some((local, domain)) if !local.is_empty() && !domain.is_empty() => return Ok(()),
        _ => "needs a name, an @ and a domain",
    };
    Err(invalid("e-mail address", email, rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_for_shape_only() {
        for good in ["a@b", "zoë@exämple.org", "\"odd@name\"@example.org", "a+b@localhost"] {
            assert!(check_email(good).is_ok(), "{good}");
        }
        for bad in ["", "@", "a@", "@b", "plain", "a b@c", "a@b\n", &"x".repeat(255)] {
            assert!(check_email(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names_are_one_line_of_something() {
        assert!(check_name("name", "Zoë 🦀").is_ok());
        for bad in ["", "  ", "a\nb", "a\u{1b}[1m", &"x".repeat(201)] {
            assert!(check_name("name", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_told_the_limit() {
        let name = check_name("name", &"é".repeat(NAME_MAX + 1)).unwrap_err().to_string();
        assert!(name.contains(&format!("at most {NAME_MAX} characters")), "{name}");
        let email = check_email(&format!("{}@b", "x".repeat(EMAIL_MAX))).unwrap_err().to_string();
        assert!(email.contains(&format!("at most {EMAIL_MAX} bytes")), "{email}");
        let control = check_name("name", "a\u{1b}b").unwrap_err().to_string();
        assert!(control.ends_with("must have no control characters"), "{control}");
    }
}
