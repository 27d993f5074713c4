-- Migration of machine ticket from version 1 (hash 79c54c6214f2)
-- to version 2 (hash cd80e80d9974), level of enforcement full.
--
-- Stop the program, make a backup, and run: psql -v ON_ERROR_STOP=1 -f THIS_FILE
-- Run it on the search path on which the tables are.
--
-- Nothing changes while these queries return rows; correct them with the old version first:
--   no effect waits for a record in the removed state on_hold:
--     SELECT o."id", o."rev", o."effect" FROM "ticket_outbox" AS o JOIN "ticket" AS r ON r."id" = o."id" AND r."rev" = o."rev" WHERE r."state" = 'on_hold';
--   place is mandatory:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "place" FROM "ticket") AS "after" WHERE "place" IS NULL;
--   queue is from 1 to 40 characters long:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "queue" FROM "ticket") AS "after" WHERE NOT (char_length("queue") BETWEEN 1 AND 40);
--   invariant: reminders <= 3:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", 0::bigint AS "reminders" FROM "ticket") AS "after" WHERE NOT ("reminders" <= 3);
--   open: absent owner, due:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "owner" END AS "owner", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "due" END AS "due" FROM "ticket") AS "after" WHERE NOT ("state" <> 'open' OR ("owner" IS NULL AND "due" IS NULL));
--   held: present owner, due; tries >= 1:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "owner" END AS "owner", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "due" END AS "due", "tries" FROM "ticket") AS "after" WHERE NOT ("state" <> 'taken' OR ("owner" IS NOT NULL AND "due" IS NOT NULL AND "tries" >= 1));
--   solved: present answer; tries >= 1:
--     SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "note", "tries" FROM "ticket") AS "after" WHERE NOT ("state" <> 'solved' OR ("note" IS NOT NULL AND "tries" >= 1));
--   ticket_unique_one_number:
--     SELECT "queue", "number", count(*) AS "records", string_agg("id", ',') AS "ids" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "number", "queue" FROM "ticket") AS "after" WHERE "queue" IS NOT NULL AND "number" IS NOT NULL AND "state" IN ('open', 'taken') GROUP BY "queue", "number" HAVING count(*) > 1;

-- The runtime's checksum over an event.
CREATE FUNCTION pg_temp.fsm_sum(VARIADIC parts text[]) RETURNS bigint LANGUAGE plpgsql AS $fsm$
DECLARE
    crc bigint := 4294967295;
    entries bigint[] := ARRAY[0, 274646895, 549293790, 820201905, 1098587580, 1361435347, 1640403810, 1905808397, 2197175160, 2460548119, 2722870694, 2987750089, 3280807620, 3553878443, 3811616794, 4084100981];
    part text;
    bytes bytea;
    byte int;
BEGIN
    FOREACH part IN ARRAY parts LOOP
        bytes := convert_to(part, 'UTF8');
        IF length(bytes) < 128 THEN
            bytes := set_byte('\x00'::bytea, 0, length(bytes)) || bytes;
        ELSE
            bytes := set_byte(set_byte('\x0000'::bytea, 0, (length(bytes) & 127) | 128), 1, length(bytes) >> 7) || bytes;
        END IF;
        FOR i IN 0 .. length(bytes) - 1 LOOP
            byte := get_byte(bytes, i);
            crc := entries[((crc & 15)::int # (byte & 15)) + 1] # (crc >> 4);
            crc := entries[((crc & 15)::int # (byte >> 4)) + 1] # (crc >> 4);
        END LOOP;
    END LOOP;
    RETURN crc # 4294967295;
END
$fsm$;

-- Every row fits: nothing is locked yet.
DO $fsm$
DECLARE
    which text;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM "fsm_meta" WHERE "machine" = 'ticket' AND "hash" = '79c54c6214f2340fc6277d44da7a33daee29b15f59cd5546a8d497d40c9681ab' AND "enforce" = 'full' AND "dialect" = 'postgres') THEN
        RAISE EXCEPTION '%', 'fsm: ticket: this is not a database of version 1 (hash 79c54c6214f2) with the level of enforcement full';
    END IF;
    SELECT q."id" INTO which FROM (SELECT o."id", o."rev", o."effect" FROM "ticket_outbox" AS o JOIN "ticket" AS r ON r."id" = o."id" AND r."rev" = o."rev" WHERE r."state" = 'on_hold') AS q LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'fsm: ticket: the row % breaks the rule: %; nothing was changed', quote_literal(which), 'no effect waits for a record in the removed state on_hold';
    END IF;
    SELECT q."id" INTO which FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "place" FROM "ticket") AS "after" WHERE "place" IS NULL) AS q LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'fsm: ticket: the row % breaks the rule: %; nothing was changed', quote_literal(which), 'place is mandatory';
    END IF;
    SELECT q."id" INTO which FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "queue" FROM "ticket") AS "after" WHERE NOT (char_length("queue") BETWEEN 1 AND 40)) AS q LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'fsm: ticket: the row % breaks the rule: %; nothing was changed', quote_literal(which), 'queue is from 1 to 40 characters long';
    END IF;
    SELECT q."id" INTO which FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", 0::bigint AS "reminders" FROM "ticket") AS "after" WHERE NOT ("reminders" <= 3)) AS q LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'fsm: ticket: the row % breaks the rule: %; nothing was changed', quote_literal(which), 'invariant: reminders <= 3';
    END IF;
    SELECT q."id" INTO which FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "owner" END AS "owner", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "due" END AS "due" FROM "ticket") AS "after" WHERE NOT ("state" <> 'open' OR ("owner" IS NULL AND "due" IS NULL))) AS q LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'fsm: ticket: the row % breaks the rule: %; nothing was changed', quote_literal(which), 'open: absent owner, due';
    END IF;
    SELECT q."id" INTO which FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "owner" END AS "owner", CASE WHEN "state" IN ('on_hold') THEN NULL ELSE "due" END AS "due", "tries" FROM "ticket") AS "after" WHERE NOT ("state" <> 'taken' OR ("owner" IS NOT NULL AND "due" IS NOT NULL AND "tries" >= 1))) AS q LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'fsm: ticket: the row % breaks the rule: %; nothing was changed', quote_literal(which), 'held: present owner, due; tries >= 1';
    END IF;
    SELECT q."id" INTO which FROM (SELECT "id", "state" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "note", "tries" FROM "ticket") AS "after" WHERE NOT ("state" <> 'solved' OR ("note" IS NOT NULL AND "tries" >= 1))) AS q LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'fsm: ticket: the row % breaks the rule: %; nothing was changed', quote_literal(which), 'solved: present answer; tries >= 1';
    END IF;
    SELECT q."ids" INTO which FROM (SELECT "queue", "number", count(*) AS "records", string_agg("id", ',') AS "ids" FROM (SELECT "id", CASE "state" WHEN 'on_hold' THEN 'open' ELSE "state" END AS "state", "number", "queue" FROM "ticket") AS "after" WHERE "queue" IS NOT NULL AND "number" IS NOT NULL AND "state" IN ('open', 'taken') GROUP BY "queue", "number" HAVING count(*) > 1) AS q LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'fsm: ticket: the row % breaks the rule: %; nothing was changed', quote_literal(which), 'ticket_unique_one_number';
    END IF;
