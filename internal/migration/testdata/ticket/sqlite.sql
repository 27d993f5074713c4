-- Migration of machine ticket from version 1 (hash 79c54c6214f2)
-- to version 2 (hash cd80e80d9974), level of enforcement full.
--
-- Stop the program, make a backup, and run: sqlite3 -bail FILE < THIS_FILE
-- Tables, indexes, triggers and views of your own stay as they are, or nothing changes.
--
-- Nothing changes while these queries return rows; correct them with the old version first:
--   no effect waits for a record in the removed state on_hold:
--     SELECT o."id", o."rev", o."effect" FROM "ticket_outbox" AS o JOIN "ticket" AS r ON r."id" = o."id" AND r."rev" = o."rev" WHERE r."state" = 'on_hold';
--   place is mandatory:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "place" FROM "ticket") AS "after" WHERE "place" IS NULL;
--   queue is from 1 to 40 characters long:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "queue" FROM "ticket") AS "after" WHERE NOT (length("queue") BETWEEN 1 AND 40);
--   invariant: reminders <= 3:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", 0 AS "reminders" FROM "ticket") AS "after" WHERE NOT ("reminders" <= 3);
--   open: owner is absent:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "owner" END AS "owner" FROM "ticket") AS "after" WHERE NOT ("state" <> 'open' OR "owner" IS NULL);
--   open: due is absent:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "due" END AS "due" FROM "ticket") AS "after" WHERE NOT ("state" <> 'open' OR "due" IS NULL);
--   held: tries >= 1:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "tries" FROM "ticket") AS "after" WHERE NOT ("state" <> 'taken' OR "tries" >= 1);
--   solved: tries >= 1:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "tries" FROM "ticket") AS "after" WHERE NOT ("state" <> 'solved' OR "tries" >= 1);
--   ticket_unique_one_number:
--     SELECT "queue", "number", count(*) AS "records", group_concat("id") AS "ids" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "number", "queue" FROM "ticket") AS "after" WHERE "queue" IS NOT NULL AND "number" IS NOT NULL AND "state" IN ('open', 'taken') GROUP BY "queue", "number" HAVING count(*) > 1;

-- Rows that refer to the table stay while it is rebuilt.
PRAGMA foreign_keys = OFF;
BEGIN IMMEDIATE;

-- A database of another version is left unchanged.
CREATE TEMP TABLE "fsm_migration" ("at" INTEGER NOT NULL);
CREATE TEMP TRIGGER "fsm_migration_guard" BEFORE INSERT ON "fsm_migration" BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: this is not a database of version 1 (hash 79c54c6214f2) with the level of enforcement full')
    WHERE NOT EXISTS (SELECT 1 FROM "fsm_meta" WHERE "machine" = 'ticket' AND "hash" = '79c54c6214f2340fc6277d44da7a33daee29b15f59cd5546a8d497d40c9681ab' AND "enforce" = 'full' AND "dialect" = 'sqlite');
    SELECT RAISE(ABORT, 'fsm: ticket: effects wait for records in the removed state on_hold; deliver them first')
    WHERE EXISTS (SELECT o."id", o."rev", o."effect" FROM "ticket_outbox" AS o JOIN "ticket" AS r ON r."id" = o."id" AND r."rev" = o."rev" WHERE r."state" = 'on_hold');
END;
INSERT INTO "fsm_migration" VALUES (CAST(strftime('%s', 'now') AS INTEGER) * 1000000);

-- Every row fits.
SELECT json_extract('{}', 'fsm: ticket: ' || 'the row ' || quote("id") || ' breaks the rule: ' || 'no effect waits for a record in the removed state on_hold' || '; nothing was changed')
FROM (SELECT o."id", o."rev", o."effect" FROM "ticket_outbox" AS o JOIN "ticket" AS r ON r."id" = o."id" AND r."rev" = o."rev" WHERE r."state" = 'on_hold') LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the row ' || quote("id") || ' breaks the rule: ' || 'place is mandatory' || '; nothing was changed')
FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "place" FROM "ticket") AS "after" WHERE "place" IS NULL) LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the row ' || quote("id") || ' breaks the rule: ' || 'queue is from 1 to 40 characters long' || '; nothing was changed')
FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "queue" FROM "ticket") AS "after" WHERE NOT (length("queue") BETWEEN 1 AND 40)) LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the row ' || quote("id") || ' breaks the rule: ' || 'invariant: reminders <= 3' || '; nothing was changed')
FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", 0 AS "reminders" FROM "ticket") AS "after" WHERE NOT ("reminders" <= 3)) LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the row ' || quote("id") || ' breaks the rule: ' || 'open: owner is absent' || '; nothing was changed')
FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "owner" END AS "owner" FROM "ticket") AS "after" WHERE NOT ("state" <> 'open' OR "owner" IS NULL)) LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the row ' || quote("id") || ' breaks the rule: ' || 'open: due is absent' || '; nothing was changed')
FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "due" END AS "due" FROM "ticket") AS "after" WHERE NOT ("state" <> 'open' OR "due" IS NULL)) LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the row ' || quote("id") || ' breaks the rule: ' || 'held: tries >= 1' || '; nothing was changed')
FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "tries" FROM "ticket") AS "after" WHERE NOT ("state" <> 'taken' OR "tries" >= 1)) LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the row ' || quote("id") || ' breaks the rule: ' || 'solved: tries >= 1' || '; nothing was changed')
FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "tries" FROM "ticket") AS "after" WHERE NOT ("state" <> 'solved' OR "tries" >= 1)) LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the row ' || quote("ids") || ' breaks the rule: ' || 'ticket_unique_one_number' || '; nothing was changed')
FROM (SELECT "queue", "number", count(*) AS "records", group_concat("id") AS "ids" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "number", "queue" FROM "ticket") AS "after" WHERE "queue" IS NOT NULL AND "number" IS NOT NULL AND "state" IN ('open', 'taken') GROUP BY "queue", "number" HAVING count(*) > 1) LIMIT 1;

-- What others have made can go on.
SELECT json_extract('{}', 'fsm: ticket: ' || 'the table has a rule that is not of the machine''s making, and would be lost; drop it first' || '; nothing was changed')
FROM pragma_foreign_key_list('ticket') LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the table has a rule that is not of the machine''s making, and would be lost; drop it first' || '; nothing was changed')
FROM (SELECT count(*) AS "n" FROM pragma_index_list('ticket') WHERE "origin" = 'u') WHERE "n" > 0 LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the table has a rule that is not of the machine''s making, and would be lost; drop it first' || '; nothing was changed')
FROM (SELECT upper(replace(replace(replace(replace("sql", ' ', ''), char(9), ''), char(10), ''), char(13), '')) AS "text"
    FROM sqlite_master WHERE "type" = 'table' AND "name" = 'ticket')
