//! `--template T`: what a template makes of a command's JSON.

mod filters;
mod values;

use std::sync::{Arc, Mutex};

use minijinja::{Environment, UndefinedBehavior, Value};

use super::document;
use super::paint::Paint;
use crate::base::suggest::did_you_mean;
use crate::error::CliError;

/// A template, known to be readable.
pub(super) struct Template {
    text: String,
    surroundings: Surroundings,
}

/// What a template's output depends on besides the data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    /// Whether it is shown on a terminal: text is made harmless then, and links can be followed.
    pub(super) terminal: bool,
    pub(super) paint: Paint,
    /// Width of the lines of `tablerow`.
    pub(super) width: Option<usize>,
    /// The instant it is.
    pub(super) now: i64,
}

/// What the data is, and so which names a template has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A list: `items`.
    List,
    /// One item: `item`, and each of its members by its own name.
    Item,
}

impl Template {
    /// Reads a template; nothing is rendered yet. `names` are the names it may use; none where they
    /// are known only with the data.
    pub(super) fn new(
        text: &str,
        names: Option<&[&str]>,
        surroundings: Surroundings,
    ) -> Result<Self, CliError> {
        let environment = environment(surroundings, &Rows::default());
        let template = environment
            .template_from_str(text)
            .map_err(|error| told("cannot read the template", &error))?;
        if let Some(names) = names {
            let mut unknown: Vec<String> = template
                .undeclared_variables(false)
                .into_iter()
                .filter(|used| !names.contains(&&**used))
                .filter(|used| environment.globals().all(|(global, _)| global != used))
                .collect();
            unknown.sort();
            if let Some(unknown) = unknown.first() {
                let like = did_you_mean(unknown, names.iter().copied());
                let known = format!("the names are {}", names.join(", "));
                return Err(CliError::usage(format!(
                    "the template uses `{unknown}`, which is not there"
                ))
                .hint(like.map_or(known.clone(), |like| format!("{like} {known}"))));
            }
        }
        Ok(Self { text: text.to_owned(), surroundings })
    }

    /// What it makes of a document, with a line end at the end.
    pub(super) fn render(&self, json: &str, shape: Shape) -> Result<String, CliError> {
        let json = document::readable(json)?;
        let data = values::of_json(&json, self.surroundings.terminal);
        let names = match shape {
            Shape::List => Value::from_pairs([("items", data)]),
            Shape::Item => {
                let members = values::members(&data);
                Value::from_pairs([("item".to_owned(), data)].into_iter().chain(members))
            }
        };
        let rows = Rows::default();
        let environment = environment(self.surroundings, &rows);
        let mut made = environment
            .render_str(&self.text, names)
            .map_err(|error| told("the template failed", &error))?;
        // Rows that nobody asked to be shown before the end.
        made.push_str(&filters::table(&rows, self.surroundings));
        if !made.is_empty() && !made.ends_with('\n') {
            made.push('\n');
        }
        Ok(made)
    }
}

/// Rows that wait for the others, so that their columns can be aligned.
type Rows = Arc<Mutex<Vec<Vec<String>>>>;

/// What templates can use. There are no files to include, and nothing from outside of the data. A
/// member that is not there is empty: not every submission has every answer.
fn environment(surroundings: Surroundings, rows: &Rows) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    filters::add(&mut environment, surroundings, rows);
    environment
}