END
$fsm$;

BEGIN;
SET LOCAL lock_timeout = '5s';
-- The tables together, or none of them: who waits here keeps nobody from going on.
DO $fsm$
BEGIN
    LOOP
        BEGIN
            LOCK TABLE "ticket_events" IN ACCESS EXCLUSIVE MODE;
            LOCK TABLE "ticket", "ticket_outbox" IN ACCESS EXCLUSIVE MODE NOWAIT;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            IF clock_timestamp() > transaction_timestamp() + interval '5 seconds' THEN
                RAISE;
            END IF;
        END;
        PERFORM pg_sleep(0.005);
    END LOOP;
END
$fsm$;

-- A database of another version is left unchanged.
DO $fsm$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM "fsm_meta" WHERE "machine" = 'ticket' AND "hash" = '79c54c6214f2340fc6277d44da7a33daee29b15f59cd5546a8d497d40c9681ab' AND "enforce" = 'full' AND "dialect" = 'postgres') THEN
        RAISE EXCEPTION '%', 'fsm: ticket: this is not a database of version 1 (hash 79c54c6214f2) with the level of enforcement full';
    END IF;
    IF EXISTS (SELECT o."id", o."rev", o."effect" FROM "ticket_outbox" AS o JOIN "ticket" AS r ON r."id" = o."id" AND r."rev" = o."rev" WHERE r."state" = 'on_hold') THEN
        RAISE EXCEPTION '%', 'fsm: ticket: effects wait for records in the removed state on_hold; deliver them first';
    END IF;
END
$fsm$;

-- What an earlier migration kept for programs that are retired now.
DO $fsm$
DECLARE
    which text;
BEGIN
    IF to_regproc('"ticket_beside"') IS NOT NULL AND obj_description(to_regproc('"ticket_beside"'), 'pg_proc') IS NULL THEN
        RAISE EXCEPTION 'the comment on the function "ticket_beside" is gone, which has the columns that it keeps, as a JSON array; write it again';
    END IF;
    DROP TRIGGER IF EXISTS "ticket_beside" ON "ticket";
    FOR which IN SELECT json_array_elements_text(obj_description(to_regproc('"ticket_beside"'), 'pg_proc')::json) LOOP
        EXECUTE 'ALTER TABLE "ticket" DROP COLUMN IF EXISTS ' || quote_ident(which);
    END LOOP;
    DROP FUNCTION IF EXISTS "ticket_beside"();
END
$fsm$;
DO $fsm$
DECLARE
    which text;
BEGIN
    SELECT name INTO which FROM (SELECT attname::text, attrelid FROM pg_attribute WHERE attrelid = '"ticket"'::regclass AND NOT attisdropped AND attname IN ('rating', 'weight', 'loud', 'kind', 'desk', 'since', 'extra', 'watchers', 'reminders', '_in_open_or_taken', NULL)
        UNION ALL SELECT c.relname::text, t.oid FROM pg_class AS c JOIN pg_class AS t ON t.oid = '"ticket"'::regclass AND t.relnamespace = c.relnamespace WHERE c.relname IN ('ticket_unique_one_number', 'ticket_unique_sequence_count', 'ticket_desk', NULL)
        UNION ALL SELECT tgname::text, tgrelid FROM pg_trigger WHERE tgrelid IN ('"ticket"'::regclass, '"ticket_events"'::regclass) AND tgname IN ('ticket_unique_one_number', 'ticket_unique_sequence_count', 'ticket_desk', NULL)) AS taken (name) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'fsm: ticket: "%" is the name of something that the new version needs; rename yours; nothing was changed', which;
    END IF;
END
$fsm$;
DO $fsm$
DECLARE
    which text;
BEGIN
    SELECT pg_describe_object(d.classid, d.objid, 0) INTO which FROM pg_depend AS d
        JOIN pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        LEFT JOIN pg_class AS x ON d.classid = 'pg_class'::regclass AND x.oid = d.objid
        LEFT JOIN pg_constraint AS k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
        WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = '"ticket"'::regclass AND a.attname IN ('colour')
          AND d.classid IN ('pg_class'::regclass, 'pg_constraint'::regclass, 'pg_statistic_ext'::regclass)
          AND coalesce(x.relname, k.conname, '') NOT IN ('ticket_unique_sequence_number', 'ticket_open', 'id is not empty', 'state is known', 'rev is at least 1', 'number is a number of a sequence', 'priority is a known word', 'tries is a count', 'tags is a set', 'open: absent owner, due', 'taken: present owner, due', 'on_hold: present owner, due', 'solved: note is present', '?') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'fsm: ticket: the % needs a column that goes; drop it first; nothing was changed', which;
    END IF;
END
$fsm$;

-- Indexes and triggers of the generator are made again below.
DROP TRIGGER IF EXISTS "ticket_computed" ON "ticket";
DROP TRIGGER IF EXISTS "ticket_unchained" ON "ticket";
DROP TRIGGER IF EXISTS "ticket_events_keep" ON "ticket_events";
DROP TRIGGER IF EXISTS "ticket_events_truncate" ON "ticket_events";
DROP TRIGGER IF EXISTS "ticket_guard" ON "ticket";
DROP TRIGGER IF EXISTS "ticket_created" ON "ticket";
DROP TRIGGER IF EXISTS "ticket_removed" ON "ticket";
DROP TRIGGER IF EXISTS "ticket_has_event" ON "ticket";
DROP TRIGGER IF EXISTS "ticket_created_has_event" ON "ticket";
DROP TRIGGER IF EXISTS "ticket_events_has_row" ON "ticket_events";
DROP TRIGGER IF EXISTS "ticket_truncate" ON "ticket";
DROP INDEX IF EXISTS "ticket_unique_sequence_number";
ALTER TABLE "ticket" DROP CONSTRAINT "state is known";
ALTER TABLE "ticket" DROP CONSTRAINT "number is a number of a sequence";
ALTER TABLE "ticket" DROP CONSTRAINT "priority is a known word";
ALTER TABLE "ticket" DROP CONSTRAINT "taken: present owner, due";
ALTER TABLE "ticket" DROP CONSTRAINT "on_hold: present owner, due";
ALTER TABLE "ticket" DROP CONSTRAINT "solved: note is present";

