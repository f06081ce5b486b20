//! What people meet in a real browser.

mod inert;
mod public_form;
mod service;
