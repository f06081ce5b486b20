//! The items that a command prints, each stored as JSON. Columns are members of that JSON.

use std::borrow::Cow;
use std::collections::HashMap;

use formsvc_contract::members;
use formsvc_protocol::decode_string;
use formsvc_table::{Cell, cell};
use serde::Serialize;
use serde_json::value::RawValue;

use super::answer_columns::{AnswerColumns, LABELS_MAX};
use super::field::{ColumnPosition, Field, Kind};
use super::grid::{Column, Grid};
use super::select::{self, Pick};
use super::writing::Screen;
use super::{formats, written};
use crate::error::CliError;

/// Largest size of a list that is printed as a whole, in bytes of JSON.
pub(crate) const LIST_MAX: usize = 64 << 20;

/// Least size of a chunk of a streamed list, in bytes.
const CHUNK: usize = 64 << 10;

/// Returns an error if a list of this size exceeds [`LIST_MAX`].
pub(crate) fn check_list_size(size: usize) -> Result<(), CliError> {
    if size <= LIST_MAX {
        return Ok(());
    }
    let what = format!("the list exceeds {} MiB, the largest list in this format", LIST_MAX >> 20);
    Err(CliError::usage(what).hint(
        "`--output ndjson` prints lists of any length, `formsvc submissions export` writes them to a file",
    ))
}

/// The items to print. [`Output::listing`](super::Output::listing) creates it, the command fills it.
#[derive(Debug)]
pub(crate) struct Listing {
    fields: &'static [Field],
    /// The fields requested with `--json`; `None` without the flag.
    picks: Option<Vec<Pick>>,
    /// The members of the object field that get columns: `None` for none, an empty list for the most common ones.
    labels: Option<Vec<String>>,
    /// Each item as JSON.
    items: Vec<String>,
    /// Size of the items in bytes.
    size: usize,
    /// The destination of an NDJSON list, which is printed in chunks; `None` for other formats.
    stream: Option<Screen>,
    /// True if a chunk was printed.
    is_started: bool,
    /// True if an object field has a column with its JSON.
    objects: bool,
}

impl Listing {
    pub(super) fn new(fields: &'static [Field], picks: Option<Vec<Pick>>) -> Self {
        Self {
            fields,
            picks,
            labels: None,
            items: Vec::new(),
            size: 0,
            stream: None,
            is_started: false,
            objects: false,
        }
    }

    /// Adds an item. The fields are members of its JSON.
    pub(crate) fn push(&mut self, item: &impl Serialize) {
        let item = to_json(item);
        self.size += item.len();
        self.items.push(item);
    }

    /// Adds an item of a list of any length. Prints NDJSON in chunks. In other formats, returns an error if the list
    /// exceeds [`LIST_MAX`].
    pub(crate) fn try_push(&mut self, item: &impl Serialize) -> Result<(), CliError> {
        self.push(item);
        let Some(screen) = &self.stream else { return check_list_size(self.size) };
        if self.size >= CHUNK {
            screen.data(false, |out| written(formats::ndjson(out, self)))?;
            self.items.clear();
            (self.size, self.is_started) = (0, true);
        }
        Ok(())
    }

    /// Adds columns for members of the object field: the most common ones, or those of `--columns`. Items are
    /// pushed newest first.
    pub(crate) fn lay_out_labels(&mut self, columns: Option<&str>) -> Result<(), CliError> {
        self.labels = Some(columns.map(select::labels).transpose()?.unwrap_or_default());
        Ok(())
    }

    /// Returns the member names of an item's JSON.
    pub(super) fn names(&self) -> Vec<&str> {
        match &self.picks {
            Some(picks) => picks.iter().map(|pick| &*pick.name).collect(),
            None => self.fields.iter().map(|field| field.name).collect(),
        }
    }

    /// Adds a column with the JSON of each object.
    pub(super) fn objects_have_columns(&mut self) {
        self.objects = true;
    }

    fn has_column(&self, field: &Field) -> bool {
        field.position != ColumnPosition::JsonOnly || self.objects && field.kind == Kind::Object
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && !self.is_started
    }

    /// Sets the destination of the chunks that [`try_push`](Self::try_push) prints.
    pub(super) fn stream_to(&mut self, screen: Screen) {
        self.stream = Some(screen);
    }

    /// Returns the JSON of each item, or an object with the fields of `--json`. Values are unchanged.
    pub(super) fn json(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.items.iter().map(|item| match &self.picks {
            None => Cow::Borrowed(&**item),
            Some(picks) => Cow::Owned(self.picked_json(item, picks)),
        })
    }

