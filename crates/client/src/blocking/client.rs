//! The blocking client, its builder and its forms.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use formsvc_protocol::{Form, FormId, IdError, User};
use http::{HeaderName, HeaderValue};

use super::SubmissionQuery;
use super::runtime::OwnRuntime;
use crate::network::NetworkSettings;
use crate::operation::{FORMS, ME, RAW};
use crate::{
    ApiKey, ApiKeyError, ClientEvent, Error, RateLimit, RequestOptions, Response, RetryPolicy,
    Timeouts, Transport,
};

/// A [client](crate::Client) whose calls block. Clones are cheap and share everything.
#[derive(Clone, Debug)]
pub struct Client {
    client: crate::Client,
    runtime: Arc<OwnRuntime>,
}

/// The settings of a blocking [`Client`]: those of [`ClientBuilder`](crate::ClientBuilder).
#[derive(Debug, Default)]
#[must_use]
pub struct ClientBuilder(crate::ClientBuilder);

/// A form of the key's owner; cheap to create and to clone.
#[derive(Clone, Debug)]
pub struct FormHandle {
    form: crate::FormHandle,
    runtime: Arc<OwnRuntime>,
}

impl ClientBuilder {
    same_setters! { ClientBuilder 0:
        base_url(url: impl Into<String>);
        api_key(key: impl TryInto<ApiKey, Error: Into<ApiKeyError>>);
        timeouts(timeouts: Timeouts);
        retry(policy: RetryPolicy);
        rate_limit(limit: RateLimit);
        max_wait(wait: Duration);
        max_body(bytes: usize);
        allow_insecure_http(allow: bool);
        user_agent(suffix: impl Into<String>);
        default_header(name: impl TryInto<HeaderName>, value: impl TryInto<HeaderValue>);
        proxy(url: impl Into<String>);
        no_proxy();
        network(settings: NetworkSettings);
        #[cfg(feature = "rustls")]
        add_root_certificate(pem: impl Into<Vec<u8>>);
        #[cfg(feature = "rustls")]
        client_identity(pem: impl Into<Vec<u8>>);
        transport(transport: impl Transport);
        on_event(listener: impl Fn(&ClientEvent) + Send + Sync + 'static);
        clock(now: impl Fn() -> SystemTime + Send + Sync + 'static);
        random(random: impl Fn() -> f64 + Send + Sync + 'static);
    }

    /// Checks every setting and creates the client with its thread. Fails like
    /// [`ClientBuilder::build`](crate::ClientBuilder::build), and if no thread can be started.
    pub fn build(self) -> Result<Client, Error> {
        let client = self.0.build()?;
        Ok(Client { client, runtime: Arc::new(OwnRuntime::start()?) })
    }
}

/// The settings of an async client, for a blocking one.
impl From<crate::ClientBuilder> for ClientBuilder {
    fn from(builder: crate::ClientBuilder) -> Self {
        Self(builder)
    }
}

impl Client {
    /// Returns a builder without settings.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// See [`Client::from_env`](crate::Client::from_env).
    pub fn from_env() -> Result<Self, Error> {
        let builder = crate::ClientBuilder::from_vars(|name| std::env::var_os(name))?;
        ClientBuilder(builder).build()
    }

    /// See [`Client::me`](crate::Client::me).
    pub fn me(&self) -> Result<Response<User>, Error> {
        self.runtime.block_on(ME, self.client.me())
    }

    /// See [`Client::forms`](crate::Client::forms).
    pub fn forms(&self) -> Result<Response<Vec<Form>>, Error> {
        self.runtime.block_on(FORMS, self.client.forms())
    }

    /// See [`Client::get_raw`](crate::Client::get_raw).
    pub fn get_raw(&self, path: &str, query: &[(&str, &str)]) -> Result<Response<Bytes>, Error> {
        self.runtime.block_on(RAW, self.client.get_raw(path, query))
    }

    /// See [`Client::find_form`](crate::Client::find_form).
    pub fn find_form(&self, title: &str) -> Result<Option<Form>, Error> {
        self.runtime.block_on(FORMS, self.client.find_form(title))
    }

    /// See [`Client::form`](crate::Client::form).
    pub fn form(&self, id: impl TryInto<FormId, Error: Into<IdError>>) -> FormHandle {
        FormHandle { form: self.client.form(id), runtime: Arc::clone(&self.runtime) }
    }

    /// See [`Client::with_options`](crate::Client::with_options).
    pub fn with_options(&self, options: RequestOptions) -> Result<Self, Error> {
        let client = self.client.with_options(options)?;
        Ok(Self { client, runtime: Arc::clone(&self.runtime) })
    }

    /// See [`Client::with_api_key`](crate::Client::with_api_key).
    pub fn with_api_key(
        &self,
        key: impl TryInto<ApiKey, Error: Into<ApiKeyError>>,
    ) -> Result<Self, Error> {
        let client = self.client.with_api_key(key)?;
        Ok(Self { client, runtime: Arc::clone(&self.runtime) })
    }
}

impl FormHandle {
    /// See [`FormHandle::id`](crate::FormHandle::id).
    pub fn id(&self) -> Result<&FormId, Error> {
        self.form.id()
    }

    /// Returns a query for the form's submissions, newest first (SPEC §4). Sends nothing.
    pub fn submissions(&self) -> SubmissionQuery {
        let runtime = Arc::clone(&self.runtime);
        SubmissionQuery { query: self.form.submissions(), runtime }
    }
}
