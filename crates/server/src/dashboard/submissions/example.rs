//! Answers that a form takes, for whoever tries it from a command line.

use crate::dashboard::shell_word;
use crate::fields::Fields;
use crate::seed;

/// What a form without fields of its own is sent.
const OF_A_FREE_FORM: &str = r#"{"Message": "Hello"}"#;

/// Visitors who are asked: some leave out what need not be answered.
const VISITORS: u64 = 8;

/// Answers of the fields as one word of a shell.
pub(super) fn quoted(fields: Option<&str>) -> String {
    let fields = fields.and_then(|json| Fields::parse(json).ok());
    let answers = fields.and_then(|fields| {
        let filled = (0..VISITORS).filter_map(|seed| seed::Visitor::new(seed).fill(&fields));
        filled.max_by_key(|answers| answers.fields().len())
    });
    let json = answers.as_ref().map_or(OF_A_FREE_FORM, |answers| answers.as_json());
    shell_word(json).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Input;

    #[test]
    fn an_example_is_what_the_form_takes_and_one_word() {
        let fields = r#"[{"label":"Guest's name","type":"text","required":true},
            {"label":"Size","type":"choice","choices":["S","M"]},
            {"label":"Terms","type":"checkbox","required":true}]"#;
        let shown = quoted(Some(fields));
        assert!(shown.contains(r#""Guest'\''s name":"#), "{shown}");
        let json = shown.trim_matches('\'').replace(r"'\''", "'");
        let sent = Input::from_json(json.as_bytes()).unwrap();
        Fields::parse(fields).unwrap().answer(&sent).unwrap();
        assert_eq!(quoted(None), r#"'{"Message": "Hello"}'"#);
    }
}
