//! SPEC §4, §7: what a bad parameter is told, by real requests.

use super::service::Service;

#[tokio::test]
async fn each_parameter_rule_holds_on_the_wire() {
    let service = Service::new().await;
    let form = service.form_with_rows(1).await;
    // The value as it has to stand in the message.
    let table = [
        ("limit=0", "`0`"),
        ("limit=101", "`101`"),
        ("limit=-1", "`-1`"),
        ("limit=", "``"),
        ("limit", "``"),
        ("limit=+5", "` 5`"),
        ("limit=%2B5", "`+5`"),
        ("limit=5.0", "`5.0`"),
        ("limit=%205", "` 5`"),
        ("limit=0x5", "`0x5`"),
        ("limit=99999999999999999999", "`99999999999999999999`"),
        ("limit=%00", r"`\u{0}`"),
        ("limit=5&limit=5", "`limit`"),
        ("limit=%zz", "`%zz`"),
        ("limit=%ff", "`%ff`"),
        ("cursor=", "``"),
        ("cursor=yesterday", "`yesterday`"),
        ("cursor=2026-02-30T00:00:00Z", "`2026-02-30T00:00:00Z`"),
        ("cursor=2026-01-01T00:00:00", "`2026-01-01T00:00:00`"),
        ("cursor=2026-01-01T00:00:00+02:00", "must be sent as `%2B`"),
        ("cursor=%E2%80%AE", r"`\u{202e}`"),
        ("cursor=a&cursor=b", "`cursor`"),
        ("cursor=%f", "`%f`"),
        ("limit=5&cursor=x", "`x`"),
    ];
    for (query, told) in table {
        let answer = service.get(&format!("/api/v1/forms/{}/submissions?{query}", form.id)).await;
        answer.assert_error(400, "bad_request");
        assert!(answer.message().contains(told), "{query}: {}", answer.message());
    }
    for query in ["", "&", "x=%zz", "limit=1&unknown=2", "LIMIT=0", "page=2"] {
        let answer = service.get(&format!("/api/v1/forms/{}/submissions?{query}", form.id)).await;
        answer.assert_ok();
    }
    for target in ["/api/v1/me?limit=0", "/api/v1/forms?limit=0&cursor=x"] {
        service.get(target).await.assert_ok();
    }
}

#[tokio::test]
async fn ids_no_form_can_have_are_not_found() {
    let service = Service::new().await;
    for id in ["", "frm_0", "..%2F", "%2e%2e", "%ff", "%zz", "%00", "a%20b", "'", &"x".repeat(300)]
    {
        let answer = service.get(&format!("/api/v1/forms/{id}/submissions")).await;
        answer.assert_error(404, "form_not_found");
    }
}

#[tokio::test]
async fn parameters_are_judged_before_the_form() {
    let service = Service::new().await;
    for id in ["frm_0", "%ff"] {
        let answer = service.get(&format!("/api/v1/forms/{id}/submissions?limit=0")).await;
        answer.assert_error(400, "bad_request");
    }
}

#[tokio::test]
async fn a_long_value_is_cut_in_the_message() {
    let service = Service::new().await;
    let target = format!("/api/v1/forms/x/submissions?limit={}", "9".repeat(5000));
    let answer = service.get(&target).await;
    answer.assert_error(400, "bad_request");
    assert!(answer.body.len() < 300, "{}", answer.body);
}
