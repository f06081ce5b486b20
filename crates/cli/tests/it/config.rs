//! `formsvc config` and the config files: stored values, precedence, and the limits of a project
//! file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::processes;
use crate::support::{Canned, SECRET, Said, formsvc, one_form};

/// A home folder, and a work folder in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir(home.work()).unwrap();
        home
    }

    fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    fn file(&self) -> PathBuf {
        self.0.path().join(".config/formsvc/config.toml")
    }

    fn write(&self, text: &str) {
        fs::create_dir_all(self.file().parent().unwrap()).unwrap();
        fs::write(self.file(), text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    fn formsvc(&self, args: &str) -> Command {
        let args: Vec<&str> = args.split(' ').collect();
        let mut command = formsvc(&args);
        command.env("HOME", self.0.path()).current_dir(self.work());
        command
    }

    fn run(&self, args: &str) -> Said {
        self.formsvc(args).output().unwrap().into()
    }

    #[track_caller]
    fn succeed(&self, args: &str) -> String {
        let said = self.run(args);
        assert_eq!(said.code, Some(0), "{args}: {}", said.stderr);
        said.stdout
    }

    /// Asserts that the command fails with the exit code and the texts.
    #[track_caller]
    fn fail(&self, args: &str, code: i32, tells: &[&str]) {
        let said = self.run(args);
        assert_eq!(said.code, Some(code), "{args}: {}", said.stderr);
        for tells in tells {
            assert!(said.stderr.contains(tells), "{args}: {} lacks {tells}", said.stderr);
        }
    }
}

fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777
}

#[test]
fn config_set_persists_in_a_private_file() {
    let home = Home::new();
    home.succeed("config set output json");
    assert_eq!(home.succeed("config get output"), "json\n");
    assert_eq!((mode(&home.file()), mode(home.file().parent().unwrap())), (0o600, 0o700));
    home.succeed("config set timeout 5s --profile default");
    home.succeed("config set profiles.default.max_rate 60");
    assert_eq!(
        home.text(),
        "output = \"json\"\n\n[profiles.default]\ntimeout = \"5s\"\nmax_rate = 60\n"
    );
    assert_eq!(home.succeed("config get timeout"), "5s\n");
    home.succeed("config unset output");
    assert_eq!(home.succeed("config get output"), "tsv\n");
    home.fail("config get base_url", 3, &["base_url"]);
    assert_eq!(home.succeed("config path"), format!("{}\n", home.file().display()));
}

