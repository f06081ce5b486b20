//! Tests of the whole.

mod tree;
