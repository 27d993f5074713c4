-- name: create
-- Makes a record. One whose id or place is taken is no error but no row. What the log alone has fails with 23505: a request
-- of the machine that is taken, and the id of a record that was purged.
WITH /* lifecycle: create */ i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "created_at", $5::timestamptz AS "updated_at", $6::text AS "operation", $7::text AS "name", $8::text AS "to_state", $9::timestamptz AS "occurred_at", $10::text AS "actor", $11::text AS "reason", $12::text AS "request_id", $13::bigint AS "request_n", $14::text AS "fingerprint", $15::json AS "labels", $16::json AS "inputs", $17::json AS "changes", $18::json AS "image", $19::bigint AS "version", $20::text AS "cause", $21::text AS "guard", $22::bigint AS "checksum", $23::text AS "v_dedupe_key", $24::json AS "v_payload", $25::text AS "v_owner", $26::timestamptz AS "v_lease", $27::json AS "v_result", $28::json AS "v_error", $29::timestamptz AS "v_queued_at", $30::bigint AS "v_attempt"),
r AS (INSERT INTO "lifecycle" ("id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain", "_open", "_in_queued_or_stalled", "_in_claimed_or_running", "_minute_lease") SELECT i."id", i."to_state", 1, i."created_at", i."updated_at", i."v_dedupe_key", i."v_payload", i."v_owner", i."v_lease", i."v_result", i."v_error", i."v_queued_at", i."v_attempt", i."checksum", i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), i."to_state" IN ('queued', 'stalled'), i."to_state" IN ('claimed', 'running'), date_trunc('minute', i."v_lease") FROM i ON CONFLICT DO NOTHING RETURNING "id"),
w AS (SELECT i.* FROM i JOIN r ON r."id" = i."id")
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", 1, 0, i."operation", i."name", NULL, i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."checksum", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id";

-- name: create_many
-- Makes records. What is known to be taken is left out before, and so is what another one is about
-- to take; what is taken by others at the same time fails the statement. OFFSET 0 makes the
-- planner look for each record by an index. Of each unique rule one NOT EXISTS looks. The places of what
-- is left are locked last: AND alone has no order.
WITH /* lifecycle: create_many */ i AS MATERIALIZED (
	SELECT * FROM (SELECT * FROM unnest($2::text::text[], $3::text::bigint[], $4::text::timestamptz[], $5::text::timestamptz[], $6::text::text[], $7::text::text[], $8::text::text[], $9::text::timestamptz[], $10::text::text[], $11::text::text[], $12::text::text[], $13::text::bigint[], $14::text::text[], $15::text::json[], $16::text::json[], $17::text::json[], $18::text::json[], $19::text::bigint[], $20::text::text[], $21::text::text[], $22::text::bigint[], $23::text::text[], $24::text::json[], $25::text::text[], $26::text::timestamptz[], $27::text::json[], $28::text::json[], $29::text::timestamptz[], $30::text::bigint[], $31::text::text[]) AS i("id", "rev", "created_at", "updated_at", "operation", "name", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "v_dedupe_key", "v_payload", "v_owner", "v_lease", "v_result", "v_error", "v_queued_at", "v_attempt", "places") LIMIT $32::bigint) AS i WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = i."id" OFFSET 0)
		AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS e WHERE e."request_id" = i."request_id" AND e."request_n" = i."request_n"
			AND e."request_n" >= 0 OFFSET 0) AND NOT (EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE true AND r."dedupe_key" = i."v_dedupe_key" OFFSET 0)) THEN (SELECT bool_and(pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', '"lifecycle"'::regclass::oid, 'place', k), 0)))
	FROM unnest(i."places"::int[]) AS n(k)) IS NOT FALSE ELSE false END
),
r AS (INSERT INTO "lifecycle" ("id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain", "_open", "_in_queued_or_stalled", "_in_claimed_or_running", "_minute_lease") SELECT i."id", i."to_state", 1, i."created_at", i."updated_at", i."v_dedupe_key", i."v_payload", i."v_owner", i."v_lease", i."v_result", i."v_error", i."v_queued_at", i."v_attempt", i."checksum", i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), i."to_state" IN ('queued', 'stalled'), i."to_state" IN ('claimed', 'running'), date_trunc('minute', i."v_lease") FROM i RETURNING "id"),
w AS (SELECT i.* FROM i JOIN r ON r."id" = i."id")
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", 1, 0, i."operation", i."name", NULL, i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."checksum", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id";

-- name: move claim_next
-- Moves records: each row at the revision and in the state that was decided on, then its effects, then
-- its event. Of a record that is elsewhere nothing is returned. There is one text for each operation; one for what
-- any operation may change; and one for a batch of any operations. The last two have a bit for each column in "changed".
WITH /* lifecycle: move claim_next */ i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::text AS "v_owner", $25::timestamptz AS "v_lease", $26::timestamptz AS "v_queued_at", $27::bigint AS "v_attempt"),
w AS (
	UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at", "state" = i."to_state", "owner" = i."v_owner", "lease" = i."v_lease", "queued_at" = i."v_queued_at", "attempt" = i."v_attempt", "_open" = i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), "_in_queued_or_stalled" = i."to_state" IN ('queued', 'stalled'), "_in_claimed_or_running" = i."to_state" IN ('claimed', 'running'), "_minute_lease" = date_trunc('minute', i."v_lease"),
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "lifecycle_events" AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
)
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id";

