-- Spools of exports and databases of `sync`. `schema.rs` replaces the words in braces. Times are in
-- microseconds since 1970.
CREATE TABLE IF NOT EXISTS {t}meta (version INTEGER NOT NULL);
INSERT INTO {t}meta SELECT {version} WHERE NOT EXISTS (SELECT 1 FROM {t}meta);
CREATE TABLE IF NOT EXISTS {t}sources (
    key {key} PRIMARY KEY,
    origin text NOT NULL,
    form_id text NOT NULL,
    public_id text,
    title text,
    -- Name of the view that `sync` maintains; null in spools.
    view text,
    UNIQUE (origin, form_id)
);
-- `data` is the exact JSON text of the answers; `extra` is a JSON object of unknown members, or empty.
-- `cells` is a JSON array: at 0 the answers without a position as a JSON object, at each label's
-- position the text of its answer; null in spools.
CREATE TABLE IF NOT EXISTS {t}submissions (
    source bigint NOT NULL,
    id text NOT NULL,
    created_at text NOT NULL,
    instant bigint NOT NULL,
    data text NOT NULL,
    extra text NOT NULL,
    cells {json},
    fetched_at bigint NOT NULL,
    deleted_at bigint,
    PRIMARY KEY (source, id)
);
CREATE INDEX IF NOT EXISTS {i}submissions_by_time ON {t}submissions (source, instant DESC, id);
CREATE INDEX IF NOT EXISTS {i}submissions_deleted ON {t}submissions (source) WHERE deleted_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS {t}labels (
    source bigint NOT NULL,
    position bigint NOT NULL,
    label text NOT NULL,
    -- The column of the view.
    heading text,
    -- Types of the answers, as bits; 16 is text.
    types bigint NOT NULL DEFAULT 16,
    PRIMARY KEY (source, position)
);
-- Every submission from `oldest` to `newest` is stored; `resume` is the token that continues below.
CREATE TABLE IF NOT EXISTS {t}coverage (
    source bigint NOT NULL,
    newest bigint NOT NULL,
    oldest bigint NOT NULL,
    resume text NOT NULL,
    completeness text NOT NULL,
    PRIMARY KEY (source, newest)
);
-- Units of the service's cursor of which submissions may be missing, by their start; `item` is empty.
-- Submissions that violate the API, by their time, or 0, and by their id.
CREATE TABLE IF NOT EXISTS {t}left_out (
    source bigint NOT NULL,
    start bigint NOT NULL,
    item text NOT NULL,
    description text NOT NULL,
    PRIMARY KEY (source, start, item)
);
