//! The client and its calls.

use std::sync::Arc;

use bytes::Bytes;
use formsvc_protocol::{RatePolicy, User, paths};

use crate::call::call;
use crate::decode::Broken;
use crate::forms::Forms;
use crate::shared::Shared;
use crate::{Error, RequestOptions, Response, ResponseMeta, decode, operation};

/// A client of the service's REST API (SPEC §4). Clones are cheap and share one connection pool,
/// one rate limiter and one retry budget: create one client per API key and clone it. Each tokio runtime
/// in which it is used has connections of its own.
///
/// ```no_run
/// # async fn example() -> Result<(), formsvc_client::Error> {
/// use formsvc_client::Client;
/// let client = Client::builder()
///     .base_url("https://forms.example")
///     .api_key("fsk_example")
///     .build()?;
/// println!("{}", client.me().await?.email);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

impl Client {
    /// Requests the owner of the key: `GET /api/v1/me` (SPEC §4). This is the cheapest way to check
    /// a key.
    pub async fn me(&self) -> Result<Response<User>, Error> {
        let address = self.shared.base.join(paths::ME.template);
        let parse = |body: &Bytes| decode::json::<User>(body);
        let (user, meta) = call(&self.shared, operation::ME, None, address, parse).await?;
        Ok(Response::new(user, meta))
    }

    /// Requests the owner's forms, newest first: `GET /api/v1/forms` (SPEC §4). The service returns
    /// at most [`FORMS_LISTED_MAX`](formsvc_protocol::limits::FORMS_LISTED_MAX). Items that violate the API
    /// are no error: see [`Forms::skipped`].
    pub async fn forms(&self) -> Result<Response<Forms>, Error> {
        let address = self.shared.base.join(paths::FORMS.template);
        let parse = |body: &Bytes| Forms::parse(body, &self.shared.key);
        let (forms, meta) = call(&self.shared, operation::FORMS, None, address, parse).await?;
        Ok(Response::new(forms, meta))
    }

    /// Returns the limit that the service announced last in `RateLimit-Policy`; `None` before the first
    /// response, and if the service announces none.
    pub fn rate_policy(&self) -> Option<RatePolicy> {
        self.shared.limiter.policy()
    }

    /// Requests a path that this client has no other call for. Returns the body as the service sent
    /// it, after gzip decoding. Rate limit, retries and the limit of the body apply as for other
    /// calls.
    ///
    /// `path` begins with `/`, is appended to the base URL and may have a query; characters that a URL
    /// must not contain are percent-encoded. `query` replaces parameters of the path with the same
    /// name. A path that could leave the base URL is an
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), and no request is sent: a path with the
    /// segment `..`, a backslash, a fragment or a control character.
    ///
    /// A status other than 200 is an [`ErrorKind::Api`](crate::ErrorKind::Api) with
    /// [body](Error::body) and [headers](Error::headers).
    ///
    /// ```
    /// # async fn example(client: formsvc_client::Client) -> Result<(), formsvc_client::Error> {
    /// let page = client.get_raw("/api/v1/forms/frm_1/submissions", &[("limit", "2")]).await?;
    /// println!("{} bytes", page.len());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_raw(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Response<Bytes>, Error> {
        let (body, meta) = self.call_raw(path, query, |body| Ok(body.clone())).await?;
        Ok(Response::new(body, meta))
    }

    /// Requests a path, and decodes the body.
    pub(crate) async fn call_raw<T>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        decode: impl Fn(&Bytes) -> Result<T, Broken> + Send + Sync,
    ) -> Result<(T, ResponseMeta), Error> {
        let address = self.shared.base.raw(path, query);
        let failed = |rule| Error::config(operation::RAW, format!("the path {rule}"));
        call(&self.shared, operation::RAW, None, address.map_err(failed)?, decode).await
    }

    /// Returns a client with other settings for its calls. It shares the connection pool, the
    /// limiter, the retry budget and the `on_event` function with this one, so it is cheap to
    /// create for a single call.
    ///
    /// Fails with [`ErrorKind::Config`](crate::ErrorKind::Config) for a time limit of zero, and for a
    /// header that the client itself sets.
    ///
    /// ```
    /// # async fn example(client: formsvc_client::Client) -> Result<(), formsvc_client::Error> {
    /// use std::time::Duration;
    /// use formsvc_client::{RequestOptions, RetryPolicy};
    /// let quick = RequestOptions::new()
    ///     .overall_timeout(Some(Duration::from_secs(1)))
    ///     .retry(RetryPolicy::none());
    /// let alive = client.with_options(quick)?.me().await.is_ok();
    /// # let _ = alive;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_options(&self, options: RequestOptions) -> Result<Self, Error> {
        let shared = self.shared.with_options(options);
        let shared = shared.map_err(|rule| Error::config(operation::BUILD, rule))?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The base URL, without a slash at the end. It contains no secret.
    pub fn base_url(&self) -> &str {
        self.shared.base.as_str()
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &self.shared.base.as_str())
            .field("key", &self.shared.key)
            .finish_non_exhaustive()
    }
}
