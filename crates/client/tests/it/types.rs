//! Auto traits of the public types.

use formsvc_client::{
    AnswersError, ApiKey, Client, ClientBuilder, ClientEvent, Error, Follow, FollowQuery,
    FormHandle, NewSubmissions, RequestOptions, Response, ResumeToken, SubmissionPage,
    SubmissionPages, SubmissionQuery, Submissions, SyncPoint, TieOverflow, TransportError, User,
};
use futures_core::{FusedStream, Stream};

use crate::support::builder;
use crate::support::fake::Fake;

fn everything<T: Send + Sync + Unpin + 'static>() {}
fn fused_stream<T: FusedStream + Stream + Send + Sync + Unpin + 'static>() {}
fn sendable<T: Send>(_: &T) {}

#[test]
fn public_types_are_send_sync_and_unpin() {
    everything::<ApiKey>();
    everything::<Client>();
    everything::<ClientBuilder>();
    everything::<FormHandle>();
    everything::<SubmissionQuery>();
    everything::<ResumeToken>();
    everything::<SyncPoint>();
    everything::<AnswersError>();
    everything::<SubmissionPage>();
    everything::<Response<User>>();
    everything::<Error>();
    everything::<RequestOptions>();
    everything::<TransportError>();
    everything::<ClientEvent>();
    everything::<TieOverflow>();
    fused_stream::<Submissions>();
    fused_stream::<SubmissionPages>();
    fused_stream::<NewSubmissions>();
    fused_stream::<Follow>();
    everything::<FollowQuery>();
    assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
}

#[test]
fn futures_of_calls_are_send() {
    let client = builder().transport(Fake::script([]).wire()).build().unwrap();
    sendable(&client.me());
    sendable(&client.forms());
    let query = client.form("frm_1").submissions();
    sendable(&query.clone().page());
    sendable(&query.clone().items().try_next());
    sendable(&query.clone().items().try_collect_max(1));
    sendable(&query.clone().pages().try_next());
    sendable(&query.sync_from(&SyncPoint::new()).try_next());
    sendable(&client.find_form("Contact"));
}

#[test]
fn blocking_types_are_send_and_sync() {
    use formsvc_client::blocking;

    fn iterator<T: std::iter::FusedIterator>() {}
    everything::<blocking::Client>();
    everything::<blocking::ClientBuilder>();
    everything::<blocking::FormHandle>();
    everything::<blocking::SubmissionQuery>();
    everything::<blocking::Submissions>();
    everything::<blocking::SubmissionPages>();
    everything::<blocking::NewSubmissions>();
    iterator::<blocking::Submissions>();
    iterator::<blocking::SubmissionPages>();
    iterator::<blocking::NewSubmissions>();
}

#[test]
fn mock_types_are_send_and_sync() {
    everything::<formsvc_client::test_util::MockService>();
    everything::<formsvc_client::test_util::SeenRequest>();
}
