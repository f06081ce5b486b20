//! Fields of the items that a command prints. Each command has one table of fields, which defines the columns
//! and the names for `--json`.

/// A field of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// The member name in the JSON of the item.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) position: ColumnPosition,
}

/// The kind of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Values of any type. A column of numbers is aligned right.
    Any,
    /// An id, never truncated.
    Id,
    /// A URL, never truncated.
    Address,
    /// An RFC 3339 instant.
    Time,
    /// A word of a closed set, or an HTTP status. The value determines its colour.
    Status,
    /// An object. Its members are fields as well, such as `data.LABEL`.
    Object,
}

/// The position of a field's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnPosition {
    /// In the order of the fields.
    InOrder,
    /// On the right of tables. A table drops its rightmost columns first. Other formats keep the order of the
    /// fields.
    LastInTables,
    /// Only JSON has the field.
    JsonOnly,
}

impl Kind {
    /// Returns true if a value is never truncated or wrapped.
    pub(super) fn is_whole(self) -> bool {
        !matches!(self, Self::Any | Self::Object)
    }
}

impl Field {
    const fn of_kind(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, position: ColumnPosition::InOrder }
    }

    /// A field of any values.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self::of_kind(name, Kind::Any)
    }

    /// A field of ids.
    pub(crate) const fn id(name: &'static str) -> Self {
        Self::of_kind(name, Kind::Id)
    }

    /// A field of URLs.
    pub(crate) const fn address(name: &'static str) -> Self {
        Self::of_kind(name, Kind::Address)
    }

    /// A field of instants.
    pub(crate) const fn time(name: &'static str) -> Self {
        Self::of_kind(name, Kind::Time)
    }

    /// A field of words of a closed set, or of HTTP statuses.
    pub(crate) const fn status(name: &'static str) -> Self {
        Self::of_kind(name, Kind::Status)
    }

    /// A field of objects. The members can have columns, the object itself has none.
    pub(crate) const fn object(name: &'static str) -> Self {
        Self { name, kind: Kind::Object, position: ColumnPosition::JsonOnly }
    }

    /// Moves the column to the right of tables.
    #[must_use]
    pub(crate) const fn last(mut self) -> Self {
        self.position = ColumnPosition::LastInTables;
        self
    }

    /// Removes the column, so that only JSON has the field.
    #[must_use]
    pub(crate) const fn json_only(mut self) -> Self {
        self.position = ColumnPosition::JsonOnly;
        self
    }
}
