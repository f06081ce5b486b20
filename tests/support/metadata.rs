//! The workspace as `cargo metadata` describes it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::Command;

use serde::Deserialize;

use crate::files::root;

/// `cargo metadata`, as far as the tests ask.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

/// A package: ours, or one we depend on.
#[derive(Debug, Deserialize)]
pub struct Package {
    id: String,
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Lowest Rust it says it compiles with.
    pub rust_version: Option<String>,
    /// Its manifest, absolute.
    pub manifest_path: String,
    /// What it declares, for all targets.
    pub dependencies: Vec<Dependency>,
    /// Libraries, binaries, tests and so on.
    pub targets: Vec<Target>,
    /// Features, and what each turns on.
    pub features: BTreeMap<String, Vec<String>>,
}

/// A declared dependency.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// Name of the package.
    pub name: String,
    /// What it is for.
    pub kind: Option<DependencyKind>,
    /// Whether a feature must ask for it.
    pub optional: bool,
    /// Its other features that are asked for.
    pub features: Vec<String>,
}

/// What a dependency is for; absent in cargo's answer for a normal one.
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
    /// Its root file, absolute.
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
    /// Asks cargo about the workspace, resolved for the machine the tests run on.
    pub fn read() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version=1", "--locked", "--filter-platform"])
            .arg(host())
            .current_dir(root())
            .output()
            .expect("cargo runs, for it runs this test");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo metadata failed:\n{stderr}");
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints its documented JSON")
    }

    /// The members of the workspace.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// A member by its name.
    pub fn member(&self, name: &str) -> &Package {
        let mut members = self.members();
        members.find(|package| package.name == name).unwrap_or_else(|| panic!("no member `{name}`"))
    }

    /// Everything that is compiled into what these members ship: normal and build dependencies,
    /// theirs included, members left out.
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

/// The triple of the machine that runs the tests.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().expect("rustc runs beside cargo");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.expect("rustc -vV names its host").to_owned()
}
