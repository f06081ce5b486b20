//! `--jq EXPR`: evaluates a jq expression on the JSON of a command.

use std::io::{self, Write};

use jaq_core::compile::Undefined;
use jaq_core::data::JustLut;
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Exn, Filter, Vars, native};
use jaq_json::{Val, read, write};

use super::document;
use crate::base::text::truncate;
use crate::error::CliError;
use crate::exit::Exit;

/// Largest width of the error message of an expression. The message can contain a complete value.
const CAUSE_MAX: usize = 200;
/// Number of characters that an error message quotes from an expression.
const NEAR_MAX: usize = 20;

/// Filters of jq that the library lacks.
const EXTRA_FILTERS: &str = r#"
def @csv: if type != "array" then error("@csv needs an array") else map(
    if type == "string" then "\"" + (split("\"") | join("\"\"")) + "\""
    elif type == "null" then ""
    elif type == "array" or type == "object" then error("@csv cannot hold \(type)s")
    else tostring end) | join(",") end;
def @tsv: if type != "array" then error("@tsv needs an array") else map(
    if type == "string" then split("\\") | join("\\\\") | split("\t") | join("\\t")
      | split("\n") | join("\\n") | split("\r") | join("\\r")
    elif type == "null" then ""
    elif type == "array" or type == "object" then error("@tsv cannot hold \(type)s")
    else tostring end) | join("\t") end;
"#;

/// A compiled expression.
pub(crate) struct Jq(Filter<JustLut<Val>>);

impl Jq {
    /// Compiles an expression. The expression cannot read files, modules or the environment, because the
    /// environment may contain the API key.
    pub(crate) fn new(code: &str) -> Result<Self, CliError> {
        let more =
            load::parse(EXTRA_FILTERS, |parser| parser.defs()).expect("the definitions are valid");
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(more);
        let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let funs = funs.filter(|(name, ..)| *name != "env" && *name != "fromjson");
        let arena = Arena::default();
        let modules = Loader::new(defs)
            .load(&arena, File { code, path: () })
            .map_err(|errors| invalid(errors.iter().find_map(|(_, error)| syntax_error(error))))?;
        Compiler::default().with_funs(funs.chain([fromjson()])).compile(modules).map(Self).map_err(
            |errors| {
                let first = errors.iter().flat_map(|(_, errors)| errors).next();
                invalid(first.map(|(name, what)| (undefined(what, name), *name)))
            },
        )
    }

    /// Writes the results of the expression for a document. Strings are written as plain text, other values as
    /// JSON on one line, or indented. Numbers keep their spelling unless the expression calculates with them.
    pub(super) fn run(
        &self,
        json: &str,
        indented: bool,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let context = Ctx::<JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        for result in self.0.id.run((context, parse(json).map_err(CliError::of_expression)?)) {
            match result {
                Ok(Val::TStr(text)) => out.write_all(&text).and_then(|()| out.write_all(b"\n")),
                Ok(value) => write_json(out, &value, indented),
                Err(exception) => {
                    let flushed = out.flush();
                    match exception.get_err() {
                        Ok(error) => return Err(failed(error).of_expression()),
                        // `halt` ends the expression.
                        Err(_) => return flushed.map_err(|error| CliError::stdout(&error)),
                    }
                }
            }
            .map_err(|error| CliError::stdout(&error))?;
        }
        Ok(())
    }

    /// Returns true if the first result for a document is neither `false` nor `null`, and false if there is no
    /// result.
    pub(crate) fn is_true(&self, json: &str) -> Result<bool, CliError> {
        let context = Ctx::<JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        match self.0.id.run((context, parse(json)?)).next() {
            None => Ok(false),
            Some(Ok(value)) => Ok(!matches!(value, Val::Null | Val::Bool(false))),
            Some(Err(exception)) => Err(match exception.get_err() {
                Ok(error) => failed(error),
                Err(_) => CliError::usage("`halt` is not allowed in a filter"),
            }),
        }
    }
}

