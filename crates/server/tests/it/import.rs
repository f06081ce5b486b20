//! Forms made of files, and seeded forms: what goes in comes out, and what breaks a rule leaves
//! nothing behind.

use std::sync::Arc;

use formsvc_protocol::{Form, FormInstant, FormStatus, PublicId, Submission, User};
use formsvc_server::admin::Admin;
use formsvc_server::import::{
    CellTypes, ImportError, ImportFormat, ImportOptions, form_from_file, form_from_reader,
};
use formsvc_server::seed::{SeedOptions, seed_form};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{PageRequest, Store, item, system_clock};

struct World {
    admin: Admin,
    user: User,
}

async fn world() -> World {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(system_clock()).unwrap());
    let admin = Admin::new(store);
    let user = admin.create_user("a@example.org", "A").await.unwrap();
    World { admin, user }
}

impl World {
    fn options(&self, format: ImportFormat) -> ImportOptions {
        ImportOptions::new(self.user.id.clone(), "T", format)
    }

    async fn import(&self, options: ImportOptions, text: &[u8]) -> Result<Vec<String>, String> {
        let reader = std::io::Cursor::new(text.to_vec());
        match form_from_reader(&self.admin, options, reader).await {
            Ok(imported) => {
                let data: Vec<_> = self.rows(&imported.form).await;
                assert_eq!(imported.submissions, data.len() as u64);
                Ok(data.into_iter().map(|row| row.data.as_json().to_owned()).collect())
            }
            Err(error) => {
                let forms = self.admin.list_forms(&self.user.id).await.unwrap();
                assert!(forms.is_empty(), "a failed import left {forms:?}");
                Err(error.to_string())
            }
        }
    }

    async fn csv(&self, text: &str) -> Result<Vec<String>, String> {
        self.import(self.options(ImportFormat::Csv), text.as_bytes()).await
    }

    /// All rows, oldest first.
    async fn rows(&self, form: &Form) -> Vec<Submission> {
        let (mut rows, mut before) = (Vec::<Submission>::new(), None);
        loop {
            let request = PageRequest {
                user: self.user.id.clone(),
                form: form.id.clone(),
                before,
                limit: 100,
            };
            let page = self.admin.store().page(request).await.unwrap().unwrap();
            let items = format!("[{}]", str::from_utf8(&page.items).unwrap());
            rows.extend(serde_json::from_str::<Vec<Submission>>(&items).unwrap());
            before = page.last;
            if !page.has_more {
                rows.reverse();
                return rows;
            }
        }
    }
}

