//! Deliveries, from the commit of a submission to an endpoint that answers.

mod endpoint;
mod faults;
mod lifecycle;
mod world;
