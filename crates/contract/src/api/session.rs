//! Sends the probes, each once, inside the rate limit.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use formsvc_protocol::RollingWindow;
use formsvc_protocol::limits::{PAGE_SIZE_MAX, RATE_LIMIT, RATE_WINDOW};
use http::header::{ACCEPT_ENCODING, AUTHORIZATION};
use http::{HeaderMap, HeaderValue, Method};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::ExposeSecret;
use tokio::time::timeout;
use url::{Position, Url};

use super::judge::Page;
use super::probe::{Exchange, Probe};
use super::{ApiOptions, Key};
use crate::report::excerpt;
use crate::send::{HttpSender, Outgoing};

/// The bytes that an id in a path needs encoded: all but the unreserved ones of RFC 3986, §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Forms that are read to find one with several pages.
const FORMS_TRIED_MAX: usize = 10;
/// Pages that are read to find the end of a list.
pub(super) const PAGES_MAX: usize = 20;
/// Other lists that are read if the first is too long.
const OTHER_LISTS_MAX: usize = 2;
/// Pages larger than this in total end the reading of a list.
const PAGES_BYTES_MAX: usize = 64 << 20;
/// `limit` of the second reading of a list.
pub(super) const OTHER_LIMIT: usize = 40;
/// Submissions of a list that is read a second time, at most.
const REREAD_MAX: usize = 400;
/// Longest form id that is used, in bytes.
const FORM_ID_MAX: usize = 1 << 10;
/// Longest cursor that is used, in bytes.
pub(super) const CURSOR_MAX: usize = 1 << 10;
/// Bytes of a body that are kept beside its JSON, for excerpts.
const BODY_KEPT: usize = 16 << 10;
/// JSON values of a body, at most. The largest page has fewer, and each takes many times its text.
const VALUES_MAX: usize = 1 << 20;
/// Submissions that the paging checks need.
const ROWS_MIN: usize = 4;
/// Added to the service's window: see [`RollingWindow`].
pub(super) const WINDOW_MARGIN: Duration = Duration::from_secs(2);
/// A cursor before all submissions, which the service did not issue.
const OLD_CURSOR: &str = "2000-01-01T00:00:00.000Z";
/// The id of no form.
const UNKNOWN_FORM: &str = "frm_00000000000000000000000000";

/// The exchanges of a probe, or why it was not sent.
pub(super) type Probed = Result<Vec<Exchange>, String>;

pub(super) struct Session<'a, F> {
    sender: &'a HttpSender,
    pub(super) options: &'a ApiOptions,
    pub(super) on_request: F,
    started: Instant,
    limiter: RollingWindow,
    /// When requests with the key were sent.
    pub(super) sent: Vec<Instant>,
    probed: HashMap<Probe, Probed>,
    /// The id of the form to read submissions of, or why there is none.
    form: Option<Result<String, String>>,
    /// The id of the form of [`Probe::AllPages`].
    listed: Option<String>,
    /// A key that does not exist.
    wrong_key: Option<Key>,
}

impl<'a, F: FnMut(&str)> Session<'a, F> {
    pub(super) fn new(sender: &'a HttpSender, options: &'a ApiOptions, on_request: F) -> Self {
        let limit = NonZeroU32::new(RATE_LIMIT).expect("the limit is not zero");
        let limiter = RollingWindow::new(limit, RATE_WINDOW + WINDOW_MARGIN);
        Self {
            sender,
            options,
            on_request,
            started: Instant::now(),
            limiter,
            sent: Vec::new(),
            probed: HashMap::new(),
            form: None,
            listed: None,
            wrong_key: wrong_key(&options.key),
        }
    }

    /// The texts that reports must not contain.
    pub(super) fn secrets(&self) -> Vec<&str> {
        let revoked = self.options.revoked_key.as_ref();
        let keys = [Some(&self.options.key), revoked, self.wrong_key.as_ref()];
        keys.into_iter().flatten().map(|key| key.text.expose_secret()).collect()
    }