#[tokio::test]
async fn number_out_of_bounds_is_text_in_csv_and_refused_in_json() {
    let world = world().await;
    let long = "9".repeat(129);
    let rows = world.csv(&format!("a,b,c\n{long},1e309,1.0\n1,2,1e308\n")).await.unwrap();
    let first = format!(r#"{{"a":"{long}","b":"1e309","c":1.0}}"#);
    assert_eq!(rows, [first.as_str(), r#"{"a":"1","b":"2","c":1e308}"#]);
    let world = self::world().await;
    let object = format!(r#"{{"ok":1.0,"a":[{{"b":{long}}}]}}"#);
    let refused = world.import(world.options(ImportFormat::Ndjson), object.as_bytes()).await;
    let refused = refused.unwrap_err();
    assert!(refused.starts_with("line 1, field `a`: `[{"), "{refused}");
    assert!(
        refused.ends_with("` must contain only numbers of at most 128 characters"),
        "{refused}"
    );
    let array = r#"[{"a":1.0},{"a":-1e309}]"#;
    let refused = world.import(world.options(ImportFormat::Json), array.as_bytes()).await;
    let rule = "must contain only numbers within the range of a 64-bit float (about ±1.8e308)";
    assert_eq!(refused.unwrap_err(), format!("element 2, field `a`: `-1e309` {rule}"));
}

#[tokio::test]
async fn json_that_strict_readers_refuse_is_not_imported() {
    let world = world().await;
    let nested =
        |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    for (object, rule) in [
        (nested(65), "begins answers that are nested more than 64 deep"),
        (r#"{"a":"\ud800"}"#.to_owned(), "begins answers with half of a surrogate pair"),
    ] {
        let lines = world.import(world.options(ImportFormat::Ndjson), object.as_bytes()).await;
        let refused = lines.unwrap_err();
        assert!(refused.starts_with("line 1: ") && refused.ends_with(rule), "{refused}");
        let array = format!("[{object}]");
        let array = world.import(world.options(ImportFormat::Json), array.as_bytes()).await;
        let refused = array.unwrap_err();
        assert!(refused.starts_with("element 1: ") && refused.ends_with(rule), "{refused}");
    }
    let rows = world.import(world.options(ImportFormat::Ndjson), nested(64).as_bytes()).await;
    assert_eq!(rows.unwrap(), [nested(64)]);
}

#[tokio::test]
async fn csv_columns_of_numbers_become_numbers_with_their_digits() {
    let text = "n,mixed,zip\n1.50,1,007\n-0,x,010\n12345678901234567890.10,2,1\n";
    let expected = [
        r#"{"n":1.50,"mixed":"1","zip":"007"}"#,
        r#"{"n":-0,"mixed":"x","zip":"010"}"#,
        r#"{"n":12345678901234567890.10,"mixed":"2","zip":"1"}"#,
    ];
    assert_eq!(world().await.csv(text).await.unwrap(), expected);
}

#[tokio::test]
async fn csv_cells_stay_text_when_asked() {
    let world = world().await;
    let options = ImportOptions { types: CellTypes::Text, ..world.options(ImportFormat::Csv) };
    let rows = world.import(options, b"n\n1\n2\n").await.unwrap();
    assert_eq!(rows, [r#"{"n":"1"}"#, r#"{"n":"2"}"#]);
}

#[tokio::test]
async fn csv_null_has_the_spelling_that_was_named_and_no_other() {
    let world = world().await;
    let with = |null: Option<&str>| ImportOptions {
        null: null.map(Into::into),
        ..world.options(ImportFormat::Csv)
    };
    let text = b"a,b\n1,NA\n,NA\nNA,x\n";
    let rows = world.import(with(Some("NA")), text).await.unwrap();
    let expected = [r#"{"a":"1","b":null}"#, r#"{"a":"","b":null}"#, r#"{"a":null,"b":"x"}"#];
    assert_eq!(rows, expected);
    let rows = world.import(with(Some("")), b"a\n1\n\"\"\n").await.unwrap();
    assert_eq!(rows, [r#"{"a":1}"#, r#"{"a":null}"#]);
    let rows = world.import(with(Some("NA")), b"a\nNA\n").await.unwrap();
    assert_eq!(rows, [r#"{"a":null}"#]);
}

#[tokio::test]
async fn tsv_cells_may_hold_commas() {
    let world = world().await;
    let rows =
        world.import(world.options(ImportFormat::Tsv), b"a,b\tn\nx,y\t1.0\n\"p\tq\"\t2\n").await;
    assert_eq!(rows.unwrap(), [r#"{"a,b":"x,y","n":1.0}"#, r#"{"a,b":"p\tq","n":2}"#]);
}

#[tokio::test]
async fn csv_text_is_kept_whatever_is_in_it() {
    let rows = world().await.csv("\u{feff}\"la,\"\"bel\"\"\",é\r\n\"a\nb\r\n\",\u{1}\t \r\n").await;
    let expected = r#"{"la,\"bel\"":"a\nb\r\n","é":"\u0001\t "}"#;
    assert_eq!(rows.unwrap(), [expected]);
}

#[tokio::test]
async fn csv_without_records_is_a_form_without_submissions() {
    assert_eq!(world().await.csv("a,b\n").await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_flaw_in_a_csv_names_its_place_and_leaves_nothing() {
    let long = format!("n\n{}x", "1\n".repeat(5_000));
    for (text, message) in [
        ("", "line 1: it is no header: the file is empty"),
        ("a,,b\n", "line 1, column 2: it is no label: a column needs one"),
        ("a,b,a\n", "line 1, column 3: `a` is the label of column 1 already"),
        ("a,b\n1,2\n3\n", "line 3: `3` begins a record of 1 values, and the header has 2"),
        (
            "a,b\n\"1\n\",2\n3,4,5\n",
            "line 4: `3` begins a record of more values than the header has (2)",
        ),
        ("a\n\"x", "line 2: `x` opens a quote that is never closed"),
    ] {
        assert_eq!(world().await.csv(text).await.unwrap_err(), message);
    }
    assert_eq!(world().await.csv(&long).await.unwrap().len(), 5_001);
    for types in [CellTypes::Infer, CellTypes::Text] {
        let world = world().await;
        let options = ImportOptions { types, ..world.options(ImportFormat::Csv) };
        let broken = [b"a,b\n".as_slice(), &b"1,2\n".repeat(5_000), b"3,\xff\n"].concat();
        let error = world.import(options, &broken).await.unwrap_err();
        assert_eq!(error, "line 5002, column `b`: `\u{fffd}` is not UTF-8");
    }
}

#[tokio::test]
async fn ndjson_objects_are_kept_to_the_byte() {
    let world = world().await;
    let lines = [r#"{"b" : 1.0, "a":1e2,"b":2}"#, r#"{"\u00e9":"\/"}"#, "{}"];
    let text = format!("{}\r\n\n{}\n{}", lines[0], lines[1], lines[2]);
    let rows = world.import(world.options(ImportFormat::Ndjson), text.as_bytes()).await.unwrap();
    assert_eq!(rows, lines);
}

#[tokio::test]
async fn a_flaw_in_ndjson_names_its_line() {
    for (text, message) in [
        (
            b"{}\n\n[1]\n".as_slice(),
            "line 3: `[1]` is not a JSON object of answers (expected an object of answers)",
        ),
        (
            b"{\"a\":}\n",
            "line 1: `{\"a\":}` is not a JSON object of answers (expected value at column 6)",
        ),
        (b"{}\n{\"a\":\"\xff\"}\n", "line 2: `{\"a\":\"\u{fffd}\"}` is not UTF-8"),
    ] {
        let world = world().await;
        let error = world.import(world.options(ImportFormat::Ndjson), text).await.unwrap_err();
        assert_eq!(error, message);
    }
}

#[tokio::test]
async fn a_json_array_of_objects_or_of_one_questions_answers() {
    let world = world().await;
    let options =
        ImportOptions { label: Some("Text \"x\"".into()), ..world.options(ImportFormat::Json) };
    let text = br#" [ "a\u0000\/", {"k" : [1]} , "" ] "#;
    let rows = world.import(options, text).await.unwrap();
    let expected = [r#"{"Text \"x\"":"a\u0000\/"}"#, r#"{"k" : [1]}"#, r#"{"Text \"x\"":""}"#];
    assert_eq!(rows, expected);
}

#[tokio::test]
async fn a_flaw_in_a_json_array_names_its_element() {
    for (text, message) in [
        ("[{},1]", "element 2: `1` is neither an object nor a text"),
        ("[\"x\"]", "element 1: `\"x\"` is a text, and no label for texts was given"),
        ("{}", "the file is not one JSON array of objects or texts"),
        ("[{}", "the file is not one JSON array of objects or texts"),
        ("[{}] x", "the file is not one JSON array of objects or texts"),
    ] {
        let world = world().await;
        let options = world.options(ImportFormat::Json);
        assert_eq!(world.import(options, text.as_bytes()).await.unwrap_err(), message);
    }
}

#[tokio::test]
async fn blank_lines_of_one_column_are_empty_answers() {
    let world = world().await;
    let rows = world.csv("t\nx\n\ny\n").await.unwrap();
    assert_eq!(rows, [r#"{"t":"x"}"#, r#"{"t":""}"#, r#"{"t":"y"}"#]);
    let options = ImportOptions { null: Some(String::new()), ..world.options(ImportFormat::Csv) };
    let rows = world.import(options, b"n\n1\n\n2\n").await.unwrap();
    assert_eq!(rows, [r#"{"n":1}"#, r#"{"n":null}"#, r#"{"n":2}"#]);
}

#[tokio::test]
async fn a_label_has_at_most_1_kib() {
    let label = |bytes: usize| format!("{},b\n1,2\n", "x".repeat(bytes));
    world().await.csv(&label(1_024)).await.unwrap();
    let error = world().await.csv(&label(1_025)).await.unwrap_err();
    assert!(error.starts_with("line 1, column 1: `xxx"), "{error}");
    assert!(error.ends_with("` is a label of more than 1 KiB"), "{error}");
}

/// How an import of answers of so many bytes of JSON ends; the ones before are short.
async fn import_of_size(format: ImportFormat, bytes: usize) -> Result<usize, String> {
    let text = "x".repeat(bytes - r#"{"a":""}"#.len());
    let file = match format {
        ImportFormat::Csv => format!("a\nshort\n{text}\n"),
        ImportFormat::Ndjson => format!("{{}}\n{{\"a\":\"{text}\"}}\r\n"),
        _ => format!("[ {{}} ,\n{{\"a\":\"{text}\"}} ]"),
    };
    let world = world().await;
    Ok(world.import(world.options(format), file.as_bytes()).await?.len())
}

#[tokio::test]
async fn answers_of_4_mib_are_imported_and_longer_ones_named_by_their_place() {
    use formsvc_protocol::limits::ANSWERS_MAX;
    for (format, place, rule) in [
        (
            ImportFormat::Csv,
            "line 3: `xxx",
            "begins a record whose answers are 4194305 bytes of JSON, over the limit of 4194304 (4 MiB)",
        ),
        (ImportFormat::Ndjson, "line 2: `{\"a\":\"xxx", "begins a line of more than 4 MiB"),
        (
            ImportFormat::Json,
            "element 2: `{\"a\":\"xxx",
            "begins an element whose answers are 4194305 bytes of JSON, over the limit of 4194304 (4 MiB)",
        ),
    ] {
        assert_eq!(import_of_size(format, ANSWERS_MAX).await, Ok(2));
        let error = import_of_size(format, ANSWERS_MAX + 1).await.unwrap_err();
        assert!(error.starts_with(place) && error.ends_with(rule), "{error}");
    }
}

#[tokio::test]
async fn an_element_without_an_end_is_not_read_to_it() {
    let endless = std::io::Read::chain(b"[{}, {\"a\":\"".as_slice(), std::io::repeat(b'x'));
    let world = world().await;
    let options = world.options(ImportFormat::Json);
    let error = form_from_reader(&world.admin, options, endless).await.unwrap_err().to_string();
    assert!(error.starts_with("element 2: `{\"a\":\"xxx"), "{error}");
    assert!(error.ends_with("begins an element of more than 4 MiB"), "{error}");
}

#[tokio::test]
async fn files_are_imported_in_the_format_of_their_extension() {
    let world = world().await;
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a.csv", "n\n1\n"),
        ("t.tsv", "n\n1\n"),
        ("b.jsonl", "{\"n\":1}"),
        ("c.JSON", "[{\"n\":1}]"),
    ] {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        let options = ImportOptions {
            public_id: Some(PublicId::new(name).unwrap()),
            status: FormStatus::Closed,
            ..world.options(ImportFormat::of_path(&path).unwrap())
        };
        let imported = form_from_file(&world.admin, options, &path).await.unwrap();
        assert_eq!(imported.form.public_id.as_str(), name);
        assert_eq!(imported.form.status, FormStatus::Closed);
        assert_eq!(world.rows(&imported.form).await[0].data.as_json(), "{\"n\":1}");
    }
    let missing = dir.path().join("missing.csv");
    let missing = form_from_file(&world.admin, world.options(ImportFormat::Csv), &missing);
    assert!(matches!(missing.await, Err(ImportError::Read(_))));
    assert_eq!(ImportFormat::of_path(&dir.path().join("plain")), None);
}

#[tokio::test]
async fn a_public_id_that_is_taken_is_refused_and_free_again_after_a_failure() {
    let world = world().await;
    let options = || ImportOptions {
        public_id: Some(PublicId::new("survey").unwrap()),
        ..world.options(ImportFormat::Csv)
    };
    assert!(world.import(options(), b"a\n\"").await.is_err());
    world.import(options(), b"a\n1\n").await.unwrap();
    let reader = std::io::Cursor::new(b"a\n1\n");
    let error = form_from_reader(&world.admin, options(), reader).await.unwrap_err();
    assert_eq!(error.to_string(), "public id `survey` exists already");
}

#[tokio::test]
async fn a_read_error_in_the_middle_leaves_nothing() {
    struct Breaks(u32);
    impl std::io::Read for Breaks {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += 1;
            if self.0 > 5_000 {
                return Err(std::io::Error::other("the line went dead"));
            }
            buffer[..3].copy_from_slice(b"{}\n");
            Ok(3)
        }
    }
    let world = world().await;
    let error =
        form_from_reader(&world.admin, world.options(ImportFormat::Ndjson), Breaks(0)).await;
    assert!(matches!(error, Err(ImportError::Read(_))));
    assert!(world.admin.list_forms(&world.user.id).await.unwrap().is_empty());
}

#[tokio::test]
async fn seeded_forms_read_back_as_they_were_generated() {
    let world = world().await;
    let options = SeedOptions {
        large_answers: false,
        ..SeedOptions::new(PublicId::new("demo").unwrap(), 2_500)
    };
    let form = seed_form(&world.admin, &world.user.id, &options).await.unwrap();
    let (mut before, mut items) = (None::<FormInstant>, Vec::new());
    loop {
        let request =
            PageRequest { user: world.user.id.clone(), form: form.id.clone(), before, limit: 1 };
        let page = world.admin.store().page(request).await.unwrap().unwrap();
        items.push(page.items);
        before = page.last;
        if !page.has_more {
            break;
        }
    }
    items.reverse();
    let generated: Vec<_> = options
        .generator()
        .map(|made| item::compose(&made.id, &made.answers, made.at.unwrap()))
        .collect();
    assert_eq!(items, generated);
}
