//! `formsvc submissions …`

mod export;
mod list;
mod outputs;
mod view;
