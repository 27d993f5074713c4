-- name: create
WITH i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "created_at", $5::timestamptz AS "updated_at", $6::text AS "operation", $7::text AS "name", $8::text AS "to_state", $9::timestamptz AS "occurred_at", $10::text AS "actor", $11::text AS "reason", $12::text AS "request_id", $13::bigint AS "request_n", $14::text AS "fingerprint", $15::json AS "labels", $16::json AS "inputs", $17::json AS "changes", $18::json AS "image", $19::bigint AS "version", $20::text AS "cause", $21::text AS "guard", $22::bigint AS "checksum", $23::text AS "v_dedupe_key", $24::json AS "v_payload", $25::text AS "v_owner", $26::timestamptz AS "v_lease", $27::json AS "v_result", $28::json AS "v_error", $29::timestamptz AS "v_queued_at", $30::bigint AS "v_attempt"),
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
WITH i AS MATERIALIZED (
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
WITH i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::text AS "v_owner", $25::timestamptz AS "v_lease", $26::timestamptz AS "v_queued_at", $27::bigint AS "v_attempt"),
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
WITH i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum"),
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
WITH i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::timestamptz AS "v_lease"),
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
WITH i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::text AS "v_owner", $25::timestamptz AS "v_lease", $26::json AS "v_result"),
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
WITH i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::text AS "v_owner", $25::timestamptz AS "v_lease", $26::json AS "v_error"),
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
WITH i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::text AS "v_owner", $25::timestamptz AS "v_lease"),
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
WITH i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::timestamptz AS "v_queued_at"),
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
WITH i AS (SELECT $2::text AS "id", $3::bigint AS "rev", $4::timestamptz AS "updated_at", $5::bigint AS "was", $6::text AS "operation", $7::text AS "name", $8::text AS "from_state", $9::text AS "to_state", $10::timestamptz AS "occurred_at", $11::text AS "actor", $12::text AS "reason", $13::text AS "request_id", $14::bigint AS "request_n", $15::text AS "fingerprint", $16::json AS "labels", $17::json AS "inputs", $18::json AS "changes", $19::json AS "image", $20::bigint AS "version", $21::text AS "cause", $22::text AS "guard", $23::bigint AS "checksum", $24::bigint AS "changed", $25::text AS "v_dedupe_key", $26::json AS "v_payload", $27::text AS "v_owner", $28::timestamptz AS "v_lease", $29::json AS "v_result", $30::json AS "v_error", $31::timestamptz AS "v_queued_at", $32::bigint AS "v_attempt"),
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
WITH i AS MATERIALIZED (SELECT i.* FROM (SELECT CASE WHEN $1 THEN true ELSE pg_try_advisory_xact_lock_shared(hashtextextended(concat_ws(' ', '"lifecycle"'::regclass::oid, 'batches'), 0)) END AS "may" OFFSET 0) AS b
	JOIN (SELECT * FROM unnest($2::text::text[], $3::text::bigint[], $4::text::timestamptz[], $5::text::bigint[], $6::text::text[], $7::text::text[], $8::text::text[], $9::text::text[], $10::text::timestamptz[], $11::text::text[], $12::text::text[], $13::text::text[], $14::text::bigint[], $15::text::text[], $16::text::json[], $17::text::json[], $18::text::json[], $19::text::json[], $20::text::bigint[], $21::text::text[], $22::text::text[], $23::text::bigint[], $24::text::bigint[], $25::text::text[], $26::text::json[], $27::text::text[], $28::text::timestamptz[], $29::text::json[], $30::text::json[], $31::text::timestamptz[], $32::text::bigint[]) AS i("id", "rev", "updated_at", "was", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "changed", "v_dedupe_key", "v_payload", "v_owner", "v_lease", "v_result", "v_error", "v_queued_at", "v_attempt") LIMIT $33::bigint) AS i ON b."may" JOIN "lifecycle" AS r ON r."id" = i."id" AND r."rev" = i."rev" FOR NO KEY UPDATE OF r SKIP LOCKED),
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

