//! Connections go to addresses that the policy lets through, and to no others.

use std::net::IpAddr;
use std::sync::Mutex;

use formsvc_server::egress::{
    AddressClass, ClientOptions, DeliveryClient, DeliveryFailure, Denied, EgressPolicy,
    FailureCode, Phase, Resolve, Resolved,
};

use super::receiver::{OK, Receiver, client, post, url};
use super::tls::{Authority, NAME, answering_as, url_of};

/// Answers look-ups from a list, in its order, and the last answer from then on.
struct Answers(Mutex<Vec<Vec<IpAddr>>>);

impl Answers {
    fn of(answers: &[&[&str]]) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        Self(Mutex::new(answers.iter().rev().map(parse).collect()))
    }
}

impl Resolve for Answers {
    fn resolve(&self, _: &str) -> Resolved {
        let mut answers = self.0.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop().unwrap() } else { answers[0].clone() };
        Box::pin(async { Ok(answer) })
    }
}

fn policy(entries: &[&str]) -> EgressPolicy {
    let entries = entries.iter().map(|entry| entry.parse().unwrap());
    entries.fold(EgressPolicy::production(), EgressPolicy::allow)
}

fn production() -> DeliveryClient {
    DeliveryClient::new(ClientOptions::default())
}

fn assert_denied(failure: &DeliveryFailure, class: AddressClass) {
    assert_eq!((failure.code, failure.phase), (FailureCode::EgressDenied, Phase::Dns));
    assert_eq!(failure.denied, Some(Denied::Class(class)), "{failure}");
    assert!(failure.to_string().contains("--egress-allow"), "{failure}");
}

#[tokio::test]
async fn production_does_not_connect_to_this_machine_however_it_is_spelled() {
    let receiver = Receiver::answering(OK).await;
    let port = receiver.addr.port();
    for host in ["127.0.0.1", "0x7f.1", "2130706433", "0177.1", "[::ffff:127.0.0.1]", "[::1]"] {
        for scheme in ["http", "https"] {
            let failure = post(&production(), &url(&format!("{scheme}://{host}:{port}/"))).await;
            assert_denied(&failure.unwrap_err(), AddressClass::Loopback);
        }
    }
    let failure = post(&production(), &url(&format!("http://a.localhost:{port}/"))).await;
    assert_denied(&failure.unwrap_err(), AddressClass::Loopback);
    let failure = post(&production(), &url(&format!("https://0.0.0.0:{port}/"))).await;
    assert_denied(&failure.unwrap_err(), AddressClass::Unspecified);
    let failure = post(&production(), &url("https://169.254.169.254/latest/meta-data")).await;
    assert_denied(&failure.unwrap_err(), AddressClass::Metadata);
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_name_that_turns_to_this_machine_is_denied_when_it_is_connected_to() {
    let authority = Authority::new();
    let receiver = answering_as(authority.identity(NAME)).await;
    // The receiver listens on all of them; only the first is open.
    let answers = Answers::of(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let client = authority.client(policy(&["127.0.0.1"]), answers);
    assert_eq!(post(&client, &url_of(&receiver)).await.unwrap().status, 200);
    let other_port = url(&format!("https://{NAME}:1/"));
    assert_denied(&post(&client, &other_port).await.unwrap_err(), AddressClass::Loopback);
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn a_name_with_one_address_that_is_denied_is_not_connected_to_at_all() {
    let authority = Authority::new();
    let receiver = answering_as(authority.identity(NAME)).await;
    for answer in [["127.0.0.1", "10.0.0.1"], ["10.0.0.1", "127.0.0.1"]] {
        let client = authority.client(EgressPolicy::dev(), Answers::of(&[&answer]));
        let failure = post(&client, &url_of(&receiver)).await.unwrap_err();
        assert_denied(&failure, AddressClass::Private);
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn an_address_that_does_not_answer_gives_way_to_the_next() {
    let authority = Authority::new();
    let receiver = answering_as(authority.identity(NAME)).await;
    // Nobody listens at the first.
    let answers = Answers::of(&[&["127.0.0.2", "::ffff:127.0.0.1"]]);
    let client = authority.client(EgressPolicy::dev(), answers);
    let response = post(&client, &url_of(&receiver)).await.unwrap();
    assert_eq!(response.peer, receiver.addr);
}

#[tokio::test]
async fn a_name_is_opened_with_its_port_and_an_address_by_itself() {
    let authority = Authority::new();
    let receiver = answering_as(authority.identity(NAME)).await;
    let port = receiver.addr.port();
    for (entry, is_open) in [
        (format!("{NAME}:{port}"), true),
        (format!("127.0.0.1:{port}"), true),
        ("127.0.0.0/8".to_owned(), true),
        (format!("{NAME}:1"), false),
        (format!("other.test:{port}"), false),
        ("127.0.0.2".to_owned(), false),
    ] {
        let client = authority.client(policy(&[&entry]), Answers::of(&[&["127.0.0.1"]]));
        let outcome = post(&client, &url_of(&receiver)).await;
        assert_eq!(outcome.is_ok(), is_open, "{entry}: {outcome:?}");
    }
}

#[tokio::test]
async fn localhost_is_this_machine_and_no_resolver_is_asked() {
    let receiver = Receiver::answering(OK).await;
    let resolver = std::sync::Arc::new(Answers::of(&[&["1.1.1.1"]]));
    let client = DeliveryClient::new(ClientOptions {
        policy: EgressPolicy::dev(),
        resolver,
        ..Default::default()
    });
    for host in ["localhost", "app.localhost", "LOCALHOST"] {
        let url = url(&format!("http://{host}:{}/", receiver.addr.port()));
        assert_eq!(post(&client, &url).await.unwrap().peer, receiver.addr);
    }
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_told_with_its_address() {
    // Taken, so that no other test listens on it.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = socket.local_addr().unwrap();
    let failure = post(&client(), &url(&format!("http://{addr}/"))).await.unwrap_err();
    assert_eq!((failure.code, failure.phase), (FailureCode::ConnectFailed, Phase::Connect));
    assert_eq!(failure.peer, Some(addr));
    assert!(failure.to_string().contains("refused"), "{failure}");
}
