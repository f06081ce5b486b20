//! A client for programs that are not async: its calls block the thread, and its lists are
//! iterators.
//!
//! ```no_run
//! use formsvc_client::blocking::Client;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder()
//!     .base_url("https://forms.example")
//!     .api_key("fsk_example")
//!     .build()?;
//! println!("{}", client.me()?.email);
//! for submission in client.form("frm_1").submissions().items() {
//!     println!("{}", submission?.data.as_json());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A blocking client owns a tokio runtime with one thread, which ends when the last clone and the
//! last list of the client are dropped. Calls can be made from any thread that may block, also from one
//! of tokio's `spawn_blocking` or actix's `web::block`. On a thread that runs async tasks, which the call
//! would stop, they fail with [`ErrorKind::Config`]: use the async [`Client`](crate::Client) there.

use std::future::poll_fn;
use std::iter::FusedIterator;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::{Cursor, Form, FormId, IdError, RatePolicy, Submission, Timestamp, User};
use futures_core::Stream;
use http::{HeaderName, HeaderValue};
use tokio::runtime::{Builder, Runtime};
use tokio::task::coop;

use crate::api_key::ApiKeyError;
use crate::error::{Error, ErrorKind};
use crate::event::ClientEvent;
use crate::forms::Forms;
use crate::network::NetworkSettings;
use crate::operation::{BUILD, FORMS, ME, RAW, SUBMISSIONS};
use crate::paging::FollowQuery;
use crate::transport::Transport;
use crate::{
    ApiKey, RateLimit, RequestOptions, Response, ResumeToken, RetryPolicy, SubmissionPage,
    SyncPoint, Timeouts,
};

/// A client with the calls of [`Client`](crate::Client) except `raw_pages`, which block the thread. Clones are
/// cheap and share everything.
#[derive(Clone, Debug)]
pub struct Client {
    client: crate::Client,
    runtime: Arc<OwnRuntime>,
}

/// A form of the key's owner; cheap to create and to clone.
#[derive(Clone, Debug)]
pub struct FormHandle {
    form: crate::FormHandle,
    runtime: Arc<OwnRuntime>,
}

/// The settings of a blocking [`Client`]: those of [`ClientBuilder`](crate::ClientBuilder), which can
/// be converted to it.
#[derive(Debug, Default)]
#[must_use]
pub struct ClientBuilder {
    inner: crate::ClientBuilder,
}

/// Setters of the async type of the same name.
macro_rules! same_setters {
    ($of:ident: $( $name:ident($($argument:ident: $type:ty),*); )+) => { $(
        #[doc = concat!("See [`", stringify!($of), "::", stringify!($name), "`](crate", "::",
            stringify!($of), "::", stringify!($name), ").")]
        pub fn $name(mut self, $($argument: $type),*) -> Self {
            self.inner = self.inner.$name($($argument),*);
            self
        }
    )+ };
}

impl ClientBuilder {
    same_setters! {
        ClientBuilder:
        base_url(url: impl Into<String>);
        api_key(key: impl TryInto<ApiKey, Error: Into<ApiKeyError>>);
        timeouts(timeouts: Timeouts);
        retry(policy: RetryPolicy);
        rate_limit(limit: RateLimit);
        max_wait(wait: Duration);
        max_body(bytes: usize);
        danger_allow_http(allow: bool);
        user_agent(suffix: impl Into<String>);
        default_header(name: impl TryInto<HeaderName>, value: impl TryInto<HeaderValue>);
        proxy(url: impl Into<String>);
        no_proxy();
        network(settings: NetworkSettings);
        add_root_certificate(pem: impl Into<Vec<u8>>);
        client_identity(pem: impl Into<Vec<u8>>);
        transport(transport: impl Transport);
        on_event(listener: impl Fn(&ClientEvent) + Send + Sync + 'static);
    }

    /// See [`ClientBuilder::wrap_transport`](crate::ClientBuilder::wrap_transport).
    pub fn wrap_transport<T: Transport>(
        self,
        wrap: impl FnOnce(Arc<dyn Transport>) -> T + Send + Sync + 'static,
    ) -> Self {
        Self { inner: self.inner.wrap_transport(wrap) }
    }

    /// See [`ClientBuilder::from_env`](crate::ClientBuilder::from_env).
    pub fn from_env() -> Result<Self, Error> {
        crate::ClientBuilder::from_env().map(Self::from)
    }

    /// Checks every setting and creates the client with its thread. Fails like
    /// [`ClientBuilder::build`](crate::ClientBuilder::build), and if no thread can be started.
    pub fn build(self) -> Result<Client, Error> {
        Ok(Client { client: self.inner.build()?, runtime: Arc::new(OwnRuntime::start()?) })
    }
}

/// Takes the settings of an async builder.
impl From<crate::ClientBuilder> for ClientBuilder {
    fn from(inner: crate::ClientBuilder) -> Self {
        Self { inner }
    }
}

impl Client {
    /// Returns a builder without settings.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// See [`Client::from_env`](crate::Client::from_env).
    pub fn from_env() -> Result<Self, Error> {
        ClientBuilder::from_env()?.build()
    }

