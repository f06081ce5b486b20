//! What every request passes before its handler: whether it may come in the clear, who sent it, and,
//! where something is to be done, whether a page of ours asked for it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::response::Response;
use formsvc_protocol::UserId;
use http::request::Parts;
use http::{HeaderMap, Method, header};
use subtle::ConstantTimeEq;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::chrome::Chrome;
use super::cookie::Cookie;
use super::pairs::{MEMBERS_MAX, Pairs, STRANGERS_MAX};
use super::refusal::Refusal;
use super::reply::Outcome;
use super::routes::{Access, Route, TOKEN_FIELD};
use super::token::Token;
use super::visit::{Member, Visit, timely};
use super::{Dashboard, policy};
use crate::api::{Problem, Trail, announced_length};
use crate::network::Network;
use crate::public::peer_of;
use crate::response_budget::ResponseBudget;

/// Heavy requests of a user in progress at a time: those to routes that build large pages, and large forms.
pub(super) const HEAVY_AT_A_TIME: usize = 2;
/// How long a heavy request waits for its turn.
const HEAVY_WAIT: Duration = Duration::from_secs(10);

/// Answers a request to a route.
pub(super) async fn answer(
    dashboard: Arc<Dashboard>,
    route: &'static Route,
    request: Request,
) -> Response {
    let mut chrome = Chrome::of_stranger();
    // The template of the path is logged, never the path: one of them holds the token of a link.
    let trail = Trail::of(route.path);
    let outcome = pass(dashboard, route, request, &mut chrome).await;
    let (mut response, cause) = match outcome {
        Ok(response) => (response, None),
        Err(refusal) => (refusal.page(&chrome), refusal.cause()),
    };
    policy::apply(response.headers_mut());
    trail.on(response, cause.as_ref())
}

