//! Clients that are slow, by accident or not.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use formsvc_server::serve::{ServeOptions, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::wire::{PATIENCE, connect, read_all, read_until, serve};

const SHORT: Duration = Duration::from_millis(60);

#[tokio::test]
async fn a_head_that_is_dribbled_is_cut_though_bytes_keep_coming() {
    let options = ServeOptions { head_timeout: SHORT, ..Default::default() };
    let running = serve(options).await;
    let mut stream = connect(&running).await;
    let dribble = async {
        let mut refused = stream.write_all(b"GET /page HTTP/1.1\r\n").await;
        // The server's end shows as a write that is refused.
        while refused.is_ok() {
            // Sleeps because a client that dribbles is the point.
            tokio::time::sleep(SHORT / 20).await;
            refused = stream.write_all(b"a: b\r\n").await;
        }
    };
    let began = tokio::time::Instant::now();
    tokio::time::timeout(PATIENCE, dribble).await.unwrap();
    assert!(began.elapsed() >= SHORT);
    assert!(!read_all(&mut stream).await.contains("200"));
}

#[tokio::test]
async fn a_silent_connection_is_closed_and_a_busy_one_is_not() {
    let options = ServeOptions { idle_timeout: SHORT, ..Default::default() };
    let running = serve(options).await;
    let mut busy = connect(&running).await;
    let began = tokio::time::Instant::now();
    while began.elapsed() < SHORT * 3 {
        busy.write_all(b"GET /page HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        read_until(&mut busy, "\r\n\r\npage").await;
    }
    assert_eq!(read_all(&mut busy).await, "");
}

#[tokio::test]
async fn a_connection_that_never_says_anything_has_the_time_of_a_head() {
    let options = ServeOptions { head_timeout: SHORT, ..Default::default() };
    let running = serve(options).await;
    let mut silent = connect(&running).await;
    assert_eq!(read_all(&mut silent).await, "");
}

#[tokio::test]
async fn a_handler_may_take_longer_than_any_client() {
    let options = ServeOptions {
        idle_timeout: SHORT / 10,
        head_timeout: SHORT / 10,
        write_timeout: SHORT / 10,
        ..Default::default()
    };
    let slow = get(async || {
        // Sleeps because a handler that is slow is the point.
        tokio::time::sleep(SHORT).await;
        "done"
    });
    let running = Server::bind_router(options, Router::new().route("/", slow)).await.unwrap();
    let mut stream = connect(&running).await;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    read_until(&mut stream, "done").await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut() {
    let options = ServeOptions { write_timeout: SHORT, ..Default::default() };
    let large = get(async || Body::from(vec![b'x'; 64 << 20]));
    let running = Server::bind_router(options, Router::new().route("/", large)).await.unwrap();
    let mut stream = connect(&running).await;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let gone = async {
        while running.connections() == 0 {
            tokio::task::yield_now().await;
        }
        while running.connections() > 0 {
            // Sleeps because the server's own timeout runs meanwhile, and tells nobody.
            tokio::time::sleep(SHORT / 20).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
}

#[tokio::test]
async fn a_client_that_reads_steadily_but_too_slowly_is_cut() {
    const LARGE: usize = 64 << 20;
    let options =
        ServeOptions { write_timeout: SHORT, write_rate_min: 1 << 40, ..Default::default() };
    let large = get(async || Body::from(vec![b'x'; LARGE]));
    let running = Server::bind_router(options, Router::new().route("/", large)).await.unwrap();
    let mut stream = connect(&running).await;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut buffer = vec![0; 128 << 10];
    let reading = async {
        let mut taken = 0;
        // A reset is an end as well.
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            taken += read;
            // Sleeps because a client that takes its time is the point.
            tokio::time::sleep(SHORT / 20).await;
        }
        taken
    };
    let taken = tokio::time::timeout(PATIENCE, reading).await.unwrap();
    assert!(taken < LARGE, "{taken}");
}

#[tokio::test]
async fn connections_beyond_the_cap_wait_for_one_to_close() {
    let options = ServeOptions { connections_max: 1, ..Default::default() };
    let running = serve(options).await;
    let mut first = connect(&running).await;
    first.write_all(b"GET /page HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    read_until(&mut first, "\r\n\r\npage").await;
    let mut second = connect(&running).await;
    second.write_all(b"GET /page HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let waiting = read_until(&mut second, "page");
    assert!(tokio::time::timeout(SHORT, waiting).await.is_err());
    assert_eq!(running.connections(), 1);
    drop(first);
    read_until(&mut second, "\r\n\r\npage").await;
}

#[tokio::test]
async fn connections_of_one_peer_beyond_its_cap_are_closed() {
    let uncounted_peers = Vec::new();
    let options = ServeOptions { connections_per_peer: 1, uncounted_peers, ..Default::default() };
    let running = serve(options).await;
    let mut first = connect(&running).await;
    first.write_all(b"GET /page HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    read_until(&mut first, "\r\n\r\npage").await;
    let mut second = connect(&running).await;
    assert_eq!(read_all(&mut second).await, "");
    assert_eq!(running.connections(), 1);
    first.write_all(b"GET /page HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    assert!(read_all(&mut first).await.contains("\r\n\r\npage"), "it goes on");
}
