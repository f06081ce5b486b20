//! Apache Parquet: typed columns, Zstandard, bounded row groups.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use formsvc_table::{Column, ColumnType, StoredRow, Value, exact_double, exact_integer};
use parquet::basic::{
    Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel,
};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::format::RowFormat;
use crate::remark::Remark;

/// Bytes of text, cells and rows of a row group: whichever comes first. They bound the memory.
const GROUP_BYTES_MAX: usize = 16 * 1024 * 1024;
const GROUP_CELLS_MAX: usize = 4 * 1024 * 1024;
const GROUP_ROWS_MAX: usize = 128 * 1024;

pub(crate) struct ParquetFormat {
    path: PathBuf,
    file: Option<SerializedFileWriter<BufWriter<File>>>,
    columns: Vec<ColumnBuffer>,
    rows: usize,
    bytes: usize,
}

/// The cells of a column in the current row group. One of the vectors has the values.
struct ColumnBuffer {
    column_type: ColumnType,
    texts: Vec<ByteArray>,
    integers: Vec<i64>,
    reals: Vec<f64>,
    booleans: Vec<bool>,
    /// 1 for each row with a value, 0 for each null.
    levels: Vec<i16>,
}

impl ParquetFormat {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), file: None, columns: Vec::new(), rows: 0, bytes: 0 }
    }

    fn is_full(&self) -> bool {
        self.bytes >= GROUP_BYTES_MAX
            || self.rows >= GROUP_ROWS_MAX
            || self.rows * self.columns.len() >= GROUP_CELLS_MAX
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let Some(file) = self.file.as_mut().filter(|_| self.rows > 0) else { return Ok(()) };
        let mut group = file.next_row_group()?;
        let mut columns = self.columns.iter_mut();
        while let (Some(mut writer), Some(column)) = (group.next_column()?, columns.next()) {
            column.write(&mut writer)?;
            writer.close()?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl RowFormat for ParquetFormat {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.columns = columns.iter().map(|column| ColumnBuffer::new(column.column_type)).collect();
        let out = BufWriter::new(File::options().write(true).open(&self.path)?);
        let schema = schema(columns).map_err(io_error)?;
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties()));
        self.file = Some(file.map_err(io_error)?);
        Ok(())
    }

    fn row(&mut self, row: &StoredRow<'_>, cells: Vec<Value<'_>>) -> io::Result<()> {
        let misfit = || format!("a value of `{}` is not of its column's type", row.id);
        for (column, cell) in self.columns.iter_mut().zip(&cells) {
            self.bytes += column.push(cell).ok_or_else(|| io::Error::other(misfit()))?;
        }
        self.rows += 1;
        if self.is_full() { self.write_group().map_err(io_error) } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> io::Result<Vec<Remark>> {
        self.write_group().map_err(io_error)?;
        if let Some(file) = self.file.take() {
            file.close().map_err(io_error)?;
        }
        Ok(Vec::new())
    }
}

impl ColumnBuffer {
    fn new(column_type: ColumnType) -> Self {
        let (texts, integers, reals) = (Vec::new(), Vec::new(), Vec::new());
        Self { column_type, texts, integers, reals, booleans: Vec::new(), levels: Vec::new() }
    }

    /// Adds a cell and returns the bytes of its text; `None` for a value that is not of the column's type.
    fn push(&mut self, cell: &Value<'_>) -> Option<usize> {
        if *cell == Value::Empty {
            self.levels.push(0);
            return Some(0);
        }
        match (self.column_type, cell) {
            (ColumnType::Text, cell) => self.texts.push(cell.text().into()),
            (ColumnType::Time, Value::Time(_, micros)) => self.integers.push(*micros),
            (ColumnType::Integer, Value::Number(text)) => self.integers.push(exact_integer(text)?),
            (ColumnType::Real, Value::Number(text)) => self.reals.push(exact_double(text)?),
            (ColumnType::Boolean, Value::Boolean(value)) => self.booleans.push(*value),
            _ => return None,
        }
        self.levels.push(1);
        Some(cell.text().len())
    }

    fn write(&mut self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let Self { texts, integers, reals, booleans, levels, .. } = self;
        match self.column_type {
            ColumnType::Text => write_batch::<ByteArrayType>(out, texts, levels),
            ColumnType::Integer | ColumnType::Time => {
                write_batch::<Int64Type>(out, integers, levels)
            }
            ColumnType::Real => write_batch::<DoubleType>(out, reals, levels),
            ColumnType::Boolean => write_batch::<BoolType>(out, booleans, levels),
        }?;
        self.levels.clear();
        Ok(())
    }
}

fn write_batch<T: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    levels: &[i16],
) -> Result<(), ParquetError> {
    out.typed::<T>().write_batch(values, Some(levels), None)?;
    values.clear();
    Ok(())
}

fn schema(columns: &[Column]) -> Result<Type, ParquetError> {
    let mut fields = Vec::new();
    for column in columns {
        let (physical, logical) = match column.column_type {
            ColumnType::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnType::Integer => (PhysicalType::INT64, None),
            ColumnType::Real => (PhysicalType::DOUBLE, None),
            ColumnType::Boolean => (PhysicalType::BOOLEAN, None),
            ColumnType::Time => {
                (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS)))
            }
        };
        let field = Type::primitive_type_builder(&column.heading, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        fields.push(Arc::new(field));
    }
    Type::group_type_builder("submissions").with_fields(fields).build()
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by("formsvc".into())
        .set_statistics_truncate_length(Some(64))
        .build()
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;

    use super::*;
    use crate::{Destination, Existing, Format, RenderOptions, render};

    #[test]
    fn value_of_another_type_is_an_error() {
        let mut integers = ColumnBuffer::new(ColumnType::Integer);
        assert_eq!(integers.push(&Value::Number("5")), Some(1));
        assert_eq!(integers.push(&Value::Empty), Some(0));
        assert_eq!(integers.push(&Value::Text("text".into())), None);
        assert_eq!(integers.push(&Value::Number("1.5")), None);
        let mut booleans = ColumnBuffer::new(ColumnType::Boolean);
        assert_eq!(booleans.push(&Value::Number("1")), None);
    }

    #[test]
    fn far_dates_are_exact_and_dots_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        // The first and the last microsecond of the years 1 to 9999, and one after them.
        let times = [253_402_300_800_000_000, 253_402_300_799_999_999, -62_135_596_800_000_000];
        let data = r#"{"a.b":1}"#;
        let row = |instant| StoredRow { id: "s", created_at: "", instant, data, extra: "" };
        let rows = times.map(row).to_vec();
        let destination = Destination::file(&path, Existing::Replace).unwrap();
        let done = render(&rows, &RenderOptions::new(Format::Parquet), destination).unwrap();
        assert_eq!(done.remarks, [Remark::HeadingsWithDot(1)]);
        assert!(
            done.remarks[0].to_string().starts_with("1 heading: with a dot"),
            "{:?}",
            done.remarks
        );
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        let read: Vec<i64> =
            rows.map(|row| row.unwrap().get_timestamp_micros(1).unwrap()).collect();
        assert_eq!(read, times);
    }
}