-- name: move start
-- Moves records: each row at the revision and in the state that was decided on, then its effects, then
-- its event. Of a record that is elsewhere nothing is returned. There is one text for each operation; one for what
-- any operation may change; and one for a batch of any operations. The last two have a bit for each column in "changed".
WITH /* lifecycle: move start */ i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum"),
w AS (
	UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at", "state" = i."to_state", "_open" = i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), "_in_queued_or_stalled" = i."to_state" IN ('queued', 'stalled'), "_in_claimed_or_running" = i."to_state" IN ('claimed', 'running'),
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "lifecycle_events" AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
)
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id";

-- name: move heartbeat
-- Moves records: each row at the revision and in the state that was decided on, then its effects, then
-- its event. Of a record that is elsewhere nothing is returned. There is one text for each operation; one for what
-- any operation may change; and one for a batch of any operations. The last two have a bit for each column in "changed".
WITH /* lifecycle: move heartbeat */ i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::timestamptz AS "v_lease"),
w AS (
	UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at", "lease" = i."v_lease", "_minute_lease" = date_trunc('minute', i."v_lease"),
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "lifecycle_events" AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
)
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id";

-- name: move complete
-- Moves records: each row at the revision and in the state that was decided on, then its effects, then
-- its event. Of a record that is elsewhere nothing is returned. There is one text for each operation; one for what
-- any operation may change; and one for a batch of any operations. The last two have a bit for each column in "changed".
WITH /* lifecycle: move complete */ i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::text AS "v_owner", $25::timestamptz AS "v_lease", $26::json AS "v_result"),
w AS (
	UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at", "state" = i."to_state", "owner" = i."v_owner", "lease" = i."v_lease", "result" = i."v_result", "_open" = i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), "_in_queued_or_stalled" = i."to_state" IN ('queued', 'stalled'), "_in_claimed_or_running" = i."to_state" IN ('claimed', 'running'), "_minute_lease" = date_trunc('minute', i."v_lease"),
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "lifecycle_events" AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
)
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id";

-- name: move fail
-- Moves records: each row at the revision and in the state that was decided on, then its effects, then
-- its event. Of a record that is elsewhere nothing is returned. There is one text for each operation; one for what
-- any operation may change; and one for a batch of any operations. The last two have a bit for each column in "changed".
WITH /* lifecycle: move fail */ i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::text AS "v_owner", $25::timestamptz AS "v_lease", $26::json AS "v_error"),
w AS (
	UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at", "state" = i."to_state", "owner" = i."v_owner", "lease" = i."v_lease", "error" = i."v_error", "_open" = i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), "_in_queued_or_stalled" = i."to_state" IN ('queued', 'stalled'), "_in_claimed_or_running" = i."to_state" IN ('claimed', 'running'), "_minute_lease" = date_trunc('minute', i."v_lease"),
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "lifecycle_events" AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
)
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id";

-- name: move stall
-- Moves records: each row at the revision and in the state that was decided on, then its effects, then
-- its event. Of a record that is elsewhere nothing is returned. There is one text for each operation; one for what
-- any operation may change; and one for a batch of any operations. The last two have a bit for each column in "changed".
WITH /* lifecycle: move stall */ i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::text AS "v_owner", $25::timestamptz AS "v_lease"),
w AS (
	UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at", "state" = i."to_state", "owner" = i."v_owner", "lease" = i."v_lease", "_open" = i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), "_in_queued_or_stalled" = i."to_state" IN ('queued', 'stalled'), "_in_claimed_or_running" = i."to_state" IN ('claimed', 'running'), "_minute_lease" = date_trunc('minute', i."v_lease"),
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "lifecycle_events" AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
)
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id";

-- name: move requeue_stalled
-- Moves records: each row at the revision and in the state that was decided on, then its effects, then
-- its event. Of a record that is elsewhere nothing is returned. There is one text for each operation; one for what
-- any operation may change; and one for a batch of any operations. The last two have a bit for each column in "changed".
WITH /* lifecycle: move requeue_stalled */ i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::timestamptz AS "v_queued_at"),
w AS (
	UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at", "state" = i."to_state", "queued_at" = i."v_queued_at", "_open" = i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), "_in_queued_or_stalled" = i."to_state" IN ('queued', 'stalled'), "_in_claimed_or_running" = i."to_state" IN ('claimed', 'running'),
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "lifecycle_events" AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
)
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id";

