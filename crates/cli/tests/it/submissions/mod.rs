//! `formsvc submissions …`

mod count;
mod export;
mod faults;
mod flood;
mod list;
mod outputs;
mod resume;
mod sync;
mod tail;
mod view;
