//! What docs/FORMS.md says is so.

use formsvc_protocol::ErrorCode;
use formsvc_server::fields::{Fields, KINDS};

use super::service::Service;

const MANUAL: &str = include_str!("../../../../../docs/FORMS.md");
const EXAMPLE: &str = include_str!("../../../../../examples/contact.json");

/// The code blocks of a language.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let fence = format!("```{language}\n");
    let parts = MANUAL.match_indices(&fence).map(|(at, fence)| &MANUAL[at + fence.len()..]);
    parts.map(|rest| rest.split("```").next().unwrap()).collect::<Vec<_>>().into_iter()
}

#[test]
fn it_names_every_type_with_its_options() {
    for row in KINDS {
        let options: Vec<_> = row.options.iter().map(|option| format!("`{option}`")).collect();
        let line = format!("| `{}` | {} | {} |", row.name, row.meaning, options.join(", "));
        assert!(MANUAL.contains(&line.replace("|  |", "| |")), "{line}");
    }
}

#[test]
fn its_definitions_can_be_used() {
    assert!(Fields::parse(EXAMPLE).is_ok());
    let definitions: Vec<_> = blocks("json").filter(|block| block.starts_with('[')).collect();
    assert!(!definitions.is_empty());
    for definition in definitions {
        Fields::parse(definition).unwrap();
    }
}

#[test]
fn its_statuses_are_those_of_the_codes() {
    let rows = MANUAL.lines().filter(|line| line.starts_with("| 4") || line.starts_with("| 5"));
    let mut seen = 0;
    for row in rows {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let (status, code) = (cells.next().unwrap(), cells.next().unwrap().trim_matches('`'));
        let known = ErrorCode::from(code).info().unwrap_or_else(|| panic!("{code}"));
        assert_eq!(known.status.to_string(), status, "{code}");
        seen += 1;
    }
    assert_eq!(seen, 11);
}

#[tokio::test]
async fn its_first_example_does_what_it_says() {
    let service = Service::new().await;
    service.form("contact", Some(EXAMPLE)).await;
    let body = MANUAL.split("-d '").nth(1).unwrap().split('\'').next().unwrap();
    service.post_json("/f/contact", body).await.id();
    let kept = service.kept("contact").await;
    assert_eq!(kept, [r#"{"Name":"Ada","E-mail":"ada@example.org","Keep me posted":false}"#]);
    let refused = service.post_json("/f/contact", r#"{"E-mail":"a@b","Guests":99}"#).await.body;
    let shown = blocks("json").find(|block| block.contains("invalid_answers")).unwrap();
    assert_eq!(refused, shown.replace('\n', ""));
}
