//! Visitors that disconnect during a submission or directly after it.

use std::collections::HashSet;

use formsvc_tests::scale::scaled;
use formsvc_tests::site::form_url;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::ledgers::Story;

/// How a visitor disconnects.
#[derive(Clone, Copy)]
enum Going {
    Closes,
    /// Resets the connection.
    Breaks,
}

/// Returns the address of the server, and the request of a submission with this number.
fn request(form_url: &str, number: &str) -> (String, String) {
    let (addr, path) = form_url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let body = format!("{{\"number\":\"{number}\"}}");
    let head = format!(
        "POST /{path} HTTP/1.1\r\nhost: {addr}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    (addr.to_owned(), head + &body)
}

/// Sends the first bytes of a request and disconnects.
async fn go(addr: &str, request: &str, bytes: usize, going: Going) {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(&request.as_bytes()[..bytes]).await.unwrap();
    if matches!(going, Going::Breaks) {
        stream.set_zero_linger().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submission_of_lost_visitor_is_stored_whole_or_not_at_all() {
    let story = Story::new(2).await;
    let server = story.serve().await;
    // Other visitors submit at the same time, so that some of these submissions have to wait.
    let (visitors, form_url) =
        (story.visit(&server.base_url), form_url(&server.base_url, story.form()));
    let (length, whole) = (request(&form_url, "cut0000").1.len(), scaled(2, 70));
    let cuts = (0..length).flat_map(|bytes| [(bytes, Going::Closes), (bytes, Going::Breaks)]);
    let ends = [(length, Going::Closes), (length, Going::Breaks)];
    let ends = ends.into_iter().cycle().take(length * whole);
    let (mut gone, mut cut, mut sent) = (JoinSet::new(), HashSet::new(), 0);
    for (number, (bytes, going)) in cuts.chain(ends).enumerate() {
        let number = format!("cut{number:04}");
        let (addr, request) = request(&form_url, &number);
        assert!(request.len() >= length);
        if bytes < request.len() && bytes < length {
            cut.insert(number);
        } else {
            sent += 1;
            story.intake.note(number, None);
        }
        gone.spawn(async move { go(&addr, &request, bytes.min(request.len()), going).await });
        if gone.len() >= 16 {
            gone.join_next().await.unwrap().unwrap();
        }
    }
    gone.join_all().await;
    visitors.stop().await;
    story.stop(server).await;
    // The ledger does not list cut submissions as sent, so the comparison fails if the server stored one.
    let taken: i64 = story.site.look(|db| {
        let sql = "SELECT count(*) FROM submissions WHERE item LIKE '%\"number\":\"cut%'";
        db.query_row(sql, [], |row| row.get(0))
    });
    let figures = story.end("visitors that disconnect").await;
    let figures = figures.with("cut", cut.len()).with("disconnected after sending", sent);
    println!("{}", figures.with("of these accepted", taken));
    assert!(taken > 0, "no submission was accepted");
}
