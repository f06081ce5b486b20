//! Checks whether a forms service and webhook receivers in any language follow the specification, from
//! outside, and explains signatures that do not match.
//!
//! | Question | Module |
//! |---|---|
//! | does a deployment's REST API follow the specification | [`api`] |
//! | does a service deliver webhooks as specified | [`sender`] |
//! | does a webhook receiver accept and refuse as specified | [`receiver`] |
//! | why does a signature not match | [`explain`] |
//! | results of API and sender checks | [`report`] |
//! | sending a request to any address | [`send`] |
//! | bodies of deliveries | [`payload`] |
//! | members of a JSON object or array, as unparsed text | [`members`] |
//! | nesting depth of JSON, for recursive code | [`nesting`] |
//! | valid and invalid signatures | [`variant`] |

pub mod api;
pub mod explain;
mod judgement;
mod mac;
pub mod members;
pub mod nesting;
pub mod payload;
pub mod receiver;
pub mod report;
pub mod send;
pub mod sender;
pub mod variant;