-- name: move
-- Moves records: each row at the revision and in the state that was decided on, then its effects, then
-- its event. Of a record that is elsewhere nothing is returned. There is one text for each operation; one for what
-- any operation may change; and one for a batch of any operations. The last two have a bit for each column in "changed".
WITH /* lifecycle: move */ i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::bigint AS "changed", $25::text AS "v_dedupe_key", $26::json AS "v_payload", $27::text AS "v_owner", $28::timestamptz AS "v_lease", $29::json AS "v_result", $30::json AS "v_error", $31::timestamptz AS "v_queued_at", $32::bigint AS "v_attempt"),
w AS (
	UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at", "state" = i."to_state", "dedupe_key" = CASE WHEN i."changed" & 1 <> 0 THEN i."v_dedupe_key" ELSE r."dedupe_key" END, "payload" = CASE WHEN i."changed" & 2 <> 0 THEN i."v_payload" ELSE r."payload" END, "owner" = CASE WHEN i."changed" & 4 <> 0 THEN i."v_owner" ELSE r."owner" END, "lease" = CASE WHEN i."changed" & 8 <> 0 THEN i."v_lease" ELSE r."lease" END, "result" = CASE WHEN i."changed" & 16 <> 0 THEN i."v_result" ELSE r."result" END, "error" = CASE WHEN i."changed" & 32 <> 0 THEN i."v_error" ELSE r."error" END, "queued_at" = CASE WHEN i."changed" & 64 <> 0 THEN i."v_queued_at" ELSE r."queued_at" END, "attempt" = CASE WHEN i."changed" & 128 <> 0 THEN i."v_attempt" ELSE r."attempt" END, "_open" = i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), "_in_queued_or_stalled" = i."to_state" IN ('queued', 'stalled'), "_in_claimed_or_running" = i."to_state" IN ('claimed', 'running'), "_minute_lease" = date_trunc('minute', CASE WHEN i."changed" & 8 <> 0 THEN i."v_lease" ELSE r."lease" END),
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "lifecycle_events" AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
)
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id";

-- name: move_many
-- Moves records: each row at the revision and in the state that was decided on, then its effects, then
-- its event. Of a record that is elsewhere nothing is returned. There is one text for each operation; one for what
-- any operation may change; and one for a batch of any operations. The last two have a bit for each column in "changed".
WITH /* lifecycle: move_many */ i AS MATERIALIZED (SELECT i.* FROM (SELECT * FROM unnest($2::text::text[], $3::text::bigint[], $4::text::timestamptz[], $5::text::bigint[], $6::text::text[], $7::text::text[], $8::text::text[], $9::text::text[], $10::text::timestamptz[], $11::text::text[], $12::text::text[], $13::text::text[], $14::text::bigint[], $15::text::text[], $16::text::json[], $17::text::json[], $18::text::json[], $19::text::json[], $20::text::bigint[], $21::text::text[], $22::text::text[], $23::text::bigint[], $24::text::bigint[], $25::text::text[], $26::text::json[], $27::text::text[], $28::text::timestamptz[], $29::text::json[], $30::text::json[], $31::text::timestamptz[], $32::text::bigint[]) AS i("id", "rev", "updated_at", "was", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "changed", "v_dedupe_key", "v_payload", "v_owner", "v_lease", "v_result", "v_error", "v_queued_at", "v_attempt") LIMIT $33::bigint) AS i JOIN "lifecycle" AS r ON r."id" = i."id" AND r."rev" = i."rev"
	WHERE (SELECT CASE WHEN $1 IS NOT FALSE THEN true ELSE pg_advisory_xact_lock_shared(hashtextextended(concat_ws(' ', '"lifecycle"'::regclass::oid, 'batches'), 0)) IS NOT NULL END)
	FOR NO KEY UPDATE OF r SKIP LOCKED),
w AS (
	UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at", "state" = i."to_state", "dedupe_key" = CASE WHEN i."changed" & 1 <> 0 THEN i."v_dedupe_key" ELSE r."dedupe_key" END, "payload" = CASE WHEN i."changed" & 2 <> 0 THEN i."v_payload" ELSE r."payload" END, "owner" = CASE WHEN i."changed" & 4 <> 0 THEN i."v_owner" ELSE r."owner" END, "lease" = CASE WHEN i."changed" & 8 <> 0 THEN i."v_lease" ELSE r."lease" END, "result" = CASE WHEN i."changed" & 16 <> 0 THEN i."v_result" ELSE r."result" END, "error" = CASE WHEN i."changed" & 32 <> 0 THEN i."v_error" ELSE r."error" END, "queued_at" = CASE WHEN i."changed" & 64 <> 0 THEN i."v_queued_at" ELSE r."queued_at" END, "attempt" = CASE WHEN i."changed" & 128 <> 0 THEN i."v_attempt" ELSE r."attempt" END, "_open" = i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), "_in_queued_or_stalled" = i."to_state" IN ('queued', 'stalled'), "_in_claimed_or_running" = i."to_state" IN ('claimed', 'running'), "_minute_lease" = date_trunc('minute', CASE WHEN i."changed" & 8 <> 0 THEN i."v_lease" ELSE r."lease" END),
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "lifecycle_events" AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
)
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id";

