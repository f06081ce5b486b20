//! Tests of the engine from outside.

mod csv;
mod destination;
mod json;
mod support;
