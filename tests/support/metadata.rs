//! The workspace as `cargo metadata` describes it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::Command;

use serde::Deserialize;

use crate::files::root;

/// The fields of `cargo metadata` that the tests use.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

/// A package: a member of the workspace or a dependency.
#[derive(Debug, Deserialize)]
pub struct Package {
    id: String,
    /// Name of the package.
    pub name: String,
    /// Version of the package.
    pub version: String,
    /// Its `rust-version`.
    pub rust_version: Option<String>,
    /// Absolute path of its manifest.
    pub manifest_path: String,
    /// Its declared dependencies for all targets.
    pub dependencies: Vec<Dependency>,
    /// Libraries, binaries, tests and so on.
    pub targets: Vec<Target>,
    /// Features, each with the features that it enables.
    pub features: BTreeMap<String, Vec<String>>,
}

/// A declared dependency.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// Name of the package.
    pub name: String,
    /// Kind of the dependency.
    pub kind: Option<DependencyKind>,
    /// True if only a feature enables it.
    pub optional: bool,
    /// Features that it enables, besides the default ones.
    pub features: Vec<String>,
}

/// Kind of a dependency. Cargo's output omits it for a normal one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DependencyKind {
    /// Tests, benches and examples.
    Dev,
    /// The build script.
    Build,
}

/// A target of a package.
#[derive(Debug, Deserialize)]
pub struct Target {
    /// Absolute path of its root file.
    pub src_path: String,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Debug, Deserialize)]
struct EdgeKind {
    kind: Option<DependencyKind>,
}

impl Metadata {
    /// Runs `cargo metadata` for the workspace, resolved for the machine that runs the tests.
    pub fn read() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version=1", "--locked", "--filter-platform"])
            .arg(host())
            .current_dir(root())
            .output()
            .expect("cargo starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo metadata failed:\n{stderr}");
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints its documented JSON")
    }

    /// Returns the members of the workspace.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Returns a member by its name.
    pub fn member(&self, name: &str) -> &Package {
        let mut members = self.members();
        members.find(|package| package.name == name).unwrap_or_else(|| panic!("no member `{name}`"))
    }

    /// Returns all packages that are compiled into these members: normal and build dependencies, transitively,
    /// without the members.
    pub fn shipped_with(&self, members: &[&str]) -> Vec<&Package> {
        let nodes: HashMap<_, _> = self.resolve.nodes.iter().map(|n| (n.id.as_str(), n)).collect();
        let mut queue: Vec<_> = members.iter().map(|name| self.member(name).id.as_str()).collect();
        let mut seen: BTreeSet<_> = queue.iter().copied().collect();
        while let Some(id) = queue.pop() {
            for edge in nodes.get(id).map_or(&[][..], |node| &node.deps) {
                let ships = edge.dep_kinds.iter().any(|k| k.kind != Some(DependencyKind::Dev));
                if ships && seen.insert(&edge.pkg) {
                    queue.push(&edge.pkg);
                }
            }
        }
        let others = self.packages.iter().filter(|p| !self.workspace_members.contains(&p.id));
        others.filter(|package| seen.contains(package.id.as_str())).collect()
    }
}

/// Returns the target triple of the machine that runs the tests.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().expect("rustc starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.expect("rustc -vV prints its host").to_owned()
}
