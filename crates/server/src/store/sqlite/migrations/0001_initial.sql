-- Times are microseconds since 1970-01-01T00:00:00Z.

CREATE TABLE users (
    user_no    INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    email      TEXT NOT NULL,
    email_key  TEXT NOT NULL UNIQUE, -- lower case
    name       TEXT NOT NULL,
    created_us INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
    key_no     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    user_no    INTEGER NOT NULL REFERENCES users,
    name       TEXT NOT NULL,
    prefix     TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_us INTEGER NOT NULL,
    revoked_us INTEGER
) STRICT;
CREATE INDEX api_keys_by_user ON api_keys (user_no, created_us);

CREATE TABLE forms (
    form_no         INTEGER PRIMARY KEY CHECK (form_no BETWEEN 1 AND 0x7fffff), -- 23 bits, see submissions.key
    id              TEXT NOT NULL UNIQUE,
    user_no         INTEGER NOT NULL REFERENCES users,
    public_id       TEXT NOT NULL UNIQUE,
    title           TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('draft', 'published', 'closed')),
    ready           INTEGER NOT NULL CHECK (ready IN (0, 1)), -- 0: under import, seen by nobody
    created_us      INTEGER NOT NULL,
    updated_us      INTEGER NOT NULL,
    last_seq        INTEGER NOT NULL, -- of its newest submission; 0 when it has none
    last_instant_us INTEGER           -- of its newest submission
) STRICT;
CREATE INDEX forms_by_user ON forms (user_no, created_us);

-- Clustered by form, in order: a page is one seek and one scan of neighbours.
CREATE TABLE submissions (
    key        INTEGER PRIMARY KEY, -- form_no << 40 | seq, seq from 1
    form_no    INTEGER NOT NULL REFERENCES forms CHECK (form_no = key >> 40),
    instant_us INTEGER NOT NULL,
    id         ANY NOT NULL UNIQUE,  -- 16 bytes of an id made here, else its text
    item       TEXT NOT NULL         -- the JSON that pages show
) STRICT;
CREATE UNIQUE INDEX submissions_by_instant ON submissions (form_no, instant_us);

-- Written to find out whether the database takes writes.
CREATE TABLE probe (one INTEGER PRIMARY KEY CHECK (one = 1), written_us INTEGER NOT NULL) STRICT;
INSERT INTO probe VALUES (1, 0);
