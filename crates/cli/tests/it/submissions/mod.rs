//! `formsvc submissions …`

mod export;
mod flood;
mod list;
mod outputs;
mod resume;
mod tail;
mod view;
