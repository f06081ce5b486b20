//! The precedence of every pair of layers, for every setting.

use std::ffi::OsString;
use std::fs;

use super::*;

/// Returns two valid values.
fn values(kind: Kind) -> [&'static str; 2] {
    match kind {
        Kind::ProfileName => ["work", "home"],
        Kind::Hosts => ["formsvc", "10.0.0.7,forms"],
        Kind::BaseUrl => ["https://a.example", "https://b.example"],
        Kind::Store => ["keyring", "file"],
        Kind::Words => ["pass", "op"],
        Kind::Output => ["csv", "json"],
        Kind::Times => ["absolute", "relative"],
        Kind::Color => ["always", "never"],
        Kind::Pager => ["less -S", "false"],
        Kind::ErrorFormat => ["json", "text"],
        Kind::Switch => ["true", "false"],
        Kind::Duration => ["5s", "1m"],
        Kind::Rate => ["60", "off"],
    }
}

/// The layers by precedence.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Flag,
    Env,
    Project,
    Profile,
    User,
}

const ALL: [Source; 5] =
    [Source::Flag, Source::Env, Source::Project, Source::Profile, Source::User];

impl Source {
    /// True if the layer may contain the setting.
    fn allows(self, setting: &Setting) -> bool {
        match self {
            Self::Flag => setting.flag.is_some(),
            Self::Env => setting.variable.is_some(),
            Self::Project => setting.scope.project(),
            Self::Profile => setting.scope.profile(),
            Self::User => setting.scope.top(),
        }
    }

    fn is_of(self, origin: &Origin) -> bool {
        match origin {
            Origin::Flag(_) => self == Self::Flag,
            Origin::Env(_) => self == Self::Env,
            Origin::Project(..) => self == Self::Project,
            Origin::Profile(..) => self == Self::Profile,
            Origin::User(..) => self == Self::User,
            Origin::Default => false,
        }
    }
}

fn value(setting: &Setting, text: &str) -> Value {
    match setting.kind {
        Kind::Words => Value::Words(vec![text.to_owned()]),
        _ => Value::Text(text.to_owned()),
    }
}

/// Resolves a setting from the given layers, which need not be allowed to contain it.
fn resolved(setting: &'static Setting, given: &[(Source, &str)], on_bad: OnBadSetting) -> Resolved {
    let entry = |profile: Option<&str>, text: &str| Entry {
        profile: profile.map(str::to_owned),
        name: setting.name.to_owned(),
        value: value(setting, text),
        line: 1,
    };
    let (mut flags, mut variable) = (Vec::new(), None);
    let profiles = ["default", "work", "home"].map(str::to_owned).to_vec();
    let entries = Entries { profiles, ..Entries::default() };
    let mut user = Layer { path: "config.toml".into(), entries };
    let mut project = Layer { path: ".formsvc.toml".into(), ..Layer::default() };
    for (from, text) in given {
        match from {
            Source::Flag => flags.push((setting.name, value(setting, text))),
            Source::Env => variable = Some(OsString::from(text)),
            Source::Project => project.entries.entries.push(entry(None, text)),
            Source::Profile => user.entries.entries.push(entry(Some("default"), text)),
            Source::User => user.entries.entries.push(entry(None, text)),
        }
    }
    let env = |name: &str| {
        variable.clone().filter(|_| setting.variable.is_some_and(|known| known.name == name))
    };
    let (project, user) = (Some(project), Some(user));
    let layers = Layers { flags, project, user, on_bad, ..Layers::default() };
    layers.resolve(&env).unwrap()
}

#[test]
fn higher_layer_takes_precedence_for_every_setting() {
    let mut pairs = 0;
    for setting in SETTINGS {
        let [strong, weak] = values(setting.kind);
        for (at, stronger) in ALL.iter().enumerate() {
            for weaker in &ALL[at + 1..] {
                if !stronger.allows(setting) || !weaker.allows(setting) {
                    continue;
                }
                pairs += 1;
                for (strong, weak) in [(strong, weak), (weak, strong)] {
                    let given = [(*weaker, weak), (*stronger, strong)];
                    let resolved = resolved(setting, &given, OnBadSetting::Fail);
                    let what = format!("{} by {stronger:?} and {weaker:?}", setting.name);
                    assert_eq!(resolved.text(setting.name).as_deref(), Some(strong), "{what}");
                    assert!(stronger.is_of(&resolved.row(setting.name).unwrap().origin), "{what}");
                }
            }
        }
    }
    assert!(pairs > 60, "{pairs}");
}

