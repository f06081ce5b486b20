//! The commands of the README.

use crate::support::formsvc;

#[test]
fn demo_commands_of_the_readme_work() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let commands = readme.lines().filter_map(|line| {
        let ours = line.strip_prefix("formsvc ");
        ours.or_else(|| line.strip_prefix("cargo run -- "))
    });
    let demos: Vec<&str> = commands.filter(|command| command.starts_with("--demo ")).collect();
    assert!(demos.len() >= 4, "{demos:?}");
    let folder = tempfile::tempdir().unwrap();
    for demo in demos {
        let args: Vec<&str> = demo.split(' ').collect();
        let done = formsvc(&args).current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{demo}: {done:?}");
    }
}
