//! Auto traits of the public types.

use formsvc_client::event::ClientEvent;
use formsvc_client::list::{
    Follow, FollowQuery, NewSubmissions, SubmissionPages, Submissions, TieOverflow,
};
use formsvc_client::transport::TransportError;
use formsvc_client::types::AnswersError;
use formsvc_client::{
    ApiKey, Client, ClientBuilder, Error, FormHandle, RequestOptions, Response, ResumeToken,
    SubmissionPage, SubmissionQuery, SyncPoint, User,
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

/// The largest number of names in the root of the crate.
const MAX_ROOT_NAMES: usize = 40;

#[test]
fn root_has_at_most_40_names() {
    let lib = include_str!("../../src/lib.rs");
    let mut names = Vec::new();
    // Items of the root are not indented.
    for (at, start) in lib.match_indices("\npub ") {
        let statement = &lib[at + start.len()..];
        let end = statement.find([';', '\n']).unwrap();
        if let Some(module) = statement.strip_prefix("mod ") {
            names.push(module[..end - "mod ".len()].trim_end_matches(" {"));
        } else {
            let path = statement.strip_prefix("use ").expect("the root re-exports");
            let path = &path[..path.find(';').unwrap()];
            let list = path.split_once('{').map_or(path, |(_, list)| list.trim_end_matches('}'));
            let items = list.split(',').map(str::trim).filter(|item| !item.is_empty());
            names.extend(items.map(|item| item.rsplit("::").next().unwrap()));
        }
    }
    names.sort_unstable();
    assert!(names.contains(&"Client") && names.contains(&"PAGE_SIZE_MAX"), "{names:?}");
    assert!(names.contains(&"list") && names.contains(&"blocking"), "{names:?}");
    assert!(names.len() <= MAX_ROOT_NAMES, "{} names: {names:?}", names.len());
    assert!(!lib.contains("doc(hidden)") && !lib.contains("::*"));
}
