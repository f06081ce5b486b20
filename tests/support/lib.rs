//! What the tests of the whole share: the tree as files, the workspace as cargo sees it, and a service.

mod files;
mod findings;
mod markdown;
mod metadata;
mod modules;
pub mod service;

pub use files::{SourceFile, files, read, root};
pub use findings::Findings;
pub use markdown::{Markdown, anchor};
pub use metadata::{Dependency, DependencyKind, Metadata, Package, Target};
pub use modules::reachable_modules;
