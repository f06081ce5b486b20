//! What goes over the wire (SPEC §6), and what is told of the answer.

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use super::receiver::{OK, Receiver, client, post, read_request, url};

#[tokio::test]
async fn a_delivery_is_the_request_of_the_specification_to_the_byte() {
    let (sender, mut requests) = mpsc::unbounded_channel();
    let receiver = Receiver::start(move |mut stream| {
        let sender = sender.clone();
        async move {
            sender.send(read_request(&mut stream).await.unwrap()).unwrap();
            stream.write_all(OK.as_bytes()).await.unwrap();
        }
    })
    .await;
    let url = url(&format!("http://{}/hook/a%20b?token=x&y=", receiver.addr));
    let response = post(&client(), &url).await.unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(response.peer, receiver.addr);
    assert_eq!((&*response.snippet, response.truncated), (&b"ok"[..], false));
    assert_eq!((response.retry_after, response.reused), (None, false));
    let expected = format!(
        "POST /hook/a%20b?token=x&y= HTTP/1.1\r\n\
         Content-Type: application/json\r\n\
         User-Agent: service-webhooks/1.0\r\n\
         X-Service-Event: submission.created\r\n\
         X-Service-Signature: t=1700000000,v1=00\r\n\
         Host: {}\r\n\
         Content-Length: 2\r\n\
         \r\n\
         {{}}",
        receiver.addr
    );
    assert_eq!(requests.recv().await.unwrap(), expected);
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_delivery() {
    let receiver = Receiver::answering(OK).await;
    let (client, url) = (client(), receiver.url());
    assert!(!post(&client, &url).await.unwrap().reused);
    for _ in 0..5 {
        assert!(post(&client.clone(), &url).await.unwrap().reused);
    }
    assert_eq!(receiver.connections(), 1);
}
