-- Times are microseconds since 1970-01-01T00:00:00Z.

-- The time to go by: the database's, which all processes share, or one that a test gives.
CREATE FUNCTION now_us(given bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT coalesce(given, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) $$;

CREATE TABLE users (
    user_no    bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id         text NOT NULL UNIQUE,
    email      text NOT NULL,
    email_key  text NOT NULL UNIQUE, -- lower case
    name       text NOT NULL,
    password   text,          -- hash as a PHC string; null: cannot sign in
    created_us bigint NOT NULL
);

CREATE TABLE api_keys (
    key_no     bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id         text NOT NULL UNIQUE,
    user_no    bigint NOT NULL REFERENCES users,
    name       text NOT NULL,
    prefix     text NOT NULL,
    hash       bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    created_us bigint NOT NULL,
    revoked_us bigint,
    used_us    bigint        -- when it last came with a request, to a minute
);
CREATE INDEX api_keys_by_user ON api_keys (user_no, created_us);

-- Browsers that are signed in.
CREATE TABLE sessions (
    token      bytea PRIMARY KEY CHECK (octet_length(token) = 32), -- SHA-256
    user_no    bigint NOT NULL REFERENCES users,
    created_us bigint NOT NULL,
    expires_us bigint NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_no);
CREATE INDEX sessions_by_end ON sessions (expires_us);

-- Links that set a password, once.
CREATE TABLE links (
    token      bytea PRIMARY KEY CHECK (octet_length(token) = 32), -- SHA-256
    user_no    bigint REFERENCES users, -- null: makes the first owner
    expires_us bigint NOT NULL
);
-- One for each user, and one for the first owner.
CREATE UNIQUE INDEX links_by_user ON links (coalesce(user_no, 0));

CREATE TABLE forms (
    form_no         bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY
                        CHECK (form_no BETWEEN 1 AND 8388607), -- 23 bits, see submissions.key
    id              text NOT NULL UNIQUE,
    user_no         bigint NOT NULL REFERENCES users,
    public_id       text NOT NULL UNIQUE,
    title           text NOT NULL,
    status          text NOT NULL CHECK (status IN ('draft', 'published', 'closed')),
    ready           boolean NOT NULL, -- false: under import, seen by nobody
    created_us      bigint NOT NULL,
    updated_us      bigint NOT NULL,
    last_seq        bigint NOT NULL,  -- of its newest submission; 0 when it never had one
    pruned          bigint NOT NULL DEFAULT 0, -- submissions that are no more: it has last_seq less these
    last_instant_us bigint,           -- of its newest submission
    revision        bigint NOT NULL DEFAULT 1, -- of title, status, fields and origins: another with each change
    fields          text,             -- JSON, field definitions as given; null: takes any answers
    origins         text              -- JSON, origins whose pages may submit; null: all
) WITH (fillfactor = 70); -- its end is written with every batch of submissions
CREATE INDEX forms_by_user ON forms (user_no, created_us);

-- By form, in order. Rows of a form that come together stand together.
CREATE TABLE submissions (
    key        bigint PRIMARY KEY,   -- form_no << 40 | seq, seq from 1
    form_no    bigint NOT NULL REFERENCES forms CHECK (form_no = key >> 40),
    instant_us bigint NOT NULL,
    id         text NOT NULL UNIQUE,
    item       text NOT NULL         -- the JSON that pages show
);
CREATE UNIQUE INDEX submissions_by_instant ON submissions (form_no, instant_us);

-- What tells a repeated submission from a new one, for a day.
CREATE TABLE idempotency (
    form_no     bigint NOT NULL REFERENCES forms,
    key         bytea NOT NULL CHECK (octet_length(key) = 32),         -- digest
    fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32), -- digest of what was sent
    submission  bigint NOT NULL,                                       -- key of what was accepted
    created_us  bigint NOT NULL,
    PRIMARY KEY (form_no, key)
);
CREATE INDEX idempotency_by_time ON idempotency (created_us);

