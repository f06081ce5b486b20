//! Several walkers in one list: each reads a range of time, and at every seam two of them must have
//! met.
//!
//! | Part | Module | I/O |
//! |---|---|---|
//! | what the caller asks for | `mod` | no |
//! | one range and its walker | `range` | no |
//! | how dense the list is | `pace` | no |
//! | whether the service takes cursors of others | `probe` | no |
//! | what an answer means, and what may be handed on | `plan` | no |
//! | where ranges begin and end | `schedule` | no |
//! | whether two ranges meet | `seam` | no |
//! | requests under way | `stream` | yes |
//!
//! The first page shows how dense the list is, the second checks with a cursor between two known rows
//! that the service takes cursors it did not issue. Then ranges of about eight pages are opened
//! below, the newest first, as walkers are free. A walker that comes to the end of its range while
//! nobody has begun the next one goes on in it, which costs nothing; where somebody has, the last
//! page is partly in vain, about half a page a seam. An answer may show rows far below a range: then
//! one request has proven all between to be empty.

mod pace;
mod plan;
mod probe;
mod range;
mod schedule;
mod seam;
mod stream;

use formsvc_protocol::Timestamp;

pub(crate) use stream::{Arrival, Ended, Walkers};

/// Fewest and most walkers.
const WALKERS: std::ops::RangeInclusive<u32> = 2..=32;
/// Pages a range is cut for.
const RANGE_PAGES: usize = 8;

/// How a list is read by several walkers at once: see
/// [`ListSubmissions::parallel`](crate::ListSubmissions::parallel).
///
/// ```
/// use formsvc_client::Parallel;
/// let eight = Parallel::walkers(8);
/// let unordered = Parallel::walkers(8).as_it_comes().max_pages_held(16);
/// # let _ = (eight, unordered);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until a list is read with it"]
pub struct Parallel {
    walkers: u32,
    ordered: bool,
    held: Option<u32>,
    begins: Option<Timestamp>,
}

impl Parallel {
    /// So many requests at a time, 2 to 32; any other number is an
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) when the first page is asked for. They share
    /// the client's rate limiter: at 300 requests a minute and 100 ms a request, one walker could
    /// already use it up in half a minute, so many walkers pay for lists of up to some ten thousand
    /// submissions, or where the limit is higher.
    pub fn walkers(walkers: u32) -> Self {
        Self { walkers, ordered: true, held: None, begins: None }
    }

    /// Pages come as they arrive, not newest first. Needs no look-ahead; has no resume token in the
    /// midst of the list. Should a seam not hold after rows below it were handed on, the list ends
    /// with an [`ErrorKind::SeamBroken`](crate::ErrorKind::SeamBroken).
    pub fn as_it_comes(mut self) -> Self {
        self.ordered = false;
        self
    }

    /// Most pages held in memory, the requests under way included; by default eight for each walker.
    /// 0 is an [`ErrorKind::Config`](crate::ErrorKind::Config) when the first page is asked for.
    /// In order, pages wait for the newer ones before them, and a bound much below the default makes
    /// walkers wait. The walker at the front never does.
    pub fn max_pages_held(mut self, pages: u32) -> Self {
        self.held = Some(pages);
        self
    }

    /// When the form was made ([`Form::created_at`](crate::Form)): no range is opened below, which
    /// saves up to a request for each walker. A hint alone: older submissions are read all the same.
    pub fn form_created_at(mut self, time: Timestamp) -> Self {
        self.begins = Some(time);
        self
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Says which rule it breaks.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.held == Some(0) {
            return Err("the number of pages held `0` is not at least 1".to_owned());
        }
        if WALKERS.contains(&self.walkers) {
            return Ok(());
        }
        let (n, least, most) = (self.walkers, WALKERS.start(), WALKERS.end());
        Err(format!("the number of walkers `{n}` is not in {least}..={most}"))
    }
}
