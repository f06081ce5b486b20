//! What a command shows: items, each as the JSON it came from. Columns are read out of that JSON, so
//! that a command says what it shows only once.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use formsvc_contract::members;
use formsvc_protocol::decode_string;
use formsvc_table::{Cell, cell};
use serde::Serialize;
use serde_json::value::RawValue;

use super::answer_columns::{AnswerColumns, IN_FILES, LabelLimit};
use super::field::{Field, Kind, Place};
use super::grid::{Column, Grid};
use super::select::{self, Pick};
use crate::base::suggest::did_you_mean;
use crate::error::CliError;

/// Items to show. Made by [`Output::listing`](super::Output::listing), filled by the command.
#[derive(Debug)]
pub(crate) struct Listing {
    fields: &'static [Field],
    /// The fields that were asked for, if any were.
    picks: Option<Vec<Pick>>,
    /// Which members of the first object field get columns of their own; none if no object is laid out.
    labels: Option<Labels>,
    /// Each item as JSON.
    items: Vec<String>,
    /// Whether objects have a column, where nobody lays out their members.
    objects: bool,
}

/// Which labels get columns.
#[derive(Debug)]
enum Labels {
    MostCommon,
    Chosen(Vec<String>),
}

impl Listing {
    pub(super) fn new(fields: &'static [Field], picks: Option<Vec<Pick>>) -> Self {
        Self { fields, picks, labels: None, items: Vec::new(), objects: false }
    }

    /// Adds an item; its columns are its JSON's members by the names of the fields.
    pub(crate) fn push(&mut self, item: &impl Serialize) {
        self.items.push(to_json(item));
    }

    /// Gives the members of the object field columns of their own, after those of the fields: the most
    /// common ones, or those that `columns` names as `--columns` does. Items are pushed newest first.
    pub(crate) fn lay_out_labels(&mut self, columns: Option<&str>) -> Result<(), CliError> {
        self.labels = Some(match columns {
            None => Labels::MostCommon,
            Some(columns) => Labels::Chosen(select::labels(columns)?),
        });
        Ok(())
    }

    /// The names of the members of each item's JSON.
    pub(super) fn names(&self) -> Vec<&str> {
        match &self.picks {
            Some(picks) => picks.iter().map(|pick| &*pick.name).collect(),
            None => self.fields.iter().map(|field| field.name).collect(),
        }
    }

    /// Shows objects as the JSON they are, where nobody lays out their members.
    pub(super) fn objects_have_columns(&mut self) {
        self.objects = true;
    }

