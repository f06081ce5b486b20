//! The fields of what a command shows: one table a command, from which columns, `--json` and its
//! list of fields follow.

/// A field of an item, known before anything is asked of the service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// Its name, as the item's JSON has it.
    pub(crate) name: &'static str,
    /// What its values are.
    pub(crate) kind: Kind,
    /// Where it stands when there are columns.
    pub(crate) column: Place,
}

/// What the values of a field are, for those who show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Anything; a column of nothing but numbers is aligned like one.
    Any,
    /// An id: shown whole, or not at all where there is no room; half an id is no id.
    Id,
    /// An id by which people tell items apart, and which no command asks for: of a long one the middle goes
    /// where there are columns.
    Mark,
    /// An address: like an id, whole or not at all.
    Address,
    /// An RFC 3339 instant.
    Time,
    /// One that is most often of the last minutes, told in few characters where there are columns.
    Recent,
    /// A word of a closed set, which has a colour.
    Status,
    /// An object: its members are fields as well, such as `data.LABEL`.
    Object,
}

impl Kind {
    /// Whether a value is shown whole or not at all.
    pub(super) fn is_whole(self) -> bool {
        match self {
            Self::Id | Self::Address | Self::Time | Self::Recent | Self::Status => true,
            Self::Any | Self::Mark | Self::Object => false,
        }
    }

    /// Whether a value is shown whole where there is a line for it: somebody may copy it.
    pub(super) fn is_copied(self) -> bool {
        self.is_whole() || self == Self::Mark
    }
}

/// Where a field stands when there are columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In its turn.
    InTurn,
    /// In its turn, but last in tables, where space is short: an id is long and tells a reader
    /// little.
    LastInTables,
    /// Nowhere: only JSON has it.
    Nowhere,
}

impl Field {
    /// A field of any values.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, kind: Kind::Any, column: Place::InTurn }
    }

    /// A field of ids.
    pub(crate) const fn id(name: &'static str) -> Self {
        Self { name, kind: Kind::Id, column: Place::InTurn }
    }

    /// A field of ids that tell items apart.
    pub(crate) const fn mark(name: &'static str) -> Self {
        Self { name, kind: Kind::Mark, column: Place::InTurn }
    }

    /// A field of addresses.
    pub(crate) const fn address(name: &'static str) -> Self {
        Self { name, kind: Kind::Address, column: Place::InTurn }
    }

    /// A field of instants.
    pub(crate) const fn time(name: &'static str) -> Self {
        Self { name, kind: Kind::Time, column: Place::InTurn }
    }

    /// A field of instants that are most often of the last minutes.
    pub(crate) const fn recent(name: &'static str) -> Self {
        Self { name, kind: Kind::Recent, column: Place::InTurn }
    }

    /// A field of a closed set of words, or of statuses of HTTP.
    pub(crate) const fn status(name: &'static str) -> Self {
        Self { name, kind: Kind::Status, column: Place::InTurn }
    }

    /// A field of objects, without a column: whoever lists the items lays out its members.
    pub(crate) const fn object(name: &'static str) -> Self {
        Self { name, kind: Kind::Object, column: Place::Nowhere }
    }

    /// The field, last in tables.
    #[must_use]
    pub(crate) const fn last(mut self) -> Self {
        self.column = Place::LastInTables;
        self
    }

    /// The field, in JSON only.
    #[must_use]
    pub(crate) const fn json_only(mut self) -> Self {
        self.column = Place::Nowhere;
        self
    }
}
