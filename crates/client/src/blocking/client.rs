//! The client and its forms.

use std::sync::Arc;

use bytes::Bytes;
use formsvc_protocol::{Form, FormId, IdError, User};
use secrecy::SecretString;

use super::SubmissionQuery;
use super::runtime::Runtime;
use crate::builder::cannot_set_up;
use crate::operation::{FORMS, ME, RAW};
use crate::{ClientBuilder, Error, RequestOptions, Response};

/// A [client](crate::Client) whose calls block. Clones are cheap and share everything.
#[derive(Clone, Debug)]
pub struct Client {
    client: crate::Client,
    runtime: Arc<Runtime>,
}

/// A form of the key's owner; cheap to make and to clone.
#[derive(Clone, Debug)]
pub struct FormHandle {
    form: crate::FormHandle,
    runtime: Arc<Runtime>,
}

impl Client {
    /// See [`Client::me`](crate::Client::me).
    pub fn me(&self) -> Result<Response<User>, Error> {
        self.runtime.check(ME)?;
        let client = self.client.clone();
        self.runtime.run(async move { client.me().await })
    }

    /// See [`Client::forms`](crate::Client::forms).
    pub fn forms(&self) -> Result<Response<Vec<Form>>, Error> {
        self.runtime.check(FORMS)?;
        let client = self.client.clone();
        self.runtime.run(async move { client.forms().await })
    }

    /// See [`Client::get_raw`](crate::Client::get_raw).
    pub fn get_raw(&self, path: &str, query: &[(&str, &str)]) -> Result<Response<Bytes>, Error> {
        self.runtime.check(RAW)?;
        let (client, path) = (self.client.clone(), path.to_owned());
        let query: Vec<(String, String)> =
            query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.runtime.run(async move {
            let query: Vec<(&str, &str)> =
                query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            client.get_raw(&path, &query).await
        })
    }

    /// See [`Client::find_form`](crate::Client::find_form).
    pub fn find_form(&self, title: &str) -> Result<Option<Form>, Error> {
        self.runtime.check(FORMS)?;
        let (client, title) = (self.client.clone(), title.to_owned());
        self.runtime.run(async move { client.find_form(&title).await })
    }

    /// See [`Client::form`](crate::Client::form).
    pub fn form<I>(&self, id: I) -> FormHandle
    where
        I: TryInto<FormId>,
        I::Error: Into<IdError>,
    {
        FormHandle { form: self.client.form(id), runtime: self.runtime.clone() }
    }

    /// See [`Client::with_options`](crate::Client::with_options).
    pub fn with_options(&self, options: RequestOptions) -> Result<Self, Error> {
        Ok(Self { client: self.client.with_options(options)?, runtime: self.runtime.clone() })
    }

    /// See [`Client::with_api_key`](crate::Client::with_api_key).
    pub fn with_api_key(&self, key: SecretString) -> Result<Self, Error> {
        Ok(Self { client: self.client.with_api_key(key)?, runtime: self.runtime.clone() })
    }
}

impl ClientBuilder {
    /// Checks every setting and makes a [blocking client](crate::blocking::Client) with its thread.
    /// Fails as [`build`](Self::build) does, and when no thread can be started.
    pub fn build_blocking(self) -> Result<Client, Error> {
        let client = self.build()?;
        let runtime = Runtime::start().map_err(|error| cannot_set_up(error.into()))?;
        Ok(Client { client, runtime: Arc::new(runtime) })
    }
}

impl FormHandle {
    /// See [`FormHandle::id`](crate::FormHandle::id).
    pub fn id(&self) -> Result<&FormId, Error> {
        self.form.id()
    }

    /// Returns a query for the form's submissions, newest first (SPEC §4). Sends nothing.
    pub fn submissions(&self) -> SubmissionQuery {
        SubmissionQuery::new(self.form.submissions(), self.runtime.clone())
    }
}
