//! Parses filter expressions.

use super::{FIELDS, Field, FieldKind, Op, Operand, Term};
use crate::expectation::StatusSet;
use crate::verdict::{VERDICTS, VerdictCode};

/// Longest expression, in bytes.
const MAX_LEN: usize = 4_096;
const RULE: &str = "an expression is `FIELD OP VALUE`, joined by `&&`, such as \
    'event=submission.created && status<300'";
/// Operators. `<=` comes before `<`, for example, because the parser uses the first operator that matches.
const OPS: [(&str, Op); 8] = [
    ("==", Op::Equal),
    ("!=", Op::NotEqual),
    ("<=", Op::LessOrEqual),
    (">=", Op::GreaterOrEqual),
    ("=", Op::Equal),
    ("<", Op::Less),
    (">", Op::Greater),
    ("~", Op::Contains),
];

pub(super) fn terms(text: &str) -> Result<Vec<Term>, String> {
    if text.len() > MAX_LEN {
        return Err(format!("an expression has at most {MAX_LEN} bytes"));
    }
    split(text)?.into_iter().map(term_of_text).collect()
}

/// Splits at each `&&` outside of quotation marks.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '&') if at >= start && text[at..].starts_with("&&") => {
                parts.push(&text[start..at]);
                start = at + 2;
            }
            _ => {}
        }
    }
    if let Some(quote) = quote {
        return Err(format!("the closing {quote} is missing; {RULE}"));
    }
    parts.push(&text[start..]);
    Ok(parts)
}

fn term_of_text(text: &str) -> Result<Term, String> {
    let text = text.trim();
    let at = text.find(['=', '!', '<', '>', '~']).filter(|at| *at > 0);
    let at = at.ok_or_else(|| format!("`{text}` has no operator; {RULE}"))?;
    let (name, rest) = (text[..at].trim(), &text[at..]);
    let (sign, _) = OPS
        .into_iter()
        .find(|(sign, _)| rest.starts_with(sign))
        .ok_or_else(|| format!("`{text}` has no operator; operators are {}", signs()))?;
    let value = rest[sign.len()..].trim();
    if value.is_empty() {
        return Err(format!("`{text}` has no value; an empty text is ''"));
    }
    let quoted =
        ['\'', '"'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    term(name, sign, quoted.unwrap_or(value))
}

/// Parses a term from a field name, an operator such as `>=`, and a value without quotation marks.
pub(super) fn term(name: &str, sign: &str, value: &str) -> Result<Term, String> {
    let op = OPS.iter().find(|(known, _)| *known == sign).map(|(_, op)| *op);
    let op = op.ok_or_else(|| format!("unknown operator `{sign}`; operators are {}", signs()))?;
    if name.starts_with('/') {
        let value = match value.parse::<f64>() {
            Ok(number) if number.is_finite() && op != Op::Contains => Operand::Number(number),
            _ => text_operand(value),
        };
        if op.is_ordering() && !matches!(value, Operand::Number(_)) {
            return Err(format!("`{sign}` compares numbers, and the value of `{name}` is not one"));
        }
        return Ok(Term { field: Field::Pointer(name.to_owned()), op, value });
    }
    let row = FIELDS.iter().find(|row| row.name == name).ok_or_else(|| {
        let names: Vec<_> = FIELDS.iter().map(|row| row.name).collect();
        format!(
            "unknown field `{name}`; fields are {}, or a pointer such as /data/Name",
            names.join(", ")
        )
    })?;
    if !row.kind.allows(op) {
        let signs: Vec<_> = OPS[1..].iter().filter(|(_, op)| row.kind.allows(*op)).collect();
        let signs: Vec<_> = signs.iter().map(|(sign, _)| *sign).collect();
        return Err(format!("`{name}` does not support `{sign}`, only {}", signs.join(" ")));
    }
    let lower = value.to_ascii_lowercase();
    let value = if name == "any" { &lower } else { value };
    let value = row.kind.operand(op, value).map_err(|rule| format!("`{name}` {rule}"))?;
    Ok(Term { field: Field::Member(row), op, value })
}

impl Op {
    fn is_ordering(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual)
    }
}

