//! Code that the end-to-end tests share: the files of the tree, cargo metadata, a service in memory, and
//! servers with visitors and endpoints that keep ledgers.

pub mod browser;
pub mod figures;
mod files;
mod findings;
pub mod hostile;
mod markdown;
mod metadata;
mod modules;
pub mod receiver;
pub mod scale;
pub mod service;
pub mod site;
pub mod visitor;

pub use files::{SourceFile, files, read, root};
pub use findings::Findings;
pub use markdown::{Markdown, anchor};
pub use metadata::{Dependency, DependencyKind, Metadata, Package, Target};
pub use modules::reachable_modules;
