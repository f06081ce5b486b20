//! Rules for the source tree: dependencies between crates, the layout of files, and the accuracy of the
//! documentation. Each test reports all violations at once, as `file:line`.

mod ceilings;
mod contract;
mod dependencies;
mod docs;
mod features;
mod generated;
mod habits;
mod layers;
mod layout;
mod manifests;
mod msrv;
mod upward;
