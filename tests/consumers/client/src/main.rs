//! A program of the default features. It compiles with every feature, because features only add.

use std::time::Duration;

use formsvc_client::event::ClientEvent;
use formsvc_client::list::Follow;
use formsvc_client::{
    ClientBuilder, Error, RequestOptions, RetryPolicy, SubmissionPage, SyncPoint,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let report = |event: &ClientEvent| println!("{event:?}");
    let client = ClientBuilder::from_env()?.retry(RetryPolicy::none()).on_event(report).build()?;
    let client = client.with_options(RequestOptions::new().header("x-run", "1"))?;
    for form in client.forms().await? {
        let mut pages = client.form(&form).submissions().pages();
        while let Some(page) = pages.try_next().await? {
            print(&page);
        }
    }
    follow(client.form("frm_1").follow().sync_from(&SyncPoint::new()).items()).await
}

fn print(page: &SubmissionPage) {
    for submission in page {
        println!("{} {}", submission.id, submission.created_at);
    }
}

async fn follow(mut follow: Follow) -> Result<(), Error> {
    loop {
        match tokio::time::timeout(Duration::from_secs(1), follow.try_next()).await {
            Ok(submission) => println!("{:?}", submission?),
            Err(_) => println!("nothing new"),
        }
    }
}

#[cfg(feature = "blocking")]
fn _blocking() -> Result<(), Error> {
    use formsvc_client::blocking::ClientBuilder;
    let client = ClientBuilder::from_env()?.build()?;
    for submission in client.form("frm_1").submissions().items() {
        println!("{}", submission?.id);
    }
    Ok(())
}

#[cfg(feature = "test-util")]
async fn _mock() -> Result<(), Error> {
    use formsvc_client::test_util::{MockService, form};
    let service = MockService::new().form(form("frm_1", "Survey"));
    println!("{}", service.client().me().await?.email);
    Err(Error::for_test(formsvc_client::ErrorKind::Timeout, None, None))
}

#[cfg(feature = "chrono")]
fn _chrono(time: chrono::DateTime<chrono::Utc>) -> Option<formsvc_client::Timestamp> {
    time.try_into().ok()
}

#[cfg(feature = "jiff")]
fn _jiff(time: jiff::Timestamp) -> Option<formsvc_client::Timestamp> {
    time.try_into().ok()
}

#[cfg(feature = "time")]
fn _time(time: time::OffsetDateTime) -> Option<formsvc_client::Timestamp> {
    time.try_into().ok()
}
