CREATE TABLE captures (
    -- AUTOINCREMENT: a number is never reused.
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Nanoseconds since 1970.
    received_at INTEGER NOT NULL,
    -- Address and port; NULL if the delivery was built from a polled submission.
    peer TEXT,
    method TEXT NOT NULL,
    request_target TEXT NOT NULL,
    verdict TEXT NOT NULL,
    -- 0 if an unknown sender may have made the request; always 1 if the listener had no secret.
    is_trusted INTEGER NOT NULL,
    secret TEXT,
    age_secs INTEGER,
    event TEXT,
    submission_id TEXT,
    form_id TEXT,
    attempt INTEGER NOT NULL,
    gap_us INTEGER,
    is_duplicate INTEGER NOT NULL,
    -- Bytes that the capture occupies, estimated.
    size INTEGER NOT NULL,
    -- Lines `name: value`; values are bytes.
    headers BLOB NOT NULL,
    -- The body is the last column, so that SQLite can read the other columns without it.
    body BLOB NOT NULL
) STRICT;

CREATE INDEX untrusted_captures ON captures (number) WHERE NOT is_trusted;

-- One row: the total size of the untrusted captures and their forwards. Computing the sum for each insert would
-- take longer with each untrusted capture.
CREATE TABLE untrusted (bytes INTEGER NOT NULL) STRICT;

INSERT INTO untrusted (bytes) VALUES (0);

CREATE TRIGGER untrusted_added AFTER INSERT ON captures WHEN NOT NEW.is_trusted BEGIN
    UPDATE untrusted SET bytes = bytes + NEW.size;
END;

CREATE TRIGGER untrusted_removed AFTER DELETE ON captures WHEN NOT OLD.is_trusted BEGIN
    UPDATE untrusted SET bytes = bytes - OLD.size;
END;

-- Outcomes have their own table, because an update of a capture would write its body again.
CREATE TABLE outcomes (
    number INTEGER PRIMARY KEY REFERENCES captures (number) ON DELETE CASCADE,
    -- NULL if the connection was closed on purpose.
    status INTEGER,
    answered_by TEXT NOT NULL,
    took_us INTEGER NOT NULL,
    -- Position of the forward whose response was relayed.
    relayed_forward INTEGER,
    -- Bytes of the forwards, estimated; 0 if the capture is trusted.
    untrusted_bytes INTEGER NOT NULL
) STRICT;

CREATE TRIGGER untrusted_outcome_added AFTER INSERT ON outcomes WHEN NEW.untrusted_bytes > 0 BEGIN
    UPDATE untrusted SET bytes = bytes + NEW.untrusted_bytes;
END;

CREATE TRIGGER untrusted_outcome_removed AFTER DELETE ON outcomes WHEN OLD.untrusted_bytes > 0 BEGIN
    UPDATE untrusted SET bytes = bytes - OLD.untrusted_bytes;
END;

CREATE TABLE forwards (
    number INTEGER NOT NULL REFERENCES captures (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    url TEXT NOT NULL,
    took_us INTEGER NOT NULL,
    -- `error_kind` and `error` are NULL if the target responded; otherwise the following columns are NULL.
    error_kind TEXT,
    error TEXT,
    status INTEGER,
    is_truncated INTEGER,
    headers BLOB,
    body BLOB,
    PRIMARY KEY (number, position)
) STRICT, WITHOUT ROWID;
