//! Parquet files, if this build has them, and the message if not.

use formsvc_export::{
    Destination, Existing, ExportError, Format, MonthFolder, Output, RenderOptions, StoredRow,
    render,
};

#[cfg(feature = "parquet")]
use crate::support::stored;
#[cfg(feature = "parquet")]
use formsvc_export::Operation;

#[test]
fn missing_feature_is_named_before_the_first_row() {
    let checked = RenderOptions::new(Format::Parquet).check();
    if Format::Parquet.is_available() {
        checked.unwrap();
    } else {
        assert_eq!(checked.unwrap_err().to_string(), "this build cannot write parquet");
        let refused = render(
            &Vec::<StoredRow<'_>>::new(),
            &RenderOptions::new(Format::Parquet),
            Destination::stream(Box::new(std::io::sink())),
        );
        assert!(matches!(refused, Err(ExportError::Unsupported(_))), "{refused:?}");
    }
}

#[test]
fn only_parquet_is_partitioned() {
    let folder = tempfile::tempdir().unwrap();
    let options = RenderOptions::new(Format::Csv);
    let rows: Vec<StoredRow<'_>> = Vec::new();
    let months = MonthFolder::create(folder.path(), Existing::Replace).unwrap();
    let refused = Output::Months(months).render(&rows, &options);
    assert!(matches!(refused, Err(ExportError::Unsupported(_))), "{refused:?}");
}

#[cfg(feature = "parquet")]
#[test]
fn months_are_files_that_appear_together() {
    const DAY: i64 = 86_400_000_000;
    let folder = tempfile::tempdir().unwrap();
    let base = stored("", "{}");
    let rows = vec![
        StoredRow { id: "s3", data: r#"{"a":"x"}"#, instant: base.instant + 31 * DAY, ..base },
        StoredRow { id: "s2", data: r#"{"b":1}"#, ..base },
        StoredRow { id: "s1", instant: base.instant - 1, ..base },
    ];
    let out = folder.path().join("months");
    let mut options = RenderOptions::new(Format::Parquet);
    let months = MonthFolder::create(&out, Existing::Replace).unwrap();
    let done = Output::Months(months.clone()).render(&rows, &options).unwrap();
    assert_eq!((done.rows, done.columns), (3, 4));
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(&out)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["2025-12.parquet", "2026-01.parquet", "2026-02.parquet"]);
    let old = std::fs::read(out.join("2026-02.parquet")).unwrap();
    let filter: formsvc_export::RowFilter =
        Box::new(|row| if row.id == "s1" { Err("no".into()) } else { Ok(true) });
    options = options.filter(filter);
    Output::Months(months).render(&rows, &options).unwrap_err();
    assert_eq!(names().len(), 3, "no working file is left");
    assert_eq!(std::fs::read(out.join("2026-02.parquet")).unwrap(), old);
}

/// Rows that create a folder with the name of an output at the end of the second pass.
#[cfg(feature = "parquet")]
struct Renaming<'a> {
    rows: &'a Vec<StoredRow<'a>>,
    name: &'a std::path::Path,
    passes: std::cell::Cell<u32>,
}

#[cfg(feature = "parquet")]
impl formsvc_export::RowSource for Renaming<'_> {
    fn for_each(
        &self,
        row: &mut dyn FnMut(StoredRow<'_>) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        self.rows.for_each(row)?;
        self.passes.set(self.passes.get() + 1);
        if self.passes.get() == 2 {
            std::fs::create_dir(self.name).unwrap();
        }
        Ok(())
    }
}

#[cfg(feature = "parquet")]
#[test]
fn failed_month_after_a_replaced_one_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let newest = stored("s2", "{}");
    let rows = vec![newest, StoredRow { id: "s1", instant: newest.instant - 1, ..newest }];
    for existing in [Existing::Replace, Existing::Keep] {
        let out = folder.path().join(format!("{existing:?}"));
        let months = MonthFolder::create(&out, existing).unwrap();
        let options = RenderOptions::new(Format::Parquet);
        let older = out.join("2025-12.parquet");
        let rows = Renaming { rows: &rows, name: &older, passes: 0.into() };
        let failed = Output::Months(months).render(&rows, &options).unwrap_err();
        let ExportError::Output { operation, .. } = failed else { panic!("{failed:?}") };
        assert_eq!(operation, Operation::PublishNext);
        assert!(out.join("2026-01.parquet").is_file());
    }
}

/// Rows of two months that check the folder before the last row of the second pass, and fail there.
#[cfg(feature = "parquet")]
struct FailingAtTheEnd {
    folder: std::path::PathBuf,
    passes: std::cell::Cell<u32>,
}

#[cfg(feature = "parquet")]
impl formsvc_export::RowSource for FailingAtTheEnd {
    fn for_each(
        &self,
        row: &mut dyn FnMut(StoredRow<'_>) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        self.passes.set(self.passes.get() + 1);
        let newest = stored("s2", r#"{"a":1}"#);
        row(newest)?;
        row(StoredRow { id: "s1", instant: newest.instant - 1, ..newest })?;
        let names = std::fs::read_dir(&self.folder).unwrap().map(|file| file.unwrap().file_name());
        assert!(names.into_iter().all(|name| name.to_string_lossy().starts_with('.')), "too early");
        if self.passes.get() == 1 { Ok(()) } else { Err(ExportError::RowsChanged) }
    }
}

#[cfg(feature = "parquet")]
#[test]
fn no_month_appears_before_the_last_row_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let rows = FailingAtTheEnd { folder: folder.path().to_owned(), passes: 0.into() };
    let months = MonthFolder::create(folder.path(), Existing::Replace).unwrap();
    let failed = Output::Months(months).render(&rows, &RenderOptions::new(Format::Parquet));
    assert!(matches!(failed, Err(ExportError::RowsChanged)), "{failed:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