-- Sent by machines. No submissions, and never delivered.
CREATE TABLE spam (
    spam_no     bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    form_no     bigint NOT NULL REFERENCES forms,
    start       bigint NOT NULL, -- bytes of data of all of the form that came before, so that it grows
    id          text NOT NULL,
    data        text NOT NULL,
    received_us bigint NOT NULL
);
CREATE UNIQUE INDEX spam_by_form ON spam (form_no, start);

CREATE TABLE endpoints (
    endpoint_no       bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id                text NOT NULL UNIQUE,
    form_no           bigint NOT NULL REFERENCES forms,
    url               text NOT NULL,
    status            text NOT NULL CHECK (status IN ('enabled', 'disabled', 'removed')),
    secret            bytea NOT NULL, -- encrypted; empty when removed
    previous_secret   bytea,          -- encrypted; signs as well
    previous_until_us bigint,         -- until then
    created_us        bigint NOT NULL
);
CREATE INDEX endpoints_by_form ON endpoints (form_no);

-- One for each submission and endpoint.
CREATE TABLE deliveries (
    submission  bigint NOT NULL,   -- submissions.key
    endpoint_no bigint NOT NULL,
    state       smallint NOT NULL CHECK (state BETWEEN 0 AND 4), -- pending, retrying, delivered, failed, canceled
    attempts    integer NOT NULL,
    form_title  text NOT NULL,     -- as it was, so that every attempt has the same body
    next_us     bigint,            -- where it stands in lane 1 of the queue, or stood when it was claimed there
    finished_us bigint,
    PRIMARY KEY (submission, endpoint_no)
) WITH (fillfactor = 80); -- each is changed once or more, in its place
CREATE INDEX deliveries_by_rare_state ON deliveries (state, submission) WHERE state IN (1, 3, 4);

-- Deliveries that are to be attempted. Lane 0: never attempted, by the submission's instant. Lane 1:
-- retries and resends, by the time they are due. Lane 2: claimed, by the end of the lease.
CREATE TABLE queue (
    endpoint_no bigint NOT NULL,
    submission  bigint NOT NULL,
    lane        smallint NOT NULL CHECK (lane BETWEEN 0 AND 2),
    at_us       bigint NOT NULL,
    retries     integer NOT NULL, -- used
    claims      integer NOT NULL, -- since it was last settled
    resend      boolean NOT NULL,
    token       bigint,           -- tells a claim from every other
    CHECK ((lane = 2) = (token IS NOT NULL)),
    PRIMARY KEY (endpoint_no, submission)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX queue_in_order ON queue (endpoint_no, lane, at_us, submission);

CREATE TABLE attempts (
    submission  bigint NOT NULL,
    endpoint_no bigint NOT NULL,
    number      integer NOT NULL, -- from 1
    started_us  bigint NOT NULL,
    duration_us bigint NOT NULL,
    status      integer,          -- of the answer
    error       text,             -- why it failed, as a code
    detail      text,             -- what else is known of that
    address     text,             -- that was connected to
    snippet     bytea NOT NULL,   -- beginning of the answer's body
    resend      boolean NOT NULL,
    PRIMARY KEY (submission, endpoint_no, number)
);

-- Requests of each API key that were admitted, by the second, of all servers. Unlogged: counting waits
-- for no disk, and when the database crashed it begins anew.
CREATE UNLOGGED TABLE rate_windows (
    key          bytea PRIMARY KEY,  -- digest of the API key
    seconds      bigint[] NOT NULL,  -- since 1970-01-01, those that have any, oldest first
    counts       integer[] NOT NULL, -- of each
    idle_after_s bigint NOT NULL,    -- the last second in which any of them counts
    admitted     integer NOT NULL,   -- of those that were asked about together last
    wait_us      bigint NOT NULL     -- of those of them that were not admitted
) WITH (fillfactor = 40); -- each is written with every request of its key, in its place

-- Written to find out whether the database takes writes.
CREATE TABLE probe (one integer PRIMARY KEY CHECK (one = 1), written_us bigint NOT NULL);
INSERT INTO probe VALUES (1, 0);
