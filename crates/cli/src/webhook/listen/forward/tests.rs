use std::net::SocketAddr;

use bytes::Bytes;
use formsvc_contract::send::HttpSenderOptions;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::*;
use crate::webhook::capture::{Arrival, Source};
use crate::webhook::verdict::{Verdict, VerdictCode};

/// A delivery of form frm_1 that came to a path.
pub(in crate::webhook::listen) fn received(
    target: &str,
    headers: &[(&'static str, &'static str)],
    body: &[u8],
) -> Received {
    let headers = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    let mut map = HeaderMap::new();
    map.extend(headers);
    Received {
        at: Timestamp::UNIX_EPOCH,
        source: Source::Request(SocketAddr::from(([127, 0, 0, 1], 1))),
        method: Method::POST,
        request_target: target.to_owned(),
        headers: map,
        body: Bytes::copy_from_slice(body),
        verdict: Verdict { code: VerdictCode::Valid, secret: None, age: None },
        event: Some("submission.created".to_owned()),
        submission_id: Some("sub_1".to_owned()),
        form_id: Some("frm_1".to_owned()),
        arrival: Arrival { number: 1, gap: None, duplicate: false },
    }
}

fn forwarder(timeout: Duration, routes: &[&str]) -> Forwarder {
    among(512, timeout, routes)
}

/// A forwarder of a listener that has so many deliveries under way at most.
fn among(in_flight: usize, timeout: Duration, routes: &[&str]) -> Forwarder {
    let options =
        HttpSenderOptions { timeout, answer_max: ANSWER_MAX, ..HttpSenderOptions::default() };
    let read = |text: &&str| match text.split_once("=>") {
        Some((_, url)) => Route::all(target(url).unwrap()),
        None => route(text).unwrap(),
    };
    Forwarder::new(HttpSender::new(options).unwrap(), routes.iter().map(read).collect(), in_flight)
}

/// The head of a request, whose body is `{}`.
async fn head(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n{}") {
        assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
    }
    String::from_utf8(request).unwrap()
}

/// Answers every request with a status, for as long as the test runs; says what came.
async fn answering(status: u16) -> (SocketAddr, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, got) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let seen = seen.clone();
            tokio::spawn(async move {
                let request = head(&mut stream).await;
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nX-Of: target\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
                let _ = seen.send(request);
            });
        }
    });
    (address, got)
}

const TEN: Duration = Duration::from_secs(10);

#[tokio::test]
async fn headers_of_the_connection_stay_and_all_others_go_on() {
    let (address, mut got) = answering(201).await;
    let forwarder = forwarder(TEN, &[&format!("=>{address}/in?x=1")]);
    let headers = [
        ("host", "listener"),
        ("connection", "close, X-Named"),
        ("x-named", "hop"),
        ("keep-alive", "1"),
        ("te", "trailers"),
        ("content-length", "2"),
        ("x-service-signature", "t=1,v1=2"),
        ("x-twice", "a"),
        ("x-twice", "b"),
        ("user-agent", "service-webhooks/1.0"),
    ];
    let passed_on = forwarder.forward(&received("/came/to?y=2", &headers, b"{}")).await;
    let [forward] = &passed_on.forwards[..] else { panic!("{passed_on:?}") };
    assert_eq!(forward.url, format!("http://{address}/in?x=1"));
    let answer = forward.answer.as_ref().unwrap();
    assert_eq!((answer.status, &*answer.body, answer.truncated), (201, &b"ok"[..], false));
    assert_eq!(answer.headers["x-of"], "target");
    let mut lines: Vec<String> =
        got.recv().await.unwrap().lines().map(str::to_ascii_lowercase).collect();
    lines.sort_unstable();
    let mut expected = [
        String::new(),
        "accept: */*".to_owned(),
        "content-length: 2".to_owned(),
        format!("host: {address}"),
        "post /in?x=1 http/1.1".to_owned(),
        "user-agent: service-webhooks/1.0".to_owned(),
        "x-service-signature: t=1,v1=2".to_owned(),
        "x-twice: a".to_owned(),
        "x-twice: b".to_owned(),
        "{}".to_owned(),
    ];
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn target_without_path_gets_the_path_of_the_delivery() {
    let (address, mut got) = answering(200).await;
    for (at, came, sent) in [
        ("", "/a%20b/%C3%A9|^?x=%20&y=/../z", "/a%20b/%C3%A9|^?x=%20&y=/../z"),
        // Dot segments are resolved.
        ("", "/a/../b?x=1", "/b?x=1"),
        // Two leading slashes, or an absolute URL, do not change the host.
        ("", "//evil.test/x", "//evil.test/x"),
        ("", "http://evil.test/x", "/"),
        ("/own", "/hook", "/own"),
        ("?a", "/hook", "/?a"),
    ] {
        let forwarder = forwarder(TEN, &[&format!("=>{address}{at}")]);
        let passed_on = forwarder.forward(&received(came, &[], b"{}")).await;
        assert_eq!(passed_on.forwards[0].url, format!("http://{address}{sent}"));
        let got = got.recv().await.unwrap();
        assert!(got.starts_with(&format!("POST {sent} HTTP/1.1\r\n")), "{came}: {got}");
    }
}

#[tokio::test]
async fn each_target_that_takes_it_gets_it_once() {
    let (one, mut of_one) = answering(200).await;
    let (two, mut of_two) = answering(500).await;
    let rules = [
        format!("form_id=frm_1={two}"),
        format!("=>{one}"),
        format!("event=submission.*={two}"),
        format!("event=other={one}/never"),
    ];
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let forwarder = forwarder(TEN, &rules);
    assert_eq!(forwarder.targets().len(), 3);
    let passed_on = forwarder.forward(&received("/", &[], b"{}")).await;
    let statuses: Vec<u16> =
        passed_on.forwards.iter().map(|forward| forward.answer.as_ref().unwrap().status).collect();
    assert_eq!(statuses, [500, 200]);
    of_one.recv().await.unwrap();
    of_two.recv().await.unwrap();
    assert!(of_one.try_recv().is_err() && of_two.try_recv().is_err());
}

#[tokio::test]
async fn a_target_that_is_down_or_up_again_is_told_once() {
    // The port is taken, and nothing listens on it yet.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let forwarder = forwarder(TEN, &[&format!("=>{address}")]);
    let delivery = received("/", &[], b"{}");
    let told = async || {
        let PassedOn { forwards, warnings } = forwarder.forward(&delivery).await;
        let codes: Vec<_> =
            warnings.into_iter().map(|warning| (warning.code, warning.message)).collect();
        (forwards[0].answer.is_ok(), codes)
    };
    let why = format!("nothing listens on {address}: is your server running?");
    assert_eq!(told().await, (false, vec![(WarningCode::TargetDown, why)]));
    assert_eq!(told().await, (false, vec![]));
    let listener = socket.listen(8).unwrap();
    let task = tokio::spawn(async move {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            head(&mut stream).await;
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .await
                .unwrap();
        }
    });
    let again = format!("http://{address}/ answers again");
    assert_eq!(told().await, (true, vec![(WarningCode::TargetUp, again)]));
    assert_eq!(told().await, (true, vec![]));
    task.await.unwrap();
}

