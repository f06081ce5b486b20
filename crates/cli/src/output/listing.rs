//! What a command shows: items, each as the JSON it came from. Columns are read out of that JSON, so
//! that a command says what it shows only once.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use formsvc_contract::members;
use formsvc_export::{Cell, cell};
use formsvc_protocol::text_of;
use serde::Serialize;
use serde_json::value::RawValue;

use super::field::{Field, Kind, Place};
use super::select::Pick;
use crate::context::to_json;
use crate::suggest::did_you_mean;

/// Items to show. Made by [`Output::listing`](super::Output::listing), filled by the command.
#[derive(Debug)]
pub(crate) struct Listing {
    fields: &'static [Field],
    /// The fields that were asked for, if any were.
    picks: Option<Vec<Pick>>,
    /// Headings of the columns that are known only when the items are.
    more: Vec<String>,
    items: Vec<Item>,
    /// Whether objects have a column, where nobody lays out their members.
    objects: bool,
}

#[derive(Debug)]
struct Item {
    json: String,
    /// The cells under `more`.
    more: Vec<Cell<'static>>,
}

/// A heading, and what stands under it.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) last_in_tables: bool,
}

/// The items as rows under headings.
#[derive(Debug)]
pub(super) struct Grid<'a> {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell<'a>>>,
}

impl Listing {
    pub(super) fn new(fields: &'static [Field], picks: Option<Vec<Pick>>) -> Self {
        Self { fields, picks, more: Vec::new(), items: Vec::new(), objects: false }
    }

    /// Adds an item; its columns are its JSON's members by the names of the fields.
    pub(crate) fn push(&mut self, item: &impl Serialize) {
        self.push_with(item, Vec::new());
    }

    /// Adds an item with cells for the columns that follow those of the fields.
    pub(crate) fn push_with(&mut self, item: &impl Serialize, more: Vec<Cell<'static>>) {
        self.items.push(Item { json: to_json(item), more });
    }

    /// Names the columns that follow those of the fields.
    pub(crate) fn more_columns<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        self.more = names.into_iter().map(str::to_owned).collect();
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

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Each item as JSON: as it came, or with only what was asked for, each value as it came.
    pub(super) fn json(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.items.iter().map(|item| match &self.picks {
            None => Cow::Borrowed(&*item.json),
            Some(picks) => Cow::Owned(self.picked_json(&item.json, picks)),
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

    /// The members that were asked for and that no item has, each as it was asked for, with one that is
    /// there and looks like it. None where there are no items.
    pub(super) fn asked_in_vain(&self) -> Vec<(&str, Option<String>)> {
        let wanted = self.picks.iter().flatten();
        let wanted: Vec<(&Pick, &str)> =
            wanted.filter_map(|pick| Some((pick, pick.member.as_deref()?))).collect();
        if wanted.is_empty() || self.items.is_empty() {
            return Vec::new();
        }
        let mut known: HashMap<usize, BTreeSet<Cow<'_, str>>> = HashMap::new();
        for item in &self.items {
            let members = members(&item.json);
            for (pick, _) in &wanted {
                let of = members.get(self.fields[pick.field].name).copied().unwrap_or_default();
                known.entry(pick.field).or_default().extend(self::members(of).into_keys());
            }
        }
        let wanted = wanted.into_iter().filter_map(|(pick, member)| {
            let known = known.get(&pick.field)?;
            let near = || did_you_mean(member, known.iter().map(AsRef::as_ref));
            (!known.contains(member)).then(|| (&*pick.name, near()))
        });
        wanted.collect()
    }

    /// The items as rows under headings.
    pub(super) fn grid(&self) -> Grid<'_> {
        let columns: Vec<Column> = if let Some(picks) = &self.picks {
            picks.iter().map(|pick| self.picked_column(pick)).collect()
        } else {
            let more = self.more.iter().map(|name| Column {
                name: name.clone(),
                kind: Kind::Any,
                last_in_tables: false,
            });
            self.own_columns().chain(more).collect()
        };
        let rows = self.items.iter().map(|item| self.row(item)).collect();
        Grid { columns, rows }
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

    fn row<'a>(&'a self, item: &'a Item) -> Vec<Cell<'a>> {
        let members = members(&item.json);
        let shown = |value: Option<&'a str>| cell(value.unwrap_or("null"));
        if let Some(picks) = &self.picks {
            return picks.iter().map(|pick| shown(self.value(&members, pick))).collect();
        }
        let own = self.fields.iter().filter(|field| self.has_column(field));
        own.map(|field| shown(members.get(field.name).copied()))
            .chain(item.more.iter().cloned())
            .collect()
    }
}

/// The values of a JSON object by name, each as its literal.
type Members<'a> = HashMap<Cow<'a, str>, &'a str>;

/// The members of an object; none if the text is no object. Of two with one name the last counts, as
/// it does for nearly every reader of JSON.
fn members(object: &str) -> Members<'_> {
    let pairs = pairs(object).into_iter();
    pairs.map(|(name, value)| (text_of(name.get()), value.get())).collect()
}

/// The names and values of an object as literals, in order; none if the text is no object.
pub(super) fn pairs(object: &str) -> Vec<(&RawValue, &RawValue)> {
    members::of_object(object).unwrap_or_default()
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
        listing.more_columns(["amount"]);
        let json = r#"{"id":"a","size":12345678901234567890,"data":{"x":1.10,"y":[1, 2],"x":1.20},"note":"n"}"#;
        listing.push_with(&raw(json), vec![cell("1.10").into_owned()]);
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
        assert_eq!(some.asked_in_vain(), [("data.gone", None)]);
        assert!(listing(Some("id,data.x,data.y,data,note")).asked_in_vain().is_empty());
        assert!(listing(None).asked_in_vain().is_empty());
        let none = Listing::new(FIELDS, Some(picks("data.gone", FIELDS).unwrap()));
        assert!(none.asked_in_vain().is_empty());
    }

    #[test]
    fn columns_are_the_fields_and_what_follows_them_or_what_was_asked_for() {
        let shown = |listing: &Listing| {
            let grid = listing.grid();
            let names: Vec<String> =
                grid.columns.iter().map(|column| column.name.clone()).collect();
            let first: Vec<String> =
                grid.rows[0].iter().map(|cell| cell.text.to_string()).collect();
            (names.join("|"), first.join("|"))
        };
        let all = listing(None);
        assert_eq!(shown(&all), ("id|size|amount".into(), "a|12345678901234567890|1.10".into()));
        assert!(all.grid().columns[0].last_in_tables);
        let some = listing(Some("note,data.x,data"));
        let data = r#"{"x":1.10,"y":[1, 2],"x":1.20}"#;
        assert_eq!(shown(&some), ("note|data.x|data".into(), format!("n|1.20|{data}")));
    }
}
