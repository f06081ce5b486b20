//! Translates filters to SQL.

use rusqlite::types::Value as SqlValue;

use super::{Field, Op, Operand, Term, refusals};

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
                let (text, param) = one(term, expression, first + params.len());
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

/// The condition of one term, in which a missing value meets only `!=`.
fn one(term: &Term, expression: &str, param: usize) -> (String, Option<SqlValue>) {
    let is_not = term.op == Op::NotEqual;
    let when_missing = u8::from(is_not);
    let text = |value: &String| Some(SqlValue::Text(value.clone()));
    match &term.value {
        Operand::Statuses { from, to, inside } => {
            let is_wanted = u8::from(*inside != is_not);
            (format!("coalesce({expression} BETWEEN {from} AND {to}, 0) = {is_wanted}"), None)
        }
        Operand::AnyRefusal => {
            let names: Vec<_> = refusals().map(|name| format!("'{name}'")).collect();
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
        operand => {
            let value = match operand {
                Operand::Number(number) => SqlValue::Real(*number),
                Operand::Time(time) => {
                    SqlValue::Integer(time.as_nanosecond().try_into().unwrap_or(i64::MAX))
                }
                Operand::Text(value) => SqlValue::Text(value.clone()),
                Operand::Prefix(_) | Operand::Statuses { .. } | Operand::AnyRefusal => {
                    SqlValue::Null
                }
            };
            let sql = format!("coalesce({expression} {} ?{param}, {when_missing})", term.op.sql());
            (sql, Some(value))
        }
    }
}

impl Op {
    fn sql(self) -> &'static str {
        match self {
            Self::Equal | Self::Contains => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}