    /// See [`Client::me`](crate::Client::me).
    pub fn me(&self) -> Result<Response<User>, Error> {
        self.runtime.block_on(ME, self.client.me())
    }

    /// See [`Client::forms`](crate::Client::forms).
    pub fn forms(&self) -> Result<Response<Forms>, Error> {
        self.runtime.block_on(FORMS, self.client.forms())
    }

    /// See [`Client::get_raw`](crate::Client::get_raw).
    pub fn get_raw(&self, path: &str, query: &[(&str, &str)]) -> Result<Response<Bytes>, Error> {
        self.runtime.block_on(RAW, self.client.get_raw(path, query))
    }

    /// See [`Client::base_url`](crate::Client::base_url).
    pub fn base_url(&self) -> &str {
        self.client.base_url()
    }

    /// See [`Client::rate_policy`](crate::Client::rate_policy).
    pub fn rate_policy(&self) -> Option<RatePolicy> {
        self.client.rate_policy()
    }

    /// See [`Client::find_form`](crate::Client::find_form).
    pub fn find_form(&self, title: &str) -> Result<Option<Form>, Error> {
        self.runtime.block_on(FORMS, self.client.find_form(title))
    }

    /// See [`Client::form`](crate::Client::form).
    pub fn form(&self, id: impl TryInto<FormId, Error: Into<IdError>>) -> FormHandle {
        FormHandle { form: self.client.form(id), runtime: Arc::clone(&self.runtime) }
    }

    /// See [`Client::with_options`](crate::Client::with_options).
    pub fn with_options(&self, options: RequestOptions) -> Result<Self, Error> {
        Ok(Self { client: self.client.with_options(options)?, ..self.clone() })
    }
}

impl FormHandle {
    /// See [`FormHandle::id`](crate::FormHandle::id).
    pub fn id(&self) -> Option<&FormId> {
        self.form.id()
    }

    /// Returns a query for the form's submissions, newest first (SPEC §4). Sends nothing.
    pub fn submissions(&self) -> SubmissionQuery {
        SubmissionQuery { inner: self.form.submissions(), runtime: Arc::clone(&self.runtime) }
    }

    /// Returns an iterator over the new submissions as they come: see
    /// [`FormHandle::follow`](crate::FormHandle::follow). `start` sets the start and the interval. The
    /// iterator blocks until the next submission comes.
    ///
    /// ```no_run
    /// # fn example(client: formsvc_client::blocking::Client) -> Result<(), formsvc_client::Error> {
    /// for submission in client.form("frm_1").follow(|follow| follow.last(10)) {
    ///     println!("{}", submission?.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn follow(&self, start: impl FnOnce(FollowQuery) -> FollowQuery) -> Follow {
        BlockingList::new(start(self.form.follow()).items(), Arc::clone(&self.runtime))
    }
}

/// A query for the submissions of a form: the blocking form of
/// [`SubmissionQuery`](crate::SubmissionQuery). Sends nothing by itself.
#[derive(Clone, Debug)]
#[must_use = "a query does nothing until its items or pages are read"]
pub struct SubmissionQuery {
    inner: crate::SubmissionQuery,
    runtime: Arc<OwnRuntime>,
}

