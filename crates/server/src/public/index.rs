//! A page that lists a user's published forms, for whoever opens the address of a sandbox in a
//! browser. A server has none: which forms there are is for their owner to tell.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use formsvc_protocol::{FormStatus, UserId};
use http::StatusCode;

use super::page::IndexPage;
use super::reply;
use crate::api::Problem;
use crate::store::Store;

/// A router with that page at `/`.
pub fn index(store: Arc<dyn Store>, user: UserId) -> Router {
    Router::new().route("/", get(show)).with_state((store, user))
}

async fn show(State((store, user)): State<(Arc<dyn Store>, UserId)>) -> Response {
    match store.forms(&user).await {
        Ok(mut forms) => {
            forms.retain(|form| form.status == FormStatus::Published);
            reply::page(StatusCode::OK, &IndexPage::new(&forms))
        }
        Err(error) => Problem::from(error).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use askama::Template;
    use formsvc_protocol::{Form, FormId, PublicId, Timestamp};

    use super::*;

    #[test]
    fn a_title_is_text() {
        let at: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let (id, public_id) = (FormId::new("frm_1").unwrap(), PublicId::new("a-1").unwrap());
        let title = "<script>\"&'";
        let form = Form::new(id, public_id, title, FormStatus::Published, at.clone(), at);
        let page = IndexPage::new(&[form]).render().unwrap();
        assert!(page.contains("<a href=\"/f/a-1\">&#60;script&#62;"), "{page}");
        assert!(!page.contains("<script"), "{page}");
    }
}