    /// Returns the exchanges of a probe. Sends it first if necessary.
    pub(super) async fn get(&mut self, probe: Probe) -> Result<&[Exchange], String> {
        if !self.probed.contains_key(&probe) {
            let late = || Err("the time limit of the run ended".to_owned());
            let left = self.options.time_limit.saturating_sub(self.started.elapsed());
            let probed = if left.is_zero() {
                late()
            } else {
                timeout(left, Box::pin(self.send_probe(probe))).await.unwrap_or_else(|_| late())
            };
            self.probed.insert(probe, probed);
        }
        self.probed[&probe].as_deref().map_err(String::clone)
    }

    /// Returns the exchanges of a probe if it was sent.
    pub(super) fn sent(&self, probe: Probe) -> &[Exchange] {
        self.probed.get(&probe).and_then(|probed| probed.as_deref().ok()).unwrap_or_default()
    }

    /// Sends the probes that only the profile needs. One that cannot be sent leaves its facts unknown.
    pub(super) async fn send_profile_probes(&mut self) {
        for probe in [Probe::Compressed, Probe::ForeignCursor, Probe::OverMax] {
            let _ = self.get(probe).await;
        }
    }

    /// All exchanges so far.
    pub(super) fn all(&self) -> impl Iterator<Item = &Exchange> {
        self.probed.values().flatten().flatten()
    }

