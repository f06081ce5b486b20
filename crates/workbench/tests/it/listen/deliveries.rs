//! Deliveries, from the request to the event.

use formsvc_contract::send::{HttpSender, HttpSenderOptions};
use formsvc_workbench::delivery::{AnsweredBy, Source};
use formsvc_workbench::forward::{Forwarder, Route};
use formsvc_workbench::listen::{Faults, Refusal};
use formsvc_workbench::warning::WarningCode;
use futures_util::future::join_all;
use http::{HeaderMap, Method};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::*;

#[tokio::test]
async fn only_deliveries_are_handled() {
    let mut running = start(|rules, _| {
        verified(rules);
        rules.path = Some("/hook".to_owned());
    });
    let body = event("sub_1");
    let at = |path: &str, headers: &str| {
        request(path, &format!("Connection: close\r\n{headers}"), &body)
    };
    let signed = signature(&body);
    let get = "GET /hook HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned();
    for (request, expected) in [
        (at("/hook?a=1", &signed), (200, "")),
        (at("/hook", ""), (401, "missing_signature")),
        (at("/", &signed), (404, "not_found")),
        (at("/healthz", &signed), (404, "not_found")),
        (get.clone(), (405, "method_not_allowed")),
        (at("/hook", "Origin: https://page.test\r\n"), (403, "cross_site")),
        (at("/hook", "Sec-Fetch-Site: cross-site\r\n"), (403, "cross_site")),
        (get.replace("/hook", "/healthz"), (200, "")),
    ] {
        let response = running.exchange(&request).await;
        assert_eq!((status(&response), code(&response)), expected, "{request}");
    }
    let delivery = running.delivered().await;
    assert_eq!(delivery.summary.request_target, "/hook?a=1");
    assert_eq!(delivery.summary.names.submission_id.as_deref(), Some("sub_1"));
    assert!(matches!(delivery.summary.source, Source::Request(peer) if peer.ip().is_loopback()));
    running.delivered().await;
    let (deliveries, refusals) = running.end().await;
    assert!(deliveries.is_empty());
    let (browser, path) = (Refusal::CrossSite, Refusal::NotFound);
    assert_eq!(refusals, [path, path, Refusal::MethodNotAllowed, browser, browser]);
}

#[tokio::test]
async fn unsigned_request_does_not_count_as_a_delivery() {
    let mut running = start(|rules, limits| {
        verified(rules);
        limits.deliveries = Some(2);
        rules.faults.delay = Some(Duration::from_millis(20));
    });
    let body = event("sub_1");
    let (signed, unsigned) = (last_request(&signature(&body), &body), last_request("", &body));
    let requests = [&unsigned, &signed].repeat(5);
    let responses = join_all(requests.iter().map(|request| running.exchange(request))).await;
    let with = |expected| responses.iter().filter(|response| status(response) == expected).count();
    assert_eq!((with(200), with(401) + with(503)), (2, 8), "{responses:?}");
    let mut accepted = 0;
    while let Ok(event) = running.events.try_recv() {
        if let ListenerEvent::Delivered { delivery, .. } = event {
            accepted += usize::from(delivery.summary.response.unwrap().is_success());
        }
    }
    assert_eq!(accepted, 2);
}

#[tokio::test]
async fn dropped_attempt_gets_no_response() {
    let mut running = start(|rules, _| rules.faults = Faults { drop: 1, ..Faults::default() });
    let request = last_request("", &event("sub_1"));
    for expected in [0, 200] {
        assert_eq!(status(&running.exchange(&request).await), expected);
    }
    let response = running.delivered().await.summary.response.unwrap();
    assert_eq!((response.status, response.answered_by), (None, AnsweredBy::Fault));
    assert_eq!(running.delivered().await.summary.attempt.number, 2);
}

#[tokio::test]
async fn cut_connection_does_not_lose_the_event() {
    let mut running = start(|rules, _| {
        rules.faults = Faults { delay: Some(Duration::from_millis(50)), ..Faults::default() };
    });
    let mut stored = running.listener.handle().deliveries().subscribe();
    let mut stream = running.connect().await;
    stream.write_all(request("/", "", "{}").as_bytes()).await.unwrap();
    stored.recv().await.unwrap();
    drop(stream);
    assert_eq!(running.delivered().await.summary.response.unwrap().status, Some(200));
}

