//! One client in several tokio runtimes.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use formsvc_client::{RetryPolicy, Timeouts};
use tokio::runtime::{Builder, Runtime};

use crate::support::bodies::USER;
use crate::support::builder;

/// A server that keeps its connections open and sends the number of the connection of each request.
fn serve() -> (String, Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (mut stream, sender) = (stream.unwrap(), sender.clone());
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while let Some(Ok(line)) = lines.next() {
                    if line.is_empty() {
                        sender.send(number).unwrap();
                        let length = USER.len();
                        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{USER}")
                            .unwrap();
                    }
                }
            });
        }
    });
    (url, requests)
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn each_runtime_has_connections_of_its_own() {
    let (url, requests) = serve();
    let timeouts = Timeouts::new().attempt(Duration::from_secs(30));
    let client = builder().base_url(url).timeouts(timeouts).retry(RetryPolicy::none());
    let client = client.build().unwrap();
    let call = |runtime: &Runtime| {
        runtime.block_on(client.me()).unwrap();
        requests.recv().unwrap()
    };
    // A runtime that is not run has connections that nothing polls.
    let (first, second) = (runtime(), runtime());
    assert_eq!([call(&first), call(&first)], [0, 0]);
    assert_eq!([call(&second), call(&second)], [1, 1]);
    assert_eq!([call(&first), call(&second)], [0, 1], "both keep their connections");
    drop((first, second));
    assert_eq!(call(&runtime()), 2);
    let threads = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    assert_eq!(call(&threads), 3);
}

#[test]
fn client_of_many_runtimes_forgets_the_oldest() {
    let (url, requests) = serve();
    let client = builder().base_url(url).build().unwrap();
    let first = runtime();
    for connection in 0..70 {
        let runtime = if connection == 0 { &first } else { &runtime() };
        runtime.block_on(client.me()).unwrap();
        assert_eq!(requests.recv().unwrap(), connection);
    }
    first.block_on(client.me()).unwrap();
    assert_eq!(requests.recv().unwrap(), 70);
}
