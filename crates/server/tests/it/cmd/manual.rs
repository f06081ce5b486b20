//! What the command says of itself, and what the manual says of it.

use formsvc_server::import::FORMATS;

use super::Site;

#[test]
fn output_nobody_reads_is_no_failure() {
    let site = Site::with_user();
    let mut child = site.command(&["key", "list", "--user", "a@b.c"]);
    for _ in 0..3 {
        site.run(&["key", "create", "--user", "a@b.c", "--name", "k"]).succeeded();
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert!(child.stdout(writer).status().unwrap().success());
}

#[test]
fn help_and_version_go_to_standard_output() {
    let site = Site::new();
    for args in [["--help"].as_slice(), &["--version"], &["key", "create", "--help"]] {
        let run = site.run(args).succeeded();
        assert!(!run.stdout.is_empty() && run.stderr.is_empty());
    }
}

#[test]
fn help_says_that_a_key_is_made_by_the_commands_that_make_one() {
    let site = Site::new();
    for (command, makes) in [
        ("serve", true),
        ("webhook add", true),
        ("webhook rotate", true),
        ("backup", false),
        ("copy", false),
    ] {
        let args: Vec<_> = command.split(' ').chain(["--help"]).collect();
        let help = site.run(&args).succeeded().stdout;
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("--secret-key-file"), "{help}");
        assert_eq!(words.contains("made when there is none"), makes, "{command}: {help}");
    }
}

#[test]
fn what_users_are_given_says_nothing_of_how_this_tree_makes_it() {
    let example = Site::new().run(&["config", "example"]).succeeded().stdout;
    for text in [&*example, formsvc_server::openapi::document()] {
        assert!(!text.contains("xtask"), "{text}");
    }
}

/// A line without the variables that are set for it alone.
fn without_variables(line: &str) -> &str {
    let is_name = |name: &str| name.bytes().all(|byte| byte == b'_' || byte.is_ascii_uppercase());
    match line.split_once(' ') {
        Some((word, rest)) if word.split_once('=').is_some_and(|(name, _)| is_name(name)) => {
            without_variables(rest.trim_start())
        }
        _ => line,
    }
}

/// The commands of ours in the blocks of a document, without their comments.
fn commands(document: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for block in document.split("```sh\n").skip(1) {
        let block = block.split("```").next().unwrap().replace("\\\n", " ");
        let lines = block.lines().map(without_variables);
        for line in lines.filter(|line| line.starts_with("formsvc-server ")) {
            let line = line.split(" #").next().unwrap().split(" >").next().unwrap();
            // What stands in quotes is one word.
            let parts = line.split('\'').enumerate();
            let words = parts.flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().collect(),
                _ => vec![part],
            });
            found.push(words.map(str::to_owned).collect());
        }
    }
    found
}

#[test]
fn every_command_in_the_manual_is_one_that_is_understood() {
    let dashboard = include_str!("../../../../../docs/DASHBOARD.md");
    // It names them in its sentences.
    let named = dashboard.split('`').filter(|span| span.starts_with("formsvc-server "));
    let named: Vec<_> = named.collect();
    let dashboard = format!("{dashboard}\n```sh\n{}\n```\n", named.join("\n"));
    for (name, document, least) in [
        ("SERVER.md", include_str!("../../../../../docs/SERVER.md"), 17),
        ("DASHBOARD.md", &*dashboard, 1),
        ("DELIVERY.md", include_str!("../../../../../docs/DELIVERY.md"), 14),
        ("FORMS.md", include_str!("../../../../../docs/FORMS.md"), 1),
    ] {
        let commands = commands(document);
        assert!(commands.len() >= least, "{name} has {commands:?}");
        for mut words in commands {
            // In place of the variable, which tests have none of.
            let needs_one = words.get(2).is_none_or(|verb| verb != "example");
            if needs_one && !words.iter().any(|word| word == "--database") {
                words.extend(["--database".into(), "db".into()]);
            }
            let parsed = formsvc_server::cmd::command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{name}: {words:?} {}", parsed.unwrap_err());
        }
    }
}

/// The commands in the files for service managers and containers, and the variables set there.
fn deployed() -> (Vec<Vec<String>>, Vec<String>) {
    let unit = include_str!("../../../../../docs/deploy/formsvc-server.service");
    let container = include_str!("../../../../../docs/deploy/Containerfile");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let started = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/"));
    let list = |keyword: &str| -> Vec<String> {
        let line = container.lines().find(|line| line.starts_with(keyword)).unwrap();
        serde_json::from_str(&line[line.find('[').unwrap()..]).unwrap()
    };
    let entry = [list("ENTRYPOINT"), list("CMD")].concat();
    let commands = vec![words(started.unwrap()), entry, list("HEALTHCHECK")];
    let set = [unit, container].concat();
    let names = set.split(|c: char| c != '_' && !c.is_ascii_uppercase());
    let names = names.filter(|name| name.starts_with("FORMSVC_")).map(str::to_owned).collect();
    (commands, names)
}

#[test]
fn what_is_deployed_is_understood() {
    let (commands, names) = deployed();
    for mut words in commands {
        if words[1] == "serve" {
            words.extend(["--database".into(), "db".into()]);
        }
        let parsed = formsvc_server::cmd::command().try_get_matches_from(&words);
        assert!(parsed.is_ok(), "{words:?} {}", parsed.unwrap_err());
    }
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let known = formsvc_server::cmd::SETTINGS.iter().any(|row| row.variable == name);
        assert!(known, "{name}");
    }
}

#[test]
fn the_manual_names_every_format_and_exit_status() {
    let manual = include_str!("../../../../../docs/SERVER.md");
    for row in FORMATS {
        let extensions: Vec<_> = row.extensions.iter().map(|ext| format!("`.{ext}`")).collect();
        let line = format!("| `{}` | {} | {} |", row.name, extensions.join(", "), row.about);
        assert!(manual.contains(&line), "{line}");
    }
    for row in formsvc_server::cmd::EXITS {
        let line = format!("| {} | {} |", row.code, row.meaning);
        assert!(manual.contains(&line), "{line}");
    }
}
