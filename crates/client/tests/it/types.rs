//! What the compiler can promise.

use formsvc_client::{
    AnswersError, Client, Error, Event, FormHandle, ListSubmissions, RequestOptions, Response,
    ResumeToken, SubmissionPage, SubmissionPages, Submissions, TieOverflow, TransportError,
    TypedSubmission, TypedSubmissions, User,
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
    everything::<AnswersError>();
    everything::<RequestOptions>();
    everything::<TypedSubmission<String>>();
    everything::<TransportError>();
    everything::<Event>();
    everything::<TieOverflow>();
    fused_stream::<Submissions>();
    fused_stream::<SubmissionPages>();
    // Also of a type that cannot be shared itself.
    fused_stream::<TypedSubmissions<std::cell::Cell<u8>>>();
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
    sendable(&list.clone().pages().try_next());
    sendable(&list.items_as::<String>().try_next());
    sendable(&Client::builder());
}

#[test]
fn blocking_types_can_be_sent_shared_moved_and_kept() {
    use formsvc_client::blocking;

    fn iterator<T: std::iter::FusedIterator>() {}
    everything::<blocking::Client>();
    everything::<blocking::FormHandle>();
    everything::<blocking::ListSubmissions>();
    everything::<blocking::Submissions>();
    everything::<blocking::SubmissionPages>();
    everything::<blocking::TypedSubmissions<String>>();
    iterator::<blocking::Submissions>();
    iterator::<blocking::SubmissionPages>();
    iterator::<blocking::TypedSubmissions<String>>();
}

#[test]
fn a_tower_service_that_cannot_be_shared_makes_a_transport_that_can() {
    everything::<formsvc_client::TowerTransport<std::cell::Cell<u8>>>();
}

#[test]
fn the_mock_can_be_sent_shared_moved_and_kept() {
    everything::<formsvc_client::test_util::MockService>();
    everything::<formsvc_client::test_util::SeenRequest>();
}
