//! `--template T`: renders the JSON of a command with a Jinja template.

mod filters;
mod values;

use std::sync::{Arc, Mutex};

use minijinja::value::ValueKind;
use minijinja::{Environment, UndefinedBehavior, Value};

use super::document;
use super::paint::Paint;
use crate::base::suggest::did_you_mean;
use crate::error::CliError;

/// A template with valid syntax.
pub(super) struct Template {
    text: String,
    output: TemplateOutput,
    /// True if the names that the template may use depend on the data.
    names_are_in_data: bool,
}

/// Properties of the output that templates depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct TemplateOutput {
    /// True for a terminal: data is sanitized.
    pub(super) terminal: bool,
    pub(super) paint: Paint,
    /// The current time in microseconds since 1970.
    pub(super) now: i64,
}

/// The shape of the data, which determines the names that a template may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A list: `items`.
    List,
    /// One item: `item`, and each member by its own name. If the member `data` is a list, `items` is that list.
    Item,
}

impl Template {
    /// Parses a template. `names` are the names that it may use; `None` if they depend on the data.
    pub(super) fn new(
        text: &str,
        names: Option<&[&str]>,
        output: TemplateOutput,
    ) -> Result<Self, CliError> {
        let environment = environment(output, &Rows::default());
        let template = environment
            .template_from_str(text)
            .map_err(|error| explain("invalid template", &error, text))?;
        if let Some(names) = names {
            check_names(&template, &environment, names)?;
        }
        Ok(Self { text: text.to_owned(), output, names_are_in_data: names.is_none() })
    }

    /// Renders a document. The text is empty or ends with a line feed.
    pub(super) fn render(&self, json: &str, shape: Shape) -> Result<String, CliError> {
        let json = document::readable(json)?;
        let data = values::of_json(&json, self.output.terminal);
        let names: Vec<(String, Value)> = match shape {
            Shape::List => vec![("items".to_owned(), data)],
            Shape::Item => {
                let mut names = values::members(&data);
                let list = data.get_attr("data").ok().filter(|list| list.kind() == ValueKind::Seq);
                if let Some(list) = list.filter(|_| names.iter().all(|(name, _)| name != "items")) {
                    names.push(("items".to_owned(), list));
                }
                names.push(("item".to_owned(), data));
                names
            }
        };
        let rows = Rows::default();
        let environment = environment(self.output, &rows);
        let template = environment
            .template_from_str(&self.text)
            .map_err(|error| explain("invalid template", &error, &self.text))?;
        if self.names_are_in_data {
            let known: Vec<&str> = names.iter().map(|(name, _)| &**name).collect();
            check_names(&template, &environment, &known)?;
        }
        let mut text = template
            .render(Value::from_pairs(names))
            .map_err(|error| explain("the template failed", &error, &self.text))?;
        // The rows of `tablerow` that the template has not printed with `tablerender`.
        text.push_str(&filters::table(&rows, self.output));
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }
}

/// The rows that `tablerow` has collected.
type Rows = Arc<Mutex<Vec<Vec<String>>>>;

/// Creates the environment of a template. A template cannot include files. A missing member renders as empty text,
/// because not every submission has every answer.
fn environment(output: TemplateOutput, rows: &Rows) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    filters::add(&mut environment, output, rows);
    environment
}

/// Checks that the template uses only these names and the global functions.
fn check_names(
    template: &minijinja::Template<'_, '_>,
    environment: &Environment<'_>,
    names: &[&str],
) -> Result<(), CliError> {
    let is_unknown = |used: &String| {
        !names.contains(&&**used) && environment.globals().all(|(global, _)| global != used)
    };
    let used = template.undeclared_variables(false).into_iter();
    let Some(unknown) = used.filter(is_unknown).min() else { return Ok(()) };
    let near = did_you_mean(&unknown, names.iter().copied());
    let known = match names {
        ["items"] => "loop: `{% for s in items %}{{ s.id }}{% endfor %}`".to_owned(),
        names => format!("the names are {}", names.join(", ")),
    };
    Err(CliError::usage(format!("the template uses the unknown name `{unknown}`"))
        .hint(near.map_or(known.clone(), |near| format!("{near} {known}"))))
}