fn told(what: &str, error: &minijinja::Error) -> CliError {
    let place = error.line().map_or(String::new(), |line| format!(" in line {line}"));
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    CliError::usage(format!("{what}{place}")).cause(detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Surroundings =
        Surroundings { terminal: false, paint: Paint(false), width: None, now: 0 };
    const TERMINAL: Surroundings =
        Surroundings { terminal: true, paint: Paint(true), width: Some(20), now: 7_200_000_000 };

    fn made(text: &str, json: &str, surroundings: Surroundings) -> Result<String, String> {
        let shape = if json.starts_with('[') { Shape::List } else { Shape::Item };
        let told = |error: CliError| format!("{error:?}");
        let names = ["items", "item", "id", "data"];
        let template = Template::new(text, Some(&names), surroundings);
        template.and_then(|template| template.render(json, shape)).map_err(told)
    }

    #[test]
    fn a_list_is_items_and_an_item_has_its_members_by_name() {
        let list = r#"[{"id":"a"},{"id":"b"}]"#;
        let each = "{% for it in items %}{{ loop.index }} {{ it.id }}\n{% endfor %}";
        assert_eq!(made(each, list, PIPE).unwrap(), "1 a\n2 b\n");
        let item = r#"{"id":"a","data":{"Your name":"Zoë"}}"#;
        assert_eq!(made("{{ id }}: {{ data['Your name'] }}", item, PIPE).unwrap(), "a: Zoë\n");
        assert_eq!(made("{{ item.data|length }}", item, PIPE).unwrap(), "1\n");
    }

    #[test]
    fn numbers_are_shown_as_they_were_sent() {
        let json = r#"{"data":[12345678901234567890, 1.10, 0.5, 1e400, 3]}"#;
        let shown = made("{{ data|join(' ') }}", json, PIPE).unwrap();
        assert_eq!(shown, "12345678901234567890 1.10 0.5 1e400 3\n");
        assert_eq!(made("{{ data[4] * 2 + data[2] }}", json, PIPE).unwrap(), "6.5\n");
        assert_eq!(made("{{ data[1]|float * 2 }}", json, PIPE).unwrap(), "2.2\n");
        assert_eq!(
            made("{{ item|json }}", r#"{"b":1.5,"a":"x"}"#, PIPE).unwrap(),
            "{\"b\":1.5,\"a\":\"x\"}\n"
        );
    }

    #[test]
    fn a_name_that_is_not_there_is_an_error_and_a_member_that_is_not_is_empty() {
        let item = r#"{"id":"a","data":{}}"#;
        let error = made("{{ ids }}", item, PIPE).unwrap_err();
        assert!(error.contains("uses `ids`") && error.contains("did you mean `id`?"), "{error}");
        assert_eq!(made("[{{ data.gone.deeper }}]", item, PIPE).unwrap(), "[]\n");
        assert_eq!(made("{{ range(2)|join }}", item, PIPE).unwrap(), "01\n");
        for (wrong, told) in [
            ("{{ id", "cannot read the template in line 1"),
            ("a\n{{ id|nope }}", "the template failed in line 2"),
            ("{% include '/etc/passwd' %}", "template"),
        ] {
            let error = made(wrong, item, PIPE).unwrap_err();
            assert!(error.contains(told), "{wrong}: {error}");
        }
    }

    #[test]
    fn data_is_harmless_on_a_terminal_and_exact_in_a_pipe() {
        let item = "{\"id\":\"\\u001b[31mx\\nTab\\t\\u202e\"}";
        assert_eq!(made("{{ id }}", item, TERMINAL).unwrap(), "[31mx\nTab\t\n");
        assert_eq!(made("{{ id }}", item, PIPE).unwrap(), "\u{1b}[31mx\nTab\t\u{202e}\n");
        let link = made("{{ 'x'|hyperlink(id) }}", item, TERMINAL).unwrap();
        assert_eq!(link, "\u{1b}]8;;[31mxTab\u{1b}\\x\u{1b}]8;;\u{1b}\\\n");
        assert_eq!(made("{{ 'x'|hyperlink(id) }}", item, PIPE).unwrap(), "x\n");
    }

    #[test]
    fn filters_tell_time_paint_and_shorten() {
        let item = r#"{"id":"1970-01-01T00:00:00.000Z","data":"published"}"#;
        for (template, terminal, pipe) in [
            ("{{ id|timeago }}", "2 hours ago", "just now"),
            ("{{ data|timeago }}", "published", "published"),
            ("{{ data|color('green') }}", "\u{1b}[32mpublished\u{1b}[0m", "published"),
            ("{{ data|color('status') }}", "\u{1b}[32mpublished\u{1b}[0m", "published"),
            ("{{ '漢字漢字'|truncate(5) }}", "漢字…", "漢字…"),
        ] {
            assert_eq!(made(template, item, TERMINAL).unwrap(), format!("{terminal}\n"));
            assert_eq!(made(template, item, PIPE).unwrap(), format!("{pipe}\n"));
        }
        assert!(made("{{ id|color('mauve') }}", item, PIPE).unwrap_err().contains("mauve"));
    }

    #[test]
    fn rows_are_aligned_on_a_terminal_and_separated_by_tabs_elsewhere() {
        let list = r#"[{"id":"a","t":"short"},{"id":"bb","t":"rather a long title"}]"#;
        let each = "{% for it in items %}{{ tablerow(it.id, it.t) }}{% endfor %}";
        assert_eq!(made(each, list, TERMINAL).unwrap(), "a   short\nbb  rather a long t…\n");
        assert_eq!(made(each, list, PIPE).unwrap(), "a\tshort\nbb\trather a long title\n");
        let twice = "{{ tablerow('a') }}{{ tablerender() }}end";
        assert_eq!(made(twice, list, PIPE).unwrap(), "a\nend\n");
    }
}