    fn picked_json(&self, item: &str, picks: &[Pick]) -> String {
        let members = members(item);
        let mut json = String::from("{");
        for pick in picks {
            if json.len() > 1 {
                json.push(',');
            }
            json.push_str(&to_json(&pick.name));
            json.push(':');
            json.push_str(self.value(&members, pick).unwrap_or("null"));
        }
        json.push('}');
        json
    }

    fn value<'a>(&self, members: &Members<'a>, pick: &Pick) -> Option<&'a str> {
        let value = *members.get(self.fields[pick.field].name)?;
        match &pick.member {
            None => Some(value),
            Some(member) => self::members(value).get(&**member).copied(),
        }
    }

    /// Returns the requested labels that no item has. Empty if there are no items.
    pub(super) fn missing_labels(&self) -> Vec<String> {
        if self.items.is_empty() || self.is_started {
            return Vec::new();
        }
        let is_missing = |pick: &&Pick| {
            let has_it = |item: &String| self.value(&members(item), pick).is_some();
            pick.member.is_some() && !self.items.iter().any(has_it)
        };
        let picks = self.picks.iter().flatten().filter(is_missing).map(|pick| pick.name.clone());
        let mut missing: Vec<String> = picks.collect();
        if self.labels.as_ref().is_some_and(|labels| !labels.is_empty()) {
            missing.extend_from_slice(self.answer_columns().missing());
        }
        missing
    }

    /// Returns the items as rows.
    pub(super) fn grid(&self) -> Grid<'_> {
        if let Some(picks) = &self.picks {
            let columns = picks.iter().map(|pick| self.picked_column(pick)).collect();
            let rows = self.items.len();
            return Grid::new(columns, rows, move |at| self.picked_row(&self.items[at], picks));
        }
        let answers = self.answer_columns();
        let more = answers.names().iter().map(|name| Column {
            name: name.clone(),
            field: format!("data.{}", name.replace('\\', "\\\\").replace(',', "\\,")),
            kind: Kind::Any,
            last_in_tables: false,
        });
        let columns = self.own_columns().chain(more).collect();
        Grid::new(columns, self.items.len(), move |at| self.row(&self.items[at], &answers))
    }

    fn object_field(&self) -> Option<usize> {
        self.fields.iter().position(|field| field.kind == Kind::Object)
    }

    fn answer_columns(&self) -> AnswerColumns {
        let (Some(labels), Some(field)) = (&self.labels, self.object_field()) else {
            return AnswerColumns::default();
        };
        let name = self.fields[field].name;
        let objects = self.items.iter().map(|item| member(item, name).unwrap_or("{}"));
        AnswerColumns::new(objects, labels, LABELS_MAX)
    }

    fn own_columns(&self) -> impl Iterator<Item = Column> {
        self.fields.iter().filter(|field| self.has_column(field)).map(|field| Column {
            name: field.name.to_owned(),
            field: field.name.to_owned(),
            kind: field.kind,
            last_in_tables: field.position == ColumnPosition::LastInTables,
        })
    }

    fn picked_column(&self, pick: &Pick) -> Column {
        let kind = if pick.member.is_none() { self.fields[pick.field].kind } else { Kind::Any };
        let (name, field) = (pick.name.clone(), pick.name.clone());
        Column { name, field, kind, last_in_tables: false }
    }

    fn picked_row<'a>(&self, item: &'a str, picks: &[Pick]) -> Vec<Cell<'a>> {
        let members = members(item);
        picks.iter().map(|pick| cell(self.value(&members, pick).unwrap_or("null"))).collect()
    }

    fn row<'a>(&self, item: &'a str, answers: &AnswerColumns) -> Vec<Cell<'a>> {
        let members = members(item);
        let value = |field: &Field| members.get(field.name).copied();
        let own = self.fields.iter().filter(|field| self.has_column(field));
        let own = own.map(|field| cell(value(field).unwrap_or("null")));
        let object = self.object_field().and_then(|at| value(&self.fields[at]));
        let answers = match (&self.labels, object) {
            (Some(_), object) => answers.cells(object.unwrap_or("{}")),
            (None, _) => Vec::new(),
        };
        own.chain(answers).collect()
    }
}

/// The members of a JSON object: decoded names, values as literals.
type Members<'a> = HashMap<Cow<'a, str>, &'a str>;

