//! Going down without losing a request.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use formsvc_server::serve::{ServeOptions, Server, Stopped};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, StoreError, system_clock};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::wire::{PATIENCE, connect, read_all, read_until, serve};

/// A route that says when it was entered and answers when told to.
fn gated(entered: &Arc<Notify>, gate: &Arc<Notify>) -> Router {
    let (entered, gate) = (Arc::clone(entered), Arc::clone(gate));
    let handler = async move || {
        entered.notify_one();
        gate.notified().await;
        "finished"
    };
    Router::new().route("/gated", get(handler))
}

#[tokio::test]
async fn a_request_under_way_is_finished_and_nothing_new_is_taken() {
    let (entered, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let router = gated(&entered, &gate);
    let running = Server::bind_router(ServeOptions::default(), router).await.unwrap();
    let addr = running.local_addr();
    let mut busy = connect(&running).await;
    let mut idle = connect(&running).await;
    let mut untouched = connect(&running).await;
    idle.write_all(b"GET /no HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    read_until(&mut idle, "not_found").await;
    busy.write_all(b"GET /gated HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    entered.notified().await;
    let stopping = tokio::spawn(running.shutdown());
    read_all(&mut idle).await;
    read_all(&mut untouched).await;
    assert!(TcpStream::connect(addr).await.is_err());
    gate.notify_one();
    let answer = read_all(&mut busy).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("finished"), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    assert_eq!(stopping.await.unwrap().unwrap(), Stopped { abandoned: 0 });
}

#[tokio::test]
async fn what_is_not_finished_by_the_deadline_is_cut() {
    let (entered, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let options =
        ServeOptions { shutdown_deadline: Duration::from_millis(20), ..Default::default() };
    let running = Server::bind_router(options, gated(&entered, &gate)).await.unwrap();
    let mut busy = connect(&running).await;
    busy.write_all(b"GET /gated HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    entered.notified().await;
    let stopped = tokio::time::timeout(PATIENCE, running.shutdown()).await.unwrap();
    assert_eq!(stopped.unwrap(), Stopped { abandoned: 1 });
    assert_eq!(read_all(&mut busy).await, "");
}

#[tokio::test]
async fn the_store_is_closed_last_and_readiness_is_red_before() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(system_clock()).unwrap());
    let (entered, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (more, kept) = (gated(&entered, &gate), Arc::clone(&store));
    let running =
        Server::bind_with(ServeOptions::default(), store, |router| router.merge(more)).await;
    let running = running.unwrap();
    let mut busy = connect(&running).await;
    // The second request is read only once the first is answered.
    busy.write_all(
        b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\nGET /gated HTTP/1.1\r\nhost: x\r\n\r\n",
    )
    .await
    .unwrap();
    read_until(&mut busy, r#"{"status":"ready"}"#).await;
    entered.notified().await;
    let stopping = tokio::spawn(running.shutdown());
    kept.probe().await.unwrap();
    gate.notify_one();
    assert!(read_all(&mut busy).await.ends_with("finished"));
    stopping.await.unwrap().unwrap();
    assert!(matches!(kept.probe().await, Err(StoreError::Unavailable(_))));
}

#[tokio::test]
async fn dropping_a_server_stops_it() {
    let running = serve(ServeOptions::default()).await;
    let addr = running.local_addr();
    let mut open = connect(&running).await;
    open.write_all(b"GET /page HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    read_until(&mut open, "\r\n\r\npage").await;
    drop(running);
    read_all(&mut open).await;
    let refused = async {
        while TcpStream::connect(addr).await.is_ok() {
            // Sleeps because polling without a pause takes the processor from what it waits for.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.unwrap();
}

#[tokio::test]
async fn the_base_url_is_one_a_client_can_use() {
    let any = ServeOptions { addr: "0.0.0.0:0".parse().unwrap(), ..Default::default() };
    let running = serve(any).await;
    let port = running.local_addr().port();
    assert_eq!(running.base_url(), format!("http://127.0.0.1:{port}"));
    let taken =
        ServeOptions { addr: format!("0.0.0.0:{port}").parse().unwrap(), ..Default::default() };
    let refused = Server::bind_router(taken, Router::new()).await.unwrap_err();
    assert_eq!(refused.to_string(), format!("cannot listen on `0.0.0.0:{port}`"));
}