fn explain(what: &str, error: &minijinja::Error, template: &str) -> CliError {
    let place = error.line().map_or(String::new(), |line| format!(" in line {line}"));
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    let is_go = ["{{.", "{{ .", "{{range", "{{ range", "{{-", "{{end", "{{ end"]
        .iter()
        .any(|start| template.contains(start));
    let language =
        "templates are in Jinja's language, such as `{% for f in items %}{{ f.id }}{% endfor %}`";
    let hint = if is_go { format!("{language}, not in Go's") } else { language.to_owned() };
    CliError::usage(format!("{what}{place}"))
        .cause(detail)
        .hint(format!("{hint}; see `formsvc help output`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: TemplateOutput = TemplateOutput { terminal: false, paint: Paint(false), now: 0 };
    const TERMINAL: TemplateOutput =
        TemplateOutput { terminal: true, paint: Paint(true), now: 7_200_000_000 };

    fn rendered(text: &str, json: &str, output: TemplateOutput) -> Result<String, String> {
        let shape = if json.starts_with('[') { Shape::List } else { Shape::Item };
        let debug = |error: CliError| format!("{error:?}");
        let names = ["items", "item", "id", "data"];
        let template = Template::new(text, Some(&names), output);
        template.and_then(|template| template.render(json, shape)).map_err(debug)
    }

    #[test]
    fn list_is_items_and_item_has_its_members() {
        let list = r#"[{"id":"a"},{"id":"b"}]"#;
        let each = "{% for it in items %}{{ loop.index }} {{ it.id }}\n{% endfor %}";
        assert_eq!(rendered(each, list, PIPE).unwrap(), "1 a\n2 b\n");
        let item = r#"{"id":"a","data":{"Your name":"Zoë"}}"#;
        assert_eq!(rendered("{{ id }}: {{ data['Your name'] }}", item, PIPE).unwrap(), "a: Zoë\n");
        assert_eq!(rendered("{{ item.data|length }}", item, PIPE).unwrap(), "1\n");
    }

    #[test]
    fn document_with_a_data_list_has_items() {
        let document = r#"{"data":[{"id":"a"},{"id":"b"}],"has_more":false}"#;
        let render = |text: &str| {
            let template = Template::new(text, None, PIPE);
            let rendered = template.and_then(|template| template.render(document, Shape::Item));
            rendered.map_err(|error| error.to_text())
        };
        for list in ["items", "data", "item.data"] {
            let each = format!("{{% for f in {list} %}}{{{{ f.id }}}}{{% endfor %}}");
            assert_eq!(render(&each).unwrap(), "ab\n", "{list}");
        }
        let error = render("{% for f in forms %}{{ f.id }}{% endfor %}").unwrap_err();
        assert!(error.contains("unknown name `forms`"), "{error}");
    }

    #[test]
    fn go_template_error_names_the_language() {
        let error = rendered("{{range .}}{{.id}}{{end}}", "{}", PIPE).unwrap_err();
        assert!(error.contains("Jinja's language") && error.contains("not in Go's"), "{error}");
        assert!(error.contains("formsvc help output"), "{error}");
    }

    #[test]
    fn numbers_keep_their_spelling() {
        let json = r#"{"data":[12345678901234567890, 1.10, 0.5, 1e400, 3]}"#;
        let shown = rendered("{{ data|join(' ') }}", json, PIPE).unwrap();
        assert_eq!(shown, "12345678901234567890 1.10 0.5 1e400 3\n");
        assert_eq!(rendered("{{ data[4] * 2 + data[2] }}", json, PIPE).unwrap(), "6.5\n");
        assert_eq!(rendered("{{ data[1]|float * 2 }}", json, PIPE).unwrap(), "2.2\n");
        assert_eq!(
            rendered("{{ item|json }}", r#"{"b":1.5,"a":"x"}"#, PIPE).unwrap(),
            "{\"b\":1.5,\"a\":\"x\"}\n"
        );
    }

    #[test]
    fn unknown_name_fails_and_missing_member_is_empty() {
        let item = r#"{"id":"a","data":{}}"#;
        let error = rendered("{{ ids }}", item, PIPE).unwrap_err();
        assert!(
            error.contains("unknown name `ids`") && error.contains("did you mean `id`?"),
            "{error}"
        );
        assert_eq!(rendered("[{{ data.gone.deeper }}]", item, PIPE).unwrap(), "[]\n");
        assert_eq!(rendered("{{ range(2)|join }}", item, PIPE).unwrap(), "01\n");
        for (wrong, expected) in [
            ("{{ id", "invalid template in line 1"),
            ("a\n{{ id|nope }}", "the template failed in line 2"),
            ("{% include '/etc/passwd' %}", "template"),
        ] {
            let error = rendered(wrong, item, PIPE).unwrap_err();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }

    #[test]
    fn data_is_sanitized_on_a_terminal_only() {
        let item = "{\"id\":\"\\u001b[31mx\\nTab\\t\\u202e\"}";
        assert_eq!(rendered("{{ id }}", item, TERMINAL).unwrap(), "[31mx\nTab\t\n");
        assert_eq!(rendered("{{ id }}", item, PIPE).unwrap(), "\u{1b}[31mx\nTab\t\u{202e}\n");
    }

    #[test]
    fn filters_format_time_colour_and_width() {
        let item = r#"{"id":"1970-01-01T00:00:00.000Z","data":"published"}"#;
        for (template, terminal, pipe) in [
            ("{{ id|timeago }}", "2 hours ago", "just now"),
            ("{{ data|timeago }}", "published", "published"),
            ("{{ data|color('green') }}", "\u{1b}[32mpublished\u{1b}[0m", "published"),
            ("{{ data|color('status') }}", "\u{1b}[32mpublished\u{1b}[0m", "published"),
            ("{{ '漢字漢字'|truncate(5) }}", "漢字…", "漢字…"),
        ] {
            assert_eq!(rendered(template, item, TERMINAL).unwrap(), format!("{terminal}\n"));
            assert_eq!(rendered(template, item, PIPE).unwrap(), format!("{pipe}\n"));
        }
        assert!(rendered("{{ id|color('mauve') }}", item, PIPE).unwrap_err().contains("mauve"));
    }

    #[test]
    fn rows_are_aligned_on_a_terminal_else_tab_separated() {
        let list = r#"[{"id":"a","t":"short"},{"id":"bb","t":"rather a long title"}]"#;
        let each = "{% for it in items %}{{ tablerow(it.id, it.t) }}{% endfor %}";
        assert_eq!(rendered(each, list, TERMINAL).unwrap(), "a   short\nbb  rather a long title\n");
        assert_eq!(rendered(each, list, PIPE).unwrap(), "a\tshort\nbb\trather a long title\n");
        // The time must not grow with the square of the number of rows.
        let many = serde_json::to_string(&vec![serde_json::json!({"id": "a"}); 10_000]).unwrap();
        let each = "{% for it in items %}{{ tablerow(it.id, it.id) }}{% endfor %}";
        assert_eq!(rendered(each, &many, TERMINAL).unwrap(), "a  a\n".repeat(10_000));
        let twice = "{{ tablerow('a') }}{{ tablerender() }}end";
        assert_eq!(rendered(twice, list, PIPE).unwrap(), "a\nend\n");
    }
}
