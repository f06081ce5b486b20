//! Small helpers without knowledge of commands: files, folders, variables, standard input, and text.

pub(crate) mod atomic_file;
pub(crate) mod child;
pub mod env;
pub(crate) mod files;
pub(crate) mod masked;
pub(crate) mod paths;
pub(crate) mod sanitize;
pub(crate) mod shell;
pub(crate) mod stdin;
pub(crate) mod suggest;
pub(crate) mod text;
pub(crate) mod when;
