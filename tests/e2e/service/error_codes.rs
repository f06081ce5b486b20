//! Triggers each error code of SPEC §7 by a real request through the SDK.

use formsvc_client::{Cursor, ErrorCode, ErrorKind, FormId, RateLimit, RetryPolicy};
use formsvc_tests::service::{Service, client_over, per_minute, real_clock};
use secrecy::SecretString;

#[tokio::test]
async fn error_codes_of_service_reach_sdk_caller() {
    let service = Service::now().await;
    let transport = service.in_process(per_minute(3), real_clock());
    let client = |transport, key: &SecretString| {
        let client = client_over(transport, key).retry(RetryPolicy::none());
        // The client's own limit would prevent the 429.
        client.rate_limit(RateLimit::off()).build().unwrap()
    };
    let mut met = Vec::new();
    let mut expect = |error: formsvc_client::Error, status: u16| {
        assert_eq!(error.kind(), ErrorKind::Api, "{error}");
        assert_eq!(error.status().map(|status| status.as_u16()), Some(status), "{error}");
        assert!(error.request_id().is_some(), "{error}");
        met.push(error.code().unwrap().clone());
    };

    let keyless = client(transport.clone().without_key(), &service.key);
    expect(keyless.me().await.unwrap_err(), 401);
    let unknown = client(transport.clone(), &SecretString::from("fsk_unknown"));
    expect(unknown.me().await.unwrap_err(), 401);
    let revoked = service.admin.create_key(&service.user.id, "old").await.unwrap();
    service.admin.revoke_key(&revoked.record.id).await.unwrap();
    expect(client(transport.clone(), &revoked.secret).me().await.unwrap_err(), 401);

    let good = client(transport, &service.key);
    let list = |form: &FormId| good.form(form.clone()).submissions();
    let nowhere = list(&service.form.id).start_at(Cursor::new("yesterday")).page().await;
    expect(nowhere.unwrap_err(), 400);
    let nothing = FormId::new("frm_nothing").unwrap();
    expect(list(&nothing).page().await.unwrap_err(), 404);
    good.me().await.unwrap();
    // The service counted three requests of this key, and none with a refused key.
    expect(good.me().await.unwrap_err(), 429);

    assert_eq!(
        met,
        [
            ErrorCode::MissingAuthorization,
            ErrorCode::InvalidKey,
            ErrorCode::KeyRevoked,
            ErrorCode::BadRequest,
            ErrorCode::FormNotFound,
            ErrorCode::RateLimited,
        ]
    );
}
