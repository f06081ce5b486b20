//! What the service counts about itself, for Prometheus and what reads its format.
//!
//! | Question | File |
//! |---|---|
//! | which metrics there are | `table` |
//! | which labels they have | `label` |
//! | how something is counted | `counts` |
//! | how they are read: `GET /metrics` | `route` |
//!
//! Labels are closed sets, so that nobody outside can make a metric grow: no endpoint, form or key
//! is one. All of their combinations are there from the start, at zero, except the routes of requests,
//! which are met one by one.

mod counts;
mod label;
mod route;
mod table;

pub use counts::Metrics;
pub use label::Limit;
pub use route::router;
pub use table::{METRICS, MetricKind, MetricRow};
