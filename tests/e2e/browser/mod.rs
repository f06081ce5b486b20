//! Pages in a real browser.

mod dashboard;
mod hook;
mod inert;
mod inspector;
mod journey;
mod looks;
mod pages;
mod public_form;
mod service;
mod started;
