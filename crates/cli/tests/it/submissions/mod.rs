//! `formsvc submissions …`

mod export;
mod flood;
mod list;
mod outputs;
mod tail;
mod view;
