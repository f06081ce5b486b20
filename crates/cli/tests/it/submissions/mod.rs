//! `formsvc submissions …`

mod export;
mod list;
mod outputs;
mod tail;
mod view;
