//! A receiver of bare hyper: the tower layer verifies, what is behind it gets verified events.
//!
//! ```sh
//! FORMSVC_SIGNING_SECRET=whsec_… cargo run -p formsvc-receiver --example hyper_tower -- --port 9000
//! ```
//!
//! It forgets what it has seen: see the other examples for each submission handled once.

#![expect(clippy::print_stdout, reason = "it is how an example tells what happens")]

mod support;

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use formsvc_receiver::{Event, Verified, Verifier, VerifyLayer};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower::{ServiceBuilder, service_fn};

use support::End;

/// The service waits so long for an answer (SPEC §6); nobody else may take longer for a head or a body either.
const TIME_LIMIT: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let verifier = Verifier::builder()
        .secret(support::secret()?)
        .read_timeout(TIME_LIMIT, tokio::time::sleep)
        .build()?;
    let end = End::from_arguments()?;
    let counting = end.clone();
    let service = ServiceBuilder::new().layer(VerifyLayer::events(verifier)).service(service_fn(
        move |request: Request<Full<Bytes>>| {
            handle(&request);
            counting.count_one();
            let mut response = Response::new(Full::<Bytes>::default());
            *response.status_mut() = StatusCode::NO_CONTENT;
            std::future::ready(Ok::<_, Infallible>(response))
        },
    ));

    let listener = TcpListener::bind(support::address()?).await?;
    println!("listening on http://{}/", listener.local_addr()?);

    let mut connections = JoinSet::new();
    let mut ended = std::pin::pin!(end.clone().reached());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut ended => break,
        };
        let Ok((stream, _)) = accepted else {
            // Most likely there are too many connections; some will end.
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(TIME_LIMIT);
        let service = TowerToHyperService::new(service.clone());
        let end = end.clone();
        connections.spawn(async move {
            let mut connection =
                std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
            tokio::select! {
                _ = &mut connection => return,
                () = end.reached() => connection.as_mut().graceful_shutdown(),
            }
            // What is under way is answered. How it ends is the sender's affair.
            let _ = connection.await;
        });
    }
    connections.join_all().await;
    Ok(())
}

/// What a receiver is for. What takes longer than a moment is better kept and done later: see the
/// example `worker`.
fn handle(request: &Request<Full<Bytes>>) {
    let event = request.extensions().get::<Verified<Event>>();
    // Debug writing, since what others wrote can hold what makes a terminal act.
    match event.map(Verified::event) {
        Some(Event::SubmissionCreated(submission)) => {
            println!("{:?}: {:?}", submission.form_title, submission.data.as_json());
        }
        // Answered with success all the same: the service would only send it again.
        Some(other) => println!("passed over: {:?}", other.kind()),
        None => unreachable!("the layer lets nothing else through"),
    }
}