    fn has_column(&self, field: &Field) -> bool {
        field.column != Place::Nowhere || self.objects && field.kind == Kind::Object
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Each item as JSON: as it came, or with only what was asked for, each value as it came.
    pub(super) fn json(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.items.iter().map(|item| match &self.picks {
            None => Cow::Borrowed(&**item),
            Some(picks) => Cow::Owned(self.picked_json(item, picks)),
        })
    }

    /// Like [`json`](Self::json), but frees each item when the next one is taken.
    pub(super) fn into_json(mut self) -> impl Iterator<Item = String> {
        let items = std::mem::take(&mut self.items);
        items.into_iter().map(move |item| match &self.picks {
            None => item,
            Some(picks) => self.picked_json(&item, picks),
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

    /// The requested members and labels that no item has, each with one that looks like it. None where
    /// there are no items.
    pub(super) fn asked_in_vain(&self) -> Vec<(String, Option<String>)> {
        if self.items.is_empty() {
            return Vec::new();
        }
        let mut missing: Vec<(String, usize, String)> = Vec::new();
        for pick in self.picks.iter().flatten() {
            let Some(member) = &pick.member else { continue };
            let has_it = |item: &String| self.value(&members(item), pick).is_some();
            if !self.items.iter().any(has_it) {
                missing.push((pick.name.clone(), pick.field, member.clone()));
            }
        }
        if let (Some(Labels::Chosen(_)), Some(field)) = (&self.labels, self.object_field()) {
            let labels = self.answer_columns(IN_FILES).missing().to_vec();
            missing.extend(labels.into_iter().map(|label| (label.clone(), field, label)));
        }
        let near = |field: usize, name: &str| {
            let name_of_field = self.fields[field].name;
            let objects = self.items.iter().filter_map(|item| member(item, name_of_field));
            let known: BTreeSet<Cow<'_, str>> =
                objects.flat_map(|object| members(object).into_keys()).collect();
            did_you_mean(name, known.iter().map(AsRef::as_ref))
        };
        missing.into_iter().map(|(name, field, member)| (name, near(field, &member))).collect()
    }

    /// The items as rows under headings, with at most so many columns of labels.
    pub(super) fn grid(&self, limit: LabelLimit) -> Grid<'_> {
        if let Some(picks) = &self.picks {
            let columns = picks.iter().map(|pick| self.picked_column(pick)).collect();
            let rows = self.items.len();
            return Grid::new(columns, 0, rows, move |at| self.picked_row(&self.items[at], picks));
        }
        let answers = self.answer_columns(limit);
        let more = answers.names().iter().map(|name| Column {
            name: name.clone(),
            kind: Kind::Any,
            last_in_tables: false,
        });
        let columns = self.own_columns().chain(more).collect();
        Grid::new(columns, answers.left_out(), self.items.len(), move |at| {
            self.row(&self.items[at], &answers)
        })
    }

    fn object_field(&self) -> Option<usize> {
        self.fields.iter().position(|field| field.kind == Kind::Object)
    }

    fn answer_columns(&self, limit: LabelLimit) -> AnswerColumns {
        let (Some(labels), Some(field)) = (&self.labels, self.object_field()) else {
            return AnswerColumns::default();
        };
        let name = self.fields[field].name;
        let objects = self.items.iter().map(|item| member(item, name).unwrap_or("{}"));
        let chosen = match labels {
            Labels::MostCommon => &[][..],
            Labels::Chosen(labels) => labels,
        };
        AnswerColumns::new(objects, chosen, limit)
    }

    fn own_columns(&self) -> impl Iterator<Item = Column> {
        self.fields.iter().filter(|field| self.has_column(field)).map(|field| Column {
            name: field.name.to_owned(),
            kind: field.kind,
            last_in_tables: field.column == Place::LastInTables,
        })
    }

    fn picked_column(&self, pick: &Pick) -> Column {
        let kind = if pick.member.is_none() { self.fields[pick.field].kind } else { Kind::Any };
        Column { name: pick.name.clone(), kind, last_in_tables: false }
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

/// The values of a JSON object by name, each as its literal.
type Members<'a> = HashMap<Cow<'a, str>, &'a str>;

/// The members of an object; none if the text is no object. Of two with one name the last counts, as
/// it does for nearly every reader of JSON.
fn members(object: &str) -> Members<'_> {
    let pairs = pairs(object).into_iter();
    pairs.map(|(name, value)| (decode_string(name.get()), value.get())).collect()
}

/// The value of one member of an object.
fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    members(object).get(name).copied()
}

/// The names and values of an object as literals, in order; none if the text is no object.
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

    fn listing(asked: Option<&str>) -> Listing {
        let picks = asked.map(|asked| picks(asked, FIELDS).unwrap());
        let mut listing = Listing::new(FIELDS, picks);
        listing.lay_out_labels(None).unwrap();
        let json = r#"{"id":"a","size":12345678901234567890,"data":{"x":1.10,"y":[1, 2],"x":1.20},"note":"n"}"#;
        listing.push(&raw(json));
        listing.push(&raw(r#"{"id":"b"}"#));
        listing
    }

    #[test]
    fn what_was_asked_for_comes_as_it_was_spelled() {
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
    fn a_member_that_no_item_has_was_asked_for_in_vain() {
        let some = listing(Some("id,data.x,data.gone"));
        assert_eq!(some.asked_in_vain(), [("data.gone".to_owned(), None)]);
        assert!(listing(Some("id,data.x,data.y,data,note")).asked_in_vain().is_empty());
        assert!(listing(None).asked_in_vain().is_empty());
        let none = Listing::new(FIELDS, Some(picks("data.gone", FIELDS).unwrap()));
        assert!(none.asked_in_vain().is_empty());
    }

    #[test]
    fn columns_are_the_fields_and_what_follows_them_or_what_was_asked_for() {
        let shown = |listing: &Listing| {
            let grid = listing.grid(IN_FILES);
            let names: Vec<String> =
                grid.columns.iter().map(|column| column.name.clone()).collect();
            let first: Vec<String> =
                grid.rows().next().unwrap().iter().map(|cell| cell.text.to_string()).collect();
            (names.join("|"), first.join("|"))
        };
        let all = listing(None);
        let first = "a|12345678901234567890|1.10|[1, 2]|1.20";
        assert_eq!(shown(&all), ("id|size|x|y|x (2)".into(), first.into()));
        assert!(all.grid(IN_FILES).columns[0].last_in_tables);
        let some = listing(Some("note,data.x,data"));
        let data = r#"{"x":1.10,"y":[1, 2],"x":1.20}"#;
        assert_eq!(shown(&some), ("note|data.x|data".into(), format!("n|1.20|{data}")));
    }

    #[test]
    fn chosen_labels_are_columns_and_missing_ones_reported() {
        let mut listing = listing(None);
        listing.lay_out_labels(Some("y, gone,y,a\\,b")).unwrap();
        let columns = listing.grid(IN_FILES).columns;
        let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["id", "size", "y", "gone", "a,b"]);
        assert_eq!(listing.asked_in_vain(), ["gone", "a,b"].map(|name| (name.to_owned(), None)));
        assert!(listing.lay_out_labels(Some(" , ")).is_err());
    }
}
