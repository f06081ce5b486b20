//! Every page of the dashboard: one table, from which the router is made, and which the tests go
//! through.

use futures_util::future::BoxFuture;

use super::policy::{STYLE_NAME, STYLE_ROUTE};
use super::refusal::Refusal;
use super::reply::Outcome;
use super::visit::Visit;
use super::{account, channels, deliveries, forms, keys, policy, sign_in, submissions, welcome};

/// The name of what every form carries to show that a page of ours asked for it.
pub(super) const TOKEN_FIELD: &str = "_token";

/// What a route is asked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// GET and HEAD: something to look at.
    Get,
    /// POST: something to do.
    Post,
    /// Any: there is nothing.
    Any,
}

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody, from anywhere: nothing about it is anybody's own.
    Anybody,
    /// Also who is not signed in.
    Strangers,
    /// Who is signed in.
    Members,
}

type Handler = for<'a> fn(&'a Visit) -> BoxFuture<'a, Outcome>;

/// A route.
pub struct Route {
    /// What it is asked with.
    pub verb: Verb,
    /// Its path, with parameters in braces.
    pub path: &'static str,
    /// Who may use it.
    pub access: Access,
    pub(super) handle: Handler,
    /// True if the handler parses or renders large content: it then runs on a thread that may block, two at
    /// a time for each user.
    pub(super) is_heavy: bool,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {} ({:?})", self.verb, self.path, self.access)
    }
}

const fn route(verb: Verb, path: &'static str, access: Access, handle: Handler) -> Route {
    Route { verb, path, access, handle, is_heavy: false }
}

const fn heavy(mut route: Route) -> Route {
    route.is_heavy = true;
    route
}

const fn page(path: &'static str, handle: Handler) -> Route {
    route(Verb::Get, path, Access::Members, handle)
}

const fn act(path: &'static str, handle: Handler) -> Route {
    route(Verb::Post, path, Access::Members, handle)
}

/// A handler as the table has it.
macro_rules! to {
    ($handler:path) => {
        |visit| Box::pin($handler(visit))
    };
}

/// Every page.
#[rustfmt::skip]
pub const ROUTES: &[Route] = &[
    route(Verb::Get, STYLE_ROUTE, Access::Anybody, to!(style)),
    route(Verb::Get, "/dashboard/sign-in", Access::Strangers, to!(sign_in::show)),
    route(Verb::Post, "/dashboard/sign-in", Access::Strangers, to!(sign_in::sign_in)),
    route(Verb::Get, "/dashboard/welcome/{token}", Access::Strangers, to!(welcome::show)),
    route(Verb::Post, "/dashboard/welcome/{token}", Access::Strangers, to!(welcome::redeem)),
    act("/dashboard/sign-out", to!(sign_in::sign_out)),
    page("/dashboard/account", to!(account::show)),
    act("/dashboard/account/password", to!(account::change_password)),
    act("/dashboard/account/sessions", to!(account::end_others)),
    page("/dashboard/keys", to!(keys::list)),
    act("/dashboard/keys", to!(keys::create)),
    page("/dashboard/keys/{key}/revoke", to!(keys::ask)),
    act("/dashboard/keys/{key}/revoke", to!(keys::revoke)),
    page("/dashboard", to!(forms::list::show)),
    page("/dashboard/new", to!(forms::create::show)),
    act("/dashboard/new", to!(forms::create::create)),
    heavy(page("/dashboard/forms/{form}", to!(submissions::list))),
    heavy(page("/dashboard/forms/{form}/submissions/{submission}", to!(submissions::show))),
    heavy(page("/dashboard/forms/{form}/fields", to!(forms::fields::show))),
    heavy(act("/dashboard/forms/{form}/fields", to!(forms::fields::change))),
    page("/dashboard/forms/{form}/settings", to!(forms::settings::show)),
    act("/dashboard/forms/{form}/settings", to!(forms::settings::change)),
    page("/dashboard/forms/{form}/close", to!(forms::status::ask)),
    act("/dashboard/forms/{form}/status", to!(forms::status::change)),
    page("/dashboard/forms/{form}/channels", to!(channels::list::show)),
    page("/dashboard/forms/{form}/channels/new", to!(channels::add::show)),
    act("/dashboard/forms/{form}/channels/new", to!(channels::add::add)),
    page("/dashboard/forms/{form}/channels/{endpoint}", to!(channels::endpoint::show)),
    act("/dashboard/forms/{form}/channels/{endpoint}/rotate", to!(channels::endpoint::rotate)),
    act("/dashboard/forms/{form}/channels/{endpoint}/status", to!(channels::endpoint::set_status)),
    act("/dashboard/forms/{form}/channels/{endpoint}/test", to!(channels::test::send)),
    page("/dashboard/forms/{form}/channels/{endpoint}/remove", to!(channels::endpoint::ask)),
    act("/dashboard/forms/{form}/channels/{endpoint}/remove", to!(channels::endpoint::remove)),
    heavy(page("/dashboard/forms/{form}/deliveries", to!(deliveries::list))),
    heavy(page("/dashboard/forms/{form}/deliveries/{delivery}", to!(deliveries::show))),
    act("/dashboard/forms/{form}/deliveries/{delivery}/resend", to!(deliveries::resend)),
];

/// What there is besides: nothing.
pub(super) const FALLBACKS: &[Route] = &[
    route(Verb::Any, "/dashboard/", Access::Strangers, to!(nothing)),
    route(Verb::Any, "/dashboard/{*rest}", Access::Strangers, to!(nothing)),
];

async fn nothing(_: &Visit) -> Outcome {
    Err(Refusal::NotFound)
}

async fn style(visit: &Visit) -> Outcome {
    if visit.param("name") == *STYLE_NAME { Ok(policy::style()) } else { Err(Refusal::NotFound) }
}