-- name: take
-- Moves records that the transaction has locked, with COMMIT behind it in the same trip. It fails where one is not moved, or where it
-- has waited until a lease is over. The text that fails is no constant, which the planner would look at.
WITH /* lifecycle: take */ i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::bigint AS "changed", $25::text AS "v_dedupe_key", $26::json AS "v_payload", $27::text AS "v_owner", $28::timestamptz AS "v_lease", $29::json AS "v_result", $30::json AS "v_error", $31::timestamptz AS "v_queued_at", $32::bigint AS "v_attempt"),
w AS (
	UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at", "state" = i."to_state", "dedupe_key" = CASE WHEN i."changed" & 1 <> 0 THEN i."v_dedupe_key" ELSE r."dedupe_key" END, "payload" = CASE WHEN i."changed" & 2 <> 0 THEN i."v_payload" ELSE r."payload" END, "owner" = CASE WHEN i."changed" & 4 <> 0 THEN i."v_owner" ELSE r."owner" END, "lease" = CASE WHEN i."changed" & 8 <> 0 THEN i."v_lease" ELSE r."lease" END, "result" = CASE WHEN i."changed" & 16 <> 0 THEN i."v_result" ELSE r."result" END, "error" = CASE WHEN i."changed" & 32 <> 0 THEN i."v_error" ELSE r."error" END, "queued_at" = CASE WHEN i."changed" & 64 <> 0 THEN i."v_queued_at" ELSE r."queued_at" END, "attempt" = CASE WHEN i."changed" & 128 <> 0 THEN i."v_attempt" ELSE r."attempt" END, "_open" = i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), "_in_queued_or_stalled" = i."to_state" IN ('queued', 'stalled'), "_in_claimed_or_running" = i."to_state" IN ('claimed', 'running'), "_minute_lease" = date_trunc('minute', CASE WHEN i."changed" & 8 <> 0 THEN i."v_lease" ELSE r."lease" END),
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "lifecycle_events" AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
),
e AS (
	INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id"
)
SELECT CASE WHEN count(*) = 1 AND coalesce(clock_timestamp() - transaction_timestamp() < $33::bigint * interval '1 microsecond', true)
	THEN true ELSE concat('fsm: a trigger keeps records from being moved, or they are moved too late; so many were moved: ', count(*))::boolean END FROM e;

-- name: take_many
-- Moves records that the transaction has locked, with COMMIT behind it in the same trip. It fails where one is not moved, or where it
-- has waited until a lease is over. The text that fails is no constant, which the planner would look at.
WITH /* lifecycle: take_many */ i AS (SELECT * FROM unnest($2::text::text[], $3::text::bigint[], $4::text::timestamptz[], $5::text::bigint[], $6::text::text[], $7::text::text[], $8::text::text[], $9::text::text[], $10::text::timestamptz[], $11::text::text[], $12::text::text[], $13::text::text[], $14::text::bigint[], $15::text::text[], $16::text::json[], $17::text::json[], $18::text::json[], $19::text::json[], $20::text::bigint[], $21::text::text[], $22::text::text[], $23::text::bigint[], $24::text::bigint[], $25::text::text[], $26::text::json[], $27::text::text[], $28::text::timestamptz[], $29::text::json[], $30::text::json[], $31::text::timestamptz[], $32::text::bigint[]) AS i("id", "rev", "updated_at", "was", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "changed", "v_dedupe_key", "v_payload", "v_owner", "v_lease", "v_result", "v_error", "v_queued_at", "v_attempt") LIMIT $33::bigint),
w AS (
	UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at", "state" = i."to_state", "dedupe_key" = CASE WHEN i."changed" & 1 <> 0 THEN i."v_dedupe_key" ELSE r."dedupe_key" END, "payload" = CASE WHEN i."changed" & 2 <> 0 THEN i."v_payload" ELSE r."payload" END, "owner" = CASE WHEN i."changed" & 4 <> 0 THEN i."v_owner" ELSE r."owner" END, "lease" = CASE WHEN i."changed" & 8 <> 0 THEN i."v_lease" ELSE r."lease" END, "result" = CASE WHEN i."changed" & 16 <> 0 THEN i."v_result" ELSE r."result" END, "error" = CASE WHEN i."changed" & 32 <> 0 THEN i."v_error" ELSE r."error" END, "queued_at" = CASE WHEN i."changed" & 64 <> 0 THEN i."v_queued_at" ELSE r."queued_at" END, "attempt" = CASE WHEN i."changed" & 128 <> 0 THEN i."v_attempt" ELSE r."attempt" END, "_open" = i."to_state" IN ('queued', 'claimed', 'running', 'stalled'), "_in_queued_or_stalled" = i."to_state" IN ('queued', 'stalled'), "_in_claimed_or_running" = i."to_state" IN ('claimed', 'running'), "_minute_lease" = date_trunc('minute', CASE WHEN i."changed" & 8 <> 0 THEN i."v_lease" ELSE r."lease" END),
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "lifecycle_events" AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
),
e AS (
	INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM w AS i WHERE true
RETURNING "id"
)
SELECT CASE WHEN count(*) = $33::bigint AND coalesce(clock_timestamp() - transaction_timestamp() < $34::bigint * interval '1 microsecond', true)
	THEN true ELSE concat('fsm: a trigger keeps records from being moved, or they are moved too late; so many were moved: ', count(*))::boolean END FROM e;

