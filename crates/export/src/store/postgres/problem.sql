-- The first reason to refuse the tables $2 of schema $1, if any: its rank, the table, a part of it and a role.
-- $3 is true for a run that writes. `trusted` has the roles that may have code in the tables. The server
-- records which functions, operators and types a part uses, without its own.
tables AS (
    SELECT c.oid, c.relname::text AS name, c.relkind, c.relowner,
        c.relowner IN (SELECT oid FROM trusted) AS is_trusted
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname::text = ANY($2)
),
parts (relid, catalog, id, part) AS (
    SELECT oid, 'pg_catalog.pg_class'::regclass, oid, 'a column of' FROM tables
    UNION ALL
    SELECT tgrelid, 'pg_catalog.pg_trigger'::regclass, oid, 'trigger `' || tgname || '` of'
    FROM pg_catalog.pg_trigger WHERE $3 AND NOT tgisinternal
    UNION ALL
    SELECT polrelid, 'pg_catalog.pg_policy'::regclass, oid, 'policy `' || polname || '` of'
    FROM pg_catalog.pg_policy
    UNION ALL
    SELECT adrelid, 'pg_catalog.pg_attrdef'::regclass, oid, 'a default of'
    FROM pg_catalog.pg_attrdef
    UNION ALL
    SELECT conrelid, 'pg_catalog.pg_constraint'::regclass, oid, 'constraint `' || conname || '` of'
    FROM pg_catalog.pg_constraint
    UNION ALL
    SELECT stxrelid, 'pg_catalog.pg_statistic_ext'::regclass, oid, 'statistics `' || stxname || '` of'
    FROM pg_catalog.pg_statistic_ext
    UNION ALL
    SELECT i.indrelid, 'pg_catalog.pg_class'::regclass, c.oid, 'index `' || c.relname || '` of'
    FROM pg_catalog.pg_index i
    JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
),
used AS (
    SELECT t.name, p.part, coalesce(f.proowner, o.oprowner, y.typowner) AS owner
    FROM tables t
    JOIN parts p ON p.relid = t.oid
    JOIN pg_catalog.pg_depend d ON d.classid = p.catalog AND d.objid = p.id
    LEFT JOIN pg_catalog.pg_proc f
        ON d.refclassid = 'pg_catalog.pg_proc'::regclass AND f.oid = d.refobjid
    LEFT JOIN pg_catalog.pg_operator o
        ON d.refclassid = 'pg_catalog.pg_operator'::regclass AND o.oid = d.refobjid
    LEFT JOIN pg_catalog.pg_type y
        ON d.refclassid = 'pg_catalog.pg_type'::regclass AND y.oid = d.refobjid
),
problems (rank, name, part, owner) AS (
    SELECT 1, name, '', relowner FROM tables WHERE relkind <> 'r'
    UNION ALL
    SELECT 2, name, 'the table', relowner FROM tables WHERE NOT is_trusted
    UNION ALL
    SELECT 3, t.name, r.rulename::text, t.relowner
    FROM tables t
    JOIN pg_catalog.pg_rewrite r ON r.ev_class = t.oid
    UNION ALL
    SELECT 4, name, part, owner FROM used WHERE owner NOT IN (SELECT oid FROM trusted)
    UNION ALL
    SELECT 5, t.name, 'foreign key `' || k.conname || '` to', c.relowner
    FROM tables t
    JOIN pg_catalog.pg_constraint k ON k.confrelid = t.oid
    JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
    WHERE $3 AND c.relowner NOT IN (SELECT oid FROM trusted)
)
SELECT rank, name, part, pg_get_userbyid(owner)::text FROM problems ORDER BY rank, name LIMIT 1
