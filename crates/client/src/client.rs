//! The client.

use std::sync::Arc;

use bytes::Bytes;
use formsvc_protocol::{Form, FormList, User};
use secrecy::SecretString;

use crate::api_key::ApiKey;
use crate::builder::{ClientBuilder, wrong};
use crate::call::call;
use crate::shared::Shared;
use crate::{Error, ErrorKind, RequestOptions, Response, decode, operation};

/// A client of the service's REST API (SPEC §4). Clones are cheap and share one connection pool,
/// one rate limiter and one retry budget: make one client per API key and clone it.
///
/// ```no_run
/// # async fn example() -> Result<(), formsvc_client::Error> {
/// use formsvc_client::Client;
/// let client = Client::builder()
///     .base_url("https://forms.example")
///     .api_key("fsk_example".into())
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
    /// Starts with the settings; nothing is checked before
    /// [`build`](ClientBuilder::build).
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// The owner of the key: `GET /api/v1/me` (SPEC §4). The cheapest way to check a key.
    pub async fn me(&self) -> Result<Response<User>, Error> {
        let address = self.shared.base.join(operation::ME.template);
        let (user, meta) = call(&self.shared, operation::ME, address, decode::json::<User>).await?;
        Ok(Response::new(user, meta))
    }

    /// The owner's forms, newest first, at most
    /// [`FORMS_LISTED_MAX`](formsvc_protocol::limits::FORMS_LISTED_MAX): `GET /api/v1/forms`
    /// (SPEC §4). The service has no way to list more.
    pub async fn forms(&self) -> Result<Response<Vec<Form>>, Error> {
        let address = self.shared.base.join(operation::FORMS.template);
        let (list, meta) =
            call(&self.shared, operation::FORMS, address, decode::json::<FormList>).await?;
        Ok(Response::new(list.data, meta))
    }

    /// The body of a path, exactly as the service sent it, after gzip is decoded: for what this client has no call for. It waits, tries
    /// again and bounds the body like any other call.
    ///
    /// `path` begins with `/`, goes below the base URL, and may have a query; what cannot stand in an
    /// address is percent-encoded. `query` is added to it, encoded, and stands in place of what the path
    /// has under the same names. Fails with [`ErrorKind::Config`], before the
    /// key is sent anywhere, on a path that could lead out of the base URL: one with the segment `..`,
    /// a backslash, a fragment or a control character.
    ///
    /// A status other than 200 is an [`ErrorKind::Api`], which has the
    /// [body](Error::body) and the [headers](Error::headers).
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
        let address = self.shared.base.raw(path, query).map_err(|rule| {
            Error::from(Error::parts(ErrorKind::Config, operation::RAW, format!("the path {rule}")))
        })?;
        let whole = |body: &Bytes| Ok(body.clone());
        let (body, meta) = call(&self.shared, operation::RAW, address, whole).await?;
        Ok(Response::new(body, meta))
    }

    /// The same client with other settings for its calls: cheap, for one call or for many. It shares
    /// the pool, the limiter, the retry budget and the listener with this one.
    ///
    /// Fails with [`ErrorKind::Config`] on a time limit of zero, or on a
    /// header that is the client's own.
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
        options.check().map_err(wrong)?;
        Ok(Self { shared: Arc::new(self.shared.with_options(options)) })
    }

    /// The same client with another API key: it shares the connections and all settings, and has a
    /// limiter and a retry budget of its own, because the service counts per key (SPEC §8). Keep
    /// it, and clone it, rather than make it anew for each call: a new one knows nothing of
    /// requests already sent.
    ///
    /// Fails with [`ErrorKind::Config`] on a key that is empty, in quotation marks or not
    /// visible ASCII.
    #[expect(clippy::needless_pass_by_value, reason = "the same as in the builder")]
    pub fn with_api_key(&self, key: SecretString) -> Result<Self, Error> {
        let key = ApiKey::check(&key).map_err(wrong)?;
        Ok(Self { shared: Arc::new(self.shared.with_key(key)) })
    }

    /// The base URL, without a slash at the end. It holds no secret.
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