-- name: record
-- Appends an event that moves nothing; its number n was asked for before, under the row's lock.
INSERT /* lifecycle: record */ INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev", i."n", i."operation", i."name", i."from_state", i."to_state", i."occurred_at", i."actor", i."reason",
	i."request_id", i."request_n", i."fingerprint", i."labels", i."inputs", i."changes", i."image", i."version", i."cause", i."guard", i."checksum",
	(coalesce((SELECT p."chain" FROM "lifecycle_events" AS p WHERE p."id" = i."id" AND p."rev" = i."rev" AND p."n" = i."n" - 1), 0) * 16777619
		+ i."checksum") % 4294967296, CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM (SELECT $2::text AS "id", $3::bigint AS "rev", $4::bigint AS "n", $5::text AS "operation", $6::text AS "name", $7::text AS "from_state", $8::text AS "to_state", $9::timestamptz AS "occurred_at", $10::text AS "actor", $11::text AS "reason", $12::text AS "request_id", $13::bigint AS "request_n", $14::text AS "fingerprint", $15::json AS "labels", $16::json AS "inputs", $17::json AS "changes", $18::json AS "image", $19::bigint AS "version", $20::text AS "cause", $21::text AS "guard", $22::bigint AS "checksum") AS i;

-- name: insert
-- A row without its event: of a repair, or so that the server names what stands against a creation.
INSERT /* lifecycle: insert */ INTO "lifecycle" ("id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- name: ask
-- What a recorded event asks for.
INSERT /* lifecycle: ask */ INTO "lifecycle_outbox" ("id", "rev", "n", "effect", "key", "attempts", "due", "last_error") VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: some
-- The rows of ids.
SELECT /* lifecycle: some */ "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "lifecycle" WHERE "id" = ANY($1::text::text[]) AND true;

-- name: row
-- One row.
SELECT /* lifecycle: row */ "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "lifecycle" WHERE "id" = $1 AND true;

-- name: row_locked
-- A foreign key of the user's that refers to the row waits for nobody.
SELECT /* lifecycle: row_locked */ "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "lifecycle" WHERE "id" = $1 AND true FOR NO KEY UPDATE;

-- name: history
-- $1 id, behind $2 rev and $3 n, $4 limit
SELECT /* lifecycle: history */ "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "lifecycle_events" WHERE "id" = $1 AND ("rev", "n") > ($2, $3) AND true ORDER BY "rev", "n" LIMIT $4;

-- name: request
-- The events that carry a request, of one record.
SELECT /* lifecycle: request */ "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "lifecycle_events" WHERE "id" = $1 AND "request_id" = $2 ORDER BY "rev", "n";

-- name: request_of_machine
-- The events of a call on many records.
SELECT /* lifecycle: request_of_machine */ "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "lifecycle_events" WHERE "request_id" = $1 AND "request_n" >= 0 ORDER BY "request_n";

-- name: await_batches
-- Before an event alone, and under its row's lock, the batches that are on their way are waited for. One of them could have an older
-- number, and come to the record after this transaction: it would not see the event, and its own would stand before it. One that begins
-- later has a higher number. The error takes the lock back at once. A lock of the session would stay where the wait for it ends by a
-- timeout at the moment at which it is granted.
DO /* lifecycle: await_batches */ $await$ BEGIN
	PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', '"lifecycle"'::regclass::oid, 'batches'), 0));
	RAISE SQLSTATE 'FS000';
EXCEPTION WHEN SQLSTATE 'FS000' THEN NULL;
END $await$;

-- name: record_n
-- $1 id, $2 rev, $3 state: the number of the next recorded event; no row where the record is elsewhere.
SELECT /* lifecycle: record_n */ (SELECT coalesce(max(e."n"), 0) + 1 FROM "lifecycle_events" AS e WHERE e."id" = $1 AND e."rev" = $2)
FROM "lifecycle" WHERE "id" = $1 AND "rev" = $2 AND "state" = $3;

-- name: explain_write
-- The first cause, in the order in which a caller must hear of them: a known request first, for its answer is the first
-- outcome. $1 id, $2 request or null, $3 its place in a batch, $4 rev (0: a creation), $5 state, $6 whether the event is in
-- the log by now.
SELECT /* lifecycle: explain_write */ CASE
	WHEN EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = $1 AND "request_id" = $2)
		OR EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "request_id" = $2 AND "request_n" = $3 AND "request_n" >= 0) THEN 'request'
	WHEN $4::bigint = 0 AND (EXISTS (SELECT 1 FROM "lifecycle" WHERE "id" = $1)
		OR NOT $6::boolean AND EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = $1)) THEN 'id'
	WHEN $4 > 0 AND NOT EXISTS (SELECT 1 FROM "lifecycle" WHERE "id" = $1 AND "rev" = $4 AND "state" = $5) THEN 'moved'
	ELSE '' END;

-- name: log
-- Behind the cursor $1 xid, $2 id, $3 rev, $4 n. Below the oldest open transaction nothing can come any more.
-- The text of "xid" has a name of its own: under its own one, ORDER BY would take the text.
SELECT /* lifecycle: log */ "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid"::text AS "place" FROM "lifecycle_events"
WHERE "xid" >= $1::text::xid8 AND ("xid", "id", "rev", "n") > ($1::text::xid8, $2, $3, $4)
	AND "xid" < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY "xid", "id", "rev", "n" LIMIT $5;

-- name: log_newest
-- Before the cursor $1 xid, $2 id, $3 rev, $4 n, backwards; what is open may still come between.
SELECT /* lifecycle: log_newest */ "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid"::text AS "place" FROM "lifecycle_events"
WHERE "xid" <= $1::text::xid8 AND ("xid", "id", "rev", "n") < ($1::text::xid8, $2, $3, $4)
ORDER BY "xid" DESC, "id" DESC, "rev" DESC, "n" DESC LIMIT $5;