-- Rows of removed states move, each with its event.
WITH "v" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "inputs", "changes", "version", "checksum") AS (
SELECT m."id", m."rev", 0, 'migrate', 'migrate', 'on_hold', 'open', m."at", 'system', 'state on_hold was removed', m."request", -1, '', '{}'::json, m."changes"::json, 2, pg_temp.fsm_sum(m."id"::text, m."rev"::text, 'migrate', 'migrate', 'on_hold', 'open', (extract(epoch FROM m."at") * 1000000)::bigint::text, 'system', 'state on_hold was removed', m."request"::text, '-1', '', '0', '{}', m."changes"::text, '', '2', '', '')
FROM (
    SELECT "id", "rev" + 1 AS "rev", 'sys:migrate:' || ("rev" + 1) AS "request", transaction_timestamp() AS "at",
        '{' || substr(CASE WHEN "owner" IS NULL THEN '' ELSE ',"owner":null' END || CASE WHEN "due" IS NULL THEN '' ELSE ',"due":null' END, 2) || '}' AS "changes"
    FROM "ticket" WHERE "state" = 'on_hold'
) AS m
)
INSERT INTO "ticket_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "inputs", "changes", "version", "checksum", "chain")
SELECT "v".*, (coalesce((SELECT p."chain" FROM "ticket_events" AS p WHERE p."id" = "v"."id" AND p."rev" = "v"."rev" - 1 AND p."n" = 0), 0) * 16777619 + "v"."checksum") % 4294967296
FROM "v"
ORDER BY "v"."id";
UPDATE "ticket" SET "_chain" = 0, "state" = 'open', "rev" = "rev" + 1, "updated_at" = greatest("updated_at", transaction_timestamp()), "owner" = NULL, "due" = NULL WHERE "state" = 'on_hold';

-- The table in its new form.
ALTER TABLE "ticket" DROP COLUMN "colour";
ALTER TABLE "ticket" ALTER COLUMN "place" SET NOT NULL;
ALTER TABLE "ticket" ADD COLUMN "rating" bigint;
ALTER TABLE "ticket" ADD COLUMN "weight" bigint NOT NULL DEFAULT 5;
ALTER TABLE "ticket" ADD COLUMN "loud" boolean NOT NULL DEFAULT true;
ALTER TABLE "ticket" ADD COLUMN "kind" text COLLATE "C" NOT NULL DEFAULT 'question';
ALTER TABLE "ticket" ADD COLUMN "desk" text COLLATE "C" NOT NULL DEFAULT 'it''s "the" desk';
ALTER TABLE "ticket" ADD COLUMN "since" timestamptz NOT NULL DEFAULT '2026-01-31T11:00:00.5Z';
ALTER TABLE "ticket" ADD COLUMN "extra" json NOT NULL DEFAULT '{"a":["''",null]}';
ALTER TABLE "ticket" ADD COLUMN "watchers" json NOT NULL DEFAULT '[]'::json;
ALTER TABLE "ticket" ALTER COLUMN "watchers" DROP DEFAULT;
ALTER TABLE "ticket" ADD COLUMN "reminders" bigint NOT NULL DEFAULT 0::bigint;
ALTER TABLE "ticket" ALTER COLUMN "reminders" DROP DEFAULT;
ALTER TABLE "ticket" ADD COLUMN IF NOT EXISTS "_open" boolean NOT NULL DEFAULT false, ADD COLUMN IF NOT EXISTS "_in_open_or_taken" boolean NOT NULL DEFAULT false;
ALTER TABLE "ticket" ADD CONSTRAINT "state is known" CHECK ("state" IN ('open', 'taken', 'solved', 'parked')) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "count is a number of a sequence" CHECK ("number" >= 1) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "queue is from 1 to 40 characters long" CHECK (char_length("queue") BETWEEN 1 AND 40) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "priority is a known word" CHECK ("priority" IN ('low', 'high', 'urgent')) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "rating is from 1 to 5" CHECK ("rating" BETWEEN 1 AND 5) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "weight is from 1 to 9" CHECK ("weight" BETWEEN 1 AND 9) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "kind is a known word" CHECK ("kind" IN ('question', 'fault')) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "watchers is a set" CHECK ("fsm_is_set"("watchers")) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "reminders is a count" CHECK ("reminders" >= 0) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "invariant: reminders <= 3" CHECK ("reminders" <= 3) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "held: present owner, due; tries >= 1" CHECK ("state" <> 'taken' OR ("owner" IS NOT NULL AND "due" IS NOT NULL AND "tries" >= 1)) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "solved: present answer; tries >= 1" CHECK ("state" <> 'solved' OR ("note" IS NOT NULL AND "tries" >= 1)) NOT VALID;
ALTER TABLE "ticket" ADD CONSTRAINT "parked: absent owner, due" CHECK ("state" <> 'parked' OR ("owner" IS NULL AND "due" IS NULL)) NOT VALID;
UPDATE "ticket" SET "_open" = "state" IN ('open', 'taken', 'parked'), "_in_open_or_taken" = "state" IN ('open', 'taken') WHERE "_open" IS DISTINCT FROM ("state" IN ('open', 'taken', 'parked')) OR "_in_open_or_taken" IS DISTINCT FROM ("state" IN ('open', 'taken'));

-- Which specification each machine's tables were made for.
CREATE TABLE IF NOT EXISTS "fsm_meta" (
    "machine" text COLLATE "C" NOT NULL PRIMARY KEY,
    "version" bigint NOT NULL,
    "hash" text COLLATE "C" NOT NULL,
    "enforce" text COLLATE "C" NOT NULL,
    "dialect" text COLLATE "C" NOT NULL
);

-- A set is an array of strings, sorted bytewise, each once.
CREATE OR REPLACE FUNCTION "fsm_is_set"(items json) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $fsm$
DECLARE
    word text;
    prior text;
BEGIN
    IF json_typeof(items) <> 'array' OR jsonb_path_exists(items::jsonb, 'strict $[*] ? (@.type() <> "string")') THEN
        RETURN false;
    END IF;
    FOR word IN SELECT json_array_elements_text(items) LOOP
        IF word COLLATE "C" <= prior COLLATE "C" THEN
            RETURN false;
        END IF;
        prior := word;
    END LOOP;
    RETURN true;
END
$fsm$;