WHERE length("text") - length(replace("text", 'CHECK(', '')) <> 84 LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the rule ' || "column1" || ' differs from what the old version made; restore it' || '; nothing was changed')
FROM (VALUES ('CONSTRAINT "id is not empty" CHECK ("id" <> '''')'),
    ('CONSTRAINT "state is known" CHECK ("state" IN (''open'', ''taken'', ''on_hold'', ''solved''))'),
    ('CONSTRAINT "rev is at least 1" CHECK ("rev" >= 1)'),
    ('CONSTRAINT "number is a number of a sequence" CHECK ("number" >= 1)'),
    ('CONSTRAINT "priority is a known word" CHECK ("priority" IN (''low'', ''high''))'),
    ('CONSTRAINT "tries is a count" CHECK ("tries" >= 0)'),
    ('CONSTRAINT "tags is a set" CHECK ((json_valid("tags") AND json_type("tags") = ''array''))'),
    ('CONSTRAINT "open: owner is absent" CHECK ("state" <> ''open'' OR "owner" IS NULL)'),
    ('CONSTRAINT "open: due is absent" CHECK ("state" <> ''open'' OR "due" IS NULL)'),
    ('CONSTRAINT "taken: owner is present" CHECK ("state" <> ''taken'' OR "owner" IS NOT NULL)'),
    ('CONSTRAINT "taken: due is present" CHECK ("state" <> ''taken'' OR "due" IS NOT NULL)'),
    ('CONSTRAINT "on_hold: owner is present" CHECK ("state" <> ''on_hold'' OR "owner" IS NOT NULL)'),
    ('CONSTRAINT "on_hold: due is present" CHECK ("state" <> ''on_hold'' OR "due" IS NOT NULL)'),
    ('CONSTRAINT "solved: note is present" CHECK ("state" <> ''solved'' OR "note" IS NOT NULL)')), sqlite_master
WHERE "type" = 'table' AND "name" = 'ticket' AND instr("sql", "column1") = 0 LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the ' || "type" || ' "' || "name" || '" would be lost; print this script with fsmctl migrate, and it is made again' || '; nothing was changed')
FROM sqlite_master WHERE lower("tbl_name") = 'ticket' AND "type" IN ('index', 'trigger') AND "sql" IS NOT NULL
    AND "name" NOT IN ('ticket_unchained', 'ticket_insert_keeps', 'ticket_update_keeps', 'ticket_insert_sets', 'ticket_update_sets', 'ticket_insert', 'ticket_update', 'ticket_chain', 'ticket_delete', 'ticket_unique_sequence_number', 'ticket_state', '') LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the column "' || "name" || '" would be lost, which is not of the machine''s making; move it into a table of your own' || '; nothing was changed')
FROM pragma_table_xinfo('ticket')
WHERE "name" NOT IN ('id', 'state', 'rev', 'created_at', 'updated_at', 'number', 'queue', 'priority', 'owner', 'due', 'note', 'place', 'colour', 'tries', 'tags', '_chain') LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the ' || 'column' || ' "' || "name" || '" ' || 'has a name that the new version needs; rename it' || '; nothing was changed')
FROM pragma_table_xinfo('ticket') WHERE lower("name") IN ('rating', 'weight', 'loud', 'kind', 'desk', 'since', 'extra', 'watchers', 'reminders') LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the ' || "type" || ' "' || "name" || '" ' || 'has a name that the new version needs; rename it' || '; nothing was changed')
FROM sqlite_master WHERE lower("name") IN ('ticket_fsm_new', 'ticket_unique_one_number', 'ticket_unique_sequence_count', 'ticket_desk') LIMIT 1;
SELECT json_extract('{}', 'fsm: ticket: ' || 'the ' || "type" || ' "' || "name" || '" ' || 'names the column "colour", which goes; drop it first' || '; nothing was changed')
FROM sqlite_master WHERE "type" IN ('view', 'trigger') AND instr(lower("sql"), '"colour"')
    AND ' ' || lower("sql") || ' ' GLOB '*[^a-z0-9_]ticket[^a-z0-9_]*' AND lower("name") NOT IN ('ticket_unchained', 'ticket_insert_keeps', 'ticket_update_keeps', 'ticket_insert_sets', 'ticket_update_sets', 'ticket_events_insert_keeps', 'ticket_events_update', 'ticket_events_delete', 'ticket_events_insert', 'ticket_insert', 'ticket_update', 'ticket_chain', 'ticket_delete', '') LIMIT 1;
SAVEPOINT "fsm_probe";
CREATE TABLE "fsm_probe" ("a");
ALTER TABLE "fsm_probe" RENAME TO "fsm_probed";
ROLLBACK TO "fsm_probe";
RELEASE "fsm_probe";
CREATE TEMP TABLE "fsm_dangling" AS SELECT DISTINCT m."name" AS "table", c."rowid" AS "row", c."fkid" AS "key"
FROM sqlite_master AS m, pragma_foreign_key_list(m."name") AS f, pragma_foreign_key_check(m."name") AS c
WHERE m."type" = 'table' AND lower(f."table") IN ('ticket', 'ticket_events', 'ticket_outbox', 'ticket_groups');

-- No trigger of the generator looks on.
DROP TRIGGER IF EXISTS "ticket_unchained";
DROP TRIGGER IF EXISTS "ticket_insert_keeps";
DROP TRIGGER IF EXISTS "ticket_update_keeps";
DROP TRIGGER IF EXISTS "ticket_insert_sets";
DROP TRIGGER IF EXISTS "ticket_update_sets";
DROP TRIGGER IF EXISTS "ticket_events_insert";
DROP TRIGGER IF EXISTS "ticket_update";
DROP INDEX IF EXISTS "ticket_unique_sequence_number";
DROP TRIGGER IF EXISTS "ticket_events_insert_keeps";
DROP TRIGGER IF EXISTS "ticket_events_update";
DROP TRIGGER IF EXISTS "ticket_events_delete";
DROP TRIGGER IF EXISTS "ticket_insert";
DROP TRIGGER IF EXISTS "ticket_chain";
DROP TRIGGER IF EXISTS "ticket_delete";

-- Rows of removed states move, each with its event. The checksum is CRC-32C,
-- as the runtime computes it.
CREATE TEMP TABLE "fsm_crc" ("n" INTEGER PRIMARY KEY, "v" INTEGER NOT NULL);
INSERT INTO "fsm_crc" VALUES (0, 0), (1, 274646895), (2, 549293790), (3, 820201905), (4, 1098587580), (5, 1361435347), (6, 1640403810), (7, 1905808397), (8, 2197175160), (9, 2460548119), (10, 2722870694), (11, 2987750089), (12, 3280807620), (13, 3553878443), (14, 3811616794), (15, 4084100981);
CREATE TEMP TABLE "fsm_moved" AS
SELECT *, CASE WHEN length(CAST("id" AS BLOB)) < 128 THEN printf('%02X', length(CAST("id" AS BLOB))) ELSE printf('%02X%02X', (length(CAST("id" AS BLOB)) & 127) | 128, length(CAST("id" AS BLOB)) >> 7) END || hex(CAST("id" AS BLOB))
        || CASE WHEN length(CAST("rev" AS BLOB)) < 128 THEN printf('%02X', length(CAST("rev" AS BLOB))) ELSE printf('%02X%02X', (length(CAST("rev" AS BLOB)) & 127) | 128, length(CAST("rev" AS BLOB)) >> 7) END || hex(CAST("rev" AS BLOB))
        || '076D696772617465076D696772617465076F6E5F686F6C64046F70656E'
        || CASE WHEN length(CAST("at" AS BLOB)) < 128 THEN printf('%02X', length(CAST("at" AS BLOB))) ELSE printf('%02X%02X', (length(CAST("at" AS BLOB)) & 127) | 128, length(CAST("at" AS BLOB)) >> 7) END || hex(CAST("at" AS BLOB))
        || '0673797374656D197374617465206F6E5F686F6C64207761732072656D6F766564'
        || CASE WHEN length(CAST("request" AS BLOB)) < 128 THEN printf('%02X', length(CAST("request" AS BLOB))) ELSE printf('%02X%02X', (length(CAST("request" AS BLOB)) & 127) | 128, length(CAST("request" AS BLOB)) >> 7) END || hex(CAST("request" AS BLOB))
        || '022D31000130027B7D'
        || CASE WHEN length(CAST("changes" AS BLOB)) < 128 THEN printf('%02X', length(CAST("changes" AS BLOB))) ELSE printf('%02X%02X', (length(CAST("changes" AS BLOB)) & 127) | 128, length(CAST("changes" AS BLOB)) >> 7) END || hex(CAST("changes" AS BLOB))
        || '0001320000' AS "hex"
FROM (
    SELECT "id", "rev" + 1 AS "rev", 'sys:migrate:' || ("rev" + 1) AS "request", (SELECT "at" FROM temp."fsm_migration") AS "at",
        '{' || substr(CASE WHEN "owner" IS NULL THEN '' ELSE ',"owner":null' END || CASE WHEN "due" IS NULL THEN '' ELSE ',"due":null' END, 2) || '}' AS "changes"
    FROM "ticket" WHERE "state" = 'on_hold'
)
ORDER BY "id";
WITH "v" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "inputs", "changes", "version", "checksum") AS (
SELECT m."id", m."rev", 0, 'migrate', 'migrate', 'on_hold', 'open', m."at", 'system', 'state on_hold was removed', m."request", -1, '', '{}', m."changes", 2, (
        WITH RECURSIVE "sum" ("k", "c") AS (
            SELECT 0, 4294967295
            UNION ALL
            SELECT s."k" + 1, ((t."v" | (s."c" >> 4)) - (t."v" & (s."c" >> 4)))
            FROM "sum" AS s JOIN temp."fsm_crc" AS t ON t."n" = (((s."c" & 15) | (instr('0123456789ABCDEF', substr(m."hex", s."k" + 2 - 2 * (s."k" % 2), 1)) - 1)) - ((s."c" & 15) & (instr('0123456789ABCDEF', substr(m."hex", s."k" + 2 - 2 * (s."k" % 2), 1)) - 1)))
            WHERE s."k" < length(m."hex")
        )
        SELECT 4294967295 - "c" FROM "sum" WHERE "k" = length(m."hex"))
FROM temp."fsm_moved" AS m
)
INSERT INTO "ticket_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "inputs", "changes", "version", "checksum", "chain")
SELECT "v".*, (coalesce((SELECT p."chain" FROM "ticket_events" AS p WHERE p."id" = "v"."id" AND p."rev" = "v"."rev" - 1 AND p."n" = 0), 0) * 16777619 + "v"."checksum") % 4294967296
FROM "v";
DROP TABLE temp."fsm_moved";
DROP TABLE temp."fsm_crc";

-- The tables in their new form.
PRAGMA legacy_alter_table = ON;
CREATE TABLE "ticket_fsm_new" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "state" TEXT NOT NULL,
    "rev" INTEGER NOT NULL,
    "created_at" INTEGER NOT NULL,
    "updated_at" INTEGER NOT NULL,
    "number" INTEGER NOT NULL,
    "queue" TEXT NOT NULL,
    "priority" TEXT NOT NULL,
    "owner" TEXT,
    "due" INTEGER,
    "note" TEXT,
    "place" TEXT NOT NULL,
    "tries" INTEGER NOT NULL,
    "tags" TEXT NOT NULL,
    "rating" INTEGER,
    "weight" INTEGER NOT NULL DEFAULT 5,
    "loud" INTEGER NOT NULL DEFAULT 1,
    "kind" TEXT NOT NULL DEFAULT 'question',
    "desk" TEXT NOT NULL DEFAULT 'it''s "the" desk',
    "since" INTEGER NOT NULL DEFAULT 1769857200500000,
    "extra" TEXT NOT NULL DEFAULT '{"a":["''",null]}',
    "watchers" TEXT NOT NULL,
    "reminders" INTEGER NOT NULL,
    -- that of the record's last event, for the engine alone; 0: the log has
    -- it
    "_chain" INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT "id is not empty" CHECK ("id" <> ''),
    CONSTRAINT "state is known" CHECK ("state" IN ('open', 'taken', 'solved', 'parked')),
    CONSTRAINT "rev is at least 1" CHECK ("rev" >= 1),
    CONSTRAINT "count is a number of a sequence" CHECK ("number" >= 1),
    CONSTRAINT "queue is from 1 to 40 characters long" CHECK (length("queue") BETWEEN 1 AND 40),
    CONSTRAINT "priority is a known word" CHECK ("priority" IN ('low', 'high', 'urgent')),
    CONSTRAINT "tries is a count" CHECK ("tries" >= 0),
    CONSTRAINT "tags is a set" CHECK ((json_valid("tags") AND json_type("tags") = 'array')),
    CONSTRAINT "rating is from 1 to 5" CHECK ("rating" BETWEEN 1 AND 5),
    CONSTRAINT "weight is from 1 to 9" CHECK ("weight" BETWEEN 1 AND 9),
    CONSTRAINT "loud is true or false" CHECK ("loud" IN (0, 1)),
    CONSTRAINT "kind is a known word" CHECK ("kind" IN ('question', 'fault')),
    CONSTRAINT "extra is JSON" CHECK (json_valid(coalesce("extra", 'null'))),
    CONSTRAINT "watchers is a set" CHECK ((json_valid("watchers") AND json_type("watchers") = 'array')),
    CONSTRAINT "reminders is a count" CHECK ("reminders" >= 0),
    CONSTRAINT "invariant: reminders <= 3" CHECK ("reminders" <= 3),
    CONSTRAINT "open: owner is absent" CHECK ("state" <> 'open' OR "owner" IS NULL),
    CONSTRAINT "open: due is absent" CHECK ("state" <> 'open' OR "due" IS NULL),
    CONSTRAINT "held: owner is present" CHECK ("state" <> 'taken' OR "owner" IS NOT NULL),
    CONSTRAINT "held: due is present" CHECK ("state" <> 'taken' OR "due" IS NOT NULL),
    CONSTRAINT "held: tries >= 1" CHECK ("state" <> 'taken' OR "tries" >= 1),
    CONSTRAINT "solved: answer is present" CHECK ("state" <> 'solved' OR "note" IS NOT NULL),
    CONSTRAINT "solved: tries >= 1" CHECK ("state" <> 'solved' OR "tries" >= 1),
    CONSTRAINT "parked: owner is absent" CHECK ("state" <> 'parked' OR "owner" IS NULL),
    CONSTRAINT "parked: due is absent" CHECK ("state" <> 'parked' OR "due" IS NULL)
) STRICT, WITHOUT ROWID;
INSERT INTO "ticket_fsm_new" ("id", "state", "rev", "created_at", "updated_at", "number", "queue", "priority", "owner", "due", "note", "place", "tries", "tags", "watchers", "reminders", "_chain")
SELECT "id",
    CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END,
    "rev" + ("state" IN ('on_hold')),
    "created_at",
    CASE WHEN "state" IN ('on_hold') THEN max("updated_at", (SELECT "at" FROM temp."fsm_migration")) ELSE "updated_at" END,
    "number",
    "queue",
    "priority",
    CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "owner" END,
    CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "due" END,
    "note",
    "place",
    "tries",
    "tags",
    '[]',
    0,
    0
FROM "ticket";
DROP TABLE "ticket";
ALTER TABLE "ticket_fsm_new" RENAME TO "ticket";
PRAGMA legacy_alter_table = OFF;

-- What belongs to them.
CREATE UNIQUE INDEX IF NOT EXISTS "ticket_unique_one_number" ON "ticket" ("queue", "number") WHERE "state" IN ('open', 'taken');
CREATE UNIQUE INDEX IF NOT EXISTS "ticket_unique_sequence_count" ON "ticket" ("queue", "number");
CREATE INDEX IF NOT EXISTS "ticket_state" ON "ticket" ("state", "id");
CREATE VIEW IF NOT EXISTS "ticket_desk" AS
SELECT
    "queue",
    CASE
        WHEN count(*) FILTER (WHERE "state" IN ('taken')) > 0
            THEN 'busy'
        ELSE 'idle'
    END AS "state"
FROM "ticket"
GROUP BY "queue";
CREATE TRIGGER IF NOT EXISTS "ticket_unchained" AFTER UPDATE OF "id", "state", "rev", "created_at", "updated_at", "number", "queue", "priority", "owner", "due", "note", "place", "tries", "tags", "rating", "weight", "loud", "kind", "desk", "since", "extra", "watchers", "reminders" ON "ticket"
WHEN NEW._chain = OLD._chain AND NEW._chain <> 0
BEGIN
    UPDATE "ticket" SET "_chain" = 0 WHERE "id" = NEW."id";
END;
CREATE TRIGGER IF NOT EXISTS "ticket_insert_keeps" BEFORE INSERT ON "ticket"
BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: the id is taken')
    WHERE EXISTS (SELECT 1 FROM "ticket" WHERE "id" = NEW."id");
    SELECT RAISE(ABORT, 'fsm: ticket: the unique rule one_number is taken')
    WHERE NEW."state" IN ('open', 'taken')
      AND EXISTS (SELECT 1 FROM "ticket" WHERE "queue" = NEW."queue" AND "number" = NEW."number" AND "state" IN ('open', 'taken'));
    SELECT RAISE(ABORT, 'fsm: ticket: the unique rule sequence_count is taken')
    WHERE EXISTS (SELECT 1 FROM "ticket" WHERE "queue" = NEW."queue" AND "number" = NEW."number");
END;
CREATE TRIGGER IF NOT EXISTS "ticket_update_keeps" BEFORE UPDATE OF "id", "state", "rev", "created_at", "updated_at", "number", "queue", "priority", "owner", "due", "note", "place", "tries", "tags", "rating", "weight", "loud", "kind", "desk", "since", "extra", "watchers", "reminders" ON "ticket"
BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: the id never changes')
    WHERE NEW."id" IS NOT OLD."id";
    SELECT RAISE(ABORT, 'fsm: ticket: the unique rule one_number is taken')
    WHERE NEW."state" IN ('open', 'taken')
      AND (NEW."queue" IS NOT OLD."queue" OR NEW."number" IS NOT OLD."number" OR OLD."state" NOT IN ('open', 'taken'))
      AND EXISTS (SELECT 1 FROM "ticket" WHERE "queue" = NEW."queue" AND "number" = NEW."number" AND "state" IN ('open', 'taken'));
    SELECT RAISE(ABORT, 'fsm: ticket: the unique rule sequence_count is taken')
    WHERE (NEW."queue" IS NOT OLD."queue" OR NEW."number" IS NOT OLD."number")
      AND EXISTS (SELECT 1 FROM "ticket" WHERE "queue" = NEW."queue" AND "number" = NEW."number");
END;
CREATE TRIGGER IF NOT EXISTS "ticket_insert_sets" BEFORE INSERT ON "ticket"
BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: tags is not a sorted set of strings')
    WHERE (EXISTS (SELECT 1 FROM json_each(NEW."tags") WHERE type <> 'text')
        OR (SELECT json_group_array(value) FROM (SELECT value FROM json_each(NEW."tags") ORDER BY key))
        IS NOT (SELECT json_group_array(value) FROM (SELECT DISTINCT value FROM (SELECT value FROM json_each(NEW."tags")) ORDER BY value)));
    SELECT RAISE(ABORT, 'fsm: ticket: watchers is not a sorted set of strings')
    WHERE (EXISTS (SELECT 1 FROM json_each(NEW."watchers") WHERE type <> 'text')
        OR (SELECT json_group_array(value) FROM (SELECT value FROM json_each(NEW."watchers") ORDER BY key))
        IS NOT (SELECT json_group_array(value) FROM (SELECT DISTINCT value FROM (SELECT value FROM json_each(NEW."watchers")) ORDER BY value)));
END;
CREATE TRIGGER IF NOT EXISTS "ticket_update_sets" BEFORE UPDATE OF "id", "state", "rev", "created_at", "updated_at", "number", "queue", "priority", "owner", "due", "note", "place", "tries", "tags", "rating", "weight", "loud", "kind", "desk", "since", "extra", "watchers", "reminders" ON "ticket"
BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: tags is not a sorted set of strings')
    WHERE NEW."tags" IS NOT OLD."tags"
      AND (EXISTS (SELECT 1 FROM json_each(NEW."tags") WHERE type <> 'text')
        OR (SELECT json_group_array(value) FROM (SELECT value FROM json_each(NEW."tags") ORDER BY key))
        IS NOT (SELECT json_group_array(value) FROM (SELECT DISTINCT value FROM (SELECT value FROM json_each(NEW."tags")) ORDER BY value)));
    SELECT RAISE(ABORT, 'fsm: ticket: watchers is not a sorted set of strings')
    WHERE NEW."watchers" IS NOT OLD."watchers"
      AND (EXISTS (SELECT 1 FROM json_each(NEW."watchers") WHERE type <> 'text')
        OR (SELECT json_group_array(value) FROM (SELECT value FROM json_each(NEW."watchers") ORDER BY key))
        IS NOT (SELECT json_group_array(value) FROM (SELECT DISTINCT value FROM (SELECT value FROM json_each(NEW."watchers")) ORDER BY value)));
END;
CREATE TRIGGER IF NOT EXISTS "ticket_events_insert_keeps" BEFORE INSERT ON "ticket_events"
BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: the event is in the log already')
    WHERE EXISTS (SELECT 1 FROM "ticket_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = NEW."n");
    SELECT RAISE(ABORT, 'fsm: ticket: the place in the log is taken')
    WHERE EXISTS (SELECT 1 FROM "ticket_events" WHERE "seq" = NEW."seq");
    SELECT RAISE(ABORT, 'fsm: ticket: the request id stands in the log already')
    WHERE EXISTS (SELECT 1 FROM "ticket_events" WHERE "id" = NEW."id" AND "request_id" = NEW."request_id");
    SELECT RAISE(ABORT, 'fsm: ticket: the request id stands in the log already')
    WHERE EXISTS (SELECT 1 FROM "ticket_events" WHERE "request_id" = NEW."request_id" AND "request_n" = NEW."request_n" AND "request_n" >= 0);
END;
CREATE TRIGGER IF NOT EXISTS "ticket_events_update" BEFORE UPDATE ON "ticket_events"
BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: the log is append-only: an event never changes')
    WHERE NOT (OLD."operation" <> '__purge'
      AND EXISTS (SELECT 1 FROM (SELECT p."operation", p."rev", p."n" FROM "ticket_events" AS p WHERE p."id" = OLD."id" ORDER BY p."rev" DESC, p."n" DESC LIMIT 1) AS newest WHERE newest."operation" = '__purge' AND newest."n" > 0)
      AND NOT EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = OLD."id")
      AND NEW."operation" = '__purged'
      AND NEW."name" = '__purged'
      AND NEW."actor" = ''
      AND NEW."reason" = ''
      AND NEW."id" IS OLD."id"
      AND NEW."rev" IS OLD."rev"
      AND NEW."n" IS OLD."n"
      AND NEW."from_state" IS OLD."from_state"
      AND NEW."to_state" IS OLD."to_state"
      AND NEW."request_id" IS OLD."request_id"
      AND NEW."request_n" IS OLD."request_n"
      AND NEW."fingerprint" IS OLD."fingerprint"
      AND NEW."version" IS OLD."version"
      AND NEW."seq" IS OLD."seq"
      AND NEW."labels" IS NULL
      AND NEW."inputs" IS NULL
      AND NEW."changes" IS NULL
      AND NEW."image" IS NULL
      AND NEW."cause" IS NULL
      AND NEW."guard" IS NULL)
      AND NOT (NEW."operation" = '__forget'
      AND OLD."operation" = '__purge'
      AND EXISTS (SELECT 1 FROM (SELECT p."operation", p."rev", p."n" FROM "ticket_events" AS p WHERE p."id" = OLD."id" ORDER BY p."rev" DESC, p."n" DESC LIMIT 1) AS newest WHERE newest."operation" = '__purge' AND newest."n" > 0 AND newest."rev" = OLD."rev" AND newest."n" = OLD."n")
      AND NOT EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = OLD."id")
      AND NEW."id" IS OLD."id"
      AND NEW."rev" IS OLD."rev"
      AND NEW."n" IS OLD."n"
      AND NEW."name" IS OLD."name"
      AND NEW."from_state" IS OLD."from_state"
      AND NEW."to_state" IS OLD."to_state"
      AND NEW."occurred_at" IS OLD."occurred_at"
      AND NEW."actor" IS OLD."actor"
      AND NEW."reason" IS OLD."reason"
      AND NEW."request_id" IS OLD."request_id"
      AND NEW."request_n" IS OLD."request_n"
      AND NEW."fingerprint" IS OLD."fingerprint"
      AND NEW."version" IS OLD."version"
      AND NEW."checksum" IS OLD."checksum"
      AND NEW."chain" IS OLD."chain"
      AND NEW."seq" IS OLD."seq");
END;
CREATE TRIGGER IF NOT EXISTS "ticket_events_delete" BEFORE DELETE ON "ticket_events"
BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: the log is append-only: an event is never deleted')
    WHERE NOT (OLD."operation" <> '__purge'
      AND EXISTS (SELECT 1 FROM (SELECT p."operation", p."rev", p."n" FROM "ticket_events" AS p WHERE p."id" = OLD."id" ORDER BY p."rev" DESC, p."n" DESC LIMIT 1) AS newest WHERE newest."operation" = '__purge' AND newest."n" > 0)
      AND NOT EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = OLD."id")
      AND OLD."request_n" < 0
      AND NOT (OLD."rev" = 1 AND OLD."n" = 0))
      AND NOT (EXISTS (SELECT 1 FROM (SELECT p."operation", p."rev", p."n" FROM "ticket_events" AS p WHERE p."id" = OLD."id" ORDER BY p."rev" DESC, p."n" DESC LIMIT 1) AS newest WHERE newest."operation" = '__forget' AND newest."n" > 0 AND (OLD."operation" <> '__forget'
          OR NOT EXISTS (SELECT 1 FROM "ticket_events" AS o WHERE o."id" = OLD."id" AND (o."rev" <> OLD."rev" OR o."n" <> OLD."n"))))
      AND NOT EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = OLD."id"));
END;
CREATE TRIGGER IF NOT EXISTS "ticket_events_insert" BEFORE INSERT ON "ticket_events"
WHEN NEW.chain = 0 OR NEW.n > 0
BEGIN
    -- A transition is one that an operation makes.
    SELECT RAISE(ABORT, 'fsm: ticket: no operation makes this move')
    WHERE NEW."n" = 0
      AND NEW."operation" || ': ' || coalesce(NEW."from_state", '') || ' > ' || NEW."to_state" NOT IN (
          'submit:  > open', 'take: open > taken', 'tag: open > open', 'tag: taken > taken',
          'give_back: taken > open', 'solve: taken > solved', 'follow: open > open',
          'follow: taken > taken', 'remind: taken > taken', 'weigh: open > open',
          'weigh: taken > taken', 'park: open > parked', 'unpark: parked > open');
    SELECT RAISE(ABORT, 'fsm: ticket: the id is taken')
    WHERE NEW."n" = 0
      AND NEW."rev" = 1
      AND EXISTS (SELECT 1 FROM "ticket" WHERE "id" = NEW."id");
    -- It starts at the record's revision and state.
    SELECT RAISE(ABORT, 'fsm: ticket: the record is not at the revision and state that the event leaves')
    WHERE NEW."n" = 0
      AND NEW."rev" > 1
      AND NOT EXISTS (SELECT 1 FROM "ticket" WHERE "id" = NEW."id" AND "rev" = NEW."rev" - 1 AND "state" = NEW."from_state");
    -- An event that is recorded only stands at the record's revision and
    -- state, and has the next number.
    SELECT RAISE(ABORT, 'fsm: ticket: the record is not at the revision and state of the event')
    WHERE NEW."n" > 0
      AND NOT EXISTS (SELECT 1 FROM "ticket" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "state" = NEW."to_state");
    SELECT RAISE(ABORT, 'fsm: ticket: only a finished record is purged')
    WHERE NEW."operation" = '__purge'
      AND NEW."to_state" NOT IN ('solved');
    SELECT RAISE(ABORT, 'fsm: ticket: the log has a gap')
    WHERE NEW."n" > 0
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = NEW."n" - 1);
END;
CREATE TRIGGER IF NOT EXISTS "ticket_insert" BEFORE INSERT ON "ticket"
BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: a record begins in open')
    WHERE NEW."state" NOT IN ('open')
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" = '__import' AND "chain" <> 0);
    SELECT RAISE(ABORT, 'fsm: ticket: a record needs the event of its creation')
    WHERE NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "from_state" IS NULL AND "to_state" = NEW."state" AND "operation" <> '__purged' AND (e."chain" = 0 OR e."chain" = (coalesce((SELECT p."chain" FROM "ticket_events" AS p WHERE p."id" = e."id" AND p."rev" = e."rev" - 1 AND p."n" = 0), 0) * 16777619 + e."checksum") % 4294967296));
END;
CREATE TRIGGER IF NOT EXISTS "ticket_update" BEFORE UPDATE OF "id", "state", "rev", "created_at", "updated_at", "number", "queue", "priority", "owner", "due", "note", "place", "tries", "tags", "rating", "weight", "loud", "kind", "desk", "since", "extra", "watchers", "reminders" ON "ticket"
WHEN NEW._chain = OLD._chain OR NEW._chain = 0 OR NEW.rev <> OLD.rev + 1
BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: the state open leads to open, held, parked only')
    WHERE OLD."state" = 'open'
      AND NEW."state" NOT IN ('open', 'taken', 'parked');
    SELECT RAISE(ABORT, 'fsm: ticket: the state held leads to open, held, solved only')
    WHERE OLD."state" = 'taken'
      AND NEW."state" NOT IN ('open', 'taken', 'solved');
    SELECT RAISE(ABORT, 'fsm: ticket: a record in the terminal state solved never changes')
    WHERE OLD."state" = 'solved';
    SELECT RAISE(ABORT, 'fsm: ticket: the state parked leads to open only')
    WHERE OLD."state" = 'parked'
      AND NEW."state" NOT IN ('open');
    SELECT RAISE(ABORT, 'fsm: ticket: the revision rises by one')
    WHERE NEW."rev" IS NOT OLD."rev" + 1;
    SELECT RAISE(ABORT, 'fsm: ticket: created_at never changes')
    WHERE NEW."created_at" IS NOT OLD."created_at";
    SELECT RAISE(ABORT, 'fsm: ticket: updated_at never falls')
    WHERE NEW."updated_at" < OLD."updated_at";
    SELECT RAISE(ABORT, 'fsm: ticket: the new revision needs its event')
    WHERE NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "from_state" = OLD."state" AND "to_state" = NEW."state" AND (e."chain" = 0 OR e."chain" = (coalesce((SELECT p."chain" FROM "ticket_events" AS p WHERE p."id" = e."id" AND p."rev" = e."rev" - 1 AND p."n" = 0), 0) * 16777619 + e."checksum") % 4294967296));
    SELECT RAISE(ABORT, 'fsm: ticket: count never changes after the creation')
    WHERE NEW."number" IS NOT OLD."number";
    SELECT RAISE(ABORT, 'fsm: ticket: queue never changes after the creation')
    WHERE NEW."queue" IS NOT OLD."queue";
    SELECT RAISE(ABORT, 'fsm: ticket: priority never changes after the creation')
    WHERE NEW."priority" IS NOT OLD."priority";
    SELECT RAISE(ABORT, 'fsm: ticket: owner is changed by take, give_back only')
    WHERE NEW."owner" IS NOT OLD."owner"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('take', 'give_back'));
    SELECT RAISE(ABORT, 'fsm: ticket: due is changed by take, give_back only')
    WHERE NEW."due" IS NOT OLD."due"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('take', 'give_back'));
    SELECT RAISE(ABORT, 'fsm: ticket: answer is changed by solve only')
    WHERE NEW."note" IS NOT OLD."note"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('solve'));
    SELECT RAISE(ABORT, 'fsm: ticket: place never changes after the creation')
    WHERE NEW."place" IS NOT OLD."place";
    SELECT RAISE(ABORT, 'fsm: ticket: tries never falls')
    WHERE NEW."tries" < OLD."tries";
    SELECT RAISE(ABORT, 'fsm: ticket: tries is changed by take only')
    WHERE NEW."tries" IS NOT OLD."tries"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('take'));
    SELECT RAISE(ABORT, 'fsm: ticket: tags never loses a member')
    WHERE NEW."tags" IS NOT OLD."tags"
      AND EXISTS (SELECT value FROM json_each(OLD."tags") EXCEPT SELECT value FROM json_each(NEW."tags"));
    SELECT RAISE(ABORT, 'fsm: ticket: tags is changed by tag only')
    WHERE NEW."tags" IS NOT OLD."tags"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('tag'));
    SELECT RAISE(ABORT, 'fsm: ticket: rating is changed by solve only')
    WHERE NEW."rating" IS NOT OLD."rating"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('solve'));
    SELECT RAISE(ABORT, 'fsm: ticket: weight is changed by weigh only')
    WHERE NEW."weight" IS NOT OLD."weight"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('weigh'));
    SELECT RAISE(ABORT, 'fsm: ticket: loud is changed by weigh only')
    WHERE NEW."loud" IS NOT OLD."loud"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('weigh'));
    SELECT RAISE(ABORT, 'fsm: ticket: kind is changed by weigh only')
    WHERE NEW."kind" IS NOT OLD."kind"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('weigh'));
    SELECT RAISE(ABORT, 'fsm: ticket: desk is changed by weigh only')
    WHERE NEW."desk" IS NOT OLD."desk"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('weigh'));
    SELECT RAISE(ABORT, 'fsm: ticket: since is changed by weigh only')
    WHERE NEW."since" IS NOT OLD."since"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('weigh'));
    SELECT RAISE(ABORT, 'fsm: ticket: extra is changed by weigh only')
    WHERE NEW."extra" IS NOT OLD."extra"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('weigh'));
    SELECT RAISE(ABORT, 'fsm: ticket: watchers never loses a member')
    WHERE NEW."watchers" IS NOT OLD."watchers"
      AND EXISTS (SELECT value FROM json_each(OLD."watchers") EXCEPT SELECT value FROM json_each(NEW."watchers"));
    SELECT RAISE(ABORT, 'fsm: ticket: watchers is changed by follow only')
    WHERE NEW."watchers" IS NOT OLD."watchers"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('follow'));
    SELECT RAISE(ABORT, 'fsm: ticket: reminders never falls')
    WHERE NEW."reminders" < OLD."reminders";
    SELECT RAISE(ABORT, 'fsm: ticket: reminders is changed by remind only')
    WHERE NEW."reminders" IS NOT OLD."reminders"
      AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('remind'));
END;
CREATE TRIGGER IF NOT EXISTS "ticket_chain" BEFORE UPDATE OF "_chain" ON "ticket"
WHEN NEW._chain NOT IN (OLD._chain, 0) AND NEW.rev = OLD.rev
BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: the chain moves with the revision only');
END;
CREATE TRIGGER IF NOT EXISTS "ticket_delete" BEFORE DELETE ON "ticket"
BEGIN
    SELECT RAISE(ABORT, 'fsm: ticket: a record is never deleted')
    WHERE OLD."state" NOT IN ('solved') OR NOT EXISTS (SELECT 1 FROM (SELECT p."operation", p."rev", p."n" FROM "ticket_events" AS p WHERE p."id" = OLD."id" ORDER BY p."rev" DESC, p."n" DESC LIMIT 1) AS newest WHERE newest."operation" = '__purge' AND newest."n" > 0 AND newest."rev" = OLD."rev");
END;

-- What others have made goes on.
SAVEPOINT "fsm_probe";
CREATE TABLE "fsm_probe" ("a");
ALTER TABLE "fsm_probe" RENAME TO "fsm_probed";
ROLLBACK TO "fsm_probe";
RELEASE "fsm_probe";
SELECT json_extract('{}', 'fsm: ticket: ' || 'the ' || 'table' || ' "' || "table" || '" ' || 'has a row that would refer to no record' || '; nothing was changed')
FROM (SELECT DISTINCT m."name" AS "table", c."rowid" AS "row", c."fkid" AS "key"
FROM sqlite_master AS m, pragma_foreign_key_list(m."name") AS f, pragma_foreign_key_check(m."name") AS c
WHERE m."type" = 'table' AND lower(f."table") IN ('ticket', 'ticket_events', 'ticket_outbox', 'ticket_groups')
EXCEPT SELECT * FROM temp."fsm_dangling") LIMIT 1;
DROP TABLE temp."fsm_dangling";

-- Whose is what, for later versions.
CREATE TABLE IF NOT EXISTS "fsm_made" (
    "machine" TEXT NOT NULL PRIMARY KEY,
    "hash" TEXT NOT NULL,
    "schema" TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT OR REPLACE INTO "fsm_made" ("machine", "hash", "schema")
SELECT 'ticket', 'cd80e80d9974cea0160a7f01df9f574f4d7ab4bb0ec520caf08e3f71c8d16b62', 'CREATE TABLE IF NOT EXISTS "ticket" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "state" TEXT NOT NULL,
    "rev" INTEGER NOT NULL,
    "created_at" INTEGER NOT NULL,
    "updated_at" INTEGER NOT NULL,
    "number" INTEGER NOT NULL,
    "queue" TEXT NOT NULL,
    "priority" TEXT NOT NULL,
    "owner" TEXT,
    "due" INTEGER,
    "note" TEXT,
    "place" TEXT NOT NULL,
    "tries" INTEGER NOT NULL,
    "tags" TEXT NOT NULL,
    "rating" INTEGER,
    "weight" INTEGER NOT NULL DEFAULT 5,
    "loud" INTEGER NOT NULL DEFAULT 1,
    "kind" TEXT NOT NULL DEFAULT ''question'',
    "desk" TEXT NOT NULL DEFAULT ''it''''s "the" desk'',
    "since" INTEGER NOT NULL DEFAULT 1769857200500000,
    "extra" TEXT NOT NULL DEFAULT ''{"a":["''''",null]}'',
    "watchers" TEXT NOT NULL,
    "reminders" INTEGER NOT NULL,
    -- that of the record''s last event, for the engine alone; 0: the log has
    -- it
    "_chain" INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT "id is not empty" CHECK ("id" <> ''''),
    CONSTRAINT "state is known" CHECK ("state" IN (''open'', ''taken'', ''solved'', ''parked'')),
    CONSTRAINT "rev is at least 1" CHECK ("rev" >= 1),
    CONSTRAINT "count is a number of a sequence" CHECK ("number" >= 1),
    CONSTRAINT "queue is from 1 to 40 characters long" CHECK (length("queue") BETWEEN 1 AND 40),
    CONSTRAINT "priority is a known word" CHECK ("priority" IN (''low'', ''high'', ''urgent'')),
    CONSTRAINT "tries is a count" CHECK ("tries" >= 0),
    CONSTRAINT "tags is a set" CHECK ((json_valid("tags") AND json_type("tags") = ''array'')),
    CONSTRAINT "rating is from 1 to 5" CHECK ("rating" BETWEEN 1 AND 5),
    CONSTRAINT "weight is from 1 to 9" CHECK ("weight" BETWEEN 1 AND 9),
    CONSTRAINT "loud is true or false" CHECK ("loud" IN (0, 1)),
    CONSTRAINT "kind is a known word" CHECK ("kind" IN (''question'', ''fault'')),
    CONSTRAINT "extra is JSON" CHECK (json_valid(coalesce("extra", ''null''))),
    CONSTRAINT "watchers is a set" CHECK ((json_valid("watchers") AND json_type("watchers") = ''array'')),
    CONSTRAINT "reminders is a count" CHECK ("reminders" >= 0),
    CONSTRAINT "invariant: reminders <= 3" CHECK ("reminders" <= 3),
    CONSTRAINT "open: owner is absent" CHECK ("state" <> ''open'' OR "owner" IS NULL),
    CONSTRAINT "open: due is absent" CHECK ("state" <> ''open'' OR "due" IS NULL),
    CONSTRAINT "held: owner is present" CHECK ("state" <> ''taken'' OR "owner" IS NOT NULL),
    CONSTRAINT "held: due is present" CHECK ("state" <> ''taken'' OR "due" IS NOT NULL),
    CONSTRAINT "held: tries >= 1" CHECK ("state" <> ''taken'' OR "tries" >= 1),
    CONSTRAINT "solved: answer is present" CHECK ("state" <> ''solved'' OR "note" IS NOT NULL),
    CONSTRAINT "solved: tries >= 1" CHECK ("state" <> ''solved'' OR "tries" >= 1),
    CONSTRAINT "parked: owner is absent" CHECK ("state" <> ''parked'' OR "owner" IS NULL),
    CONSTRAINT "parked: due is absent" CHECK ("state" <> ''parked'' OR "due" IS NULL)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS "ticket_events" (
    -- the order of the commits; a place is never given again
    "seq" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "id" TEXT NOT NULL,
    "rev" INTEGER NOT NULL,
    "n" INTEGER NOT NULL,
    "operation" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    -- null: the creation
    "from_state" TEXT,
    "to_state" TEXT NOT NULL,
    "occurred_at" INTEGER NOT NULL,
    "actor" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    -- null: a call without one, or a step that another operation leads to
    "request_id" TEXT,
    -- -1: the request belongs to the record; else to the machine, and this is
    -- its index in a batch
    "request_n" INTEGER NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "labels" TEXT,
    "inputs" TEXT,
    -- the new values of the changed fields; of a set, the added members
    "changes" TEXT,
    -- all fields, at revision 1 and every 64th
    "image" TEXT,
    -- of the specification
    "version" INTEGER NOT NULL,
    -- the operation that led to this one
    "cause" TEXT,
    -- the guard that failed, when the call was recorded only for that
    "guard" TEXT,
    -- CRC-32C over the event
    "checksum" INTEGER NOT NULL,
    -- over the sums of this event and all before it; see Event.Chain
    "chain" INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT "ticket_events_revision" UNIQUE ("id", "rev", "n"),
    CONSTRAINT "seq is at least 1" CHECK ("seq" >= 1),
    CONSTRAINT "rev is at least 1" CHECK ("rev" >= 1),
    CONSTRAINT "n is a count" CHECK ("n" >= 0),
    CONSTRAINT "revision 1 is the creation" CHECK ("n" > 0 OR ("rev" = 1) = ("from_state" IS NULL)),
    CONSTRAINT "a recorded call moves nothing" CHECK ("n" = 0 OR "from_state" IS NOT NULL AND "from_state" = "to_state"),
    CONSTRAINT "request_id is not empty" CHECK ("request_id" <> ''''),
    CONSTRAINT "request_n is an index" CHECK ("request_n" >= -1)
) STRICT;
CREATE TABLE IF NOT EXISTS "ticket_outbox" (
    "id" TEXT NOT NULL,
    -- the revision whose commit asked for it
    "rev" INTEGER NOT NULL,
    -- of what it asked for, 0 for the first
    "n" INTEGER NOT NULL,
    "effect" TEXT NOT NULL,
    -- the effect''s idempotency key
    "key" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL,
    "due" INTEGER NOT NULL,
    "last_error" TEXT NOT NULL,
    PRIMARY KEY ("id", "rev", "n"),
    CONSTRAINT "attempts is a count" CHECK ("attempts" >= 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS "ticket_groups" (
    -- of the guard or the sequence
    "name" TEXT NOT NULL,
    -- the group''s values as a JSON array
    "key" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    PRIMARY KEY ("name", "key")
) STRICT, WITHOUT ROWID;
' || coalesce(group_concat("sql" || ';', char(10)), '') FROM sqlite_master
WHERE "name" IN ('ticket_events_request', 'ticket_events_batch', 'ticket_events_purged', 'ticket_outbox_fresh', 'ticket_outbox_again', 'ticket_unique_one_number', 'ticket_unique_sequence_count', 'ticket_state', 'ticket_desk', 'ticket_unchained', 'ticket_insert_keeps', 'ticket_update_keeps', 'ticket_insert_sets', 'ticket_update_sets', 'ticket_events_insert_keeps', 'ticket_events_update', 'ticket_events_delete', 'ticket_events_insert', 'ticket_insert', 'ticket_update', 'ticket_chain', 'ticket_delete', '');

UPDATE "fsm_meta" SET "version" = 2, "hash" = 'cd80e80d9974cea0160a7f01df9f574f4d7ab4bb0ec520caf08e3f71c8d16b62' WHERE "machine" = 'ticket';

-- Which earlier versions may be open beside this one.
CREATE TABLE IF NOT EXISTS "fsm_versions" (
    "machine" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "standing" TEXT NOT NULL CHECK ("standing" IN ('open', 'retired')),
    PRIMARY KEY ("machine", "hash")
) STRICT;
UPDATE "fsm_versions" SET "standing" = 'retired' WHERE "machine" = 'ticket';
DELETE FROM "fsm_versions" WHERE "machine" = 'ticket' AND "hash" IN ('79c54c6214f2340fc6277d44da7a33daee29b15f59cd5546a8d497d40c9681ab', 'cd80e80d9974cea0160a7f01df9f574f4d7ab4bb0ec520caf08e3f71c8d16b62');
INSERT INTO "fsm_versions" ("machine", "hash", "version", "standing") VALUES ('ticket', '79c54c6214f2340fc6277d44da7a33daee29b15f59cd5546a8d497d40c9681ab', 1, 'retired');
DROP TABLE temp."fsm_migration";
COMMIT;
PRAGMA foreign_keys = ON;
