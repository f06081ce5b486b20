//! `formsvc-server form create`, `edit` and `spam`.

use std::process::Stdio;

use serde_json::Value;

use super::{Run, Serving, Site};

const FIELDS: &str = r#"[{"label":"Name","type":"text","required":true}]"#;

impl Site {
    /// A site with a user and a form `/f/contact` of one field.
    fn with_form() -> Self {
        let site = Self::with_user();
        std::fs::write(site.path("fields.json"), FIELDS).unwrap();
        let fields = site.path("fields.json");
        let create = ["form", "create", "--user", "a@b.c", "--title", "Contact"];
        let more = ["--public-id", "contact", "--fields", fields.to_str().unwrap()];
        site.run(&[&create[..], &more[..]].concat()).succeeded();
        site
    }

    fn edit(&self, args: &[&str]) -> Run {
        self.run(&[&["form", "edit", "contact"], args].concat())
    }
}

impl Serving {
    /// A submission by a plain socket: status line, head and body.
    fn post(&self, path: &str, origin: &str, body: &str) -> String {
        let head =
            format!("POST {path} HTTP/1.1\r\norigin: {origin}\r\naccept: application/json\r\n");
        self.ask(&format!("{head}content-type: application/x-www-form-urlencoded\r\n"), body)
    }

    fn status(&self, origin: &str, body: &str) -> String {
        let answer = self.post("/f/contact", origin, body);
        answer.split(' ').nth(1).unwrap().to_owned()
    }
}

#[test]
fn a_form_made_by_the_command_takes_what_its_fields_say() {
    let site = Site::with_form();
    let listed = site.run(&["form", "list", "--user", "a@b.c"]).succeeded().json();
    assert_eq!((&listed["public_id"], &listed["status"]), (&"contact".into(), &"published".into()));
    let serving = site.serve(&[]);
    assert!(serving.get("/f/contact", "").contains("name=\"Name\""));
    assert_eq!(serving.status("https://a.example", "Name=a"), "201");
    assert_eq!(serving.status("https://a.example", "Age=3"), "422");
}

#[test]
fn an_edit_holds_from_the_next_request_on() {
    let site = Site::with_form();
    let serving = site.serve(&[]);
    site.edit(&["--title", "Write to us"]).succeeded();
    assert!(serving.get("/f/contact", "").contains("Write to us"));
    let listed = ["--origin", "https://home.example", "--origin", "http://localhost:3000/"];
    site.edit(&listed).succeeded();
    assert_eq!(serving.status("https://elsewhere.example", "Name=a"), "403");
    assert_eq!(serving.status("http://localhost:3000", "Name=a"), "201");
    site.edit(&["--any-origin", "--any-answers"]).succeeded();
    assert_eq!(serving.status("https://elsewhere.example", "Age=3"), "201");
    let closed = site.edit(&["--status", "closed"]).succeeded().json();
    assert_eq!((&closed["status"], &closed["title"]), (&"closed".into(), &"Write to us".into()));
    assert_eq!(serving.status("https://a.example", "Age=3"), "410");
    site.edit(&["--status", "draft"]).succeeded();
    assert_eq!(serving.status("https://a.example", "Age=3"), "404");
}