-- One row per Ticket.
-- States: open, held, parked; terminal: solved.
CREATE TABLE IF NOT EXISTS "ticket" (
    "id" text COLLATE "C" NOT NULL PRIMARY KEY,
    "state" text COLLATE "C" NOT NULL,
    "rev" bigint NOT NULL,
    "created_at" timestamptz NOT NULL,
    "updated_at" timestamptz NOT NULL,
    "number" bigint NOT NULL,
    "queue" text COLLATE "C" NOT NULL,
    "priority" text COLLATE "C" NOT NULL,
    "owner" text COLLATE "C",
    "due" timestamptz,
    "note" text COLLATE "C",
    "place" text COLLATE "C" NOT NULL,
    "tries" bigint NOT NULL,
    "tags" json NOT NULL,
    "rating" bigint,
    "weight" bigint NOT NULL DEFAULT 5,
    "loud" boolean NOT NULL DEFAULT true,
    "kind" text COLLATE "C" NOT NULL DEFAULT 'question',
    "desk" text COLLATE "C" NOT NULL DEFAULT 'it''s "the" desk',
    "since" timestamptz NOT NULL DEFAULT '2026-01-31T11:00:00.5Z',
    "extra" json NOT NULL DEFAULT '{"a":["''",null]}',
    "watchers" json NOT NULL,
    "reminders" bigint NOT NULL,
    -- that of the record's last event, for the engine alone; 0: the log has
    -- it
    "_chain" bigint NOT NULL DEFAULT 0,
    -- for indexes: whether it is in these states; a trigger keeps it right
    "_open" boolean NOT NULL DEFAULT false,
    "_in_open_or_taken" boolean NOT NULL DEFAULT false,
    CONSTRAINT "id is not empty" CHECK ("id" <> ''),
    CONSTRAINT "state is known" CHECK ("state" IN ('open', 'taken', 'solved', 'parked')),
    CONSTRAINT "rev is at least 1" CHECK ("rev" >= 1),
    CONSTRAINT "count is a number of a sequence" CHECK ("number" >= 1),
    CONSTRAINT "queue is from 1 to 40 characters long" CHECK (char_length("queue") BETWEEN 1 AND 40),
    CONSTRAINT "priority is a known word" CHECK ("priority" IN ('low', 'high', 'urgent')),
    CONSTRAINT "tries is a count" CHECK ("tries" >= 0),
    CONSTRAINT "tags is a set" CHECK ("fsm_is_set"("tags")),
    CONSTRAINT "rating is from 1 to 5" CHECK ("rating" BETWEEN 1 AND 5),
    CONSTRAINT "weight is from 1 to 9" CHECK ("weight" BETWEEN 1 AND 9),
    CONSTRAINT "kind is a known word" CHECK ("kind" IN ('question', 'fault')),
    CONSTRAINT "watchers is a set" CHECK ("fsm_is_set"("watchers")),
    CONSTRAINT "reminders is a count" CHECK ("reminders" >= 0),
    CONSTRAINT "invariant: reminders <= 3" CHECK ("reminders" <= 3),
    CONSTRAINT "open: absent owner, due" CHECK ("state" <> 'open' OR ("owner" IS NULL AND "due" IS NULL)),
    CONSTRAINT "held: present owner, due; tries >= 1" CHECK ("state" <> 'taken' OR ("owner" IS NOT NULL AND "due" IS NOT NULL AND "tries" >= 1)),
    CONSTRAINT "solved: present answer; tries >= 1" CHECK ("state" <> 'solved' OR ("note" IS NOT NULL AND "tries" >= 1)),
    CONSTRAINT "parked: absent owner, due" CHECK ("state" <> 'parked' OR ("owner" IS NULL AND "due" IS NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- The log, append-only: one event per revision (n = 0), and the calls that
-- were recorded only (n = 1, 2, ...) at the revision they found.
CREATE TABLE IF NOT EXISTS "ticket_events" (
    -- the transaction, or a later one that the record's event before has:
    -- readers of the log follow it below the oldest one that is open
    "xid" xid8 NOT NULL DEFAULT pg_current_xact_id(),
    "id" text COLLATE "C" NOT NULL,
    "rev" bigint NOT NULL,
    "n" bigint NOT NULL,
    "operation" text COLLATE "C" NOT NULL,
    "name" text COLLATE "C" NOT NULL,
    -- null: the creation
    "from_state" text COLLATE "C",
    "to_state" text COLLATE "C" NOT NULL,
    "occurred_at" timestamptz NOT NULL,
    "actor" text COLLATE "C" NOT NULL,
    "reason" text COLLATE "C" NOT NULL,
    -- null: a call without one, or a step that another operation leads to
    "request_id" text COLLATE "C",
    -- -1: the request belongs to the record; else to the machine, and this is
    -- its index in a batch
    "request_n" bigint NOT NULL,
    "fingerprint" text COLLATE "C" NOT NULL,
    "labels" json,
    "inputs" json,
    -- the new values of the changed fields; of a set, the added members
    "changes" json,
    -- all fields, at revision 1 and every 64th
    "image" json,
    -- of the specification
    "version" bigint NOT NULL,
    -- the operation that led to this one
    "cause" text COLLATE "C",
    -- the guard that failed, when the call was recorded only for that
    "guard" text COLLATE "C",
    -- CRC-32C over the event
    "checksum" bigint NOT NULL,
    -- over the sums of this event and all before it; see Event.Chain
    "chain" bigint NOT NULL DEFAULT 0,
    CONSTRAINT "ticket_events_revision" PRIMARY KEY ("id", "rev", "n"),
    CONSTRAINT "rev is at least 1" CHECK ("rev" >= 1),
    CONSTRAINT "n is a count" CHECK ("n" >= 0),
    CONSTRAINT "revision 1 is the creation" CHECK ("n" > 0 OR ("rev" = 1) = ("from_state" IS NULL)),
    CONSTRAINT "a recorded call moves nothing" CHECK ("n" = 0 OR "from_state" IS NOT NULL AND "from_state" = "to_state"),
    CONSTRAINT "request_id is not empty" CHECK ("request_id" <> ''),
    CONSTRAINT "request_n is an index" CHECK ("request_n" >= -1)
);

-- A request id is used once: in its record, or in the machine.
CREATE UNIQUE INDEX IF NOT EXISTS "ticket_events_request" ON "ticket_events" ("id", "request_id")
    WHERE "request_id" IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS "ticket_events_batch" ON "ticket_events" ("request_id", "request_n")
    WHERE "request_n" >= 0;

-- What is left of records that were removed.
CREATE INDEX IF NOT EXISTS "ticket_events_purged" ON "ticket_events" ("id") WHERE "operation" = '__purge';
-- the log of all records, in its order
CREATE INDEX IF NOT EXISTS "ticket_events_log" ON "ticket_events" ("xid", "id", "rev", "n");

-- Effects that wait for being performed.
CREATE TABLE IF NOT EXISTS "ticket_outbox" (
    "id" text COLLATE "C" NOT NULL,
    -- the revision whose commit asked for it
    "rev" bigint NOT NULL,
    -- of what it asked for, 0 for the first
    "n" bigint NOT NULL,
    "effect" text COLLATE "C" NOT NULL,
    -- the effect's idempotency key
    "key" text COLLATE "C" NOT NULL,
    "attempts" bigint NOT NULL,
    "due" timestamptz NOT NULL,
    "last_error" text COLLATE "C" NOT NULL,
    PRIMARY KEY ("id", "rev", "n"),
    CONSTRAINT "attempts is a count" CHECK ("attempts" >= 0)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
-- What is due of an effect: what was not tried yet, and what was
DROP INDEX IF EXISTS "ticket_outbox_due";
CREATE INDEX IF NOT EXISTS "ticket_outbox_fresh" ON "ticket_outbox" ("effect", "due", "id", "rev", "n") WHERE "attempts" = 0;
CREATE INDEX IF NOT EXISTS "ticket_outbox_again" ON "ticket_outbox" ("effect", "due", "id", "rev", "n") WHERE "attempts" > 0;

-- One row per group of records that a rule looks at together: it is locked
-- while the rule is decided, and holds the last number of a sequence.
CREATE TABLE IF NOT EXISTS "ticket_groups" (
    -- of the guard or the sequence
    "name" text COLLATE "C" NOT NULL,
    -- the group's values as a JSON array
    "key" text COLLATE "C" NOT NULL,
    "number" bigint NOT NULL,
    PRIMARY KEY ("name", "key")
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- Rules across records: a record in which one of the fields is absent never
-- collides.
CREATE UNIQUE INDEX IF NOT EXISTS "ticket_unique_one_number" ON "ticket" ("queue", "number") WHERE "_in_open_or_taken";
CREATE UNIQUE INDEX IF NOT EXISTS "ticket_unique_sequence_count" ON "ticket" ("queue", "number");

-- What queries look for.
-- the records that are not at their end
CREATE INDEX IF NOT EXISTS "ticket_open" ON "ticket" ("id") WHERE "_open";

-- The Desk of each group of ticket records, computed from them: the first
-- rule that holds wins.
CREATE OR REPLACE VIEW "ticket_desk" AS
SELECT
    "queue",
    CASE
        WHEN count(*) FILTER (WHERE "state" IN ('taken')) > 0
            THEN 'busy'
        ELSE 'idle'
    END AS "state"
FROM "ticket"
GROUP BY "queue";

CREATE OR REPLACE FUNCTION "ticket_computed"() RETURNS trigger LANGUAGE plpgsql AS $fsm$
BEGIN
    NEW."_open" := NEW."state" IN ('open', 'taken', 'parked');
    NEW."_in_open_or_taken" := NEW."state" IN ('open', 'taken');
    RETURN NEW;
END
$fsm$;
CREATE OR REPLACE TRIGGER "ticket_computed" BEFORE INSERT OR UPDATE ON "ticket"
    FOR EACH ROW WHEN (NEW."_open" IS DISTINCT FROM (NEW."state" IN ('open', 'taken', 'parked')) OR NEW."_in_open_or_taken" IS DISTINCT FROM (NEW."state" IN ('open', 'taken'))) EXECUTE FUNCTION "ticket_computed"();

CREATE OR REPLACE FUNCTION "ticket_unchained"() RETURNS trigger LANGUAGE plpgsql AS $fsm$
BEGIN
    NEW."_chain" := 0;
    RETURN NEW;
END
$fsm$;
CREATE OR REPLACE TRIGGER "ticket_unchained" BEFORE UPDATE ON "ticket"
    FOR EACH ROW WHEN (NEW._chain = OLD._chain AND NEW._chain <> 0) EXECUTE FUNCTION "ticket_unchained"();

-- What the catalog says, for tools that show it.
COMMENT ON TABLE "ticket" IS 'One row per Ticket. States: open, held, parked; terminal: solved.';

-- The log is append-only.

CREATE OR REPLACE FUNCTION "ticket_events_keep"() RETURNS trigger LANGUAGE plpgsql AS $fsm$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD."operation" <> '__purge'
            AND EXISTS (SELECT 1 FROM (SELECT p."operation", p."rev", p."n" FROM "ticket_events" AS p WHERE p."id" = OLD."id" ORDER BY p."rev" DESC, p."n" DESC LIMIT 1) AS newest WHERE newest."operation" = '__purge' AND newest."n" > 0)
            AND NOT EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = OLD."id")
            AND OLD."request_n" < 0
            AND NOT (OLD."rev" = 1 AND OLD."n" = 0) THEN
            RETURN OLD;
        END IF;
        IF EXISTS (SELECT 1 FROM (SELECT p."operation", p."rev", p."n" FROM "ticket_events" AS p WHERE p."id" = OLD."id" ORDER BY p."rev" DESC, p."n" DESC LIMIT 1) AS newest WHERE newest."operation" = '__forget' AND newest."n" > 0 AND (OLD."operation" <> '__forget'
          OR NOT EXISTS (SELECT 1 FROM "ticket_events" AS o WHERE o."id" = OLD."id" AND (o."rev" <> OLD."rev" OR o."n" <> OLD."n"))))
            AND NOT EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = OLD."id") THEN
            RETURN OLD;
        END IF;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF OLD."operation" <> '__purge'
            AND EXISTS (SELECT 1 FROM (SELECT p."operation", p."rev", p."n" FROM "ticket_events" AS p WHERE p."id" = OLD."id" ORDER BY p."rev" DESC, p."n" DESC LIMIT 1) AS newest WHERE newest."operation" = '__purge' AND newest."n" > 0)
            AND NOT EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = OLD."id")
            AND NEW."operation" = '__purged'
            AND NEW."name" = '__purged'
            AND NEW."actor" = ''
            AND NEW."reason" = ''
            AND NEW."id" IS NOT DISTINCT FROM OLD."id"
            AND NEW."rev" IS NOT DISTINCT FROM OLD."rev"
            AND NEW."n" IS NOT DISTINCT FROM OLD."n"
            AND NEW."from_state" IS NOT DISTINCT FROM OLD."from_state"
            AND NEW."to_state" IS NOT DISTINCT FROM OLD."to_state"
            AND NEW."request_id" IS NOT DISTINCT FROM OLD."request_id"
            AND NEW."request_n" IS NOT DISTINCT FROM OLD."request_n"
            AND NEW."fingerprint" IS NOT DISTINCT FROM OLD."fingerprint"
            AND NEW."version" IS NOT DISTINCT FROM OLD."version"
            AND NEW."xid" IS NOT DISTINCT FROM OLD."xid"
            AND NEW."labels" IS NULL
            AND NEW."inputs" IS NULL
            AND NEW."changes" IS NULL
            AND NEW."image" IS NULL
            AND NEW."cause" IS NULL
            AND NEW."guard" IS NULL THEN
            RETURN NEW;
        END IF;
        IF NEW."operation" = '__forget'
            AND OLD."operation" = '__purge'
            AND EXISTS (SELECT 1 FROM (SELECT p."operation", p."rev", p."n" FROM "ticket_events" AS p WHERE p."id" = OLD."id" ORDER BY p."rev" DESC, p."n" DESC LIMIT 1) AS newest WHERE newest."operation" = '__purge' AND newest."n" > 0 AND newest."rev" = OLD."rev" AND newest."n" = OLD."n")
            AND NOT EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = OLD."id")
            AND NEW."id" IS NOT DISTINCT FROM OLD."id"
            AND NEW."rev" IS NOT DISTINCT FROM OLD."rev"
            AND NEW."n" IS NOT DISTINCT FROM OLD."n"
            AND NEW."name" IS NOT DISTINCT FROM OLD."name"
            AND NEW."from_state" IS NOT DISTINCT FROM OLD."from_state"
            AND NEW."to_state" IS NOT DISTINCT FROM OLD."to_state"
            AND NEW."occurred_at" IS NOT DISTINCT FROM OLD."occurred_at"
            AND NEW."actor" IS NOT DISTINCT FROM OLD."actor"
            AND NEW."reason" IS NOT DISTINCT FROM OLD."reason"
            AND NEW."request_id" IS NOT DISTINCT FROM OLD."request_id"
            AND NEW."request_n" IS NOT DISTINCT FROM OLD."request_n"
            AND NEW."fingerprint" IS NOT DISTINCT FROM OLD."fingerprint"
            AND NEW."version" IS NOT DISTINCT FROM OLD."version"
            AND NEW."checksum" IS NOT DISTINCT FROM OLD."checksum"
            AND NEW."chain" IS NOT DISTINCT FROM OLD."chain"
            AND NEW."xid" IS NOT DISTINCT FROM OLD."xid" THEN
            RETURN NEW;
        END IF;
        IF current_setting('fsm.unguarded', true) = pg_current_xact_id_if_assigned()::text || ' ticket'
            AND pg_has_role(current_user, (SELECT c.relowner FROM pg_class AS c WHERE c.oid = TG_RELID), 'USAGE') THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'fsm: ticket: the log is append-only: %', lower(TG_OP) USING ERRCODE = 'FS006';
END
$fsm$;
CREATE OR REPLACE TRIGGER "ticket_events_keep" BEFORE UPDATE OR DELETE ON "ticket_events"
    FOR EACH ROW EXECUTE FUNCTION "ticket_events_keep"();
CREATE OR REPLACE TRIGGER "ticket_events_truncate" BEFORE TRUNCATE ON "ticket_events"
    FOR EACH STATEMENT EXECUTE FUNCTION "ticket_events_keep"();

-- They look into this schema, whatever the search_path of a session.
DO $fsm$
BEGIN
    EXECUTE format('ALTER FUNCTION %1$I."ticket_events_keep"() SET search_path = %1$I, pg_temp', current_schema());
END
$fsm$;

-- The triggers of a move stand aside where the engine writes: it moves the
-- chain with the revision. A record moves as the machine says, one revision
-- at a time. At the commit every revision has its event and every event its
-- revision, in whatever order they were written.

CREATE OR REPLACE FUNCTION "ticket_guard"() RETURNS trigger LANGUAGE plpgsql AS $fsm$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD."state" NOT IN ('solved') OR NOT EXISTS (SELECT 1 FROM (SELECT p."operation", p."rev", p."n" FROM "ticket_events" AS p WHERE p."id" = OLD."id" ORDER BY p."rev" DESC, p."n" DESC LIMIT 1) AS newest WHERE newest."operation" = '__purge' AND newest."n" > 0 AND newest."rev" = OLD."rev") THEN
            RAISE EXCEPTION 'fsm: ticket: % is never deleted', quote_literal(OLD."id") USING ERRCODE = 'FS006';
        END IF;
        RETURN OLD;
    END IF;
    IF current_setting('fsm.unguarded', true) = pg_current_xact_id_if_assigned()::text || ' ticket' THEN
        IF pg_has_role(current_user, (SELECT c.relowner FROM pg_class AS c WHERE c.oid = TG_RELID), 'USAGE') THEN
            RETURN NEW;
        END IF;
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW."_chain" = 0 AND NEW."state" NOT IN ('open') THEN
            RAISE EXCEPTION 'fsm: ticket: % begins in open', quote_literal(NEW."id") USING ERRCODE = 'FS001';
        END IF;
        IF NEW."rev" <> 1 THEN
            RAISE EXCEPTION 'fsm: ticket: % begins at revision 1', quote_literal(NEW."id") USING ERRCODE = 'FS001';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD."state" = 'open' AND NEW."state" NOT IN ('open', 'taken', 'parked') THEN
        RAISE EXCEPTION 'fsm: ticket: %: the state open leads to open, held, parked only', quote_literal(OLD."id") USING ERRCODE = 'FS002';
    END IF;
    IF OLD."state" = 'taken' AND NEW."state" NOT IN ('open', 'taken', 'solved') THEN
        RAISE EXCEPTION 'fsm: ticket: %: the state held leads to open, held, solved only', quote_literal(OLD."id") USING ERRCODE = 'FS002';
    END IF;
    IF OLD."state" = 'solved' THEN
        RAISE EXCEPTION 'fsm: ticket: % is in the terminal state solved and never changes', quote_literal(OLD."id") USING ERRCODE = 'FS003';
    END IF;
    IF OLD."state" = 'parked' AND NEW."state" NOT IN ('open') THEN
        RAISE EXCEPTION 'fsm: ticket: %: the state parked leads to open only', quote_literal(OLD."id") USING ERRCODE = 'FS002';
    END IF;
    IF NEW."id" <> OLD."id" THEN
        RAISE EXCEPTION 'fsm: ticket: %: the id never changes', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."rev" <> OLD."rev" + 1 THEN
        RAISE EXCEPTION 'fsm: ticket: %: the revision rises by one', quote_literal(OLD."id") USING ERRCODE = 'FS005';
    END IF;
    IF NEW."created_at" <> OLD."created_at" THEN
        RAISE EXCEPTION 'fsm: ticket: %: created_at never changes', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."updated_at" < OLD."updated_at" THEN
        RAISE EXCEPTION 'fsm: ticket: %: updated_at never falls', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."number" IS DISTINCT FROM OLD."number" THEN
        RAISE EXCEPTION 'fsm: ticket: %: count never changes after the creation', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."queue" IS DISTINCT FROM OLD."queue" THEN
        RAISE EXCEPTION 'fsm: ticket: %: queue never changes after the creation', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."priority" IS DISTINCT FROM OLD."priority" THEN
        RAISE EXCEPTION 'fsm: ticket: %: priority never changes after the creation', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."place" IS DISTINCT FROM OLD."place" THEN
        RAISE EXCEPTION 'fsm: ticket: %: place never changes after the creation', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."tries" < OLD."tries" THEN
        RAISE EXCEPTION 'fsm: ticket: %: tries never falls', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."tags"::text IS DISTINCT FROM OLD."tags"::text AND EXISTS (SELECT json_array_elements_text(OLD."tags") EXCEPT SELECT json_array_elements_text(NEW."tags")) THEN
        RAISE EXCEPTION 'fsm: ticket: %: tags never loses a member', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."watchers"::text IS DISTINCT FROM OLD."watchers"::text AND EXISTS (SELECT json_array_elements_text(OLD."watchers") EXCEPT SELECT json_array_elements_text(NEW."watchers")) THEN
        RAISE EXCEPTION 'fsm: ticket: %: watchers never loses a member', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."reminders" < OLD."reminders" THEN
        RAISE EXCEPTION 'fsm: ticket: %: reminders never falls', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    RETURN NEW;
END
$fsm$;
CREATE OR REPLACE TRIGGER "ticket_guard" BEFORE UPDATE OF "id", "state", "rev", "created_at", "updated_at", "number", "queue", "priority", "owner", "due", "note", "place", "tries", "tags", "rating", "weight", "loud", "kind", "desk", "since", "extra", "watchers", "reminders", "_chain" ON "ticket"
    FOR EACH ROW WHEN (NEW._chain = OLD._chain OR NEW._chain = 0 OR NEW.rev <> OLD.rev + 1) EXECUTE FUNCTION "ticket_guard"();
CREATE OR REPLACE TRIGGER "ticket_created" BEFORE INSERT ON "ticket"
    FOR EACH ROW WHEN (NEW._chain = 0 OR NEW.rev <> 1) EXECUTE FUNCTION "ticket_guard"();
CREATE OR REPLACE TRIGGER "ticket_removed" BEFORE DELETE ON "ticket"
    FOR EACH ROW EXECUTE FUNCTION "ticket_guard"();

CREATE OR REPLACE FUNCTION "ticket_has_event"() RETURNS trigger LANGUAGE plpgsql AS $fsm$
DECLARE
    made_by text COLLATE "C";
BEGIN
    IF current_setting('fsm.unguarded', true) = pg_current_xact_id_if_assigned()::text || ' ticket' THEN
        IF pg_has_role(current_user, (SELECT c.relowner FROM pg_class AS c WHERE c.oid = TG_RELID), 'USAGE') THEN
            RETURN NULL;
        END IF;
    END IF;
    IF TG_OP = 'INSERT' THEN
        SELECT e."operation" INTO made_by FROM "ticket_events" AS e
        WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" AND e."n" = 0
          AND e."from_state" IS NULL AND e."to_state" = NEW."state" AND e."operation" <> '__purged'
          AND (e."chain" = 0 OR e."chain" = e."checksum");
        IF NOT FOUND THEN
            RAISE EXCEPTION 'fsm: ticket: %: revision % has no event', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
        END IF;
        IF made_by <> '__import' AND NEW."state" NOT IN ('open') THEN
            RAISE EXCEPTION 'fsm: ticket: % begins in open', quote_literal(NEW."id") USING ERRCODE = 'FS001';
        END IF;
        RETURN NULL;
    END IF;
    SELECT e."operation" INTO made_by FROM "ticket_events" AS e
    WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" AND e."n" = 0
      AND e."from_state" = OLD."state" AND e."to_state" = NEW."state" AND e."operation" <> '__purged'
      AND (e."chain" = 0 OR e."chain" = (coalesce((SELECT p."chain" FROM "ticket_events" AS p WHERE p."id" = e."id" AND p."rev" = e."rev" - 1 AND p."n" = 0), 0) * 16777619 + e."checksum") % 4294967296);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'fsm: ticket: %: revision % has no event', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
    END IF;
    IF NEW."owner" IS DISTINCT FROM OLD."owner" AND made_by NOT IN ('take', 'give_back') THEN
        RAISE EXCEPTION 'fsm: ticket: %: owner is changed by take, give_back only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."due" IS DISTINCT FROM OLD."due" AND made_by NOT IN ('take', 'give_back') THEN
        RAISE EXCEPTION 'fsm: ticket: %: due is changed by take, give_back only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."note" IS DISTINCT FROM OLD."note" AND made_by NOT IN ('solve') THEN
        RAISE EXCEPTION 'fsm: ticket: %: answer is changed by solve only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."tries" IS DISTINCT FROM OLD."tries" AND made_by NOT IN ('take') THEN
        RAISE EXCEPTION 'fsm: ticket: %: tries is changed by take only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."tags"::text IS DISTINCT FROM OLD."tags"::text AND made_by NOT IN ('tag') THEN
        RAISE EXCEPTION 'fsm: ticket: %: tags is changed by tag only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."rating" IS DISTINCT FROM OLD."rating" AND made_by NOT IN ('solve') THEN
        RAISE EXCEPTION 'fsm: ticket: %: rating is changed by solve only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."weight" IS DISTINCT FROM OLD."weight" AND made_by NOT IN ('weigh') THEN
        RAISE EXCEPTION 'fsm: ticket: %: weight is changed by weigh only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."loud" IS DISTINCT FROM OLD."loud" AND made_by NOT IN ('weigh') THEN
        RAISE EXCEPTION 'fsm: ticket: %: loud is changed by weigh only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."kind" IS DISTINCT FROM OLD."kind" AND made_by NOT IN ('weigh') THEN
        RAISE EXCEPTION 'fsm: ticket: %: kind is changed by weigh only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."desk" IS DISTINCT FROM OLD."desk" AND made_by NOT IN ('weigh') THEN
        RAISE EXCEPTION 'fsm: ticket: %: desk is changed by weigh only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."since" IS DISTINCT FROM OLD."since" AND made_by NOT IN ('weigh') THEN
        RAISE EXCEPTION 'fsm: ticket: %: since is changed by weigh only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."extra"::text IS DISTINCT FROM OLD."extra"::text AND made_by NOT IN ('weigh') THEN
        RAISE EXCEPTION 'fsm: ticket: %: extra is changed by weigh only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."watchers"::text IS DISTINCT FROM OLD."watchers"::text AND made_by NOT IN ('follow') THEN
        RAISE EXCEPTION 'fsm: ticket: %: watchers is changed by follow only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."reminders" IS DISTINCT FROM OLD."reminders" AND made_by NOT IN ('remind') THEN
        RAISE EXCEPTION 'fsm: ticket: %: reminders is changed by remind only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    RETURN NULL;
END
$fsm$;
DROP TRIGGER IF EXISTS "ticket_has_event" ON "ticket";
CREATE CONSTRAINT TRIGGER "ticket_has_event" AFTER UPDATE OF "id", "state", "rev", "created_at", "updated_at", "number", "queue", "priority", "owner", "due", "note", "place", "tries", "tags", "rating", "weight", "loud", "kind", "desk", "since", "extra", "watchers", "reminders" ON "ticket" DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW._chain = OLD._chain OR NEW._chain = 0 OR NEW.rev <> OLD.rev + 1) EXECUTE FUNCTION "ticket_has_event"();
DROP TRIGGER IF EXISTS "ticket_created_has_event" ON "ticket";
CREATE CONSTRAINT TRIGGER "ticket_created_has_event" AFTER INSERT ON "ticket" DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION "ticket_has_event"();