#[test]
fn config_set_keeps_comments_mode_and_link() {
    let home = Home::new();
    let before = "# mine\ncolour = 'always' # a slip\noutput = 'csv'  # for sheets\n\n\
                  # the real one\n[profiles.work]\nbase_url='https://forms.example'\n";
    home.write("");
    let real = home.0.path().join("dotfiles.toml");
    fs::write(&real, before).unwrap();
    fs::set_permissions(&real, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    fs::remove_file(home.file()).unwrap();
    std::os::unix::fs::symlink(&real, home.file()).unwrap();
    home.succeed("config set output table");
    home.succeed("config set output json --profile work");
    let after = before.replace("'csv'", "\"table\"") + "output = \"json\"\n";
    assert_eq!(fs::read_to_string(&real).unwrap(), after);
    assert!(home.file().is_symlink());
    assert_eq!(mode(&real), 0o640);
    home.succeed("config unset profiles.work.output");
    home.succeed("config unset output");
    let after = before.replace("output = 'csv'  # for sheets\n", "");
    assert_eq!(fs::read_to_string(&real).unwrap(), after);
}

#[test]
fn concurrent_config_set_loses_no_value() {
    let home = Home::new();
    let runs: Vec<_> = (0..24)
        .map(|n| {
            let args = format!("config set profiles.p{n}.base_url https://p{n}.example");
            home.formsvc(&args).spawn().unwrap()
        })
        .collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    for n in 0..24 {
        let url = home.succeed(&format!("config get profiles.p{n}.base_url"));
        assert_eq!(url, format!("https://p{n}.example\n"));
    }
    let left: Vec<_> = crate::support::entries(home.file().parent().unwrap());
    assert_eq!(left, [".config.lock", "config.toml"]);
}

#[test]
fn unknown_setting_is_a_warning_with_line_and_suggestion() {
    let home = Home::new();
    home.write("# mine\noutptu = 'json'\n[profiles.work]\nbase-url = 'https://forms.example'\n");
    let said = home.run("config list");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for tells in
        ["config.toml:2: ", "`outptu`", "did you mean `output`?", "config.toml:4: ", "`base_url`"]
    {
        assert!(said.stderr.contains(tells), "{} lacks {tells}", said.stderr);
    }
    home.fail("config set outptu json", 2, &["did you mean `output`?"]);
    home.fail("config get outptu", 2, &["did you mean `output`?"]);
}

#[test]
fn invalid_config_file_is_exit_2_with_position_and_rule() {
    let home = Home::new();
    for (text, tells) in [
        ("output = 'json'\ncolor = \n", &["config.toml", "line 2, column 9"][..]),
        ("output = 'xml'\n", &["config.toml:1", "`xml`", "`ndjson`"]),
        ("\noutput = 7\n", &["config.toml:2", "`7`"]),
        ("timeout = 30\n", &["`30`", "unit"]),
        ("max_rate = 1.5\n", &["float", "whole number"]),
        ("no_input = 'maybe'\n", &["`maybe`", "`true` or `false`"]),
        ("[profile.work]\n", &["`[profiles.NAME]`"]),
        ("[profiles.default]\napi_key_command = 'pass show'\n", &["a program and its arguments"]),
        (
            "profile = 'work'\n[profiles.wrok]\n",
            &["`work`", "did you mean `wrok`?", "config.toml:1"],
        ),
    ] {
        home.write(text);
        home.fail("me", 2, tells);
        // A command that helps to fix the file still works.
        home.succeed("config list");
    }
    home.write("output = 'xml'\n");
    home.succeed("config set output json");
    assert_eq!(home.succeed("config get output"), "json\n");
}

#[test]
fn config_path_that_is_no_text_file_is_refused() {
    let home = Home::new();
    home.write("");
    fs::remove_file(home.file()).unwrap();
    let made = processes::command("mkfifo").arg(home.file()).status().unwrap();
    assert!(made.success());
    home.fail("me", 2, &["is not a file"]);
    fs::remove_file(home.file()).unwrap();
    fs::create_dir(home.file()).unwrap();
    home.fail("me", 2, &["is not a file"]);
    fs::remove_dir(home.file()).unwrap();
    fs::write(home.file(), b"# fine\noutput = '\xff'\n").unwrap();
    home.fail("me", 2, &["not UTF-8", "line 2"]);
    fs::write(home.file(), "#".repeat(300_000)).unwrap();
    home.fail("me", 2, &["longer than"]);
    fs::write(home.file(), "\u{feff}output = 'json'\r\n").unwrap();
    assert_eq!(home.succeed("config get output"), "json\n");
}

#[test]
fn help_and_version_ignore_the_config_file() {
    let home = Home::new();
    home.write("this is not TOML");
    for args in ["--version", "--help", "config --help", "forms list --help"] {
        home.succeed(args);
    }
    home.fail("me", 2, &["config.toml"]);
}

#[test]
fn config_list_shows_the_source_of_each_value() {
    let home = Home::new();
    home.write(
        "profile = 'work'\ncolor = 'never'\ntimeout = '1m'\n[profiles.work]\ntimeout = '5s'\n",
    );
    fs::write(home.work().join(".formsvc.toml"), "output = 'csv'\n").unwrap();
    let shown = home
        .formsvc("config list --output ndjson --max-wait 90s")
        .env("FORMSVC_MAX_RATE", "60")
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let file = home.file().display().to_string();
    let expected = [
        ("profile", "work", "user", format!("{file}:1")),
        ("output", "ndjson", "flag", "--output".to_owned()),
        ("color", "never", "user", format!("{file}:2")),
        ("timeout", "5s", "profile", format!("{file}:5")),
        ("max_wait", "90s", "flag", "--max-wait".to_owned()),
        ("max_rate", "60", "environment", "FORMSVC_MAX_RATE".to_owned()),
        ("error_format", "text", "default", "default".to_owned()),
    ];
    for (name, value, origin, at) in expected {
        let line = format!(
            "{{\"name\":\"{name}\",\"value\":\"{value}\",\"origin\":\"{origin}\",\"at\":\"{at}\"}}"
        );
        assert!(shown.lines().any(|shown| shown == line), "{shown} lacks {line}");
    }
    let project = home.work().join(".formsvc.toml");
    let plain = home.succeed("config list");
    // The path of the temporary folder may contain symbolic links.
    let project = project.canonicalize().unwrap().display().to_string();
    assert!(plain.contains(&format!("output,csv,project,{project}:1")), "{plain}");
}

#[test]
fn hostile_project_file_sends_no_key_and_runs_no_command() {
    let (ours, theirs) = (Canned::start(vec![one_form()]), Canned::start(vec![one_form()]));
    let home = Home::new();
    let ran = home.0.path().join("ran");
    let run = format!("touch {}", ran.display());
    home.write(&format!("[profiles.default]\nbase_url = '{}'\n", ours.base_url));
    fs::write(
        home.work().join(".formsvc.toml"),
        format!(
            "base_url = '{0}'\nprofile = 'theirs'\nstore = 'file'\npager = '{run}'\n\
             api_key_command = ['touch', '{1}']\napi_key = 'fsk_theirs'\nno_input = true\n\
             timeout = '1ms'\noutput = 'json'\n[profiles.default]\nbase_url = '{0}'\n",
            theirs.base_url,
            ran.display()
        ),
    )
    .unwrap();
    let said = home.formsvc("forms list").env("FORMSVC_API_KEY", SECRET).output().unwrap();
    let said = Said::from(said);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(ours.request().contains(SECRET));
    // The project file selected JSON output.
    assert!(said.stdout.starts_with('['), "{}", said.stdout);
    let refused = ["base_url", "profile", "store", "pager", "api_key_command", "api_key"];
    for name in refused {
        let line = said.stderr.lines().find(|line| line.contains(&format!("`{name}`")));
        assert!(
            line.is_some_and(|line| line.contains(".formsvc.toml:")),
            "{name}: {}",
            said.stderr
        );
    }
    home.run("me");
    assert!(theirs.asked_nothing());
    assert!(!ran.exists());
}

#[test]
fn broken_project_file_is_a_warning() {
    let home = Home::new();
    let service = Canned::start(vec![one_form()]);
    for broken in ["output = [", "output = 'xml'"] {
        fs::write(home.work().join(".formsvc.toml"), broken).unwrap();
        let mut command = home.formsvc("forms list --json id");
        command.env("FORMSVC_BASE_URL", &service.base_url).env("FORMSVC_API_KEY", SECRET);
        let said = Said::from(command.output().unwrap());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let warned = said.stderr.starts_with("warning: ") && said.stderr.contains(".formsvc.toml");
        assert!(warned && said.stderr.lines().count() == 1, "{}", said.stderr);
        home.succeed("--demo me");
    }
}

#[test]
fn project_file_must_be_a_regular_file() {
    let home = Home::new();
    let file = home.work().join(".formsvc.toml");
    std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
    home.fail("me", 2, &[".formsvc.toml", "link"]);
    fs::remove_file(&file).unwrap();
    assert!(processes::command("mkfifo").arg(&file).status().unwrap().success());
    home.fail("me", 2, &[".formsvc.toml", "not a file"]);
    home.succeed("config set output json");
}

#[test]
fn unknown_profile_is_refused_except_by_config_set() {
    let home = Home::new();
    home.succeed("config set base_url https://forms.example --profile work");
    let with_user = "config set base_url https://u:p@forms.example --profile work";
    home.fail(with_user, 2, &["without user name"]);
    home.fail("me --profile wrok", 2, &["`wrok`", "did you mean `work`?"]);
    home.fail("config set profile wrok", 2, &["did you mean `work`?"]);
    home.fail("me --profile a|b", 2, &["`a|b`"]);
    home.succeed("config set profile work");
    assert_eq!(home.succeed("config get base_url"), "https://forms.example\n");
    // The profile is valid, and the command fails later because there is no key.
    home.fail("me", 4, &["no API key"]);
    home.fail("me --profile default", 2, &["no service address"]);
}

#[test]
fn config_set_rejects_keys() {
    let home = Home::new();
    for args in [
        "config set api_key fsk_secret",
        "config set token fsk_secret",
        "config set output fsk_secret",
        "config set api_key_command echo<fsk_secret --profile work",
        "config set base_url https://fsk_secret@forms.example",
    ] {
        let said = home.run(args);
        assert_eq!(said.code, Some(2), "{args}: {}", said.stderr);
        assert!(!said.stderr.contains("fsk_secret"), "{args}: {}", said.stderr);
    }
    home.fail("config set api-key x", 2, &["formsvc auth login", "FORMSVC_API_KEY"]);
    assert!(!home.file().exists());
}

#[test]
fn config_set_checks_names_and_values() {
    let home = Home::new();
    for (args, tells) in [
        ("config set output xml", "`ndjson`"),
        ("config set max_rate 0", "`off`"),
        ("config set timeout 30", "`30s`"),
        ("config set base_url forms.example", "https://"),
        ("config set pager true", "false"),
        ("config set profiles.work.profile x", "top of the file"),
        ("config set profiles.a|b.output json", "a|b"),
        ("config set a.b.c x", "profiles.NAME.SETTING"),
        ("config set nonsense x", "max_rate"),
        ("config unset nonsense", "max_rate"),
    ] {
        home.fail(args, 2, &[tells]);
    }
    let said = home.run("config set base_url https://forms.example");
    assert_eq!(said.code, Some(0));
    assert!(said.stderr.contains("profiles.default.base_url"), "{}", said.stderr);
    home.succeed("config set pager false");
    home.succeed("config set max_rate off");
    home.succeed("config set --profile work api_key_command [\"pass\",\"show\"]");
    assert_eq!(home.succeed("config get profiles.work.api_key_command"), "pass show\n");
}

/// `config set` accepts the URL, because `allow_http` may follow. The command that would send the key
/// refuses it.
#[test]
fn saved_http_base_url_is_refused_until_http_is_allowed() {
    let home = Home::new();
    home.succeed("config set base_url http://forms.example");
    home.fail(
        "me",
        2,
        &["without encryption", "--allow-http", "config set allow_http forms.example"],
    );
    home.succeed("config set allow_http forms.example");
    home.fail("me", 4, &["no API key"]);
}

#[test]
fn config_list_masks_the_password_of_a_base_url() {
    let home = Home::new();
    let listed = home
        .formsvc("config list")
        .env("FORMSVC_BASE_URL", "https://me:hunter2@forms.example")
        .output()
        .unwrap();
    let listed = Said::from(listed);
    let all = format!("{}{}", listed.stdout, listed.stderr);
    assert!(all.contains("forms.example"), "{all}");
    assert!(!all.contains("hunter2"), "{all}");
}

#[test]
fn missing_home_prevents_only_config_changes() {
    let run = |args: &[&str], home: Option<&str>| {
        let mut command = formsvc(args);
        match home {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
        Said::from(command.output().unwrap())
    };
    for home in [None, Some(""), Some("relative")] {
        for args in [&["config", "set", "output", "json"][..], &["config", "path"]] {
            let said = run(args, home);
            assert_eq!(said.code, Some(10), "{}", said.stderr);
            assert!(said.stderr.contains("FORMSVC_CONFIG_DIR"), "{}", said.stderr);
        }
        assert_eq!(run(&["config", "get", "color"], home).stdout, "auto\n");
        assert_eq!(run(&["config", "list"], home).code, Some(0));
    }
    // A folder that cannot be created.
    let said = run(&["config", "set", "output", "json"], Some("/proc/nobody"));
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains("/proc/nobody/.config/formsvc/config.toml"), "{}", said.stderr);
    let null = formsvc(&["config", "get", "color"]).env("FORMSVC_CONFIG_DIR", "/dev/null").output();
    assert!(null.unwrap().status.success());
}

#[cfg(unix)]
#[test]
fn config_file_writable_by_others_is_refused() {
    use std::os::unix::fs::{PermissionsExt, chown};

    let home = Home::new();
    home.write("output = 'json'\n[profiles.default]\napi_key_command = ['/bin/false']\n");
    let set = |mode| fs::set_permissions(home.file(), PermissionsExt::from_mode(mode)).unwrap();
    let fix = format!("hint: `chmod go-w {}`", home.file().display());
    for mode in [0o664, 0o646, 0o666] {
        set(mode);
        let told = ["is not safe to use", "cause: it can be changed by other users", &fix];
        home.fail("--base-url http://127.0.0.1:9 me", 10, &told);
        home.fail("config set output csv", 10, &told);
        // `config get` still works, and ignores the file.
        let said = home.run("config get output");
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), "tsv\n"), "{}", said.stderr);
        assert!(
            said.stderr.contains("it can be changed by other users; the file is ignored"),
            "{}",
            said.stderr
        );
    }
    set(0o644);
    assert_eq!(home.succeed("config get output"), "json\n");
    // Only root can change the owner of a file.
    if chown(home.file(), Some(65534), None).is_ok() {
        home.fail("me", 10, &["cause: it belongs to another user", "`chown \"$(id -u)\" "]);
    }
}

#[test]
fn broken_config_file_is_reported_once() {
    let home = Home::new();
    home.write("output = json\n");
    for args in
        ["config list", "config set output csv", "auth list", "auth use work", "doctor", "me"]
    {
        let said = home.run(args);
        let told = format!("{}{}", said.stdout, said.stderr);
        assert_eq!(told.matches("line 1, column 10").count(), 1, "{args}: {told}");
    }
}
