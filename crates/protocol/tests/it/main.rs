//! What the protocol promises, held against fixtures that it did not write itself.

mod fixtures;
mod forms;
mod json_tree;
mod paths;
mod signature;
mod wire;
mod wire_types;