CREATE OR REPLACE FUNCTION "ticket_events_has_row"() RETURNS trigger LANGUAGE plpgsql AS $fsm$
BEGIN
    IF current_setting('fsm.unguarded', true) = pg_current_xact_id_if_assigned()::text || ' ticket' THEN
        IF pg_has_role(current_user, (SELECT c.relowner FROM pg_class AS c WHERE c.oid = TG_RELID), 'USAGE') THEN
            RETURN NULL;
        END IF;
    END IF;
    IF NEW."n" > 0 THEN
        IF NEW."operation" = '__purge' THEN
            IF EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = NEW."id" AND (r."rev" <> NEW."rev" OR r."state" NOT IN ('solved')))
            OR NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE e."id" = NEW."id" AND e."rev" = 1 AND e."n" = 0) THEN
                RAISE EXCEPTION 'fsm: ticket: % is not finished and cannot be purged', quote_literal(NEW."id") USING ERRCODE = 'FS005';
            END IF;
            RETURN NULL;
        END IF;
        IF NOT EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = NEW."id" AND r."rev" >= NEW."rev") THEN
            RAISE EXCEPTION 'fsm: ticket: % has no revision %', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
        END IF;
        IF NOT EXISTS (SELECT 1 FROM "ticket_events" AS e WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" AND e."n" = NEW."n" - 1 AND e."to_state" = NEW."to_state") THEN
            RAISE EXCEPTION 'fsm: ticket: %: the log of revision % has a gap', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
        END IF;
        RETURN NULL;
    END IF;
    IF NEW."operation" || ': ' || coalesce(NEW."from_state", '') || ' > ' || NEW."to_state" NOT IN (
        'submit:  > open', 'take: open > taken', 'tag: open > open', 'tag: taken > taken',
        'give_back: taken > open', 'solve: taken > solved', 'follow: open > open',
        'follow: taken > taken', 'remind: taken > taken', 'weigh: open > open',
        'weigh: taken > taken', 'park: open > parked', 'unpark: parked > open') THEN
        RAISE EXCEPTION 'fsm: ticket: %: % makes no move from % to %', quote_literal(NEW."id"), NEW."operation", coalesce(NEW."from_state", 'nothing'), NEW."to_state" USING ERRCODE = 'FS005';
    END IF;
    IF NEW."rev" > 1 THEN
        IF EXISTS (SELECT 1 FROM "ticket_events" AS e
            WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" - 1 AND e."n" = 0 AND e."to_state" = NEW."from_state"
              AND (e."xid" = NEW."xid" AND EXISTS (SELECT 1 FROM (SELECT max(l."rev") AS "rev" FROM "ticket_events" AS l WHERE l."id" = NEW."id") AS newest
                    WHERE newest."rev" > NEW."rev" AND NOT EXISTS (SELECT 1 FROM "ticket_events" AS p
                        WHERE p."id" = NEW."id" AND p."rev" = newest."rev" AND p."operation" IN ('__purge', '__forget')))
                OR EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = NEW."id" AND r."rev" >= NEW."rev"))) THEN
            RETURN NULL;
        END IF;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM "ticket" AS r WHERE r."id" = NEW."id" AND r."rev" >= NEW."rev") THEN
        RAISE EXCEPTION 'fsm: ticket: % has no revision %', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
    END IF;
    IF NEW."rev" > 1 THEN
        RAISE EXCEPTION 'fsm: ticket: %: the event of revision % does not follow the one before it', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
    END IF;
    RETURN NULL;