-- name: record
INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid")
SELECT i."id", i."rev", i."n", i."operation", i."name", i."from_state", i."to_state", i."occurred_at", i."actor", i."reason",
	i."request_id", i."request_n", i."fingerprint", i."labels", i."inputs", i."changes", i."image", i."version", i."cause", i."guard", i."checksum",
	(coalesce((SELECT p."chain" FROM "lifecycle_events" AS p WHERE p."id" = i."id" AND p."rev" = i."rev" AND p."n" = i."n" - 1), 0) * 16777619
		+ i."checksum") % 4294967296, CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM "lifecycle_events" AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END
FROM (SELECT $2::text AS "id", $3::bigint AS "rev", $4::bigint AS "n", $5::text AS "operation", $6::text AS "name", $7::text AS "from_state", $8::text AS "to_state", $9::timestamptz AS "occurred_at", $10::text AS "actor", $11::text AS "reason", $12::text AS "request_id", $13::bigint AS "request_n", $14::text AS "fingerprint", $15::json AS "labels", $16::json AS "inputs", $17::json AS "changes", $18::json AS "image", $19::bigint AS "version", $20::text AS "cause", $21::text AS "guard", $22::bigint AS "checksum") AS i;

-- name: insert
INSERT INTO "lifecycle" ("id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- name: ask
INSERT INTO "lifecycle_outbox" ("id", "rev", "n", "effect", "key", "attempts", "due", "last_error") VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: some
SELECT "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "lifecycle" WHERE "id" = ANY($1::text::text[]) AND true;

-- name: row
SELECT "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "lifecycle" WHERE "id" = $1 AND true;

-- name: row_locked
SELECT "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "lifecycle" WHERE "id" = $1 AND true FOR NO KEY UPDATE;

-- name: history
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "lifecycle_events" WHERE "id" = $1 AND ("rev", "n") > ($2, $3) AND true ORDER BY "rev", "n" LIMIT $4;

-- name: request
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "lifecycle_events" WHERE "id" = $1 AND "request_id" = $2 ORDER BY "rev", "n";

-- name: request_of_machine
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "lifecycle_events" WHERE "request_id" = $1 AND "request_n" >= 0 ORDER BY "request_n";

-- name: record_n
SELECT (SELECT coalesce(max(e."n"), 0) + 1 FROM "lifecycle_events" AS e WHERE e."id" = $1 AND e."rev" = $2)
FROM (SELECT pg_advisory_lock(hashtextextended(concat_ws(' ', '"lifecycle"'::regclass::oid, 'batches'), 0)), pg_advisory_unlock(hashtextextended(concat_ws(' ', '"lifecycle"'::regclass::oid, 'batches'), 0)) OFFSET 0) AS b, "lifecycle" WHERE "id" = $1 AND "rev" = $2 AND "state" = $3;

-- name: explain_write
SELECT CASE
	WHEN EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = $1 AND "request_id" = $2)
		OR EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "request_id" = $2 AND "request_n" = $3 AND "request_n" >= 0) THEN 'request'
	WHEN $4::bigint = 0 AND (EXISTS (SELECT 1 FROM "lifecycle" WHERE "id" = $1)
		OR NOT $6::boolean AND EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = $1)) THEN 'id'
	WHEN $4 > 0 AND NOT EXISTS (SELECT 1 FROM "lifecycle" WHERE "id" = $1 AND "rev" = $4 AND "state" = $5) THEN 'moved'
	ELSE '' END;

-- name: log
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid"::text AS "place" FROM "lifecycle_events"
WHERE "xid" >= $1::text::xid8 AND ("xid", "id", "rev", "n") > ($1::text::xid8, $2, $3, $4)
	AND "xid" < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY "xid", "id", "rev", "n" LIMIT $5;

-- name: log_newest
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid"::text AS "place" FROM "lifecycle_events"
WHERE "xid" <= $1::text::xid8 AND ("xid", "id", "rev", "n") < ($1::text::xid8, $2, $3, $4)
ORDER BY "xid" DESC, "id" DESC, "rev" DESC, "n" DESC LIMIT $5;