fn write_json(out: &mut dyn Write, value: &Val, indented: bool) -> io::Result<()> {
    let indent = indented.then(|| "  ".to_owned());
    let layout = write::Pp { indent, sep_space: indented, ..write::Pp::default() };
    write::write(&mut &mut *out, &layout, 0, value)?;
    out.write_all(b"\n")
}

fn parse(json: &str) -> Result<Val, CliError> {
    let json = document::readable(json)?;
    read::parse_single(json.as_bytes())
        .map_err(|error| CliError::new(Exit::Service, "the response is not JSON").because(&error))
}

/// Returns the filter `fromjson` for one JSON value of bounded depth. The reader of the library is recursive
/// without a limit, and the text may come from an answer in a submission.
fn fromjson() -> native::Fun<JustLut<Val>> {
    native::run(("fromjson", native::v(0), |(_, text)| {
        let value = text.try_as_utf8_bytes_owned().and_then(|json| {
            let value = std::str::from_utf8(&json).ok().map(parse);
            let error = match value {
                Some(Ok(value)) => return Ok(value),
                Some(Err(error)) => error.brief(),
                None => "invalid UTF-8".to_owned(),
            };
            Err(jaq_json::Error::str(format!("cannot parse as JSON: {error}")))
        });
        Box::new(std::iter::once(value.map_err(Exn::from)))
    }))
}

fn failed(error: jaq_json::Error) -> CliError {
    let cause = match error.into_val() {
        Val::TStr(text) => String::from_utf8_lossy(&text).into_owned(),
        value => value.to_string(),
    };
    CliError::usage("the jq expression failed").cause(truncate(&cause, CAUSE_MAX))
}

/// Describes the first syntax error, and returns the expression from its position on.
fn syntax_error<'a>(error: &load::Error<&'a str>) -> Option<(String, &'a str)> {
    let expected = |what: &str| format!("expected {what}");
    Some(match error {
        load::Error::Io(errors) => ("modules are not supported".to_owned(), errors.first()?.0),
        load::Error::Lex(errors) => {
            let (expect, at) = errors.first()?;
            (expected(expect.as_str()), *at)
        }
        load::Error::Parse(errors) => {
            let (expect, at) = errors.first()?;
            (expected(expect.as_str()), *at)
        }
    })
}

fn undefined(what: &Undefined, name: &str) -> String {
    match what {
        Undefined::Filter(arity) => format!("there is no filter `{name}/{arity}`"),
        what => format!("there is no {} `{name}`", what.as_str()),
    }
}

fn invalid(error: Option<(String, &str)>) -> CliError {
    let invalid = CliError::usage("invalid jq expression");
    match error {
        Some((what, "")) => invalid.cause(format!("{what} at the end")),
        Some((what, at)) => {
            let near: String = at.chars().take(NEAR_MAX).collect();
            invalid.cause(format!("{what} at `{near}`"))
        }
        None => invalid,
    }
}

#[cfg(test)]
mod tests {
    use formsvc_contract::nesting::DEPTH_MAX;

    use super::*;