END
$fsm$;
DROP TRIGGER IF EXISTS "ticket_events_has_row" ON "ticket_events";
CREATE CONSTRAINT TRIGGER "ticket_events_has_row" AFTER INSERT ON "ticket_events" DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.chain = 0 OR NEW.n > 0 OR NEW.xid <> pg_current_xact_id()) EXECUTE FUNCTION "ticket_events_has_row"();

CREATE OR REPLACE FUNCTION "ticket_keep"() RETURNS trigger LANGUAGE plpgsql AS $fsm$
BEGIN
    RAISE EXCEPTION 'fsm: ticket: records are never removed: %', lower(TG_OP) USING ERRCODE = 'FS006';
END
$fsm$;
CREATE OR REPLACE TRIGGER "ticket_truncate" BEFORE TRUNCATE ON "ticket"
    FOR EACH STATEMENT EXECUTE FUNCTION "ticket_keep"();

-- They look into this schema, whatever the search_path of a session.
DO $fsm$
BEGIN
    EXECUTE format('ALTER FUNCTION %1$I."ticket_guard"() SET search_path = %1$I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION %1$I."ticket_has_event"() SET search_path = %1$I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION %1$I."ticket_events_has_row"() SET search_path = %1$I, pg_temp', current_schema());
END
$fsm$;

