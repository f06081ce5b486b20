//! `--jq EXPR`: what a jq expression makes of a command's JSON.

use std::io::{self, Write};

use formsvc_contract::nesting::{DEPTH_MAX, depth};
use jaq_core::compile::Undefined;
use jaq_core::data::JustLut;
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Exn, Filter, Vars, native};
use jaq_json::{Val, read, write};
use serde::de::IgnoredAny;

use super::document;
use crate::base::text::truncate;
use crate::error::CliError;
use crate::exit::Exit;

/// Widest a value in an error is shown.
const CAUSE_MAX: usize = 200;

/// What jq has, and the library that runs it here has not.
const MORE: &str = r#"
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

/// An expression, ready to run.
pub(crate) struct Jq(Filter<JustLut<Val>>);

impl Jq {
    /// Reads an expression. It sees the data and nothing else: no files, no modules, and not the
    /// environment, which may hold the key.
    pub(crate) fn new(code: &str) -> Result<Self, CliError> {
        let more = load::parse(MORE, |parser| parser.defs()).expect("our own definitions are jq");
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(more);
        let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let funs = funs.filter(|(name, ..)| *name != "env" && *name != "fromjson");
        let arena = Arena::default();
        let modules =
            Loader::new(defs).load(&arena, File { code, path: () }).map_err(|errors| {
                unreadable(code, errors.iter().flat_map(|(_, error)| of_load(error)))
            })?;
        Compiler::default().with_funs(funs.chain([fromjson()])).compile(modules).map(Self).map_err(
            |errors| {
                let errors = errors.iter().flat_map(|(_, errors)| errors);
                unreadable(code, errors.map(|(at, what)| (undefined(what, at), *at)))
            },
        )
    }

    /// Writes the results of the expression for a document: text as it is, anything else as JSON, each on
    /// a line of its own or laid out for reading. Numbers keep their text unless they are calculated with.
    pub(super) fn run(
        &self,
        json: &str,
        laid_out: bool,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        self.run_value(parse(json)?, laid_out, out)
    }

    /// Writes the results of the expression for an array of documents, like [`run`](Self::run). The text
    /// of the whole array is never in memory.
    pub(super) fn run_array(
        &self,
        items: impl Iterator<Item = String>,
        laid_out: bool,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let items = items.map(|json| parse(&json)).collect::<Result<Val, _>>()?;
        self.run_value(items, laid_out, out)
    }

    fn run_value(&self, input: Val, laid_out: bool, out: &mut dyn Write) -> Result<(), CliError> {
        let context = Ctx::<JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        for made in self.0.id.run((context, input)) {
            match made {
                Ok(value) => {
                    put(out, &value, laid_out).map_err(|error| CliError::stdout(&error))?;
                }
                Err(exception) => {
                    let flushed = out.flush();
                    return match exception.get_err() {
                        Ok(error) => Err(failed(error)),
                        // `halt`: it has said all it wanted.
                        Err(_) => flushed.map_err(|error| CliError::stdout(&error)),
                    };
                }
            }
        }
        Ok(())
    }
}

impl Jq {
    /// Returns whether the first output for a document is true: neither `false` nor `null`, and not absent.
    pub(crate) fn is_true(&self, json: &str) -> Result<bool, CliError> {
        let input = parse(json)?;
        let context = Ctx::<JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        match self.0.id.run((context, input)).next() {
            None => Ok(false),
            Some(Ok(value)) => Ok(!matches!(value, Val::Null | Val::Bool(false))),
            Some(Err(exception)) => match exception.get_err() {
                Ok(error) => Err(failed(error)),
                Err(_) => Err(CliError::usage("`halt` is not allowed in a filter")),
            },
        }
    }
}

fn parse(json: &str) -> Result<Val, CliError> {
    let json = document::readable(json)?;
    read::parse_single(json.as_bytes())
        .map_err(|error| CliError::new(Exit::Service, "the response is not JSON").because(&error))
}

/// `fromjson` with a bound on depth: its reader recurses, and the text may be a stranger's.
fn fromjson() -> native::Fun<JustLut<Val>> {
    native::run(("fromjson", native::v(0), |(_, text)| {
        let values = match values_in(&text) {
            Ok(values) => values.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(Exn::from(error))],
        };
        Box::new(values.into_iter())
    }))
}

