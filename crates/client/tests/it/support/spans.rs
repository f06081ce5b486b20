//! The spans that every test of this binary makes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Mutex;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

static SPANS: Mutex<Vec<Seen>> = Mutex::new(Vec::new());

/// A span that began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) number: usize,
    pub(crate) name: &'static str,
    /// The number of the span it is in.
    pub(crate) parent: Option<usize>,
    pub(crate) fields: BTreeMap<&'static str, String>,
}

/// The spans in which a field has a value, in the order they began.
pub(crate) fn spans_with(field: &str, value: &str) -> Vec<Seen> {
    let mut found = SPANS.lock().unwrap().clone();
    found.retain(|span| span.fields.get(field).is_some_and(|is| is == value));
    found
}

/// Keeps the spans. Ids are used again once a span is over, so they are numbered here.
pub(crate) struct Recorder;

struct Number(usize);

impl<S: tracing::Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let parent =
            span.parent().and_then(|parent| parent.extensions().get::<Number>().map(|n| n.0));
        let mut spans = SPANS.lock().unwrap();
        let (number, name) = (spans.len(), attributes.metadata().name());
        let mut seen = Seen { number, name, parent, ..Seen::default() };
        attributes.record(&mut seen);
        spans.push(seen);
        span.extensions_mut().insert(Number(number));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let number = context.span(id).unwrap().extensions().get::<Number>().unwrap().0;
        values.record(&mut SPANS.lock().unwrap()[number]);
    }
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}