impl FieldKind {
    fn allows(self, op: Op) -> bool {
        match self {
            Self::Text | Self::Verdict => !op.is_ordering(),
            Self::Bool => matches!(op, Op::Equal | Op::NotEqual),
            Self::Number | Self::Status | Self::Time => op != Op::Contains,
            Self::Search => op == Op::Contains,
        }
    }

    fn operand(self, op: Op, value: &str) -> Result<Operand, String> {
        match self {
            Self::Text => Ok(if op == Op::Contains {
                Operand::Text(value.to_owned())
            } else {
                text_operand(value)
            }),
            Self::Search => Ok(Operand::Text(value.to_owned())),
            Self::Bool if matches!(value, "true" | "false") => Ok(Operand::Text(value.to_owned())),
            Self::Bool => Err(format!("is true or false, not `{value}`")),
            Self::Number => number(value),
            Self::Status => status(op, value),
            Self::Verdict if value == "invalid" && op != Op::Contains => Ok(Operand::AnyInvalid),
            Self::Verdict if op == Op::Contains || VerdictCode::from_name(value).is_some() => {
                Ok(Operand::Text(value.to_owned()))
            }
            Self::Verdict => {
                let names: Vec<_> = VERDICTS.iter().map(|row| row.name).collect();
                Err(format!("is one of {} and invalid, not `{value}`", names.join(", ")))
            }
            Self::Time => {
                let time = value.parse().map(Operand::Time);
                time.map_err(|_| format!("is a time such as 2026-03-01T09:30:00Z, not `{value}`"))
            }
        }
    }
}

fn text_operand(value: &str) -> Operand {
    match value.strip_suffix('*') {
        Some(prefix) => Operand::Prefix(prefix.to_owned()),
        None => Operand::Text(value.to_owned()),
    }
}

fn number(value: &str) -> Result<Operand, String> {
    let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
    number.map(Operand::Number).ok_or_else(|| format!("is a number, not `{value}`"))
}

fn status(op: Op, value: &str) -> Result<Operand, String> {
    match value.parse() {
        Err(_) | Ok(StatusSet::Exact(_)) => number(value).map_err(|_| {
            format!("is a status, `ok`, `failed` or a class such as 5xx, not `{value}`")
        }),
        Ok(_) if op.is_ordering() => Err(format!("is compared with `{value}` by = and != only")),
        Ok(statuses) => Ok(Operand::Statuses(statuses)),
    }
}

fn signs() -> String {
    OPS[1..].iter().map(|(sign, _)| *sign).collect::<Vec<_>>().join(" ")
}

/// Returns a description of the filter language.
pub(super) fn help() -> String {
    let names = |wanted: &[FieldKind]| {
        let rows = FIELDS.iter().filter(|row| wanted.contains(&row.kind));
        rows.map(|row| row.name).collect::<Vec<_>>().join(", ")
    };
    format!(
        "An expression is FIELD OP VALUE, joined by `&&`.\n\
         Texts (= != ~, which means contains; a value may end in *): {}.\n\
         Numbers and times (= != < <= > >=): {}.\n\
         True or false (= !=): {}.\n\
         The whole body, or any text of the delivery (~): {}.\n\
         A JSON pointer such as /data/Name compares a value in the body.\n\
         `secret` is the name of the secret, and `gap_ms` the time since the previous attempt. \
         `answered_by` is listener, fault, target or no_route, and `source` is request or poll. \
         `status` also takes ok, failed or a class such as 5xx, and `verdict` takes invalid. Put a value \
         with spaces or `&&` in quotation marks.",
        names(&[FieldKind::Text, FieldKind::Verdict]),
        names(&[FieldKind::Number, FieldKind::Status, FieldKind::Time]),
        names(&[FieldKind::Bool]),
        names(&[FieldKind::Search]),
    )
}