fn values_in(text: &Val) -> Result<Vec<Val>, jaq_json::Error> {
    let json = text.try_as_utf8_bytes_owned()?;
    // Beyond strict JSON the reader takes comments, which may hide brackets: then all brackets count.
    let depth = if serde_json::from_slice::<IgnoredAny>(&json).is_ok() {
        depth(&json)
    } else {
        json.iter().filter(|byte| matches!(byte, b'[' | b'{')).count()
    };
    if depth > DEPTH_MAX {
        let why = format!("cannot parse as JSON: nested deeper than {DEPTH_MAX} levels");
        return Err(jaq_json::Error::str(why));
    }
    let fail = |error| jaq_json::Error::str(format!("cannot parse {text} as JSON: {error}"));
    read::parse_many(&json).map(|value| value.map_err(fail)).collect()
}

/// What went wrong while it ran; the value in it may be as long as an answer.
fn failed(error: jaq_json::Error) -> CliError {
    let told = match error.into_val() {
        Val::TStr(text) => String::from_utf8_lossy(&text).into_owned(),
        value => value.to_string(),
    };
    CliError::usage("the jq expression failed").cause(truncate(&told, CAUSE_MAX))
}

fn put(out: &mut dyn Write, value: &Val, laid_out: bool) -> io::Result<()> {
    let layout = write::Pp {
        indent: laid_out.then(|| "  ".to_owned()),
        sep_space: laid_out,
        ..write::Pp::default()
    };
    match value {
        Val::TStr(text) => out.write_all(String::from_utf8_lossy(text).as_bytes())?,
        value => write::write(&mut &mut *out, &layout, 0, value)?,
    }
    out.write_all(b"\n")
}

/// What is wrong, and the part of the expression where it is.
type Wrong<'a> = (String, &'a str);

fn of_load<'a>(error: &load::Error<&'a str>) -> Vec<Wrong<'a>> {
    match error {
        load::Error::Io(errors) => {
            errors.iter().map(|(at, _)| ("there are no modules here".to_owned(), *at)).collect()
        }
        load::Error::Lex(errors) => {
            let expected = |(expect, at): &(load::lex::Expect<&str>, &'a str)| {
                (format!("expected {}", expect.as_str()), *at)
            };
            errors.iter().map(expected).collect()
        }
        load::Error::Parse(errors) => {
            let expected = |(expect, at): &(load::parse::Expect<&str>, &'a str)| {
                (format!("expected {}", expect.as_str()), *at)
            };
            errors.iter().map(expected).collect()
        }
    }
}

fn undefined(what: &Undefined, name: &str) -> String {
    match what {
        Undefined::Filter(arity) => format!("there is no filter `{name}/{arity}`"),
        what => format!("there is no {} `{name}`", what.as_str()),
    }
}

/// The first thing that is wrong, and where: what follows is often only its echo.
fn unreadable<'a>(code: &str, wrong: impl Iterator<Item = Wrong<'a>>) -> CliError {
    let error = CliError::usage("cannot read the jq expression");
    let first = wrong.map(|(what, part)| (place(code, part), what)).min();
    match first {
        Some((at, what)) if at < code.len() => {
            let (before, rest) = code.split_at(at);
            let near: String = rest.chars().take(20).collect();
            let character = before.chars().count() + 1;
            error.cause(format!("{what} at character {character}, before `{near}`"))
        }
        Some((_, what)) => error.cause(format!("{what} at its end")),
        None => error,
    }
}

