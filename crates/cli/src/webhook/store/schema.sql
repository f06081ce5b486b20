-- Numbers are not used again, not even after everything was removed.
CREATE TABLE captures (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Nanoseconds since 1970.
    at INTEGER NOT NULL,
    -- An address and port, or 'poll'.
    source TEXT NOT NULL,
    method TEXT NOT NULL,
    request_target TEXT NOT NULL,
    verdict TEXT NOT NULL,
    secret TEXT,
    age INTEGER,
    event TEXT,
    submission_id TEXT,
    form_id TEXT,
    arrival INTEGER NOT NULL,
    -- Nanoseconds.
    gap INTEGER,
    duplicate INTEGER NOT NULL,
    -- `name: value`, each with a line feed at its end; values are bytes.
    headers BLOB NOT NULL,
    -- Last: what comes before is read without it.
    body BLOB NOT NULL
) STRICT;

-- Apart, since to change a row is to write its body again.
CREATE TABLE outcomes (
    number INTEGER PRIMARY KEY,
    status INTEGER,
    answered_by TEXT NOT NULL,
    -- Nanoseconds.
    took INTEGER NOT NULL,
    -- The place of the forward that the answer is that of.
    decided_by INTEGER
) STRICT;

CREATE TABLE forwards (
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    url TEXT NOT NULL,
    took INTEGER NOT NULL,
    -- Why nothing came back.
    error TEXT,
    timed_out INTEGER,
    status INTEGER,
    truncated INTEGER,
    headers BLOB,
    body BLOB,
    PRIMARY KEY (number, place)
) STRICT, WITHOUT ROWID;
