//! Tests of the whole.

mod service;
mod tree;