/// Returns the members of an object; none if the text is not an object. If a name is repeated, the last member
/// counts, as in most JSON readers.
fn members(object: &str) -> Members<'_> {
    let pairs = pairs(object).into_iter();
    pairs.map(|(name, value)| (decode_string(name.get()), value.get())).collect()
}

/// Returns the value of a member of an object.
fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    members(object).get(name).copied()
}

/// Returns the names and values of an object as literals, in order; none if the text is not an object.
pub(super) fn pairs(object: &str) -> Vec<(&RawValue, &RawValue)> {
    members::of_object(object).unwrap_or_default()
}

/// Returns an item as JSON.
pub(crate) fn to_json(item: &impl Serialize) -> String {
    serde_json::to_string(item).expect("items have text keys and serialize")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::select::picks;

    const FIELDS: &[Field] = &[
        Field::new("id").last(),
        Field::new("size"),
        Field::object("data"),
        Field::new("note").json_only(),
    ];

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    fn listing(fields: Option<&str>) -> Listing {
        let picks = fields.map(|fields| picks(fields, FIELDS).unwrap());
        let mut listing = Listing::new(FIELDS, picks);
        listing.lay_out_labels(None).unwrap();
        let json = r#"{"id":"a","size":12345678901234567890,"data":{"x":1.10,"y":[1, 2],"x":1.20},"note":"n"}"#;
        listing.push(&raw(json));
        listing.push(&raw(r#"{"id":"b"}"#));
        listing
    }

    #[test]
    fn list_beyond_the_size_limit_is_refused() {
        assert!(check_list_size(LIST_MAX).is_ok());
        let error = check_list_size(LIST_MAX + 1).unwrap_err().to_text();
        assert!(error.contains("exceeds 64 MiB") && error.contains("--output ndjson"), "{error}");
        let mut listing = Listing::new(FIELDS, None);
        let item = "x".repeat(LIST_MAX / 2);
        assert!(listing.try_push(&item).is_ok() && listing.try_push(&item).is_err());
    }

    #[test]
    fn chosen_fields_keep_order_and_spelling() {
        let listing = listing(Some("size,data.y,id,data.x,data.gone"));
        let json: Vec<_> = listing.json().map(Cow::into_owned).collect();
        assert_eq!(
            json,
            [
                r#"{"size":12345678901234567890,"data.y":[1, 2],"id":"a","data.x":1.20,"data.gone":null}"#,
                r#"{"size":null,"data.y":null,"id":"b","data.x":null,"data.gone":null}"#
            ]
        );
    }

    #[test]
    fn label_that_no_item_has_is_missing() {
        let some = listing(Some("id,data.x,data.gone"));
        assert_eq!(some.missing_labels(), ["data.gone"]);
        assert!(listing(Some("id,data.x,data.y,data,note")).missing_labels().is_empty());
        assert!(listing(None).missing_labels().is_empty());
        let none = Listing::new(FIELDS, Some(picks("data.gone", FIELDS).unwrap()));
        assert!(none.missing_labels().is_empty());
    }

    #[test]
    fn columns_are_the_fields_and_labels_or_the_chosen_ones() {
        let shown = |listing: &Listing| {
            let grid = listing.grid();
            let names: Vec<String> =
                grid.columns.iter().map(|column| column.name.clone()).collect();
            let first: Vec<String> =
                grid.rows().next().unwrap().iter().map(|cell| cell.text.to_string()).collect();
            (names.join("|"), first.join("|"))
        };
        let all = listing(None);
        let first = "a|12345678901234567890|1.10|[1, 2]|1.20";
        assert_eq!(shown(&all), ("id|size|x|y|x (2)".into(), first.into()));
        assert!(all.grid().columns[0].last_in_tables);
        let some = listing(Some("note,data.x,data"));
        let data = r#"{"x":1.10,"y":[1, 2],"x":1.20}"#;
        assert_eq!(shown(&some), ("note|data.x|data".into(), format!("n|1.20|{data}")));
    }

    #[test]
    fn chosen_labels_are_columns_and_missing_ones_reported() {
        let mut listing = listing(None);
        listing.lay_out_labels(Some("y, gone,y,a\\,b")).unwrap();
        let columns = listing.grid().columns;
        let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["id", "size", "y", "gone", "a,b"]);
        assert_eq!(listing.missing_labels(), ["gone", "a,b"]);
        assert!(listing.lay_out_labels(Some(" , ")).is_err());
    }
}
