//! Which layer counts: every setting, given by every pair of layers it may be given by.

use std::ffi::OsString;

use super::*;

/// Two values each setting may have.
fn values(kind: Kind) -> [&'static str; 2] {
    match kind {
        Kind::ProfileName => ["work", "home"],
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

/// The layers, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq)]
enum From {
    Flag,
    Env,
    Project,
    Profile,
    User,
}

const ALL: [From; 5] = [From::Flag, From::Env, From::Project, From::Profile, From::User];

impl From {
    /// Whether the layer may give the setting.
    fn gives(self, setting: &Setting) -> bool {
        match self {
            Self::Flag => setting.flag.is_some(),
            Self::Env => setting.variable.is_some(),
            Self::Project => setting.scope.project(),
            Self::Profile => setting.scope.profile(),
            Self::User => setting.scope.top(),
        }
    }

    fn is(self, origin: &Origin) -> bool {
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

/// What counts when a setting is given by some layers, each whether it may or not.
fn resolved(setting: &'static Setting, given: &[(From, &str)], care: Care) -> Resolved {
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
            From::Flag => flags.push((setting.name, value(setting, text))),
            From::Env => variable = Some(OsString::from(text)),
            From::Project => project.entries.entries.push(entry(None, text)),
            From::Profile => user.entries.entries.push(entry(Some("default"), text)),
            From::User => user.entries.entries.push(entry(None, text)),
        }
    }
    let env = |name: &str| {
        variable.clone().filter(|_| setting.variable.is_some_and(|known| known.name == name))
    };
    let (project, user) = (Some(project), Some(user));
    let layers = Layers { flags, env: &env, project, user, care, care_for_profile: care };
    layers.resolve().unwrap()
}

#[test]
fn the_stronger_of_two_layers_counts_for_every_setting() {
    let mut pairs = 0;
    for setting in SETTINGS {
        let [strong, weak] = values(setting.kind);
        for (at, stronger) in ALL.iter().enumerate() {
            for weaker in &ALL[at + 1..] {
                if !stronger.gives(setting) || !weaker.gives(setting) {
                    continue;
                }
                pairs += 1;
                for (strong, weak) in [(strong, weak), (weak, strong)] {
                    let given = [(*weaker, weak), (*stronger, strong)];
                    let resolved = resolved(setting, &given, Care::Strict);
                    let what = format!("{} by {stronger:?} and {weaker:?}", setting.name);
                    assert_eq!(resolved.text(setting.name).as_deref(), Some(strong), "{what}");
                    assert!(stronger.is(&resolved.row(setting.name).unwrap().origin), "{what}");
                }
            }
        }
    }
    assert!(pairs > 60, "{pairs}");
}

#[test]
fn a_layer_that_may_not_give_a_setting_has_no_effect_and_is_told_of() {
    for setting in SETTINGS {
        let [text, _] = values(setting.kind);
        for from in [From::Project, From::Profile, From::User] {
            if from.gives(setting) {
                continue;
            }
            let resolved = resolved(setting, &[(from, text)], Care::Strict);
            let row = resolved.row(setting.name).unwrap();
            assert_eq!((row.value.clone(), &row.origin), (None, &Origin::Default));
            let [warning] = &*resolved.warnings else { panic!("{:?}", resolved.warnings) };
            let file = if from == From::Project { ".formsvc.toml:1" } else { "config.toml:1" };
            assert!(warning.contains(file), "{warning}");
            assert!(warning.contains(&format!("`{}`", setting.name)), "{warning}");
        }
    }
}

#[test]
fn only_what_changes_how_things_look_may_stand_in_a_project() {
    let may: Vec<&str> = SETTINGS
        .iter()
        .filter(|setting| setting.scope.project())
        .map(|setting| setting.name)
        .collect();
    assert_eq!(may, ["output", "time_style", "color", "error_format"]);
}

#[test]
fn what_is_wrong_fails_unless_the_command_mends_it() {
    for setting in SETTINGS {
        if !From::User.gives(setting) {
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
        let resolve = |care| {
            let layers = Layers {
                flags: Vec::new(),
                env: &|_| None,
                project: None,
                user: Some(user.clone()),
                care,
                care_for_profile: care,
            };
            layers.resolve()
        };
        let error = resolve(Care::Strict).unwrap_err().brief();
        assert!(error.contains("config.toml:3") && error.contains("float"), "{error}");
        let mended = resolve(Care::Lenient).unwrap();
        assert_eq!(mended.row(setting.name).unwrap().origin, Origin::Default);
        assert_eq!(mended.warnings.len(), 1, "{:?}", mended.warnings);
    }
}

#[test]
fn a_wrong_variable_is_named_and_a_switch_may_be_a_number() {
    let resolve = |variable: &'static str, text: &'static str| {
        let env = move |name: &str| (name == variable).then(|| OsString::from(text));
        Layers {
            flags: Vec::new(),
            env: &env,
            project: None,
            user: None,
            care: Care::Lenient,
            care_for_profile: Care::Lenient,
        }
        .resolve()
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
