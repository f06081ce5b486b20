//! SPEC §5: who may ask, and what each failure is called.

use http::HeaderValue;

use super::service::Service;

#[tokio::test]
async fn a_key_shows_its_owner() {
    let service = Service::new().await;
    let answer = service.get("/api/v1/me").await;
    answer.assert_ok();
    let me = answer.json();
    assert_eq!(me["id"], service.user.id.as_str());
    assert_eq!(me["email"], "owner@example.org");
    assert_eq!(me["name"], "Owner");
    assert_eq!(me.as_object().unwrap().len(), 3);
}

#[tokio::test]
async fn each_bad_authorization_has_its_code_on_every_endpoint() {
    let service = Service::new().await;
    let good = service.bearer();
    let table: &[(&[&str], &str)] = &[
        (&[], "missing_authorization"),
        (&[""], "missing_authorization"),
        (&["  "], "missing_authorization"),
        (&["Bearer"], "invalid_key"),
        (&["Basic YTpi"], "invalid_key"),
        (&["Bearer fsk_unknown"], "invalid_key"),
        (&[&good[7..]], "invalid_key"),
        (&[&good.to_lowercase()], "invalid_key"),
        (&[&format!("{good}x")], "invalid_key"),
        (&[&good[..good.len() - 1]], "invalid_key"),
    ];
    let targets = [
        "/api/v1/me",
        "/api/v1/forms",
        "/api/v1/forms/x/submissions",
        "/api/v1/forms/x/submissions?limit=0",
    ];
    for target in targets {
        for (values, code) in table {
            let mut request = service.request(target);
            for value in *values {
                request = request.header("authorization", *value);
            }
            let answer = service.send(request).await;
            answer.assert_error(401, code);
            assert_eq!(answer.header("www-authenticate"), "Bearer");
        }
        let twice = service.request(target);
        let twice = twice.header("authorization", &good).header("authorization", &good);
        service.send(twice).await.assert_error(400, "bad_request");
        let bytes = HeaderValue::from_bytes(b"Bearer fsk_\xc3\xa9\xff").unwrap();
        let odd = service.request(target).header("authorization", bytes);
        service.send(odd).await.assert_error(401, "invalid_key");
    }
}

#[tokio::test]
async fn the_scheme_is_taken_in_any_case_and_with_more_spaces() {
    let service = Service::new().await;
    let key = service.bearer()[7..].to_owned();
    for scheme in ["bearer ", "BEARER ", "bEaReR   "] {
        let request =
            service.request("/api/v1/me").header("authorization", format!("{scheme}{key}"));
        service.send(request).await.assert_ok();
    }
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once_and_by_its_own_code() {
    let service = Service::new().await;
    service.get("/api/v1/me").await.assert_ok();
    service.admin.revoke_key(&service.key.record.id).await.unwrap();
    let answer = service.get("/api/v1/me").await;
    answer.assert_error(401, "key_revoked");
    assert_eq!(answer.header("www-authenticate"), "Bearer");
}

#[tokio::test]
async fn forms_of_others_are_not_found_like_forms_that_are_not() {
    let service = Service::new().await;
    let other = service.admin.create_user("other@example.org", "Other").await.unwrap();
    let options = formsvc_server::admin::FormOptions::titled("Theirs");
    let theirs = service.admin.create_form(&other.id, options).await.unwrap();
    service.admin.submit(&theirs.id, r#"{"secret":1}"#).await.unwrap();
    let refused = service.get(&format!("/api/v1/forms/{}/submissions", theirs.id)).await;
    let absent = service.get("/api/v1/forms/frm_0/submissions").await;
    refused.assert_error(404, "form_not_found");
    absent.assert_error(404, "form_not_found");
    assert_eq!(refused.body, absent.body);
    assert_eq!(service.get("/api/v1/forms").await.body, r#"{"data":[]}"#);
}