/// Where a part of the expression begins; its end for a part that is not of it.
fn place(code: &str, part: &str) -> usize {
    let offset = (part.as_ptr() as usize).wrapping_sub(code.as_ptr() as usize);
    if code.is_char_boundary(offset) { offset } else { code.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(code: &str, json: &str) -> Result<String, String> {
        let told = |error: CliError| format!("{error:?}");
        let mut out = Vec::new();
        Jq::new(code).and_then(|jq| jq.run(json, false, &mut out)).map_err(told)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn text_is_written_as_it_is_and_the_rest_as_json_a_line_each() {
        let json = r#"[{"a":"x\ty"},{"a":null},{"a":[1, {"b":"é"}]}]"#;
        assert_eq!(made(".[].a", json).unwrap(), "x\ty\nnull\n[1,{\"b\":\"é\"}]\n");
        assert_eq!(made("map(.a) | length", json).unwrap(), "3\n");
        let row = r#"["a\"b,",1.10,true,null,"t\tab"]"#;
        assert_eq!(made("@csv", row).unwrap(), "\"a\"\"b,\",1.10,true,,\"t\tab\"\n");
        assert_eq!(made("@tsv", row).unwrap(), "a\"b,\t1.10\ttrue\t\tt\\tab\n");
        assert!(made("[[1]] | @csv", row).unwrap_err().contains("cannot hold arrays"));
    }

    #[test]
    fn numbers_keep_their_text_until_they_are_calculated_with() {
        let json = "[12345678901234567890, 1.10, 1e400, -0.0, 100000000000000000000000000001]";
        assert_eq!(
            made(".[]", json).unwrap(),
            "12345678901234567890\n1.10\n1e400\n-0.0\n100000000000000000000000000001\n"
        );
        assert_eq!(made(".[0] + 1", json).unwrap(), "12345678901234567891\n");
        assert_eq!(made(".[1] + 1", json).unwrap(), "2.1\n");
    }

    #[test]
    fn a_wrong_expression_says_what_is_wrong_and_where() {
        for (code, told) in [
            (".[", "closing bracket"),
            (".a |", "expected term at its end"),
            (".a | foo(1)", "there is no filter `foo/1` at character 6, before `foo(1)`"),
            ("é, $x", "there is no variable `$x` at character 1"),
            (".a ! .b", "at character 4, before `! .b`"),
            ("import \"x\" as x; .", "no modules"),
            ("env", "there is no filter `env/0`"),
            ("$ENV", "there is no variable `$ENV`"),
            ("input", "there is no filter `input/0`"),
        ] {
            let error = made(code, "null").unwrap_err();
            assert!(error.contains(told) || code.starts_with('é'), "{code}: {error}");
            assert!(error.contains("cannot read the jq expression"), "{error}");
        }
    }

    #[test]
    fn json_can_be_laid_out_and_keeps_the_text_of_its_numbers() {
        let mut out = Vec::new();
        let all = r#"[{"a":1.50,"b":[1e400]},"text",{}]"#;
        Jq::new(".[]").unwrap().run(all, true, &mut out).unwrap();
        let wanted = "{\n  \"a\": 1.50,\n  \"b\": [\n    1e400\n  ]\n}\ntext\n{}\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }

    #[test]
    fn an_expression_that_fails_has_written_what_came_before() {
        let mut out = Vec::new();
        let failed =
            Jq::new(".[] | .a").unwrap().run(r#"[{"a":1},2]"#, false, &mut out).unwrap_err();
        assert_eq!((failed.exit, &*out), (Exit::Usage, &b"1\n"[..]));
        assert_eq!(made("1, halt, 2", "null").unwrap(), "1\n");
        assert!(made("error(\"no\")", "null").unwrap_err().contains("causes: [\"no\"]"));
    }

    #[test]
    fn array_of_documents_is_one_input() {
        let mut out = Vec::new();
        let items = [r#"{"a":1.10}"#, r#"{"a":"\ud800"}"#].map(str::to_owned);
        let jq = Jq::new("length, .[].a").unwrap();
        jq.run_array(items.into_iter(), false, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "2\n1.10\n\u{fffd}\n");
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(jq.run_array([deep].into_iter(), false, &mut Vec::new()).is_err());
        jq.run_array(std::iter::empty(), false, &mut Vec::new()).unwrap();
    }

    #[test]
    fn half_characters_and_deep_nesting_do_no_harm() {
        assert_eq!(made(".", r#""\ud800x""#).unwrap(), "\u{fffd}x\n");
        let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(made(".", &nested).unwrap_err().contains("nested 100000 levels deep"));
    }

    #[test]
    fn fromjson_reads_texts_up_to_the_depth_limit() {
        let json = r##"["{\"a\":[1.10]}","1 2","nan","# \"\n[1]"]"##;
        assert_eq!(made(".[0] | fromjson", json).unwrap(), "{\"a\":[1.10]}\n");
        assert_eq!(made(".[1] | fromjson", json).unwrap(), "1\n2\n");
        assert_eq!(made(".[3] | fromjson", json).unwrap(), "[1]\n");
        assert_eq!(made("\"12\" | tonumber + 1", json).unwrap(), "13\n");
        assert!(made(".[2] | fromjson", json).unwrap_err().contains("as JSON"));
        for hidden in ["", "# \\\"\\n"] {
            let nested = |depth| format!("\"{hidden}{}{}\"", "[".repeat(depth), "]".repeat(depth));
            assert!(made("fromjson | length", &nested(DEPTH_MAX)).is_ok());
            for code in ["fromjson", "tonumber"] {
                let error = made(code, &nested(1 << 20)).unwrap_err();
                assert!(error.contains("nested deeper than 128 levels"), "{error}");
            }
        }
    }
}
