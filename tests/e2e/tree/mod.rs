//! The tree keeps its own rules: who may depend on whom, how files are cut, and that what the
//! documents say is so. Each test shows every breach at once, as `file:line`.

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