-- name: log_is_ahead
-- Whether the log, or the cursor $1, is of another server, whose transactions are ahead of this one's.
-- Only the last event is read, whatever the planner knows of the log.
SELECT /* lifecycle: log_is_ahead */ coalesce((SELECT "xid" >= pg_snapshot_xmax(pg_current_snapshot()) FROM "lifecycle_events" ORDER BY "xid" DESC LIMIT 1), false),
	$1::text::xid8 >= pg_snapshot_xmax(pg_current_snapshot());

-- name: log_lag
-- The oldest event that is held back, and who has the oldest transaction.
WITH /* lifecycle: log_lag */ oldest AS (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS x)
SELECT "occurred_at", coalesce((SELECT format('the session %s of the role %s in the database %s', pid, usename, datname)
	FROM pg_stat_activity WHERE backend_xid = x::xid LIMIT 1),
	(SELECT format('the prepared transaction %L of the role %s in the database %s', gid, owner, database)
	FROM pg_prepared_xacts WHERE transaction = x::xid), '')
FROM (SELECT "occurred_at" FROM "lifecycle_events" WHERE "xid" >= (SELECT x FROM oldest) ORDER BY "xid", "id", "rev", "n" LIMIT 1) AS held, oldest;

-- name: due
-- What is due, of any effect.
SELECT /* lifecycle: due */ "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "lifecycle_outbox" WHERE "due" <= $1 AND true ORDER BY "due", "id", "rev", "n" LIMIT $2;

-- name: asked
-- One delivery.
SELECT /* lifecycle: asked */ "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "lifecycle_outbox" WHERE "id" = $1 AND "rev" = $2 AND "n" = $3 AND true;

-- name: due_effects
-- The effects of which a delivery is due: from each name to the next one by the index, however many wait between.
WITH /* lifecycle: due_effects */ RECURSIVE fresh("name") AS (
	SELECT min("effect") FROM "lifecycle_outbox" WHERE "attempts" = 0 UNION ALL
	SELECT (SELECT min("effect") FROM "lifecycle_outbox" WHERE "attempts" = 0 AND "effect" > fresh."name") FROM fresh WHERE fresh."name" IS NOT NULL
), again("name") AS (
	SELECT min("effect") FROM "lifecycle_outbox" WHERE "attempts" > 0 UNION ALL
	SELECT (SELECT min("effect") FROM "lifecycle_outbox" WHERE "attempts" > 0 AND "effect" > again."name") FROM again WHERE again."name" IS NOT NULL
)
SELECT "name" FROM fresh
WHERE (SELECT 1 FROM "lifecycle_outbox" WHERE "effect" = fresh."name" AND "attempts" = 0 AND "due" <= $1 ORDER BY "due" LIMIT 1) IS NOT NULL AND true
UNION SELECT "name" FROM again
WHERE (SELECT 1 FROM "lifecycle_outbox" WHERE "effect" = again."name" AND "attempts" > 0 AND "due" <= $1 ORDER BY "due" LIMIT 1) IS NOT NULL AND true
ORDER BY 1;

-- name: claim
-- Gives what is due of the effect $1 at $2 to its caller, until $4: at most $3, those without an attempt first. What others
-- have locked is passed over. The attempts stay at the greatest number.
WITH /* lifecycle: claim */ fresh AS MATERIALIZED (
	SELECT "id", "rev", "n", "due" FROM "lifecycle_outbox" WHERE "effect" = $1 AND "attempts" = 0 AND "due" <= $2 AND true
	ORDER BY "due", "id", "rev", "n" LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
), again AS MATERIALIZED (
	SELECT "id", "rev", "n", "due" FROM "lifecycle_outbox" WHERE "effect" = $1 AND "attempts" > 0 AND "due" <= $2 AND true
	ORDER BY "due", "id", "rev", "n" LIMIT $3 - (SELECT count(*) FROM fresh) FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
	UPDATE "lifecycle_outbox" AS x SET "attempts" = x."attempts" + (x."attempts" < 9223372036854775807)::int, "due" = $4
	FROM (SELECT 0 AS "tried", fresh.* FROM fresh UNION ALL SELECT 1, again.* FROM again) AS d
	WHERE x."id" = d."id" AND x."rev" = d."rev" AND x."n" = d."n"
	RETURNING x."id", x."rev", x."n", x."effect", x."key", x."attempts", x."due", x."last_error", d."tried" AS "was_tried", d."due" AS "was_due"
)
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM claimed ORDER BY "was_tried", "was_due", "id", "rev", "n";

-- name: settle
-- Removes a delivery that was performed, unless it is at another attempt.
DELETE /* lifecycle: settle */ FROM "lifecycle_outbox" WHERE "id" = $1 AND "rev" = $2 AND "n" = $3 AND "attempts" = $4 AND true;

-- name: postpone
-- Says when a delivery that failed is tried again, unless it is at another attempt.
UPDATE /* lifecycle: postpone */ "lifecycle_outbox" SET "due" = $1, "last_error" = $2 WHERE "id" = $3 AND "rev" = $4 AND "n" = $5 AND "attempts" = $6 AND true;