UPDATE "fsm_meta" SET "version" = 2, "hash" = 'cd80e80d9974cea0160a7f01df9f574f4d7ab4bb0ec520caf08e3f71c8d16b62' WHERE "machine" = 'ticket';

-- Which earlier versions may be open beside this one.
CREATE TABLE IF NOT EXISTS "fsm_versions" (
    "machine" text COLLATE "C" NOT NULL,
    "hash" text COLLATE "C" NOT NULL,
    "version" bigint NOT NULL,
    "standing" text COLLATE "C" NOT NULL CHECK ("standing" IN ('open', 'retired')),
    PRIMARY KEY ("machine", "hash")
);
UPDATE "fsm_versions" SET "standing" = 'retired' WHERE "machine" = 'ticket';
DELETE FROM "fsm_versions" WHERE "machine" = 'ticket' AND "hash" IN ('79c54c6214f2340fc6277d44da7a33daee29b15f59cd5546a8d497d40c9681ab', 'cd80e80d9974cea0160a7f01df9f574f4d7ab4bb0ec520caf08e3f71c8d16b62');
INSERT INTO "fsm_versions" ("machine", "hash", "version", "standing") VALUES ('ticket', '79c54c6214f2340fc6277d44da7a33daee29b15f59cd5546a8d497d40c9681ab', 1, 'retired');
COMMIT;

-- The old rows. Rows that fail here can be fixed, and then validated again.
ALTER TABLE "ticket" VALIDATE CONSTRAINT "state is known";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "count is a number of a sequence";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "queue is from 1 to 40 characters long";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "priority is a known word";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "rating is from 1 to 5";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "weight is from 1 to 9";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "kind is a known word";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "watchers is a set";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "reminders is a count";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "invariant: reminders <= 3";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "held: present owner, due; tries >= 1";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "solved: present answer; tries >= 1";
ALTER TABLE "ticket" VALIDATE CONSTRAINT "parked: absent owner, due";
DROP FUNCTION pg_temp.fsm_sum(text[]);
