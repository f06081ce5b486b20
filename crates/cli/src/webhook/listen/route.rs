//! Which deliveries go where: `--forward-to URL` takes all, `--route 'EXPR=URL'` those it says.

use std::fmt;

use url::Url;

use crate::webhook::capture::Received;
use crate::webhook::target::target;

/// What a rule is, for errors.
const RULE: &str = "expected EXPR=URL, such as form_id=frm_1=4242/hook or \
    'event=submission.* && path=/a=https://shop.test/hook'";

/// A target, and which deliveries go there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// All of them have to hold; none always does.
    terms: Vec<Term>,
    pub(super) to: Url,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: Field,
    value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    FormId,
    Event,
    Path,
}

const FIELDS: [(&str, Field); 3] =
    [("form_id", Field::FormId), ("event", Field::Event), ("path", Field::Path)];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Is(String),
    /// `submission.*`
    Begins(String),
}

impl Route {
    /// The target of every delivery.
    pub(crate) fn all(to: Url) -> Self {
        Self { terms: Vec::new(), to }
    }

    /// Whether a delivery goes there. What a body says counts whether it was verified or not: deliveries
    /// that are not valid come here only where somebody wants them to.
    pub(super) fn takes(&self, received: &Received) -> bool {
        self.terms.iter().all(|term| {
            let said = match term.field {
                Field::FormId => received.form_id.as_deref(),
                Field::Event => received.event.as_deref(),
                Field::Path => {
                    received.request_target.split('?').next().filter(|path| is_plain(path))
                }
            };
            said.is_some_and(|said| match &term.value {
                Value::Is(value) => said == value,
                Value::Begins(value) => said.starts_with(value.as_str()),
            })
        })
    }
}

/// Whether a path means what it says. One with dot segments or backslashes, in any spelling, may mean
/// another to the target than it does to a rule: no rule about paths takes it.
fn is_plain(path: &str) -> bool {
    let path = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/");
    let is_dots = |segment: &str| matches!(segment.split(';').next(), Some("." | ".."));
    !path.contains('\\') && !path.contains("%5c") && !path.split('/').any(is_dots)
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Term { field, value }) in self.terms.iter().enumerate() {
            let name = FIELDS.iter().find(|(_, known)| known == field).map_or("", |row| row.0);
            let and = if at == 0 { "" } else { " && " };
            match value {
                Value::Is(value) => write!(f, "{and}{name}={value}")?,
                Value::Begins(value) => write!(f, "{and}{name}={value}*")?,
            }
        }
        Ok(())
    }
}

/// Reads `EXPR=URL`: terms of a field and its value, with `&&` between them. A value ends at the next `=`
/// or `&&`; a `*` at its end stands for anything.
pub(crate) fn route(text: &str) -> Result<Route, String> {
    let (mut terms, mut rest) = (Vec::new(), text);
    loop {
        let (name, after) = rest.split_once('=').ok_or_else(|| RULE.to_owned())?;
        let field = field(name.trim())?;
        let value_end = [after.find('='), after.find("&&")].into_iter().flatten().min();
        let value_end = value_end
            .ok_or_else(|| format!("no URL after the value of {}; {RULE}", name.trim()))?;
        let value = after[..value_end].trim();
        if value.is_empty() {
            return Err(format!("no value of {}; {RULE}", name.trim()));
        }
        let value = match value.strip_suffix('*') {
            Some(beginning) => Value::Begins(beginning.to_owned()),
            None => Value::Is(value.to_owned()),
        };
        terms.push(Term { field, value });
        let Some(next) = after[value_end..].strip_prefix("&&") else {
            let to = target(after[value_end + 1..].trim())?;
            return Ok(Route { terms, to });
        };
        rest = next;
    }
}

fn field(name: &str) -> Result<Field, String> {
    let known = FIELDS.iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
    known
        .ok_or_else(|| format!("no field `{name}`; the fields are form_id, event and path; {RULE}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::listen::forward::tests::received;

    fn takes(rule: &str, path: &str) -> bool {
        // Of form frm_1, submission.created.
        route(rule).unwrap().takes(&received(path, &[], b"{}"))
    }

    #[test]
    fn a_rule_takes_what_all_its_terms_say() {
        for (rule, path, takes_it) in [
            ("form_id=frm_1=4242", "/", true),
            ("form_id=frm_2=4242", "/", false),
            ("form_id=frm_*=4242", "/", true),
            ("event=submission.created=4242/a?b=c", "/", true),
            ("event=submission=4242", "/", false),
            ("path=/hook=4242", "/hook?x=1", true),
            ("path=/hook=4242", "/hook/", false),
            ("path=/hook* && form_id = frm_1 =4242", "/hook/a", true),
            ("path=/hook*&&form_id=frm_2=4242", "/hook/a", false),
            ("path=/a*=4242", "/a/.b/c..d/...", true),
            // To the target these may be other paths.
            ("path=/a*=4242", "/a/../b", false),
            ("path=/a*=4242", "/a/%2E%2e/b", false),
            ("path=/a*=4242", "/a%2f..%2fb", false),
            ("path=/a*=4242", "/a/..;x/b", false),
            ("path=/a*=4242", "/a\\..\\b", false),
            ("path=/a*=4242", "/a%5C..%5cb", false),
            ("path=/a*=4242", "/a/.", false),
        ] {
            assert_eq!(takes(rule, path), takes_it, "{rule}");
        }
        let nameless = Received { form_id: None, event: None, ..received("/", &[], b"") };
        assert!(!route("form_id=*=4242").unwrap().takes(&nameless));
        assert!(Route::all(target("4242").unwrap()).takes(&nameless));
    }

    #[test]
    fn the_url_is_all_that_follows() {
        let read = route("event=a=https://shop.test/hook?a=b&&c=d").unwrap();
        assert_eq!(read.to.as_str(), "https://shop.test/hook?a=b&&c=d");
        assert_eq!(read.to_string(), "event=a");
        assert_eq!(route("path=/a*&&event=b=1").unwrap().to_string(), "path=/a* && event=b");
    }

    #[test]
    fn what_is_no_rule_says_what_one_is() {
        for (text, why) in [
            ("", "expected EXPR=URL"),
            ("4242", "expected EXPR=URL"),
            ("form=frm_1=4242", "no field `form`"),
            ("form_id=frm_1", "no URL after the value of form_id"),
            ("form_id==4242", "no value of form_id"),
            ("form_id=frm_1=/hook", "a path needs a port before it"),
            ("form_id=a && 4242", "expected EXPR=URL"),
            ("form_id=a=ftp://x", "not http or https"),
        ] {
            let told = route(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
