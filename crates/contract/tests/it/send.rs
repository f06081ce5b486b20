use bytes::Bytes;
use formsvc_contract::send::*;
use http::HeaderValue;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
const TOO_LARGE: &[u8] = b"HTTP/1.1 413 Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
async fn hasty(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        stream.write_all(answer).await.unwrap();
    });
    address
}
async fn run() {
    let sender = Sender::new(SenderOptions::default()).unwrap();
    let body = vec![b'x'; 10 << 20];
    let (mut ok, mut bad) = (0, 0);
    for i in 0..std::env::var("N").unwrap().parse().unwrap() {
        let address = hasty(TOO_LARGE).await;
        let s = HeaderValue::from_static("x");
        let o = Outgoing::delivery(format!("http://{address}/").parse().unwrap(), s.clone(), s, Bytes::from(body.clone()));
        match sender.send(o).await {
            Ok(a) => { ok += 1; assert_eq!(&a.body[..], b"no"); if i < 2 { println!("{:?}", a.took) } }
            Err(e) => { bad += 1; if bad < 4 { println!("{e}") } }
        }
    }
    println!("ok {ok} bad {bad}");
}
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn multi() { run().await }
#[tokio::test]
async fn single() { run().await }
