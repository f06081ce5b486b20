//! The modules of the crates form layers: a module imports only modules on lower lines of its crate's
//! list in docs/ARCHITECTURE.md, so there are no import cycles. Exceptions are in `upward.rs`.

use std::collections::{BTreeMap, BTreeSet};

use formsvc_tests::{Findings, SourceFile, files, read};

use super::upward::UPWARD;

const CRATES: [&str; 9] =
    ["protocol", "client", "receiver", "contract", "table", "export", "workbench", "cli", "server"];

/// Returns the line of each module in the list of a crate; the top layer is line 0.
fn listed_layers(document: &str, name: &str) -> BTreeMap<String, usize> {
    let head = format!("Layers of formsvc-{name}");
    let lines = document.lines().skip_while(|line| *line != head).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("```")).enumerate();
    let module = |(at, line): (usize, &str)| {
        line.split_whitespace().map(|name| (name.to_owned(), at)).collect::<Vec<_>>()
    };
    lines.flat_map(module).collect()
}

/// Returns code without comments and unit tests, which are the last item of a file.
fn code(source: &str) -> String {
    let tests = source.match_indices("#[cfg(test)]\nmod ").find(|(at, declaration)| {
        let name = source[at + declaration.len()..].lines().next().unwrap_or_default();
        name.ends_with('{')
    });
    without_comments(tests.map_or(source, |(at, _)| &source[..at]))
}

fn without_comments(source: &str) -> String {
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Splits `a::b, c::{d, e}` at the commas outside braces, and returns the items.
fn items(group: &str) -> Vec<String> {
    let (mut depth, mut items) = (0, vec![String::new()]);
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        items.last_mut().expect("the list is never empty").push(c);
    }
    items.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Returns the first name of each path that follows `crate::`. Skips macros, which belong to no module.
fn imports(code: &str) -> BTreeSet<String> {
    let name = |path: &str| {
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
        path[..end].to_owned()
    };
    let paths = code.split("crate::").skip(1);
    paths
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(group) => items(group).iter().map(|item| name(item)).collect(),
            None if rest[name(rest).len()..].starts_with('!') => Vec::new(),
            None => vec![name(rest)],
        })
        .collect()
}

/// The root of a crate: its modules, and the module of each name it exports; `None` for a name of
/// another crate.
struct Root {
    modules: BTreeSet<String>,
    exports: BTreeMap<String, Option<String>>,
}

impl Root {
    fn parse(lib: &str) -> Self {
        let code = without_comments(lib);
        let module = |line: &str| {
            let line = line.trim_start_matches("pub ");
            line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
        };
        let modules: BTreeSet<_> = code.lines().filter_map(module).collect();
        let mut exports = BTreeMap::new();
        for statement in code.split("pub use ").skip(1) {
            let statement = statement.split(';').next().unwrap_or_default();
            let (source, names) = statement.split_once("::").unwrap_or(("", statement));
            let module = Some(source.to_owned()).filter(|source| modules.contains(source));
            let group = names.split_once('{').map_or(names, |(_, group)| group);
            for item in items(group) {
                let name = item.rsplit([':', ' ']).next().unwrap_or_default().to_owned();
                exports.insert(name, module.clone());
            }
        }
        Self { modules, exports }
    }

    /// Returns the module of an imported name; `Err` for an unknown name.
    fn module_of<'r>(&'r self, name: &'r str) -> Result<Option<&'r str>, ()> {
        if self.modules.contains(name) {
            return Ok(Some(name));
        }
        self.exports.get(name).map(Option::as_deref).ok_or(())
    }
}

