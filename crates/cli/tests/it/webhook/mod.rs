//! `formsvc webhook`, through the binary.

mod check;
