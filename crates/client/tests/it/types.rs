//! What the compiler can promise.

use formsvc_client::{
    Client, Error, Event, FormHandle, ListSubmissions, Response, ResumeToken, SubmissionPage,
    SubmissionPages, Submissions, TransportError, User,
};
use futures_core::{FusedStream, Stream};

use crate::support::builder;
use crate::support::fake::Fake;

fn everything<T: Send + Sync + Unpin + 'static>() {}
fn fused_stream<T: FusedStream + Stream + Send + Sync + Unpin + 'static>() {}
fn sendable<T: Send>(_: &T) {}

#[test]
fn every_type_can_be_sent_shared_moved_and_kept() {
    everything::<Client>();
    everything::<FormHandle>();
    everything::<ListSubmissions>();
    everything::<ResumeToken>();
    everything::<SubmissionPage>();
    everything::<Response<User>>();
    everything::<Error>();
    everything::<TransportError>();
    everything::<Event>();
    fused_stream::<Submissions>();
    fused_stream::<SubmissionPages>();
    assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
}

#[test]
fn every_future_can_be_sent() {
    let client = builder().transport(Fake::script([]).wire()).build().unwrap();
    sendable(&client.me());
    sendable(&client.forms());
    let list = client.form("frm_1".parse().unwrap()).submissions();
    sendable(&list.clone().page());
    sendable(&list.clone().items().try_next());
    sendable(&list.clone().items().try_collect_max(1));
    sendable(&list.pages().try_next());
    sendable(&Client::builder());
}