#[test]
fn an_answer_that_the_service_may_not_wait_for_is_told_once() {
    let targets = forwarder(TEN, &["=>4242"]).targets;
    let answered = || {
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        Ok(Forwarded { status: 200, headers, body, truncated: false })
    };
    let heard = |tenths: u64| {
        let warnings = targets[0].heard(&answered(), Duration::from_millis(tenths * 100));
        warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>()
    };
    assert!(heard(80).is_empty());
    let told = "http://localhost:4242/ took 8.5 s to answer: the service gives up at 10 s";
    assert_eq!(heard(85), [told]);
    assert!(heard(99).is_empty() && heard(1).is_empty());
    assert_eq!(heard(85).len(), 1);
}

#[tokio::test]
async fn a_target_that_never_answers_delays_no_other() {
    // Takes connections, and nothing else.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (quick, mut got) = answering(200).await;
    let rules = [
        format!("path=/silent={}/", silent.local_addr().unwrap()),
        format!("path=/quick={quick}/in"),
    ];
    let forwarder = forwarder(TEN, &[&rules[0], &rules[1]]);
    let to_silent = received("/silent", &[], b"{}");
    let to_quick = received("/quick", &[], b"{}");
    // More than may be under way to it at once.
    let many = join_all((0..UNDER_WAY_MAX + 72).map(|_| forwarder.forward(&to_silent)));
    let few = join_all((0..50).map(|_| forwarder.forward(&to_quick)));
    let mut many = std::pin::pin!(many);
    let few = tokio::select! {
        biased;
        _ = many.as_mut() => panic!("those to the silent one are over first"),
        few = few => few,
    };
    assert!(few.iter().all(|passed_on| passed_on.forwards[0].answer.is_ok()));
    // The rest of its time passes at once.
    tokio::time::pause();
    let many = many.await;
    for passed_on in &many {
        let error = passed_on.forwards[0].answer.as_ref().unwrap_err();
        assert!(error.timed_out, "{error:?}");
    }
    // Of one thing at most one is told at a time.
    assert_eq!(many.iter().map(|passed_on| passed_on.warnings.len()).sum::<usize>(), 1);
    for _ in 0..50 {
        got.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_silent_target_takes_up_its_share_of_places_where_there_are_others() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("=>{}", silent.local_addr().unwrap());
    let delivery = received("/", &[], b"{}");
    let other = &["path=/other=4242"][..];
    for (in_flight, others, share) in
        [(16, other, 14), (16, &[], 16), (4, other, 3), (1, other, 1), (1, &[], 1)]
    {
        let forwarder = among(in_flight, TEN, &[&[&*silent], others].concat());
        let held = join_all((0..share).map(|_| forwarder.forward(&delivery)));
        let mut held = std::pin::pin!(held);
        assert!(futures_util::poll!(held.as_mut()).is_pending());
        let one_more = forwarder.forward(&delivery).await;
        let error = one_more.forwards[0].answer.as_ref().unwrap_err();
        assert!(!error.timed_out && error.why.contains("too many deliveries wait"), "{error:?}");
        assert!(one_more.warnings.is_empty());
    }
}

#[test]
fn what_is_known_before_the_first_delivery_is_told() {
    let address: SocketAddr = ([127, 0, 0, 1], 4242).into();
    let codes = |timeout, routes: &[&str]| {
        let warnings = forwarder(timeout, routes).warnings(address);
        warnings.into_iter().map(|warning| warning.code).collect::<Vec<_>>()
    };
    assert!(codes(TEN, &["=>4243", "=>https://shop.test/hook"]).is_empty());
    assert_eq!(codes(TEN * 2, &["=>4243"]), [WarningCode::LongTimeout]);
    for itself in ["=>4242/hook", "=>127.0.0.1:4242", "=>[::1]:4242", "=>a.localhost:4242"] {
        assert_eq!(codes(TEN, &[itself]), [WarningCode::Loop], "{itself}");
    }
    assert_eq!(codes(TEN, &["=>http://app:3000"]), [WarningCode::PlainHttp]);
}
