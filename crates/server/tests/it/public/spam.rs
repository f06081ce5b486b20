//! What robots send.

use formsvc_protocol::PublicId;
use formsvc_server::store::SpamRequest;

use super::service::{Service, URLENCODED};

#[tokio::test]
async fn a_robot_is_told_what_a_visitor_is_and_kept_apart() {
    let service = Service::with_form().await;
    let visitor = service.post("/f/form", URLENCODED, "Name=a").await;
    let robot = service.post("/f/form", URLENCODED, "Name=spam&_gotcha=http://x&odd=1").await;
    robot.assert_thanks("form");
    assert_eq!(
        (visitor.status, visitor.header("location")),
        (robot.status, robot.header("location"))
    );
    let told = service.post_json("/f/form", r#"{"Name":"b"}"#).await.json();
    let lied = service.post_json("/f/form", r#"{"Name":2,"_gotcha":"x"}"#).await.json();
    let shape = |json: &serde_json::Value| {
        let text = |name: &str| json[name].as_str().unwrap().len();
        (json.as_object().unwrap().len(), text("id"), text("created_at"))
    };
    assert_eq!(shape(&told), shape(&lied));
    let kept = service.kept("form").await;
    assert_eq!(kept, [r#"{"Name":"b","Terms":false}"#, r#"{"Name":"a","Terms":false}"#]);
    let id = PublicId::new("form").unwrap();
    let form = service.admin.public_form(&id).await.unwrap().form.id;
    let request = SpamRequest { form, after: None, limit: 10 };
    let spam = service.admin.list_spam(request).await.unwrap();
    assert_eq!(spam[0].id.as_str(), lied["id"]);
    let spam: Vec<_> = spam.iter().map(|spam| spam.answers.as_json()).collect();
    assert_eq!(spam, [r#"{"Name":2}"#, r#"{"Name":"spam","odd":"1"}"#]);
}

#[tokio::test]
async fn an_empty_trap_is_nothing() {
    let service = Service::with_form().await;
    for body in ["Name=a&_gotcha=", "_gotcha=%20&Name=a"] {
        service.post("/f/form", URLENCODED, body).await.assert_thanks("form");
    }
    assert_eq!(service.kept("form").await.len(), 2);
}
