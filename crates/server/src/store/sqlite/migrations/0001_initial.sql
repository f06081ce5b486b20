-- Times are microseconds since 1970-01-01T00:00:00Z.

CREATE TABLE users (
    user_no    INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    email      TEXT NOT NULL,
    email_key  TEXT NOT NULL UNIQUE, -- lower case
    name       TEXT NOT NULL,
    password   TEXT,          -- hash as a PHC string; null: cannot sign in
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
    revoked_us INTEGER,
    used_us    INTEGER        -- when it last came with a request, to a minute
) STRICT;
CREATE INDEX api_keys_by_user ON api_keys (user_no, created_us);

-- Browsers that are signed in.
CREATE TABLE sessions (
    token      BLOB NOT NULL PRIMARY KEY CHECK (length(token) = 32), -- SHA-256
    user_no    INTEGER NOT NULL REFERENCES users,
    created_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_no);
CREATE INDEX sessions_by_end ON sessions (expires_us);

-- Links that set a password, once.
CREATE TABLE links (
    token      BLOB NOT NULL PRIMARY KEY CHECK (length(token) = 32), -- SHA-256
    user_no    INTEGER REFERENCES users, -- null: makes the first owner
    expires_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- One for each user, and one for the first owner.
CREATE UNIQUE INDEX links_by_user ON links (coalesce(user_no, 0));

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
    revision        INTEGER NOT NULL DEFAULT 1, -- of title, status, fields and origins: another with each change
    last_seq        INTEGER NOT NULL, -- of its newest submission; 0 when it never had one
    pruned          INTEGER NOT NULL DEFAULT 0, -- submissions that are no more: it has last_seq less these
    last_instant_us INTEGER,          -- of its newest submission
    fields          TEXT,             -- JSON, field definitions as given; null: takes any answers
    origins         TEXT              -- JSON, origins whose pages may submit; null: all
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
-- Pages that have one of these are read on a thread of their own.
CREATE INDEX large_submissions ON submissions (form_no, instant_us) WHERE octet_length(item) > 4096;

-- What tells a repeated submission from a new one, for a day. Its rows stand in the order of time.
CREATE TABLE idempotency (
    no          INTEGER PRIMARY KEY,
    form_no     INTEGER NOT NULL REFERENCES forms,
    key         BLOB NOT NULL CHECK (length(key) = 32),         -- digest
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32), -- digest of what was sent
    submission  INTEGER NOT NULL,                               -- key of what was accepted
    created_us  INTEGER NOT NULL,
    UNIQUE (form_no, key)
) STRICT;

-- Sent by machines. No submissions, and never delivered.
CREATE TABLE spam (
    spam_no     INTEGER PRIMARY KEY,
    form_no     INTEGER NOT NULL REFERENCES forms,
    start       INTEGER NOT NULL, -- bytes of data of all of the form that came before, so that it grows
    id          TEXT NOT NULL,
    data        TEXT NOT NULL,
    received_us INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX spam_by_form ON spam (form_no, start);

CREATE TABLE endpoints (
    endpoint_no       INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    form_no           INTEGER NOT NULL REFERENCES forms,
    url               TEXT NOT NULL,
    status            TEXT NOT NULL CHECK (status IN ('enabled', 'disabled', 'removed')),
    secret            BLOB NOT NULL, -- encrypted; empty when removed
    previous_secret   BLOB,          -- encrypted; signs as well
    previous_until_us INTEGER,       -- until then
    created_us        INTEGER NOT NULL
) STRICT;
CREATE INDEX endpoints_by_form ON endpoints (form_no);

-- One for each submission and endpoint, next to those of its neighbours.
CREATE TABLE deliveries (
    submission  INTEGER NOT NULL,  -- submissions.key
    endpoint_no INTEGER NOT NULL,
    state       INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4), -- pending, retrying, delivered, failed, canceled
    attempts    INTEGER NOT NULL,
    form_title  TEXT NOT NULL,     -- as it was, so that every attempt has the same body
    next_us     INTEGER,           -- where it stands in lane 1 of the queue, or stood when it was claimed there
    finished_us INTEGER,
    -- The last attempt, which most have no other before; columns as in attempts.
    last_started_us  INTEGER,
    last_duration_us INTEGER,
    last_status      INTEGER,
    last_error       TEXT,
    last_detail      TEXT,
    last_address     TEXT,
    last_snippet     BLOB,
    last_resend      INTEGER CHECK (last_resend IN (0, 1)),
    PRIMARY KEY (submission, endpoint_no)
) STRICT, WITHOUT ROWID;
-- Of the states that are rare, so that most deliveries never touch it. Not `state IN (1, 3, 4)`, for
-- which SQLite makes a table and throws it away each time a row is changed.
CREATE INDEX deliveries_by_rare_state ON deliveries (state, submission) WHERE state <> 0 AND state <> 2;

-- Deliveries that are to be attempted, and not claimed. Lane 0: never attempted, by the submission's
-- instant. Lane 1: retries and resends, by the time they are due.
CREATE TABLE queue (
    endpoint_no INTEGER NOT NULL,
    lane        INTEGER NOT NULL CHECK (lane IN (0, 1)),
    at_us       INTEGER NOT NULL,
    submission  INTEGER NOT NULL,
    retries     INTEGER NOT NULL, -- used
    claims      INTEGER NOT NULL, -- since it was last settled
    resend      INTEGER NOT NULL CHECK (resend IN (0, 1)),
    PRIMARY KEY (endpoint_no, lane, at_us, submission)
) STRICT, WITHOUT ROWID;

-- Claims. Deliveries under one are not in the queue.
CREATE TABLE leases (
    endpoint_no INTEGER NOT NULL,
    until_us    INTEGER NOT NULL,
    token       INTEGER NOT NULL, -- tells a claim from every other
    held        BLOB NOT NULL CHECK (length(held) > 0 AND length(held) % 17 = 0), -- the deliveries, packed
    PRIMARY KEY (endpoint_no, until_us, token)
) STRICT, WITHOUT ROWID;

-- Attempts before the last one of a delivery.
CREATE TABLE attempts (
    submission  INTEGER NOT NULL,
    endpoint_no INTEGER NOT NULL,
    number      INTEGER NOT NULL, -- from 1
    started_us  INTEGER NOT NULL,
    duration_us INTEGER NOT NULL,
    status      INTEGER,          -- of the answer
    error       TEXT,             -- why it failed, as a code
    detail      TEXT,             -- what else is known of that
    address     TEXT,             -- that was connected to
    snippet     BLOB NOT NULL,    -- beginning of the answer's body
    resend      INTEGER NOT NULL CHECK (resend IN (0, 1)),
    PRIMARY KEY (submission, endpoint_no, number)
) STRICT, WITHOUT ROWID;

-- Written to find out whether the database takes writes.
CREATE TABLE probe (one INTEGER PRIMARY KEY CHECK (one = 1), written_us INTEGER NOT NULL) STRICT;
INSERT INTO probe VALUES (1, 0);