async fn pass(
    dashboard: Arc<Dashboard>,
    route: &'static Route,
    request: Request,
    chrome: &mut Chrome,
) -> Outcome {
    let (mut parts, body) = request.into_parts();
    let site = &dashboard.options.site;
    if route.access != Access::Anybody && !site.admits(peer_of(&parts), &parts.headers) {
        return Err(Refusal::InTheClear);
    }
    let member = member(&dashboard, route, &parts.headers).await?;
    let (carried, new_visit) = carried(&dashboard, member.as_ref(), route, &parts.headers)?;
    if let Some(member) = &member {
        chrome.email = Some(member.user.email.clone());
    }
    chrome.token = carried.as_ref().map(Token::of_forms).unwrap_or_default();
    if route.access == Access::Members && member.is_none() {
        return Err(Refusal::SignIn { next: way_back(&parts) });
    }
    let is_post = parts.method == Method::POST;
    if is_post && !site.sent_it(&parts.headers) {
        return Err(Refusal::Foreign { address: site.address(&parts.headers) });
    }
    // Before the body is read, so that waiting requests take no memory for it.
    let turn = match &member {
        Some(member) if route.is_heavy || (is_post && is_large(&parts.headers)) => {
            Some(heavy_turn(&dashboard, &member.user.id).await?)
        }
        _ => None,
    };
    let mut posted = Pairs::default();
    if is_post {
        let max = if member.is_some() { MEMBERS_MAX } else { STRANGERS_MAX };
        posted = Pairs::read(&parts.headers, body, max).await?;
        let given = posted.get(TOKEN_FIELD);
        // A browser without a cookie has nothing that its forms could carry.
        let is_known = new_visit.is_none() && !chrome.token.is_empty();
        if !is_known || !bool::from(given.as_bytes().ct_eq(chrome.token.as_bytes())) {
            return Err(Refusal::Stale);
        }
    }
    let visit = Arc::new(Visit {
        member,
        params: params(&mut parts).await,
        query: Pairs::decode(parts.uri.query().unwrap_or_default().as_bytes())?,
        posted,
        network: Network::around(crate::public::client_of(&parts, &dashboard.trusted_proxies)),
        now: (dashboard.now)(),
        chrome: chrome.clone(),
        address: site.address(&parts.headers),
        dashboard: Arc::clone(&dashboard),
    });
    let built = handle(route, &visit, turn.as_ref()).await?;
    let budget = ResponseBudget::of(&parts.extensions);
    let mut response = if is_post {
        budget.try_admit(None, built)?
    } else {
        budget.admit(None, built, handle(route, &visit, turn.as_ref())).await?
    };
    if let Some(token) = new_visit {
        let cookie = Cookie::Visit.set(dashboard.options.site.is_https(), &token, None);
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Returns true for a form that may be longer than those of strangers.
fn is_large(headers: &HeaderMap) -> bool {
    announced_length(headers).is_none_or(|length| length > STRANGERS_MAX as u64)
}

/// Waits until a user has fewer than [`HEAVY_AT_A_TIME`] heavy requests in progress.
async fn heavy_turn(
    dashboard: &Dashboard,
    user: &UserId,
) -> Result<Arc<OwnedSemaphorePermit>, Refusal> {
    let turn = dashboard.heavy_requests.of(user).acquire_owned();
    match tokio::time::timeout(HEAVY_WAIT, turn).await {
        Ok(Ok(turn)) => Ok(Arc::new(turn)),
        _ => Err(Problem::unavailable("too many large requests are in progress", None).into()),
    }
}

/// Runs the handler of a route. A heavy one runs on a thread that may block, and keeps its turn until it
/// has ended.
async fn handle(
    route: &'static Route,
    visit: &Arc<Visit>,
    turn: Option<&Arc<OwnedSemaphorePermit>>,
) -> Outcome {
    let Some(turn) = turn.cloned() else { return (route.handle)(visit).await };
    let (visit, runtime) = (Arc::clone(visit), Handle::current());
    // Dropped with this future, as when the client has disconnected.
    let (_waiting, abandoned) = oneshot::channel::<()>();
    let work = move || {
        let outcome = runtime.block_on(async {
            tokio::select! {
                outcome = (route.handle)(&visit) => outcome,
                _ = abandoned => Err(Problem::unavailable("the client has disconnected", None).into()),
            }
        });
        drop(turn);
        outcome
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| Err(Problem::internal(Arc::new(panic)).into()))
}

/// Who is signed in.
async fn member(
    dashboard: &Dashboard,
    route: &Route,
    headers: &HeaderMap,
) -> Result<Option<Member>, Refusal> {
    if route.access == Access::Anybody {
        return Ok(None);
    }
    let Some(session) = Cookie::Session.read(headers, dashboard.options.site.is_https()) else {
        return Ok(None);
    };
    let found = timely(dashboard.store.session(&session.hash())).await?;
    Ok(found.map(|record| Member { user: record.user, session }))
}

/// The token that the forms of this browser go by, and the one it is to keep if that is new.
fn carried(
    dashboard: &Dashboard,
    member: Option<&Member>,
    route: &Route,
    headers: &HeaderMap,
) -> Result<(Option<Token>, Option<Token>), Refusal> {
    if let Some(member) = member {
        return Ok((Some(member.session.clone()), None));
    }
    if route.access != Access::Strangers {
        return Ok((None, None));
    }
    let is_https = dashboard.options.site.is_https();
    if let Some(visit) = Cookie::Visit.read(headers, is_https) {
        return Ok((Some(visit), None));
    }
    let new = Token::generate()?;
    Ok((Some(new.clone()), Some(new)))
}

/// Where somebody wanted to go, if there is a page to go to.
fn way_back(parts: &Parts) -> String {
    let wanted = parts.uri.path_and_query().map_or("", |target| target.as_str());
    if parts.method == Method::POST { String::new() } else { super::next::next(wanted).to_owned() }
}

async fn params(parts: &mut Parts) -> Vec<(String, String)> {
    let found = RawPathParams::from_request_parts(parts, &()).await;
    // Fails for what is not UTF-8 when it is decoded; then no handler finds what it names.
    let found =
        found.map(|params| params.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect());
    found.unwrap_or_default()
}