#[test]
fn setting_in_the_wrong_file_is_ignored_with_a_warning() {
    for setting in SETTINGS {
        let [text, _] = values(setting.kind);
        for from in [Source::Project, Source::Profile, Source::User] {
            if from.allows(setting) {
                continue;
            }
            let resolved = resolved(setting, &[(from, text)], OnBadSetting::Fail);
            let row = resolved.row(setting.name).unwrap();
            assert_eq!((row.value.clone(), &row.origin), (None, &Origin::Default));
            let [warning] = &*resolved.warnings else { panic!("{:?}", resolved.warnings) };
            let file = if from == Source::Project { ".formsvc.toml:1" } else { "config.toml:1" };
            assert!(warning.contains(file), "{warning}");
            assert!(warning.contains(&format!("{}` has no effect", setting.name)), "{warning}");
        }
    }
}

#[test]
fn project_file_sets_only_the_appearance() {
    let may: Vec<&str> = SETTINGS
        .iter()
        .filter(|setting| setting.scope.project())
        .map(|setting| setting.name)
        .collect();
    assert_eq!(may, ["output", "time_style", "color", "error_format"]);
}

#[test]
fn bad_setting_fails_unless_the_command_fixes_it() {
    for setting in SETTINGS {
        if !Source::User.allows(setting) {
            continue;
        }
        let entry = Entry {
            profile: None,
            name: setting.name.to_owned(),
            value: Value::Other("float"),
            line: 3,
        };
        let entries = Entries { entries: vec![entry], ..Entries::default() };
        let user = Layer { path: "config.toml".into(), entries };
        let resolve = |on_bad| {
            let layers = Layers { user: Some(user.clone()), on_bad, ..Layers::default() };
            layers.resolve(&|_| None)
        };
        let error = resolve(OnBadSetting::Fail).unwrap_err().brief();
        assert!(error.contains("config.toml:3") && error.contains("float"), "{error}");
        let mended = resolve(OnBadSetting::Warn).unwrap();
        assert_eq!(mended.row(setting.name).unwrap().origin, Origin::Default);
        assert_eq!(mended.warnings.len(), 1, "{:?}", mended.warnings);
    }
}

#[test]
fn bad_variable_is_named_and_switch_may_be_a_number() {
    let resolve = |variable: &'static str, text: &'static str| {
        let env = move |name: &str| (name == variable).then(|| OsString::from(text));
        Layers { on_bad: OnBadSetting::Warn, ..Layers::default() }.resolve(&env)
    };
    for setting in SETTINGS {
        let Some(variable) = setting.variable else { continue };
        if matches!(setting.kind, Kind::BaseUrl | Kind::Pager) {
            continue;
        }
        let error = resolve(variable.name, "no / thing").unwrap_err().brief();
        assert!(error.contains(&format!("`{}`", variable.name)), "{error}");
    }
    let on = resolve("FORMSVC_NO_INPUT", "1").unwrap();
    assert_eq!(on.text("no_input").as_deref(), Some("true"));
    let pager = resolve("PAGER", "more").unwrap();
    assert_eq!(pager.row("pager").unwrap().origin, Origin::Env("PAGER"));
}

#[test]
fn project_ends_at_its_repository() {
    let top = tempfile::tempdir().unwrap();
    let inner = top.path().join("repo/a/b");
    fs::create_dir_all(&inner).unwrap();
    let outside = top.path().join(PROJECT_NAME);
    fs::write(&outside, "").unwrap();
    assert_eq!(project_file(top.path()), Some(outside));
    assert_eq!(project_file(&inner), None, "outside of a repository");
    fs::create_dir(top.path().join("repo/.git")).unwrap();
    assert_eq!(project_file(&inner), None, "above the repository");
    let of_repo = top.path().join("repo").join(PROJECT_NAME);
    fs::write(&of_repo, "").unwrap();
    assert_eq!(project_file(&inner), Some(of_repo));
    let nearer = top.path().join("repo/a").join(PROJECT_NAME);
    fs::write(&nearer, "").unwrap();
    assert_eq!(project_file(&inner), Some(nearer));
}
