//! Tests of the wire types against the fixtures.

mod fixtures;
mod forms;
mod json_tree;
mod paths;
mod signature;
mod wire;
mod wire_types;
