//! The labels, each a closed set.

use http::StatusCode;
use prometheus_client::metrics::family::Family;

use crate::delivery::AttemptCode;
use crate::egress::{AddressClass, FailureCode};
use crate::store::DeliveryState;

/// Whose quota a refused request had used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// That of an API key.
    ApiKey,
    /// That of whoever fills in a public form.
    PublicForm,
}

/// How an attempt to deliver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Success,
    Failure(AttemptCode),
}

/// A value that a metric is told apart by.
pub(super) trait Label<const N: usize>: Copy + PartialEq + 'static {
    /// All there are.
    fn all() -> impl Iterator<Item = Self>;
    /// Names and texts.
    fn pairs(self) -> Pairs<N>;
}

/// Names of labels, and their texts.
pub(super) type Pairs<const N: usize> = [(&'static str, &'static str); N];

/// A metric for each label.
#[derive(Debug)]
pub(super) struct Each<L, M>(Vec<(L, M)>);

impl<L, M> Each<L, M> {
    /// Takes all of them out of a family, which has them from now on.
    pub(super) fn of<const N: usize, C>(family: &Family<Pairs<N>, M, C>) -> Self
    where
        L: Label<N>,
        M: Clone,
        C: prometheus_client::metrics::family::MetricConstructor<M>,
    {
        Self(L::all().map(|label| (label, family.get_or_create_owned(&label.pairs()))).collect())
    }

    /// The metric of a label. A comparison for each label is less than a hash of one.
    pub(super) fn get<const N: usize>(&self, label: L) -> &M
    where
        L: Label<N>,
    {
        let found = self.0.iter().find(|(known, _)| *known == label);
        &found.expect("a metric was made for every label").1
    }
}

impl Label<1> for Limit {
    fn all() -> impl Iterator<Item = Self> {
        [Self::ApiKey, Self::PublicForm].into_iter()
    }

    fn pairs(self) -> Pairs<1> {
        let what = match self {
            Self::ApiKey => "api_key",
            Self::PublicForm => "public_form",
        };
        [("what", what)]
    }
}

impl Outcome {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure(_) => "failure",
        }
    }
}

impl Label<2> for Outcome {
    fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Success).chain(codes().map(Self::Failure))
    }

    fn pairs(self) -> Pairs<2> {
        let error = match self {
            Self::Success => "",
            Self::Failure(code) => code.as_str(),
        };
        [("outcome", self.word()), ("error", error)]
    }
}

impl Label<1> for DeliveryState {
    fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().map(|(state, _)| state).filter(|state| !state.is_unfinished())
    }

    fn pairs(self) -> Pairs<1> {
        [("state", self.as_str())]
    }
}

impl Label<1> for AddressClass {
    fn all() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied()
    }

    fn pairs(self) -> Pairs<1> {
        [("class", self.label())]
    }
}

/// Every code of a failure.
fn codes() -> impl Iterator<Item = AttemptCode> {
    let own = AttemptCode::OWN.into_iter().map(|(code, ..)| code);
    own.chain(FailureCode::ALL.iter().copied().map(AttemptCode::NoAnswer))
}

/// The class of a status; of none, when nobody waited for it.
pub(super) fn status_class(status: Option<StatusCode>) -> &'static str {
    match status.map(|status| status.as_u16() / 100) {
        None => "abandoned",
        Some(1) => "1xx",
        Some(2) => "2xx",
        Some(3) => "3xx",
        Some(4) => "4xx",
        Some(_) => "5xx",
    }
}
