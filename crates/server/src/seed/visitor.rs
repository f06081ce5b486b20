//! Somebody who fills in a form: answers that its fields take, and that look like a person's.

use formsvc_protocol::Answers;

use super::rng::Rng;
use super::words::{FAMILY, GIVEN, SENTENCES};
use crate::fields::{Field, FieldKind, Fields, Input};

/// A day when the field has none of its own.
const DAY: &str = "2026-06-15";

/// Fills in forms; the same seed gives the same answers in the same order.
#[derive(Clone, Debug)]
pub struct Visitor {
    rng: Rng,
    number: u64,
}

impl Visitor {
    /// A visitor.
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), number: 0 }
    }

    /// Answers to the fields of a form; `None` when the form has none of its own, or takes nothing
    /// that occurs to the visitor.
    pub fn fill(&mut self, fields: &Fields) -> Option<Answers> {
        let defined = fields.defined()?;
        self.number += 1;
        let pairs = defined.iter().flat_map(|field| {
            let values = self.values(field);
            values.into_iter().map(|value| (field.label.clone(), value)).collect::<Vec<_>>()
        });
        let input = Input::from_pairs(pairs.collect()).ok()?;
        fields.answer(&input).ok()
    }

    fn values(&mut self, field: &Field) -> Vec<String> {
        let one = match &field.kind {
            FieldKind::Text { max_length } => {
                cut(&format!("{} {}", self.rng.pick(GIVEN), self.rng.pick(FAMILY)), *max_length)
            }
            FieldKind::LongText { max_length } => cut(self.rng.pick(SENTENCES), *max_length),
            FieldKind::Email => format!("visitor-{}@example.org", self.number),
            // The bounds are numbers and days that the field takes.
            FieldKind::Number { min, max } => {
                let bound = min.as_ref().or(max.as_ref());
                bound.map_or_else(|| self.number.to_string(), |bound| bound.as_str().to_owned())
            }
            FieldKind::Date { min, max } => {
                let bound = min.as_ref().or(max.as_ref());
                bound.map_or(DAY, |bound| bound.as_str()).to_owned()
            }
            FieldKind::Choice { choices } => choices[self.rng.below(choices.len())].clone(),
            FieldKind::MultipleChoice { choices } => {
                let first = self.rng.below(choices.len());
                return choices[first..].iter().take(2).cloned().collect();
            }
            FieldKind::Checkbox if field.required || self.rng.one_in(2) => "true".to_owned(),
            FieldKind::Checkbox => return Vec::new(),
        };
        vec![one]
    }
}

fn cut(text: &str, characters: u32) -> String {
    text.chars().take(characters as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_answers_every_kind_of_field_within_its_bounds() {
        let fields = Fields::parse(
            r#"[{"label":"A","type":"text","required":true,"max_length":3},
                {"label":"B","type":"long_text"},
                {"label":"C","type":"email","required":true},
                {"label":"D","type":"number","min":-2.50,"max":7,"required":true},
                {"label":"E","type":"number","max":0.1,"required":true},
                {"label":"F","type":"date","min":"2030-01-01","required":true},
                {"label":"G","type":"choice","choices":["x","y"],"required":true},
                {"label":"H","type":"multiple_choice","choices":["x","y","z"],"required":true},
                {"label":"I","type":"checkbox","required":true},
                {"label":"J","type":"date","required":true},
                {"label":"K","type":"number"}]"#,
        )
        .unwrap();
        let (mut visitor, mut again) = (Visitor::new(7), Visitor::new(7));
        for _ in 0..100 {
            let answers = visitor.fill(&fields).unwrap();
            assert_eq!(answers, again.fill(&fields).unwrap());
            let read: serde_json::Value = serde_json::from_str(answers.as_json()).unwrap();
            assert_eq!(read.as_object().unwrap().len(), 11, "{read}");
        }
        assert_ne!(visitor.fill(&fields), visitor.fill(&fields));
        assert_eq!(visitor.fill(&Fields::free()), None);
    }
}
