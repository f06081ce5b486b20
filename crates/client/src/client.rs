//! The client.

use std::sync::Arc;

use formsvc_protocol::{Form, FormId, FormList, User};

use crate::builder::ClientBuilder;
use crate::call::call;
use crate::form::FormHandle;
use crate::shared::Shared;
use crate::{Error, Response, decode, operation};

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

    /// A handle on one form. Sends nothing; whether the form exists shows on use.
    pub fn form(&self, id: FormId) -> FormHandle {
        FormHandle::new(self.clone(), id)
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
