//! Spans that are none.

use super::Ending;
use crate::base_url::BaseUrl;
use crate::operation::Operation;

pub(crate) struct CallSpan;
pub(crate) struct AttemptSpan;

impl CallSpan {
    pub(crate) fn new(_operation: Operation, _base: &BaseUrl) -> Self {
        Self
    }

    pub(crate) fn around<F: Future>(&self, work: F) -> F {
        work
    }

    pub(crate) fn attempt(&self, _operation: Operation, _base: &BaseUrl, _n: u32) -> AttemptSpan {
        AttemptSpan
    }

    pub(crate) fn end(&self, _attempts: u32, _ending: Ending) {}
}

impl AttemptSpan {
    pub(crate) fn around<F: Future>(&self, work: F) -> F {
        work
    }

    pub(crate) fn end(&self, _ending: Ending) {}
}
