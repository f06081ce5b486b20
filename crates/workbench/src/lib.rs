//! The webhook tools behind `formsvc webhook`, without argument parsing and without a terminal: receive
//! deliveries, verify, record and forward them, replay and explain them.
//!
//! | Task | Module |
//! |---|---|
//! | a delivery and its outcome | [`delivery`] |
//! | verification of a signature | [`verdict`] |
//! | the JSON of deliveries | [`record`] |
//! | filters: conditions on deliveries | [`filter`] |
//! | explanations of signatures, HTTP dumps | [`verify`] |
//! | exports: HTTP, curl, HAR, NDJSON | [`export`] |
//! | differences between deliveries | [`compare`] |
//! | sending captures again | [`replay`] |
//! | deliveries of polled submissions | [`poll`] |
//! | simulated deliveries | [`simulate`] |
//! | expected responses | [`expectation`] |
//! | changes of JSON bodies | [`edit`] |
//! | stored deliveries | [`store`] |
//! | masking of secrets | [`mask`] |
//! | signing secrets | [`secrets`] |
//! | addresses of targets | [`target`] |
//! | headers of forwarded requests | [`mod@http`] |
//! | warnings of the listener | [`warning`] |
//! | forwarding to targets, relayed responses | [`forward`] |
//! | the web page that shows deliveries | [`inspector`] |
//! | listener: server, intake, goals, lines | [`listen`] |

#![expect(
    missing_docs,
    reason = "the command line is the only user, and clear names need no documentation"
)]

mod attempts;
pub mod compare;
pub mod delivery;
pub mod edit;
pub mod expectation;
pub mod export;
pub mod filter;
pub mod forward;
pub mod http;
pub mod inspector;
pub mod listen;
pub mod mask;
pub mod poll;
pub mod record;
pub mod replay;
pub mod secrets;
pub mod simulate;
pub mod store;
pub mod target;
pub mod verdict;
pub mod verify;
pub mod warning;
