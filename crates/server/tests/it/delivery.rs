//! Deliveries, from the commit of a submission to an endpoint that answers.

mod ahead;
mod changes;
mod clock;
mod endpoint;
mod faults;
mod lifecycle;
mod on_demand;
mod outcomes;
mod own_faults;
mod world;
