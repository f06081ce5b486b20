//! Translates filters to SQL.

use rusqlite::types::Value as SqlValue;

use super::{Field, Op, Operand, Term, invalid_verdicts};
use crate::expectation::StatusSet;

/// See [`DeliveryFilter::to_sql`](super::DeliveryFilter::to_sql).
pub(super) fn condition(terms: &[Term], first: usize) -> (String, Vec<SqlValue>, bool) {
    let (mut conditions, mut params, mut needs_check) = (Vec::new(), Vec::new(), false);
    for term in terms {
        let expression = match &term.field {
            Field::Member(row) => row.sql,
            Field::Pointer(_) => None,
        };
        match expression {
            Some(expression) => {
                let (text, param) = term_condition(term, expression, first + params.len());
                conditions.push(text);
                params.extend(param);
            }
            None => needs_check = true,
        }
    }
    if conditions.is_empty() {
        conditions.push("TRUE".to_owned());
    }
    (conditions.join(" AND "), params, needs_check)
}

/// Returns the condition of one term and its parameter. A missing value meets only `!=` and `status=failed`.
fn term_condition(term: &Term, expression: &str, param: usize) -> (String, Option<SqlValue>) {
    let is_not = term.op == Op::NotEqual;
    let when_missing = u8::from(is_not);
    let text = |value: &String| Some(SqlValue::Text(value.clone()));
    let compare = |value| {
        let sql = format!("coalesce({expression} {} ?{param}, {when_missing})", term.op.sql());
        (sql, Some(value))
    };
    match &term.value {
        Operand::Statuses(statuses) => {
            let (from, to, is_inside) = match *statuses {
                StatusSet::Success => (200, 299, true),
                StatusSet::Failure => (200, 299, false),
                StatusSet::Exact(status) => (status, status, true),
                StatusSet::Class(class) => (100 * class, 100 * class + 99, true),
            };
            let is_wanted = u8::from(is_inside != is_not);
            (format!("coalesce({expression} BETWEEN {from} AND {to}, 0) = {is_wanted}"), None)
        }
        Operand::AnyInvalid => {
            let names: Vec<_> = invalid_verdicts().map(|name| format!("'{name}'")).collect();
            let not = if is_not { "NOT " } else { "" };
            (format!("{expression} {not}IN ({})", names.join(", ")), None)
        }
        Operand::Prefix(prefix) => (
            format!(
                "coalesce(substr({expression}, 1, length(?{param})) {} ?{param}, {when_missing})",
                term.op.sql()
            ),
            text(prefix),
        ),
        Operand::Text(value) if term.op == Op::Contains => {
            (format!("coalesce(instr({expression}, ?{param}) > 0, 0)"), text(value))
        }
        Operand::Text(value) => compare(SqlValue::Text(value.clone())),
        Operand::Number(number) => compare(SqlValue::Real(*number)),
        Operand::Time(time) => {
            compare(SqlValue::Integer(time.as_nanosecond().try_into().unwrap_or(i64::MAX)))
        }
    }
}

impl Op {
    fn sql(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Contains => unreachable!("`~` uses `instr`"),
        }
    }
}