    fn results(code: &str, json: &str) -> Result<String, String> {
        let debug = |error: CliError| format!("{error:?}");
        let mut out = Vec::new();
        Jq::new(code).and_then(|jq| jq.run(json, false, &mut out)).map_err(debug)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn string_is_written_as_text_and_other_values_as_json() {
        let json = r#"[{"a":"x\ty"},{"a":null},{"a":[1, {"b":"é"}]}]"#;
        assert_eq!(results(".[].a", json).unwrap(), "x\ty\nnull\n[1,{\"b\":\"é\"}]\n");
        assert_eq!(results("map(.a) | length", json).unwrap(), "3\n");
        let row = r#"["a\"b,",1.10,true,null,"t\tab"]"#;
        assert_eq!(results("@csv", row).unwrap(), "\"a\"\"b,\",1.10,true,,\"t\tab\"\n");
        assert_eq!(results("@tsv", row).unwrap(), "a\"b,\t1.10\ttrue\t\tt\\tab\n");
        assert!(results("[[1]] | @csv", row).unwrap_err().contains("cannot hold arrays"));
    }

    #[test]
    fn numbers_keep_their_spelling_unless_calculated() {
        let json = "[12345678901234567890, 1.10, 1e400, -0.0, 100000000000000000000000000001]";
        assert_eq!(
            results(".[]", json).unwrap(),
            "12345678901234567890\n1.10\n1e400\n-0.0\n100000000000000000000000000001\n"
        );
        assert_eq!(results(".[0] + 1", json).unwrap(), "12345678901234567891\n");
        assert_eq!(results(".[1] + 1", json).unwrap(), "2.1\n");
    }

    #[test]
    fn invalid_expression_error_names_problem_and_position() {
        for (code, expected) in [
            (".[", "closing bracket"),
            (".a |", "expected term at the end"),
            (".a | foo(1)", "there is no filter `foo/1`"),
            ("é, $x", "at `é, $x`"),
            (".a ! .b", "at `!`"),
            ("import \"x\" as x; .", "modules are not supported"),
            ("env", "there is no filter `env/0`"),
            ("$ENV", "there is no variable `$ENV`"),
            ("input", "there is no filter `input/0`"),
        ] {
            let error = results(code, "null").unwrap_err();
            assert!(error.contains(expected), "{code}: {error}");
            assert!(error.contains("invalid jq expression"), "{error}");
        }
    }

    #[test]
    fn indented_json_keeps_number_spelling() {
        let mut out = Vec::new();
        let all = r#"[{"a":1.50,"b":[1e400]},"text",{}]"#;
        Jq::new(".[]").unwrap().run(all, true, &mut out).unwrap();
        let wanted = "{\n  \"a\": 1.50,\n  \"b\": [\n    1e400\n  ]\n}\ntext\n{}\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }

    #[test]
    fn failed_expression_writes_earlier_results() {
        let mut out = Vec::new();
        let failed =
            Jq::new(".[] | .a").unwrap().run(r#"[{"a":1},2]"#, false, &mut out).unwrap_err();
        assert_eq!((failed.exit, &*out), (Exit::Usage, &b"1\n"[..]));
        assert_eq!(results("1, halt, 2", "null").unwrap(), "1\n");
        assert!(results("error(\"no\")", "null").unwrap_err().contains("causes: [\"no\"]"));
    }

    #[test]
    fn unpaired_surrogate_is_replaced_and_deep_nesting_fails() {
        assert_eq!(results(".", r#""\ud800x""#).unwrap(), "\u{fffd}x\n");
        let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(results(".", &nested).unwrap_err().contains("nested 100000 levels deep"));
    }

    #[test]
    fn fromjson_reads_one_value_up_to_the_depth_limit() {
        let json = r##"["{\"a\":[1.10]}","1 2","nan","# \"\n[1]"]"##;
        assert_eq!(results(".[0] | fromjson", json).unwrap(), "{\"a\":[1.10]}\n");
        for wrong in [".[1]", ".[2]", ".[3]"] {
            let error = results(&format!("{wrong} | fromjson"), json).unwrap_err();
            assert!(error.contains("cannot parse as JSON"), "{wrong}: {error}");
        }
        assert_eq!(results("\"12\" | tonumber + 1", json).unwrap(), "13\n");
        let nested = |depth| format!("\"{}{}\"", "[".repeat(depth), "]".repeat(depth));
        assert!(results("fromjson | length", &nested(DEPTH_MAX)).is_ok());
        for code in ["fromjson", "tonumber"] {
            let error = results(code, &nested(1 << 20)).unwrap_err();
            assert!(error.contains("levels deep"), "{error}");
        }
    }
}
