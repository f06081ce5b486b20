//! Routes, which decide the targets of a delivery.

use url::Url;

use crate::delivery::Delivery;
use crate::filter::DeliveryFilter;
use crate::target;

const RULE: &str = "a route is EXPR=URL, such as form_id=frm_1=4242/hook or \
    'event=submission.* && path=/a=https://shop.test/hook'";
/// Fields that have no value before the delivery is forwarded, so routes cannot use them.
const OUTCOME_FIELDS: [&str; 3] = ["status", "answered_by", "took_ms"];

/// A target, and the condition that a delivery to it must meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    filter: DeliveryFilter,
    /// The text of the condition; empty if all deliveries match.
    expression: String,
    target: Url,
}

impl Route {
    /// Creates a route that matches all deliveries.
    pub fn all(target: Url) -> Self {
        Self { filter: DeliveryFilter::default(), expression: String::new(), target }
    }

    /// Parses `EXPR=URL`. The URL begins after the first `=` that has a condition before it and a target
    /// after it.
    ///
    /// # Errors
    /// Returns the violated rule and the part of the text that violates it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut target_error = None;
        for (at, _) in text.match_indices('=') {
            let (expression, url) = (text[..at].trim(), &text[at + 1..]);
            let Ok(filter) = DeliveryFilter::parse(expression) else { continue };
            match target::parse(url) {
                Ok(target) => {
                    if let Some(field) = OUTCOME_FIELDS.iter().find(|field| filter.names(field)) {
                        return Err(format!("`{field}` is known only after forwarding; {RULE}"));
                    }
                    return Ok(Self { filter, expression: expression.to_owned(), target });
                }
                Err(error) => _ = target_error.get_or_insert(error),
            }
        }
        if let Some(error) = target_error {
            return Err(error);
        }
        let Err(error) = DeliveryFilter::parse(text) else {
            return Err(format!("`{text}` has no URL; {RULE}"));
        };
        // No `=` has a condition before it. Report the error of the text before the last `=`.
        let (expression, _) = text.rsplit_once('=').unwrap_or((text, ""));
        let error = DeliveryFilter::parse(expression).err().unwrap_or(error);
        Err(format!("{error}; {RULE}"))
    }

    /// Returns the text of the condition; empty if all deliveries match.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    pub fn target(&self) -> &Url {
        &self.target
    }

    /// Returns true if the delivery meets the condition.
    pub fn matches(&self, delivery: &Delivery) -> bool {
        self.filter.matches(delivery)
    }
}
