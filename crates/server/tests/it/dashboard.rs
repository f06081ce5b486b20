//! The dashboard, over sockets, as browsers use it.

mod account;
mod browser;
mod gate;
mod members;
mod pages;
mod service;
mod signing_in;
mod strangers;
mod things;
mod webhooks;