#[test]
fn a_form_is_read_back_and_its_fields_are_given_back() {
    const EXACT: &str = r#"[{"label":"Name","type":"text","required":true,"max_length":9},{"label":"Guests","type":"number","min":1.50,"max":1e2}]"#;
    let site = Site::with_user();
    std::fs::write(site.path("fields.json"), EXACT).unwrap();
    let path = site.path("fields.json").to_str().unwrap().to_owned();
    let create = ["form", "create", "--user", "a@b.c", "--title", "Contact", "--fields", &path];
    let more = ["--public-id", "contact", "--origin", "https://a.example"];
    let created = site.run(&[&create[..], &more].concat()).succeeded();
    assert!(created.stdout.contains(&format!(r#""fields":{EXACT}"#)), "{}", created.stdout);
    let shown = site.run(&["form", "show", "contact"]).succeeded();
    assert_eq!(shown.json(), created.json());
    assert_eq!(shown.json()["origins"], serde_json::json!(["https://a.example"]));
    assert_eq!(shown.json()["url"], "/f/contact");
    // By its id as well, and for people.
    let id = created.json()["id"].as_str().unwrap().to_owned();
    let text = site.run(&["form", "show", &id, "--output", "text"]).succeeded().stdout;
    for told in [
        "status    published\n",
        "address   /f/contact\n",
        "origin    https://a.example\n",
        "field     Name: text, required, at most 9 characters\n",
        "field     Guests: number, from 1.50, to 1e2\n",
    ] {
        assert!(text.contains(told), "{told} {text}");
    }

    let fields = site.run(&["form", "fields", &id]).succeeded().stdout;
    assert_eq!(fields.lines().count(), 4, "a field a line: {fields}");
    std::fs::write(site.path("fields.json"), fields.replace("Name", "Full name")).unwrap();
    let edited = site.run(&["form", "edit", &id, "--fields", &path]).succeeded();
    let renamed = EXACT.replace("Name", "Full name");
    assert!(edited.stdout.contains(&format!(r#""fields":{renamed}"#)), "{}", edited.stdout);

    site.edit(&[]).failed(2, "error: nothing is to be changed");
    let free = site.edit(&["--any-answers", "--any-origin"]).succeeded().json();
    assert_eq!((&free["fields"], &free["origins"]), (&Value::Null, &Value::Null));
    site.run(&["form", "fields", "contact"]).failed(3, "has no fields: it takes any answers");
    let text = site.run(&["form", "show", "contact", "--output", "text"]).succeeded().stdout;
    assert!(text.contains("fields    none: any answers are taken\n"), "{text}");
    site.run(&["form", "spam", &id]).succeeded();
}

#[test]
fn spam_is_listed_apart() {
    let site = Site::with_form();
    let serving = site.serve(&[]);
    for n in 1..=2 {
        let body = format!("Name=spam+{n}&_gotcha=x");
        assert_eq!(serving.status("https://a.example", &body), "201");
    }
    let spam = site.run(&["form", "spam", "contact"]).succeeded().stdout;
    let spam: Vec<Value> = spam.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = spam.iter().map(|spam| spam["data"]["Name"].as_str().unwrap()).collect();
    assert_eq!(names, ["spam 2", "spam 1"]);
    assert!(spam[0]["id"].as_str().unwrap().starts_with("sub_"));

    let page = |args: &[&str]| site.run(&[&["form", "spam", "contact"], args].concat());
    let first = page(&["--limit", "1"]).succeeded();
    assert_eq!(first.stdout.lines().count(), 1);
    let id = spam[0]["id"].as_str().unwrap();
    assert!(first.stderr.contains(&format!("there is more: `--after {id}`")), "{}", first.stderr);
    let rest = page(&["--limit", "1", "--after", id]).succeeded();
    assert!(rest.stdout.contains("spam 1") && !rest.stderr.contains("more"), "{}", rest.stderr);
    page(&["--after", spam[1]["id"].as_str().unwrap()]).succeeded();
    page(&["--after", "sub_1"]).failed(3, "no spam `sub_1`");
    for limit in ["0", "1001", "x"] {
        page(&["--limit", limit]).failed(2, "must be a whole number from 1 to 1000");
    }
}

#[test]
fn the_limits_of_forms_are_flags() {
    let site = Site::with_form();
    let serving = site.serve(&["--sender-limit", "2", "--trusted-proxy", "192.0.2.0/24"]);
    for status in ["201", "201", "429"] {
        assert_eq!(serving.status("https://a.example", "Name=a"), status);
    }
    drop(serving);
    let serving = site.serve(&["--sender-limit", "off", "--form-limit", "1"]);
    for status in ["201", "429"] {
        assert_eq!(serving.status("https://a.example", "Name=a"), status);
    }
}

#[test]
fn fields_come_from_standard_input_as_well() {
    let site = Site::with_user();
    let args = ["form", "create", "--user", "a@b.c", "--title", "T", "--fields", "-"];
    let mut command = site.command(&[&args[..], &["--public-id", "contact"]].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), FIELDS.as_bytes()).unwrap();
    Run::from(child.wait_with_output().unwrap()).succeeded();
    let serving = site.serve(&[]);
    assert!(serving.get("/f/contact", "").contains("name=\"Name\""));
}

#[test]
fn bad_values_are_named_and_leave_no_form() {
    let site = Site::with_user();
    let write = |name: &str, text: &[u8]| {
        std::fs::write(site.path(name), text).unwrap();
        site.path(name).to_str().unwrap().to_owned()
    };
    let kind = write("kind.json", br#"[{"label":"Name","type":"file"}]"#);
    let latin = write("latin.json", b"[{\"label\":\"Na\xefve\",\"type\":\"text\"}]");
    let long = write("long.json", " ".repeat(300_000).as_bytes());
    let create = ["form", "create", "--user", "a@b.c", "--title", "T"];
    for (more, code, told) in [
        (["--fields", &kind], 2, "kind.json`: field 1 (`Name`): `file` is no type"),
        (["--fields", &latin], 2, "latin.json"),
        (["--fields", &long], 2, "bytes of JSON are more than"),
        (["--fields", "absent.json"], 3, "absent.json"),
        (["--origin", "home.example"], 2, "`--origin` cannot be `home.example`"),
        (["--origin", "https://home.example/path"], 2, "without a path"),
        (["--status", "open"], 2, "must be draft, published or closed"),
        (["--public-id", "a b"], 2, "`--public-id` cannot be `a b`"),
        (["--user", "x@y.z"], 2, "cannot be used multiple times"),
    ] {
        site.run(&[&create[..], &more].concat()).failed(code, told);
    }
    let blank = ["form", "create", "--user", "a@b.c", "--title", " "];
    site.run(&blank).failed(2, "cannot be blank");
    assert_eq!(site.run(&["form", "list", "--user", "a@b.c"]).succeeded().stdout, "");
    for args in [&["form", "edit", "nothing", "--title", "T"][..], &["form", "spam", "nothing"]] {
        site.run(args).failed(3, "no form `nothing`");
    }
    let both = ["form", "edit", "nothing", "--any-origin", "--origin", "https://a.b"];
    site.run(&both).failed(2, "cannot be used with");
    let many: Vec<_> =
        (0..101).flat_map(|n| ["--origin".into(), format!("https://{n}.b")]).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    site.run(&[&create[..], &many].concat()).failed(2, "number of origins");
}
