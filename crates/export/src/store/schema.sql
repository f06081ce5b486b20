-- The row store: spools of exports, and the destination of `sync --to sqlite:PATH`.
-- Times are in microseconds since 1970.
CREATE TABLE IF NOT EXISTS meta (version INTEGER NOT NULL);
INSERT INTO meta SELECT 3 WHERE NOT EXISTS (SELECT 1 FROM meta);
CREATE TABLE IF NOT EXISTS sources (
    key INTEGER PRIMARY KEY,
    origin TEXT NOT NULL,
    form_id TEXT NOT NULL,
    title TEXT,
    -- Name of the view that `sync` maintains; null in spools.
    view TEXT,
    -- Number of submissions that `sync` has stored: counting them would take time on each run.
    rows INTEGER NOT NULL DEFAULT 0,
    UNIQUE (origin, form_id)
);
-- `data` is the exact JSON text of the answers; `extra` is a JSON object of unknown members, or empty.
-- `cells` is a JSON array: at 0 the answers without a position as a JSON object, at each label's
-- position the text of its answer; null in spools.
CREATE TABLE IF NOT EXISTS submissions (
    source INTEGER NOT NULL REFERENCES sources (key),
    id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    instant INTEGER NOT NULL,
    data TEXT NOT NULL,
    extra TEXT NOT NULL,
    cells TEXT,
    fetched_at INTEGER NOT NULL,
    deleted_at INTEGER,
    UNIQUE (source, id)
);
CREATE INDEX IF NOT EXISTS submissions_by_time ON submissions (source, instant DESC, id);
CREATE INDEX IF NOT EXISTS submissions_deleted ON submissions (source) WHERE deleted_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS labels (
    source INTEGER NOT NULL REFERENCES sources (key),
    position INTEGER NOT NULL,
    label TEXT NOT NULL,
    -- How often the label occurs before in the same submission.
    occurrence INTEGER NOT NULL DEFAULT 0,
    -- The column of the view.
    heading TEXT,
    -- Types of the answers, as bits; 16 is text.
    types INTEGER NOT NULL DEFAULT 16,
    first_instant INTEGER NOT NULL,
    UNIQUE (source, position)
);
-- Every submission from `oldest` to `newest` is stored; `resume` is the token that continues below.
CREATE TABLE IF NOT EXISTS coverage (
    source INTEGER NOT NULL REFERENCES sources (key),
    newest INTEGER NOT NULL,
    oldest INTEGER NOT NULL,
    resume TEXT NOT NULL,
    completeness TEXT NOT NULL
);
-- Units of the service's cursor of which submissions may be missing, by their start; `item` is empty.
-- Submissions that are not what the API promises, by their time, or 0, and by their id.
CREATE TABLE IF NOT EXISTS left_out (
    source INTEGER NOT NULL REFERENCES sources (key),
    start INTEGER NOT NULL,
    item TEXT NOT NULL,
    description TEXT NOT NULL,
    UNIQUE (source, start, item)
);