/// Finds the imports that break the order of a crate's list, and modules that it lacks. The imports in
/// `allowed` are no findings, but must exist.
fn breaches(
    name: &str,
    document: &str,
    sources: &[SourceFile],
    allowed: &[(&str, &str)],
) -> Findings {
    let mut findings = Findings::default();
    let folder = format!("crates/{name}/src/");
    let lib = sources.iter().find(|file| file.path == format!("{folder}lib.rs"));
    let root = Root::parse(&lib.expect("a library has a root").text);
    let layers = listed_layers(document, name);
    for module in layers.keys().chain(&root.modules) {
        if !layers.contains_key(module) || !root.modules.contains(module) {
            findings.of(&folder, format!("`{module}` is only in the list or only in lib.rs"));
        }
    }
    let mut unused: Vec<_> =
        allowed.iter().copied().filter(|(path, _)| path.starts_with(&folder)).collect();
    for file in sources {
        let Some(path) = file.path.strip_prefix(&folder) else { continue };
        let module = path.split(['/', '.']).next().unwrap_or_default();
        if path == "lib.rs" || path.ends_with("/tests.rs") || path.contains("/tests/") {
            continue;
        }
        for import in imports(&code(&file.text)) {
            let row = unused.iter().position(|row| *row == (&*file.path, &*import));
            if let Some(row) = row {
                unused.swap_remove(row);
                continue;
            }
            match root.module_of(&import) {
                Err(()) => findings.of(&file.path, format!("unknown name `crate::{import}`")),
                Ok(Some(imported)) if imported != module => {
                    if layers.get(imported) <= layers.get(module) {
                        findings.of(&file.path, format!("`{imported}` is not on a lower line"));
                    }
                }
                Ok(_) => {}
            }
        }
    }
    for (path, import) in unused {
        findings.of(path, format!("`{import}` is no longer imported: remove the row"));
    }
    findings
}

#[test]
fn modules_import_only_lower_layers() {
    let (document, sources) = (read("docs/ARCHITECTURE.md"), files(".rs"));
    for name in CRATES {
        let message = format!("docs/ARCHITECTURE.md lists the layers of formsvc-{name}");
        breaches(name, &document, &sources, UPWARD).assert_none(&message);
    }
}

#[test]
fn import_of_upper_or_same_layer_is_found() {
    let document = "Layers of formsvc-client\ntop\nleft right\nlow\n```\n";
    let file = |path: &str, text: &str| SourceFile {
        path: format!("crates/client/src/{path}"),
        text: text.to_owned(),
    };
    let lib = file(
        "lib.rs",
        "mod left;\nmod low;\npub mod right;\nmod top;\npub use other::Foreign;\npub use top::{\n    \
         Top, inner::Other as Renamed,\n};\n",
    );
    for (path, text, found) in [
        ("top.rs", "use crate::{left::{A, B}, low};\nuse crate::Foreign;", None),
        ("left.rs", "// crate::top\nfn f() { crate::low::g() }", None),
        ("left.rs", "#[cfg(test)]\nmod tests {\n    use crate::top;\n}", None),
        (
            "left.rs",
            "#[cfg(test)]\nmod tests;\nuse crate::top;",
            Some("`top` is not on a lower line"),
        ),
        ("low/inner.rs", "use crate::left::X;", Some("`left` is not on a lower line")),
        ("left.rs", "use crate::{low, right};", Some("`right` is not on a lower line")),
        ("low.rs", "use crate::{low::{A, B}, Renamed};", Some("`top` is not on a lower line")),
        ("low.rs", "use crate::Unknown;", Some("unknown name `crate::Unknown`")),
    ] {
        let sources = [file("lib.rs", &lib.text), file(path, text)];
        let breaches = breaches("client", document, &sources, &[]);
        let shown = breaches.as_slice().join("\n");
        assert_eq!(!shown.is_empty(), found.is_some(), "{path}: {shown}");
        assert!(found.is_none_or(|found| shown.contains(found)), "{path}: {shown}");
    }
    let short = document.replace("low\n", "");
    let shown = breaches("client", &short, &[lib], &[]).as_slice().join("\n");
    assert!(shown.contains("`low` is only in"), "{shown}");
}

#[test]
fn allowed_import_must_exist() {
    let document = "Layers of formsvc-client\ntop\nlow\n```\n";
    let file = |path: &str, text: &str| SourceFile {
        path: format!("crates/client/src/{path}"),
        text: text.to_owned(),
    };
    let sources = [file("lib.rs", "mod low;\nmod top;\n"), file("low.rs", "use crate::top::X;")];
    let allowed = ("crates/client/src/low.rs", "top");
    let shown = |allowed: &[(&str, &str)]| {
        breaches("client", document, &sources, allowed).as_slice().join("\n")
    };
    assert_eq!(shown(&[allowed]), "");
    let gone = ("crates/client/src/top.rs", "low");
    assert!(shown(&[allowed, gone]).contains("`low` is no longer imported"), "{}", shown(&[gone]));
    // Each crate has its own list.
    assert_eq!(shown(&[allowed, ("crates/server/src/low.rs", "top")]), "");
}