#[tokio::test]
async fn unread_events_refuse_senders_and_none_is_lost() {
    let running = start(|_, limits| limits.in_flight = 1);
    let mut accepted = 0;
    let refused = loop {
        let response = running.exchange(last_request("", "{}")).await;
        if status(&response) != 200 {
            break response;
        }
        accepted += 1;
    };
    assert_eq!((status(&refused), code(&refused)), (503, "busy"));
    assert!(refused.contains("retry-after: 1\r\n"), "{refused}");
    assert_eq!(running.end().await.0.len(), accepted);
}

#[tokio::test]
async fn delivery_through_the_handle_is_handled() {
    let mut running = start(|rules, _| verified(rules));
    let (handle, body) = (running.listener.handle(), event("sub_1"));
    let deliver = |headers| handle.deliver(Method::POST, "/".into(), headers, body.clone().into());
    let refused = deliver(HeaderMap::new()).await.unwrap();
    assert_eq!(refused.summary.response.unwrap().status, Some(401));
    let signed = signature(&body);
    let value = signed.trim_end().split_once(": ").unwrap().1.parse().unwrap();
    let headers = HeaderMap::from_iter([(formsvc_contract::send::SIGNATURE, value)]);
    let delivery = deliver(headers).await.unwrap();
    assert_eq!(delivery.summary.source, Source::Poll);
    assert_eq!(delivery.summary.response.unwrap().status, Some(200));
    running.delivered().await;
    assert!(Arc::ptr_eq(&running.delivered().await, &delivery));
}

/// Responds to each request with 201, for as long as the test runs.
async fn target() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                read_until(&mut stream, "Z\"}").await;
                let response = "HTTP/1.1 201 X\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
                stream.write_all(response.as_bytes()).await.unwrap();
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_target_delays_no_delivery_to_another() {
    let live = target().await;
    // Accepts connections in its backlog only, and never responds.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead = silent.local_addr().unwrap();
    let routes = [format!("path=/live={live}"), format!("path=/dead={dead}")];
    let routes = routes.iter().map(|route| Route::parse(route).unwrap()).collect();
    let options = HttpSenderOptions { timeout: Duration::from_secs(3), ..Default::default() };
    let sender = HttpSender::new(options).unwrap();
    let mut running = start(|rules, limits| {
        verified(rules);
        rules.forwarder = Some(Arc::new(Forwarder::new(sender, routes, limits.in_flight)));
    });
    let deliveries = (0..200).map(|index| {
        let body = event(&format!("sub_{index}"));
        let path = if index % 2 == 0 { "/live" } else { "/dead" };
        let headers = format!("Connection: close\r\n{}", signature(&body));
        running.exchange(request(path, &headers, &body))
    });
    let responses = join_all(deliveries).await;
    let with = |expected| responses.iter().filter(|response| status(response) == expected).count();
    assert_eq!((with(201), with(504)), (100, 100), "{responses:?}");
    let (mut longest, mut warnings) = (Duration::ZERO, Vec::new());
    for _ in 0..200 {
        let event = running.events.try_recv().unwrap();
        let ListenerEvent::Delivered { delivery, warnings: more } = event else { panic!() };
        let response = delivery.summary.response.unwrap();
        assert_eq!(response.answered_by, AnsweredBy::Target);
        if response.status == Some(201) {
            longest = longest.max(response.took);
        }
        warnings.extend(more);
    }
    assert!(longest < Duration::from_secs(3), "{longest:?}");
    let codes: Vec<_> = warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(codes, [WarningCode::TargetDown]);
    let body = event("sub_200");
    let unrouted = running.exchange(last_request(&signature(&body), &body)).await;
    assert_eq!(status(&unrouted), 200);
    let response = running.delivered().await.summary.response.unwrap();
    assert_eq!(response.answered_by, AnsweredBy::NoRoute);
}
