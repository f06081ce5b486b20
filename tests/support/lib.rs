//! What the tests of the whole share: the tree as files, the workspace as cargo sees it, a service; and
//! servers with visitors and endpoints, each with a ledger.

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