    async fn send_probe(&mut self, probe: Probe) -> Probed {
        let key = Some(&self.options.key);
        let exchange = match probe {
            Probe::Me => self.read(&["me"], &[], key).await,
            Probe::MeWithoutKey => self.read(&["me"], &[], None).await,
            Probe::FormsWithoutKey => self.read(&["forms"], &[], None).await,
            Probe::RowsWithoutKey => {
                let form = self.form().await.unwrap_or_else(|_| UNKNOWN_FORM.to_owned());
                self.read(&["forms", &form, "submissions"], &[], None).await
            }
            Probe::MeWrongKey => {
                let wrong = self.wrong_key.clone().ok_or("the key is too short")?;
                self.read(&["me"], &[], Some(&wrong)).await
            }
            Probe::MeRevokedKey => {
                let revoked = self.options.revoked_key.as_ref();
                let revoked = revoked.ok_or("needs --revoked-key-file")?;
                self.read(&["me"], &[], Some(revoked)).await
            }
            Probe::Compressed => {
                let encodings = HeaderValue::from_static("gzip, deflate, br, zstd");
                let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, encodings)]);
                self.send(self.url(&["me"], &[]), key, headers).await
            }
            Probe::Forms => self.read(&["forms"], &[], key).await,
            Probe::Rows => self.rows(&[]).await?,
            Probe::OneRow => self.rows(&[("limit", "1")]).await?,
            Probe::FourRows => {
                let exchange = self.rows(&[("limit", "4")]).await?;
                let rows = Page::of(&exchange).map_or(ROWS_MIN, |page| page.rows.len());
                if rows < ROWS_MIN {
                    return Err(format!(
                        "the form has {rows} submissions, and {ROWS_MIN} are needed"
                    ));
                }
                exchange
            }
            Probe::TwoPages => {
                self.get(Probe::FourRows).await?;
                let form = self.form().await?;
                return Ok(self.walk(&form, "2", 2).await);
            }
            Probe::LargestPage => self.rows(&[("limit", &PAGE_SIZE_MAX.to_string())]).await?,
            Probe::AllPages => return self.all_pages().await,
            Probe::OtherPages => return self.other_pages().await,
            Probe::OverMax => self.rows(&[("limit", &(PAGE_SIZE_MAX + 1).to_string())]).await?,
            Probe::BadLimit => self.rows(&[("limit", "many")]).await?,
            Probe::BadCursor => self.rows(&[("cursor", "yesterday")]).await?,
            Probe::ForeignCursor => {
                self.get(Probe::FourRows).await?;
                self.rows(&[("limit", "4"), ("cursor", OLD_CURSOR)]).await?
            }
            Probe::UnknownForm => {
                self.read(&["forms", UNKNOWN_FORM, "submissions"], &[], key).await
            }
            Probe::ForeignForm => {
                let form = self.options.foreign_form.clone().ok_or("needs --foreign-form")?;
                check_segment(&form)?;
                self.read(&["forms", &form, "submissions"], &[], key).await
            }
            Probe::Overload => return self.overload().await,
            Probe::AfterWait => self.wait_and_read().await?,
        };
        Ok(vec![exchange])
    }

    /// Reads submissions of the form.
    async fn rows(&mut self, query: &[(&str, &str)]) -> Result<Exchange, String> {
        let form = self.form().await?;
        Ok(self.read(&["forms", &form, "submissions"], query, Some(&self.options.key)).await)
    }

    /// Reads all pages of the form. If that list is too long, reads another one instead.
    async fn all_pages(&mut self) -> Probed {
        let (form, limit) = (self.form().await?, PAGE_SIZE_MAX.to_string());
        self.listed = Some(form.clone());
        let pages = self.walk(&form, &limit, PAGES_MAX).await;
        if self.options.form.is_some() || has_end(&pages) {
            return Ok(pages);
        }
        let others = self.form_ids().await.into_iter().filter(|id| *id != form);
        for other in others.take(OTHER_LISTS_MAX) {
            let others = self.walk(&other, &limit, PAGES_MAX).await;
            if has_end(&others) {
                self.listed = Some(other);
                return Ok(others);
            }
        }
        Ok(pages)
    }

    /// Reads the list of [`Probe::AllPages`] with another limit, if it is short.
    async fn other_pages(&mut self) -> Probed {
        let pages = self.get(Probe::AllPages).await?;
        let rows = pages.iter().filter_map(|page| Page::of(page).ok()).map(|page| page.rows.len());
        let is_short = has_end(pages) && rows.sum::<usize>() <= REREAD_MAX;
        match self.listed.clone().filter(|_| is_short) {
            Some(form) => Ok(self.walk(&form, &OTHER_LIMIT.to_string(), PAGES_MAX).await),
            None => Ok(Vec::new()),
        }
    }

    /// Reads pages of a form, until one is the last.
    async fn walk(&mut self, form: &str, limit: &str, pages_max: usize) -> Vec<Exchange> {
        let (path, key) = (["forms", form, "submissions"], Some(&self.options.key));
        let mut exchanges = vec![self.read(&path, &[("limit", limit)], key).await];
        let is_small = |read: &[Exchange]| {
            read.iter().map(|exchange| exchange.size).sum::<usize>() < PAGES_BYTES_MAX
        };
        while exchanges.len() < pages_max && is_small(&exchanges) {
            let page = Page::of(&exchanges[exchanges.len() - 1]);
            let next = page.ok().filter(|page| page.has_more == Some(true));
            let cursor = next.and_then(|page| page.next_cursor);
            let cursor = cursor.filter(|cursor| cursor.len() <= CURSOR_MAX).map(str::to_owned);
            let Some(cursor) = cursor else { break };
            let query = [("limit", limit), ("cursor", &cursor)];
            exchanges.push(self.read(&path, &query, key).await);
        }
        exchanges
    }

    async fn form_ids(&mut self) -> Vec<String> {
        let forms = self.get(Probe::Forms).await.ok().and_then(|forms| forms[0].json.clone());
        let forms = forms.as_deref().and_then(|json| json.get("data")?.as_array());
        let ids = forms.into_iter().flatten().filter_map(|form| form.get("id")?.as_str());
        let ids = ids.filter(|id| id.len() <= FORM_ID_MAX && check_segment(id).is_ok());
        ids.map(str::to_owned).collect()
    }

    /// Chooses the form to read submissions of: the first with several pages, else with most rows.
    async fn form(&mut self) -> Result<String, String> {
        if let Some(form) = self.options.form.clone() {
            return check_segment(&form).map(|()| form);
        }
        if let Some(form) = &self.form {
            return form.clone();
        }
        let mut best: Option<(usize, String)> = None;
        for id in self.form_ids().await.into_iter().take(FORMS_TRIED_MAX) {
            let pages = self.walk(&id, "5", 1).await;
            let count = Page::of(&pages[0]).map_or(0, |page| page.rows.len());
            if best.as_ref().is_none_or(|(most, _)| count > *most) {
                best = Some((count, id));
            }
            if count > ROWS_MIN {
                break;
            }
        }
        let form = best.map(|(_, id)| id);
        let form = form.ok_or_else(|| "the key's user has no form (or set --form)".to_owned());
        self.form.insert(form).clone()
    }

    async fn read(&mut self, path: &[&str], query: &[(&str, &str)], key: Option<&Key>) -> Exchange {
        let url = self.url(path, query);
        self.send(url, key, HeaderMap::new()).await
    }

    async fn send(&mut self, url: Url, key: Option<&Key>, headers: HeaderMap) -> Exchange {
        while let Err(wait) = self.limiter.try_acquire(self.started.elapsed()) {
            tokio::time::sleep(wait).await;
        }
        let request = self.describe(&url);
        (self.on_request)(&request);
        if key.is_some_and(|key| key.header == self.options.key.header) {
            self.sent.push(Instant::now());
        }
        self.exchange(url, key, headers).await
    }

    /// Describes a request without keys, which may be in its path if the service put them there.
    fn describe(&self, url: &Url) -> String {
        let request = format!("GET {}", &url[Position::BeforePath..]);
        excerpt(request.as_bytes(), &self.secrets())
    }

    pub(super) async fn exchange(
        &self,
        url: Url,
        key: Option<&Key>,
        mut headers: HeaderMap,
    ) -> Exchange {
        let request = self.describe(&url);
        headers.extend(key.map(|key| (AUTHORIZATION, key.header.clone())));
        let outgoing = Outgoing { method: Method::GET, url, headers, body: Bytes::new() };
        let mut outcome = self.sender.send(outgoing).await;
        let took = outcome.as_ref().map_or_else(|error| error.took, |answer| answer.took);
        let (mut size, mut json) = (0, None);
        if let Ok(answer) = &mut outcome {
            size = answer.body.len();
            if !answer.truncated && values(&answer.body) <= VALUES_MAX {
                json = serde_json::from_slice(&answer.body).ok().map(Arc::new);
            }
            answer.body = Bytes::copy_from_slice(&answer.body[..size.min(BODY_KEPT)]);
        }
        Exchange { request, outcome, size, json, recent: 0, took }
    }

    /// A URL below `/api/v1`.
    pub(super) fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.options.base_url.clone();
        let mut full = format!("{}/api/v1", url.path().trim_end_matches('/'));
        for segment in path {
            full.push('/');
            full.extend(utf8_percent_encode(segment, RESERVED));
        }
        url.set_path(&full);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }
}

/// Returns an error for an id that is a step of a path in every encoding.
fn check_segment(id: &str) -> Result<(), String> {
    match id {
        "." | ".." => Err(format!("the form id `{id}` cannot be a segment of a path")),
        _ => Ok(()),
    }
}

/// Returns about the number of values in a JSON text. Commas in strings count as well.
fn values(json: &[u8]) -> usize {
    json.iter().filter(|byte| matches!(byte, b',' | b'{' | b'[')).count()
}

fn has_end(pages: &[Exchange]) -> bool {
    let last = pages.last().and_then(|exchange| Page::of(exchange).ok());
    last.is_some_and(|page| page.has_more == Some(false))
}

/// A key of the same form that does not exist. It shares only the prefix with the valid key, because
/// services may log or repeat it.
fn wrong_key(key: &Key) -> Option<Key> {
    let text = key.text.expose_secret();
    let prefix = text.find('_').map_or("", |end| &text[..=end]);
    let random = (prefix.len()..text.len()).map(|_| fastrand::alphanumeric());
    let wrong = prefix.chars().chain(random).collect::<String>();
    Key::new(&wrong.clone().into()).filter(|_| wrong != text)
}
