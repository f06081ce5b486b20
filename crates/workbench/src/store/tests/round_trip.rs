//! Every part of a delivery is stored.

use std::net::SocketAddr;

use http::HeaderName;
use proptest::prelude::*;

use super::*;
use crate::delivery::TargetResponse;
use crate::verdict::VERDICTS;

fn any_delivery() -> impl Strategy<Value = Delivery> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..300).prop_map(Bytes::from);
    let value = prop::collection::vec(prop_oneof![Just(9_u8), 32..=126_u8, 128..=255_u8], 0..40);
    let headers = prop::collection::vec(("[a-z][a-z0-9!#$%&'*+.^_`|~-]{0,9}", value), 0..12);
    let headers = headers.prop_map(|pairs| {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_bytes(&value).unwrap());
        }
        headers
    });
    let headers = || headers.clone();
    let duration = || (0..i64::MAX).prop_map(|micros| Duration::from_micros(micros.unsigned_abs()));
    let text = || prop::option::of(".*");
    let result = prop_oneof![
        (prop::sample::select(&rows::ERROR_KINDS), ".*")
            .prop_map(|((kind, _), message)| Err(ForwardError { kind, message })),
        (100..999_u16, headers(), bytes(), any::<bool>()).prop_map(
            |(status, headers, body, is_truncated)| {
                Ok(TargetResponse { status, headers, body, is_truncated })
            }
        ),
    ];
    let forward =
        (".*", result, duration()).prop_map(|(url, result, took)| Forward { url, result, took });
    let forwards = prop::collection::vec(forward, 0..3);
    let answered_by = prop::sample::select(&AnsweredBy::ALL).prop_map(|(by, _)| by);
    let response = (prop::option::of(100..999_u16), answered_by, duration())
        .prop_map(|(status, answered_by, took)| Response { status, answered_by, took });
    let outcome = (response, forwards, prop::option::of(0..3_usize));
    let verdict = (prop::sample::select(&VERDICTS), text(), any::<Option<i64>>()).prop_map(
        |(row, secret, age_secs)| Verdict {
            code: row.code,
            secret: secret.map(Into::into),
            age_secs,
        },
    );
    let source = prop_oneof![
        Just(Source::Poll),
        any::<SocketAddr>().prop_map(|peer| Source::Request(match peer {
            // The text of an address has no flow label.
            SocketAddr::V6(peer) => (*peer.ip(), peer.port()).into(),
            SocketAddr::V4(_) => peer,
        })),
    ];
    let attempt = (any::<u32>(), prop::option::of(duration()), any::<bool>())
        .prop_map(|(number, gap, is_duplicate)| Attempt { number, gap, is_duplicate });
    let names = (text(), text(), text()).prop_map(|(event, submission_id, form_id)| EventNames {
        event,
        submission_id,
        form_id,
    });
    let request = (any::<i64>(), source, "[A-Z!#$]{1,12}", ".*", headers(), bytes());
    (request, verdict, names, attempt, outcome).prop_map(
        |(request, verdict, names, attempt, outcome)| {
            let (nanos, source, method, request_target, headers, body) = request;
            let (response, forwards, relayed_forward) = outcome;
            Delivery {
                summary: DeliverySummary {
                    number: None,
                    received_at: Timestamp::from_nanosecond(nanos.into()).unwrap(),
                    source,
                    method: Method::from_bytes(method.as_bytes()).unwrap(),
                    request_target,
                    body_size: body.len() as u64,
                    verdict,
                    names,
                    attempt,
                    response: Some(response),
                },
                headers,
                body,
                forwards,
                relayed_forward,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn delivery_is_stored_exactly(deliveries in prop::collection::vec(any_delivery(), 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = CaptureStore::in_memory(LIMITS).unwrap();
            for mut delivery in deliveries {
                let number = store.insert(delivery.clone().into()).await.unwrap();
                delivery.summary.number = Some(number);
                store.set_outcome(number, delivery.clone().into()).await.unwrap();
                assert_same(&store.get(number).await.unwrap().unwrap(), &delivery);
            }
        });
    }
}
