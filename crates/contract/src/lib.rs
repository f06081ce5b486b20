//! What one needs to stand on the other side of a webhook receiver, whoever wrote it and in whatever
//! language: deliveries as the service makes them (SPEC §6), wrong ones on purpose, and the reasons
//! why a signature does not match.
//!
//! | Question | Module |
//! |---|---|
//! | how a delivery is sent, and what came back | [`send`] |
//! | what a delivery's body is | [`payload`] |
//! | how one place of a body is changed, and no other | [`edit`] |
//! | what the parts of a body are, as they are spelled | [`members`] |
//! | how deeply JSON is nested, before recursive code reads it | [`nesting`] |
//! | which signatures there are, right and wrong on purpose | [`variant`] |
//! | why a signature does not match | [`explain`] |
//! | whether a receiver does what the service needs of it | [`receiver`] |

pub mod edit;
pub mod explain;
mod mac;
pub mod members;
pub mod nesting;
mod numbers;
pub mod payload;
pub mod receiver;
pub mod send;
pub mod variant;