-- name: log_is_ahead
SELECT coalesce((SELECT "xid" >= pg_snapshot_xmax(pg_current_snapshot()) FROM "lifecycle_events" ORDER BY "xid" DESC LIMIT 1), false),
	$1::text::xid8 >= pg_snapshot_xmax(pg_current_snapshot());

-- name: log_lag
WITH oldest AS (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS x)
SELECT "occurred_at", coalesce((SELECT format('the session %s of the role %s in the database %s', pid, usename, datname)
	FROM pg_stat_activity WHERE backend_xid = x::xid LIMIT 1),
	(SELECT format('the prepared transaction %L of the role %s in the database %s', gid, owner, database)
	FROM pg_prepared_xacts WHERE transaction = x::xid), '')
FROM (SELECT "occurred_at" FROM "lifecycle_events" WHERE "xid" >= (SELECT x FROM oldest) ORDER BY "xid", "id", "rev", "n" LIMIT 1) AS held, oldest;

-- name: due
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "lifecycle_outbox" WHERE "due" <= $1 AND true ORDER BY "due", "id", "rev", "n" LIMIT $2;

-- name: asked
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "lifecycle_outbox" WHERE "id" = $1 AND "rev" = $2 AND "n" = $3 AND true;

-- name: due_effects
WITH RECURSIVE fresh("name") AS (
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

-- name: fresh
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "lifecycle_outbox" WHERE "effect" = $1 AND "attempts" = 0 AND "due" <= $2 AND true
ORDER BY "due", "id", "rev", "n" LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED;

-- name: again
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "lifecycle_outbox" WHERE "effect" = $1 AND "attempts" > 0 AND "due" <= $2 AND true
ORDER BY "due", "id", "rev", "n" LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED;

-- name: claim
UPDATE "lifecycle_outbox" SET "attempts" = $1, "due" = $2 WHERE "id" = $3 AND "rev" = $4 AND "n" = $5 AND true;

-- name: settle
DELETE FROM "lifecycle_outbox" WHERE "id" = $1 AND "rev" = $2 AND "n" = $3 AND "attempts" = $4 AND true;

-- name: postpone
UPDATE "lifecycle_outbox" SET "due" = $1, "last_error" = $2 WHERE "id" = $3 AND "rev" = $4 AND "n" = $5 AND "attempts" = $6 AND true;

-- name: waiting
SELECT 1 FROM "lifecycle_outbox" WHERE "id" = $1;

-- name: number
SELECT "number" FROM "lifecycle_groups" WHERE "name" = $1 AND "key" = $2;

-- name: put_number
INSERT INTO "lifecycle_groups" ("name", "key", "number") VALUES ($1, $2, $3) ON CONFLICT ("name", "key") DO UPDATE SET "number" = excluded."number";

-- name: leave_notes
INSERT INTO "lifecycle_groups" ("name", "key", "number") SELECT v.name, v.key, 0
FROM json_to_recordset($1::text::json) AS v(name text, key text) WHERE true ON CONFLICT DO NOTHING;

-- name: remove_notes
DELETE FROM "lifecycle_groups" WHERE ("name", "key") IN (SELECT v.name, v.key FROM json_to_recordset($1::text::json) AS v(name text, key text)) AND true;

-- name: meta
SELECT "version", "hash", "enforce", "dialect" FROM "fsm_meta" WHERE "machine" = $1;

-- name: is_ours
SELECT count(*) FROM "fsm_meta" WHERE "machine" = $1 AND "hash" = $2;

-- name: new_meta
INSERT INTO "fsm_meta" ("machine", "version", "hash", "enforce", "dialect") VALUES ($1, $2, $3, $4, $5);

-- name: change_meta
UPDATE "fsm_meta" SET "version" = $2, "hash" = $3, "enforce" = $4, "dialect" = $5 WHERE "machine" = $1;

-- name: make_versions
CREATE TABLE IF NOT EXISTS "fsm_versions" (
	"machine" text COLLATE "C" NOT NULL,
	"hash" text COLLATE "C" NOT NULL,
	"version" bigint NOT NULL,
	"standing" text COLLATE "C" NOT NULL CHECK ("standing" IN ('open', 'retired')),
	PRIMARY KEY ("machine", "hash")
);

-- name: standing
SELECT "standing" FROM "fsm_versions" WHERE "machine" = $1 AND "hash" = $2;

-- name: retire
INSERT INTO "fsm_versions" ("machine", "hash", "version", "standing") VALUES ($1, $2, $3, 'retired')
ON CONFLICT ("machine", "hash") DO UPDATE SET "standing" = 'retired';

-- name: retire_all
UPDATE "fsm_versions" SET "standing" = 'retired' WHERE "machine" = $1;

-- name: reopen
UPDATE "fsm_versions" SET "standing" = 'open' WHERE "machine" = $1 AND "hash" = $2;

-- name: remove_version
DELETE FROM "fsm_versions" WHERE "machine" = $1 AND "hash" = $2;

-- name: restore
UPDATE "lifecycle" SET "_chain" = 0, "state" = $2, "rev" = $3, "created_at" = $4, "updated_at" = $5, "dedupe_key" = $6, "payload" = $7, "owner" = $8, "lease" = $9, "result" = $10, "error" = $11, "queued_at" = $12, "attempt" = $13 WHERE "id" = $1 AND true;

-- name: unchain
UPDATE "lifecycle" SET "_chain" = 0 WHERE "id" = $1 AND true;

-- name: edit
UPDATE "lifecycle_events" SET "actor" = $1, "reason" = $2, "fingerprint" = $3, "labels" = $4, "inputs" = $5, "changes" = $6, "image" = $7,
	"checksum" = $8, "chain" = $9 WHERE "id" = $10 AND "rev" = $11 AND "n" = $12 AND true;

-- name: purge_row
DELETE FROM "lifecycle" WHERE "id" = $1 AND "rev" = $2 AND "state" = $3 AND true;

-- name: purge_events
DELETE FROM "lifecycle_events" WHERE "id" = $1 AND "operation" <> '__purge' AND "request_n" < 0 AND NOT ("rev" = 1 AND "n" = 0) AND true;

-- name: purge_contents
UPDATE "lifecycle_events" SET "operation" = '__purged', "name" = '__purged', "actor" = '', "reason" = '', "labels" = NULL, "inputs" = NULL,
	"changes" = NULL, "image" = NULL, "cause" = NULL, "guard" = NULL, "checksum" = 0, "chain" = 0
WHERE "id" = $1 AND "operation" <> '__purge' AND true;

-- name: tombstones
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "lifecycle_events" AS t WHERE t."id" > $1 AND t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < $2
	AND NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n")) ORDER BY t."id" LIMIT $3;

-- name: forget_mark
UPDATE "lifecycle_events" AS t SET "operation" = '__forget' WHERE t."id" = $1 AND t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < $2
	AND NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n")) AND true;

-- name: forget_others
DELETE FROM "lifecycle_events" WHERE "id" = $1 AND "operation" <> '__forget' AND true;

-- name: forget_last
DELETE FROM "lifecycle_events" WHERE "id" = $1 AND true;

-- name: orphans
SELECT e."id" FROM (SELECT DISTINCT "id" FROM "lifecycle_events" WHERE "id" > $1 AND "id" <= $2) AS e
WHERE NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = e."id" OFFSET 0)
	AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS p WHERE p."id" = e."id" AND p."operation" = '__purge' AND p."n" > 0 OFFSET 0)
ORDER BY e."id" LIMIT $3;

-- name: logged_behind
SELECT "id" FROM "lifecycle_events" WHERE "id" > $1 ORDER BY "id" LIMIT 1 OFFSET $2;

-- name: loose
SELECT "id" FROM "lifecycle" AS r WHERE "id" > $1 AND "id" <= $2 AND (
	NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS e WHERE e."id" = r."id" AND e."rev" = r."rev" AND e."n" = 0 AND e."to_state" = r."state")
	OR EXISTS (SELECT 1 FROM "lifecycle_events" AS e WHERE e."id" = r."id" AND e."rev" > r."rev" AND e."n" = 0))
ORDER BY "id" LIMIT $3;

-- name: id_behind
SELECT "id" FROM "lifecycle" WHERE "id" > $1 ORDER BY "id" LIMIT 1 OFFSET $2;