-- name: waiting
-- Whether a record waits for an effect: then it is neither purged nor redacted.
SELECT /* lifecycle: waiting */ 1 FROM "lifecycle_outbox" WHERE "id" = $1;

-- name: number
-- The last number of a sequence.
SELECT /* lifecycle: number */ "number" FROM "lifecycle_groups" WHERE "name" = $1 AND "key" = $2;

-- name: lock_group
-- Locks the group of the guard or sequence $1 with the key $2 until the transaction ends. The lock is the server's own, named by the
-- table and a hash, so that it can be tried. Its holder also writes the group's row: a transaction of a caller whose snapshot
-- is older than that fails (40001) instead of counting what was.
WITH /* lifecycle: lock_group */ l AS MATERIALIZED (SELECT 1 FROM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', '"lifecycle_groups"'::regclass::oid, $1::text, $2::text), 0))) INSERT INTO "lifecycle_groups" AS g ("name", "key", "number") SELECT $1, $2, 0 FROM l
	ON CONFLICT ("name", "key") DO UPDATE SET "number" = g."number" RETURNING 1;

-- name: try_group
-- The same, without a wait: no row where another transaction has it.
WITH /* lifecycle: try_group */ l AS MATERIALIZED (SELECT 1 FROM pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', '"lifecycle_groups"'::regclass::oid, $1::text, $2::text), 0)) AS l(mine) WHERE mine) INSERT INTO "lifecycle_groups" AS g ("name", "key", "number") SELECT $1, $2, 0 FROM l
	ON CONFLICT ("name", "key") DO UPDATE SET "number" = g."number" RETURNING 1;

-- name: lock_places
-- Locks the places of unique rules with the numbers $1 until the transaction ends, and counts them.
SELECT /* lifecycle: lock_places */ count(*) FROM (SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', '"lifecycle"'::regclass::oid, 'place', k), 0)) FROM unnest($1::text::int[]) AS n(k)) AS l;

-- name: try_to_lock_places
-- Those alone that nobody has.
SELECT /* lifecycle: try_to_lock_places */ count(*) FROM unnest($1::text::int[]) AS n(k) WHERE pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', '"lifecycle"'::regclass::oid, 'place', k), 0));

-- name: put_number
-- Its next one.
INSERT /* lifecycle: put_number */ INTO "lifecycle_groups" ("name", "key", "number") VALUES ($1, $2, $3) ON CONFLICT ("name", "key") DO UPDATE SET "number" = excluded."number";

-- name: leave_notes
-- Notes that a group may have room.
INSERT /* lifecycle: leave_notes */ INTO "lifecycle_groups" ("name", "key", "number") SELECT v.name, v.key, 0
FROM json_to_recordset($1::text::json) AS v(name text, key text) WHERE true ON CONFLICT DO NOTHING;

-- name: remove_notes
-- Of groups in which nobody waits any longer.
DELETE /* lifecycle: remove_notes */ FROM "lifecycle_groups" WHERE ("name", "key") IN (SELECT v.name, v.key FROM json_to_recordset($1::text::json) AS v(name text, key text)) AND true;

-- name: meta
-- What the tables are made for.
SELECT /* lifecycle: meta */ "version", "hash", "enforce", "dialect" FROM "fsm_meta" WHERE "machine" = $1;

-- name: is_ours
-- Whether they are made for this specification: 1 or 0.
SELECT /* lifecycle: is_ours */ count(*) FROM "fsm_meta" WHERE "machine" = $1 AND "hash" = $2;

-- name: new_meta
-- Of tables that were just made.
INSERT /* lifecycle: new_meta */ INTO "fsm_meta" ("machine", "version", "hash", "enforce", "dialect") VALUES ($1, $2, $3, $4, $5);

-- name: change_meta
-- Of tables that were migrated.
UPDATE /* lifecycle: change_meta */ "fsm_meta" SET "version" = $2, "hash" = $3, "enforce" = $4, "dialect" = $5 WHERE "machine" = $1;

-- name: make_versions
-- Which other versions may work on the tables; made by the first roll-out.
CREATE /* lifecycle: make_versions */ TABLE IF NOT EXISTS "fsm_versions" (
	"machine" text COLLATE "C" NOT NULL,
	"hash" text COLLATE "C" NOT NULL,
	"version" bigint NOT NULL,
	"standing" text COLLATE "C" NOT NULL CHECK ("standing" IN ('open', 'retired')),
	PRIMARY KEY ("machine", "hash")
);

-- name: standing
-- Whether another version may work on the tables.
SELECT /* lifecycle: standing */ "standing" FROM "fsm_versions" WHERE "machine" = $1 AND "hash" = $2;

-- name: retire
-- The version that the tables were made for.
INSERT /* lifecycle: retire */ INTO "fsm_versions" ("machine", "hash", "version", "standing") VALUES ($1, $2, $3, 'retired')
ON CONFLICT ("machine", "hash") DO UPDATE SET "standing" = 'retired';

-- name: retire_all
-- No other version may.
UPDATE /* lifecycle: retire_all */ "fsm_versions" SET "standing" = 'retired' WHERE "machine" = $1;

-- name: reopen
-- A version that may again.
UPDATE /* lifecycle: reopen */ "fsm_versions" SET "standing" = 'open' WHERE "machine" = $1 AND "hash" = $2;

-- name: remove_version
-- One that comes back is the tables' own.
DELETE /* lifecycle: remove_version */ FROM "fsm_versions" WHERE "machine" = $1 AND "hash" = $2;

-- name: restore
-- Puts a row in the place of what is stored: in place, so that rows of others which refer to it stay. $1 id, $2 state,
-- $3 rev, $4 created_at, $5 updated_at, then all columns.
UPDATE /* lifecycle: restore */ "lifecycle" SET "_chain" = 0, "state" = $2, "rev" = $3, "created_at" = $4, "updated_at" = $5, "dedupe_key" = $6, "payload" = $7, "owner" = $8, "lease" = $9, "result" = $10, "error" = $11, "queued_at" = $12, "attempt" = $13 WHERE "id" = $1 AND true;

-- name: unchain
-- The next move looks the chain up in the log.
UPDATE /* lifecycle: unchain */ "lifecycle" SET "_chain" = 0 WHERE "id" = $1 AND true;

-- name: edit
-- Puts an event with other contents in its place.
UPDATE /* lifecycle: edit */ "lifecycle_events" SET "actor" = $1, "reason" = $2, "fingerprint" = $3, "labels" = $4, "inputs" = $5, "changes" = $6, "image" = $7,
	"checksum" = $8, "chain" = $9 WHERE "id" = $10 AND "rev" = $11 AND "n" = $12 AND true;

-- name: purge_row
-- Removes a row that is purged.
DELETE /* lifecycle: purge_row */ FROM "lifecycle" WHERE "id" = $1 AND "rev" = $2 AND "state" = $3 AND true;

-- name: purge_events
-- The mark, the creation and calls on many records stay, without their contents.
DELETE /* lifecycle: purge_events */ FROM "lifecycle_events" WHERE "id" = $1 AND "operation" <> '__purge' AND "request_n" < 0 AND NOT ("rev" = 1 AND "n" = 0) AND true;

-- name: purge_contents
-- Empties the events that stay of a record that is purged.
UPDATE /* lifecycle: purge_contents */ "lifecycle_events" SET "operation" = '__purged', "name" = '__purged', "actor" = '', "reason" = '', "labels" = NULL, "inputs" = NULL,
	"changes" = NULL, "image" = NULL, "cause" = NULL, "guard" = NULL, "checksum" = 0, "chain" = 0
WHERE "id" = $1 AND "operation" <> '__purge' AND true;

-- name: tombstones
-- The last events of records that were purged before a time, by id.
SELECT /* lifecycle: tombstones */ "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "lifecycle_events" AS t WHERE t."id" > $1 AND t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < $2
	AND NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n")) ORDER BY t."id" LIMIT $3;

-- name: forget_mark
-- Marks the last event of a record that was purged, so that the triggers let the others go.
UPDATE /* lifecycle: forget_mark */ "lifecycle_events" AS t SET "operation" = '__forget' WHERE t."id" = $1 AND t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < $2
	AND NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n")) AND true;

-- name: forget_others
-- Removes the other events.
DELETE /* lifecycle: forget_others */ FROM "lifecycle_events" WHERE "id" = $1 AND "operation" <> '__forget' AND true;

-- name: forget_last
-- Removes the last one.
DELETE /* lifecycle: forget_last */ FROM "lifecycle_events" WHERE "id" = $1 AND true;

-- name: orphans
-- Ids behind $1 and up to $2 that have events, and no row; up to $3 of them. OFFSET 0 makes the
-- planner look for each row by its id: else it may read all of them for each window.
SELECT /* lifecycle: orphans */ e."id" FROM (SELECT DISTINCT "id" FROM "lifecycle_events" WHERE "id" > $1 AND "id" <= $2) AS e
WHERE NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = e."id" OFFSET 0)
	AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS p WHERE p."id" = e."id" AND p."operation" = '__purge' AND p."n" > 0 OFFSET 0)
ORDER BY e."id" LIMIT $3;

-- name: logged_behind
-- The id of the event that stands $2 events behind those of $1.
SELECT /* lifecycle: logged_behind */ "id" FROM "lifecycle_events" WHERE "id" > $1 ORDER BY "id" LIMIT 1 OFFSET $2;

-- name: loose
-- Rows behind $1 and up to $2 that their log does not end with; up to $3 of them.
SELECT /* lifecycle: loose */ "id" FROM "lifecycle" AS r WHERE "id" > $1 AND "id" <= $2 AND (
	NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS e WHERE e."id" = r."id" AND e."rev" = r."rev" AND e."n" = 0 AND e."to_state" = r."state")
	OR EXISTS (SELECT 1 FROM "lifecycle_events" AS e WHERE e."id" = r."id" AND e."rev" > r."rev" AND e."n" = 0))
ORDER BY "id" LIMIT $3;

-- name: id_behind
-- The id that stands $2 rows behind $1.
SELECT /* lifecycle: id_behind */ "id" FROM "lifecycle" WHERE "id" > $1 ORDER BY "id" LIMIT 1 OFFSET $2;
