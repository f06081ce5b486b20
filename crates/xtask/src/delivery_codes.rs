//! Why attempts to deliver fail, from the tables in formsvc-server.

use formsvc_server::delivery::AttemptCode;
use formsvc_server::egress::FailureCode;

use crate::markdown::Section;

pub(crate) fn section() -> Section {
    let own = AttemptCode::OWN.iter().map(|(_, code, meaning)| (*code, *meaning));
    let network = FailureCode::ALL.iter().map(|code| (code.as_str(), code.meaning()));
    let rows = own.chain(network).map(|(code, meaning)| {
        let mut meaning = meaning.to_owned();
        meaning[..1].make_ascii_uppercase();
        vec![format!("`{code}`"), format!("{meaning}.")]
    });
    Section {
        title: "Why a delivery failed",
        about: "The `error` of an attempt, as `formsvc-server deliveries show` prints it. All of them \
                are failures,\nand are tried again as [RECEIVE.md](RECEIVE.md#respond) describes, except \
                `url_refused`, which is final.\n`secret_unreadable`, `interrupted` and \
                `overloaded` are this service's own and use no attempt for an hour.",
        columns: &["Code", "Meaning"],
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_row() {
        let rows = section().rows;
        assert_eq!(rows.len(), AttemptCode::OWN.len() + FailureCode::ALL.len());
        assert!(rows.iter().any(|row| row[0] == "`egress_denied`"));
    }
}