impl SubmissionQuery {
    same_setters! {
        SubmissionQuery:
        page_size(rows: u32);
        start_at(cursor: Cursor);
        resume_from(token: ResumeToken);
        since(time: Timestamp);
        until(time: Timestamp);
        stop_when(stop: impl Fn(&Submission) -> bool + Send + Sync + 'static);
        max_pages(pages: u64);
        allow_incomplete(allow: bool);
    }

    /// Returns an iterator over the submissions.
    pub fn items(self) -> Submissions {
        BlockingList::new(self.inner.items(), self.runtime)
    }

    /// Returns an iterator over the pages.
    pub fn pages(self) -> SubmissionPages {
        BlockingList::new(self.inner.pages(), self.runtime)
    }

    /// Returns an iterator over the submissions that are new since a sync point.
    pub fn sync_from(self, point: &SyncPoint) -> NewSubmissions {
        BlockingList::new(self.inner.sync_from(point), self.runtime)
    }

    /// Requests a single page.
    pub fn page(self) -> Result<SubmissionPage, Error> {
        self.runtime.block_on(SUBMISSIONS, self.inner.page())
    }
}

/// A list as an iterator that requests a page when it needs one, and ends after an error. The
/// accessors of the stream, such as its resume token, are available through `Deref`.
#[must_use = "iterators do nothing unless they are consumed"]
#[derive(Debug)]
pub struct BlockingList<S> {
    stream: S,
    runtime: Arc<OwnRuntime>,
    failed: bool,
}

/// The blocking form of [`Submissions`](crate::list::Submissions).
pub type Submissions = BlockingList<crate::paging::Submissions>;
/// The blocking form of [`SubmissionPages`](crate::list::SubmissionPages).
pub type SubmissionPages = BlockingList<crate::paging::SubmissionPages>;
/// The blocking form of [`NewSubmissions`](crate::list::NewSubmissions).
pub type NewSubmissions = BlockingList<crate::paging::NewSubmissions>;

impl<S> BlockingList<S> {
    fn new(stream: S, runtime: Arc<OwnRuntime>) -> Self {
        Self { stream, runtime, failed: false }
    }
}

impl<T, S: Stream<Item = Result<T, Error>> + Unpin> Iterator for BlockingList<S> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let Self { stream, runtime, .. } = self;
        let next = poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx));
        let item = runtime.block_on(SUBMISSIONS, async { next.await.transpose() });
        self.failed = item.is_err();
        item.transpose()
    }
}

impl<T, S: Stream<Item = Result<T, Error>> + Unpin> FusedIterator for BlockingList<S> {}

impl<S> Deref for BlockingList<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.stream
    }
}

/// The blocking form of [`Follow`](crate::list::Follow).
pub type Follow = BlockingList<crate::paging::Follow>;
/// The blocking form of [`NewSubmissionPages`](crate::list::NewSubmissionPages).
pub type NewSubmissionPages = BlockingList<crate::paging::NewSubmissionPages>;

impl NewSubmissions {
    /// See [`NewSubmissions::pages`](crate::list::NewSubmissions::pages).
    pub fn pages(self) -> NewSubmissionPages {
        BlockingList::new(self.stream.pages(), self.runtime)
    }
}

impl Submissions {
    /// See [`Submissions::try_collect_max`](crate::list::Submissions::try_collect_max).
    pub fn try_collect_max(&mut self, max: usize) -> Result<Vec<Submission>, Error> {
        self.runtime.block_on(SUBMISSIONS, self.stream.try_collect_max(max))
    }
}

/// A tokio runtime with one worker thread, shared by the clones of a client.
#[derive(Debug)]
struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    fn start() -> Result<Self, Error> {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("formsvc-client").enable_all().build();
        let failed = "the thread of the blocking client cannot be started";
        let failed = |error| Error::parts(ErrorKind::Config, BUILD, failed).with_source(error);
        Ok(Self(Some(runtime.map_err(failed)?)))
    }

    /// Runs a call on this thread until it completes. Fails on a thread that runs async tasks.
    fn block_on<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        if runs_async_tasks() {
            let what = "a blocking client cannot be used on a thread that runs async tasks; use the \
                        async `formsvc_client::Client`, or tokio's `spawn_blocking`";
            return Err(Error::config(operation, what));
        }
        // Connections and timers belong to the runtime of this client. Its own `block_on` would panic
        // where a thread blocks for another runtime already.
        let _context = self.0.as_ref().expect("the runtime is taken by drop only").enter();
        futures_lite::future::block_on(call)
    }
}

/// Returns true on a thread that polls a task of tokio, which a blocking call would stop.
fn runs_async_tasks() -> bool {
    // tokio limits the operations of a task between two yields. Blocking work has no limit.
    let mut context = Context::from_waker(Waker::noop());
    (0..=u8::MAX).any(|_| match coop::poll_proceed(&mut context) {
        Poll::Ready(operation) => {
            operation.made_progress();
            false
        }
        Poll::Pending => true,
    })
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        // The drop of a tokio runtime waits for its threads, which panics inside another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
