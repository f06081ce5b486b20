//! One request, once it is known who sent it, and what its handler may ask for.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use formsvc_protocol::{DeliveryId, Form, FormInstant, User};
use http::header;

use super::Dashboard;
use super::chrome::{Chrome, Section};
use super::cookie::Cookie;
use super::pairs::Pairs;
use super::refusal::Refusal;
use super::token::Token;
use crate::admin::parse_id;
use crate::api::{Problem, text_cause};
use crate::network::Network;
use crate::store::{
    EndpointRecord, EndpointStatus, KeyRecord, NewSession, PasswordHash, PublicForm, StoreError,
};

/// Time the store has for one call; far more than any should take.
const DEADLINE: Duration = Duration::from_secs(10);

/// Who is signed in, and with what.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) user: User,
    pub(super) session: Token,
}

/// A request.
pub(super) struct Visit {
    pub(super) dashboard: Arc<Dashboard>,
    pub(super) member: Option<Member>,
    pub(super) params: Vec<(String, String)>,
    pub(super) query: Pairs,
    /// What was sent; nothing unless it is a POST.
    pub(super) posted: Pairs,
    pub(super) network: Network,
    pub(super) now: FormInstant,
    pub(super) chrome: Chrome,
    /// The address of the service as the browser has it.
    pub(super) address: String,
}

/// Waits for a call, but not for ever.
pub(super) async fn timely<T, E: Into<Refusal>>(
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, Refusal> {
    let Ok(answer) = tokio::time::timeout(DEADLINE, call).await else {
        let cause = text_cause(format!("the store took longer than {DEADLINE:?}"));
        return Err(Problem::unavailable("the service cannot answer now", Some(cause)).into());
    };
    answer.map_err(Into::into)
}

/// The same of a call whose failure says something to whoever asked.
pub(super) async fn judged<T, E>(
    call: impl Future<Output = Result<T, E>>,
) -> Result<Result<T, E>, Refusal> {
    timely(async { Ok::<_, Refusal>(call.await) }).await
}

impl Visit {
    /// Who is signed in. Only the handlers of members ask.
    pub(super) fn user(&self) -> Result<&User, Refusal> {
        let member = self.member.as_ref().map(|member| &member.user);
        member.ok_or_else(|| Refusal::SignIn { next: String::new() })
    }

    /// A part of the path.
    pub(super) fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(found, _)| found == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// What stands around a page in a part of the dashboard, with what was just done.
    pub(super) fn chrome(&self, section: Section) -> Chrome {
        self.chrome.at(section).saying(self.query.get("said"))
    }

    /// The form of the path, which is the user's.
    pub(super) async fn form(&self) -> Result<Form, Refusal> {
        let store = &self.dashboard.store;
        let id = parse_id(self.param("form")).map_err(|_| Refusal::NotFound)?;
        let owner = timely(store.form_owner(&id)).await?;
        if owner.as_ref() != Some(&self.user()?.id) {
            return Err(Refusal::NotFound);
        }
        timely(store.form(&id)).await?.ok_or(Refusal::NotFound)
    }

    /// The same as its visitors meet it.
    pub(super) async fn whole_form(&self) -> Result<PublicForm, Refusal> {
        let form = self.form().await?;
        let found = timely(self.dashboard.store.public_form(&form.public_id)).await?;
        found.ok_or(Refusal::NotFound)
    }

    /// The endpoint of the path, which belongs to the form and is not removed.
    pub(super) async fn endpoint(&self, form: &Form) -> Result<EndpointRecord, Refusal> {
        let id = parse_id(self.param("endpoint")).map_err(|_| Refusal::NotFound)?;
        let found = timely(self.dashboard.store.endpoint(&id)).await?.ok_or(Refusal::NotFound)?;
        let is_there = found.endpoint.form == form.id
            && found.owner == self.user()?.id
            && found.endpoint.status != EndpointStatus::Removed;
        if is_there { Ok(found.endpoint) } else { Err(Refusal::NotFound) }
    }

    /// The id of the delivery of the path, whose endpoint belongs to the form, removed or not.
    pub(super) async fn delivery(&self, form: &Form) -> Result<DeliveryId, Refusal> {
        let store = &self.dashboard.store;
        let id = parse_id(self.param("delivery")).map_err(|_| Refusal::NotFound)?;
        let found = timely(store.delivery(&id)).await?.ok_or(Refusal::NotFound)?;
        let endpoint = timely(store.endpoint(&found.record.endpoint)).await?;
        let is_ours = |owned: &crate::store::OwnedEndpoint| owned.endpoint.form == form.id;
        if endpoint.as_ref().is_some_and(is_ours) { Ok(id) } else { Err(Refusal::NotFound) }
    }

    /// The key of the path, which is the user's.
    pub(super) async fn key(&self) -> Result<KeyRecord, Refusal> {
        let id = parse_id(self.param("key")).map_err(|_| Refusal::NotFound)?;
        let found = timely(self.dashboard.store.key(&id)).await?.ok_or(Refusal::NotFound)?;
        if found.user == self.user()?.id { Ok(found) } else { Err(Refusal::NotFound) }
    }

    /// Begins a session under a new token, and has the browser keep that in place of whatever it had.
    /// Should the password be another by now, somebody has to sign in with that.
    pub(super) async fn begin_session(
        &self,
        user: &User,
        password: Option<PasswordHash>,
        mut response: Response,
    ) -> Result<Response, Refusal> {
        let Dashboard { store, options, limits, .. } = &*self.dashboard;
        let token = Token::generate()?;
        let lifetime = options.session_lifetime;
        let (hash, id) = (token.hash(), user.id.clone());
        let session = NewSession { token: hash, user: id, password, lifetime };
        match judged(store.add_session(session)).await? {
            Err(StoreError::NotFound { .. }) => {
                return Err(Refusal::SignIn { next: String::new() });
            }
            begun => begun?,
        };
        if let Some(member) = &self.member {
            timely(store.end_session(&member.session.hash())).await?;
        }
        limits.signed_in(self.network, &user.email);
        let is_https = options.site.is_https();
        let headers = response.headers_mut();
        headers.append(header::SET_COOKIE, Cookie::Session.set(is_https, &token, Some(lifetime)));
        headers.append(header::SET_COOKIE, Cookie::Visit.clear(is_https));
        Ok(response)
    }
}
