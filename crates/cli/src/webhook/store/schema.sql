CREATE TABLE captures (
    number INTEGER PRIMARY KEY,
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
    -- Whether the service is known to have sent it, or nobody could look. Anybody can send the others.
    proven INTEGER NOT NULL,
    -- Bytes that it takes up, about.
    size INTEGER NOT NULL,
    -- `name: value`, each with a line feed at its end; values are bytes.
    headers BLOB NOT NULL,
    -- Last: what comes before is read without it.
    body BLOB NOT NULL
) STRICT;

-- The oldest of what is not proven. Of the others there are most, and each would have to be entered.
CREATE INDEX captures_unproven ON captures (number) WHERE NOT proven;

-- One row, which a commit writes once however much it adds.
CREATE TABLE counters (
    -- The last number that was given. None is given again, not even after everything was removed.
    number INTEGER NOT NULL,
    -- What those take up that are not proven: a sum over them would cost each delivery the more, the more of
    -- them a stranger sends.
    unproven INTEGER NOT NULL
) STRICT;

INSERT INTO counters (number, unproven) VALUES (0, 0);

CREATE TRIGGER unproven_went AFTER DELETE ON captures WHEN NOT OLD.proven BEGIN
    UPDATE counters SET unproven = unproven - OLD.size;
END;

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
