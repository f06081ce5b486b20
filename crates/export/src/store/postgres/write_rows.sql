-- Inserts new rows and replaces those with other content. $2 has the rows as JSON, $3 is the time. A row that
-- the service has is not deleted. A statement cannot write a row twice: the last one of an id counts.
WITH incoming AS (
    SELECT DISTINCT ON (id) *
    FROM json_to_recordset($2::json) AS r (
        index bigint, id text, created_at text, instant bigint, data text, extra text, cells text
    )
    ORDER BY id, index DESC
),
known AS (
    SELECT s.id, s.deleted_at IS NOT NULL AS is_deleted,
        s.created_at = i.created_at AND s.data = i.data AND s.extra = i.extra AS is_same
    FROM {t}submissions s
    JOIN incoming i ON s.id = i.id
    WHERE s.source = $1
),
written AS (
    INSERT INTO {t}submissions (source, id, created_at, instant, data, extra, cells, fetched_at)
    SELECT $1, i.id, i.created_at, i.instant, i.data, i.extra, i.cells::jsonb, $3
    FROM incoming i
    LEFT JOIN known k ON k.id = i.id
    WHERE k.id IS NULL OR k.is_deleted OR NOT k.is_same
    ON CONFLICT (source, id) DO UPDATE SET created_at = excluded.created_at,
        instant = excluded.instant, data = excluded.data, extra = excluded.extra,
        cells = excluded.cells, fetched_at = excluded.fetched_at, deleted_at = NULL
    RETURNING id
)
SELECT i.index, k.id IS NOT NULL, coalesce(k.is_same, false)
FROM written w
JOIN incoming i ON i.id = w.id
LEFT JOIN known k ON k.id = w.id
