use super::*;

#[test]
fn below_a_file_there_is_no_folder() {
    let path = std::path::Path::new("/dev/null/formsvc/webhook");
    assert!(!folder(path, false).unwrap());
    let refused = folder(path, true).unwrap_err().to_string();
    assert_eq!(refused, "cannot create `/dev/null/formsvc/webhook`");
}
