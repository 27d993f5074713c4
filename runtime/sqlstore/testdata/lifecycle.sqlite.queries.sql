-- name: log_step
INSERT INTO "main"."lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain")
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, (coalesce(nullif((SELECT r."_chain" FROM "main"."lifecycle" AS r WHERE r."id" = ?1), 0),
	(SELECT p."chain" FROM "main"."lifecycle_events" AS p WHERE p."id" = ?1 AND p."rev" = ?2 - 1 AND p."n" = 0), 0) * 16777619 + ?21) % 4294967296);

-- name: move claim_next
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?4, "state" = ?7, "owner" = ?8, "lease" = ?9, "queued_at" = ?10, "attempt" = ?11,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?5) % 4294967296
WHERE r."id" = ?1 AND r."rev" = ?2 AND r."state" = ?3 AND r."_chain" = coalesce(?6, r."_chain");

-- name: move start
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?4, "state" = ?7,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?5) % 4294967296
WHERE r."id" = ?1 AND r."rev" = ?2 AND r."state" = ?3 AND r."_chain" = coalesce(?6, r."_chain");

-- name: stay heartbeat
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?4, "lease" = ?7,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?5) % 4294967296
WHERE r."id" = ?1 AND r."rev" = ?2 AND r."state" = ?3 AND r."_chain" = coalesce(?6, r."_chain");

-- name: move complete
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?4, "state" = ?7, "owner" = ?8, "lease" = ?9, "result" = ?10,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?5) % 4294967296
WHERE r."id" = ?1 AND r."rev" = ?2 AND r."state" = ?3 AND r."_chain" = coalesce(?6, r."_chain");

-- name: move fail
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?4, "state" = ?7, "owner" = ?8, "lease" = ?9, "error" = ?10,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?5) % 4294967296
WHERE r."id" = ?1 AND r."rev" = ?2 AND r."state" = ?3 AND r."_chain" = coalesce(?6, r."_chain");

-- name: move stall
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?4, "state" = ?7, "owner" = ?8, "lease" = ?9,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?5) % 4294967296
WHERE r."id" = ?1 AND r."rev" = ?2 AND r."state" = ?3 AND r."_chain" = coalesce(?6, r."_chain");

-- name: move requeue_stalled
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?4, "state" = ?7, "queued_at" = ?8,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?5) % 4294967296
WHERE r."id" = ?1 AND r."rev" = ?2 AND r."state" = ?3 AND r."_chain" = coalesce(?6, r."_chain");

-- name: stay
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?4, "dedupe_key" = ?7, "payload" = ?8, "owner" = ?9, "lease" = ?10, "result" = ?11, "error" = ?12, "queued_at" = ?13, "attempt" = ?14,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?5) % 4294967296
WHERE r."id" = ?1 AND r."rev" = ?2 AND r."state" = ?3 AND r."_chain" = coalesce(?6, r."_chain");

-- name: move
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?4, "state" = ?7, "dedupe_key" = ?8, "payload" = ?9, "owner" = ?10, "lease" = ?11, "result" = ?12, "error" = ?13, "queued_at" = ?14, "attempt" = ?15,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?5) % 4294967296
WHERE r."id" = ?1 AND r."rev" = ?2 AND r."state" = ?3 AND r."_chain" = coalesce(?6, r."_chain");

-- name: leave
DELETE FROM "main"."lifecycle_outbox" WHERE "id" = ?1 AND "rev" = ?2 AND "n" = 0;

-- name: record
INSERT INTO "main"."lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain")
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, (coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p WHERE p."id" = ?1 AND p."rev" = ?2 AND p."n" = ?3 - 1), 0)
	* 16777619 + ?21) % 4294967296);

-- name: insert
INSERT INTO "main"."lifecycle" ("id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14);

-- name: ask
INSERT INTO "main"."lifecycle_outbox" ("id", "rev", "n", "effect", "key", "attempts", "due", "last_error") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: row
SELECT "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "main"."lifecycle" WHERE "id" = ?1;

-- name: row_locked
SELECT "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "main"."lifecycle" WHERE "id" = ?1;

-- name: history
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" WHERE "id" = ?1 AND ("rev", "n") > (?2, ?3) ORDER BY "rev", "n" LIMIT ?4 + 0;

-- name: request
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" WHERE "id" = ?1 AND "request_id" = ?2 ORDER BY "rev", "n";

-- name: request_of_machine
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" WHERE "request_id" = ?1 AND "request_n" >= 0 ORDER BY "request_n";

-- name: record_n
SELECT (SELECT coalesce(max(e."n"), 0) + 1 FROM "main"."lifecycle_events" AS e WHERE e."id" = ?1 AND e."rev" = ?2)
FROM "main"."lifecycle" WHERE "id" = ?1 AND "rev" = ?2 AND "state" = ?3;

-- name: explain_write
SELECT CASE
	WHEN EXISTS (SELECT 1 FROM "main"."lifecycle_events" WHERE "id" = ?1 AND "request_id" = ?2)
		OR EXISTS (SELECT 1 FROM "main"."lifecycle_events" WHERE "request_id" = ?2 AND "request_n" = ?3 AND "request_n" >= 0) THEN 'request'
	WHEN ?4 = 0 AND (EXISTS (SELECT 1 FROM "main"."lifecycle" WHERE "id" = ?1)
		OR NOT ?6 AND EXISTS (SELECT 1 FROM "main"."lifecycle_events" WHERE "id" = ?1)) THEN 'id'
	WHEN ?4 > 0 AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" WHERE "id" = ?1 AND "rev" = ?4 AND "state" = ?5) THEN 'moved'
	ELSE '' END;

-- name: log
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", CAST("seq" AS TEXT) FROM "main"."lifecycle_events" WHERE "seq" > ?1 ORDER BY "seq" LIMIT ?2 + 0;

-- name: log_is_ahead
SELECT 0, ?1 > coalesce((SELECT max("seq") FROM "sqlite_sequence" WHERE "name" = 'lifecycle_events'), 0);

-- name: due
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."lifecycle_outbox" WHERE "due" <= ?1 ORDER BY "due", "id", "rev", "n" LIMIT ?2 + 0;

-- name: due_effects
WITH RECURSIVE fresh("name") AS (
	SELECT min("effect") FROM "main"."lifecycle_outbox" WHERE "attempts" = 0 UNION ALL
	SELECT (SELECT min("effect") FROM "main"."lifecycle_outbox" WHERE "attempts" = 0 AND "effect" > fresh."name") FROM fresh WHERE fresh."name" IS NOT NULL
), again("name") AS (
	SELECT min("effect") FROM "main"."lifecycle_outbox" WHERE "attempts" > 0 UNION ALL
	SELECT (SELECT min("effect") FROM "main"."lifecycle_outbox" WHERE "attempts" > 0 AND "effect" > again."name") FROM again WHERE again."name" IS NOT NULL
)
SELECT "name" FROM fresh
WHERE (SELECT 1 FROM "main"."lifecycle_outbox" WHERE "effect" = fresh."name" AND "attempts" = 0 AND "due" <= ?1 ORDER BY "due" LIMIT 1) IS NOT NULL
UNION SELECT "name" FROM again
WHERE (SELECT 1 FROM "main"."lifecycle_outbox" WHERE "effect" = again."name" AND "attempts" > 0 AND "due" <= ?1 ORDER BY "due" LIMIT 1) IS NOT NULL
ORDER BY 1;

-- name: fresh
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."lifecycle_outbox" WHERE "effect" = ?1 AND "attempts" = 0 AND "due" <= ?2
ORDER BY "due", "id", "rev", "n" LIMIT ?3 + 0;

-- name: again
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."lifecycle_outbox" WHERE "effect" = ?1 AND "attempts" > 0 AND "due" <= ?2
ORDER BY "due", "id", "rev", "n" LIMIT ?3 + 0;

-- name: claim
UPDATE "main"."lifecycle_outbox" SET "attempts" = ?1, "due" = ?2 WHERE "id" = ?3 AND "rev" = ?4 AND "n" = ?5;

-- name: settle
DELETE FROM "main"."lifecycle_outbox" WHERE "id" = ?1 AND "rev" = ?2 AND "n" = ?3 AND "attempts" = ?4;

-- name: postpone
UPDATE "main"."lifecycle_outbox" SET "due" = ?1, "last_error" = ?2 WHERE "id" = ?3 AND "rev" = ?4 AND "n" = ?5 AND "attempts" = ?6;

-- name: waiting
SELECT 1 FROM "main"."lifecycle_outbox" WHERE "id" = ?1;

-- name: number
SELECT "number" FROM "main"."lifecycle_groups" WHERE "name" = ?1 AND "key" = ?2;

-- name: put_number
INSERT INTO "main"."lifecycle_groups" ("name", "key", "number") VALUES (?1, ?2, ?3) ON CONFLICT ("name", "key") DO UPDATE SET "number" = excluded."number";

-- name: leave_note
INSERT INTO "main"."lifecycle_groups" ("name", "key", "number") VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING;

-- name: remove_notes
DELETE FROM "main"."lifecycle_groups" WHERE ("name", "key") IN (SELECT "value" ->> 'name', "value" ->> 'key' FROM json_each(?1));

-- name: meta
SELECT "version", "hash", "enforce", "dialect" FROM "main"."fsm_meta" WHERE "machine" = ?1;

-- name: is_ours
SELECT count(*) FROM "main"."fsm_meta" WHERE "machine" = ?1 AND "hash" = ?2;

-- name: new_meta
INSERT INTO "main"."fsm_meta" ("machine", "version", "hash", "enforce", "dialect") VALUES (?1, ?2, ?3, ?4, ?5);

-- name: change_meta
UPDATE "main"."fsm_meta" SET "version" = ?2, "hash" = ?3, "enforce" = ?4, "dialect" = ?5 WHERE "machine" = ?1;

-- name: make_versions
CREATE TABLE IF NOT EXISTS "main"."fsm_versions" (
	"machine" TEXT NOT NULL,
	"hash" TEXT NOT NULL,
	"version" INTEGER NOT NULL,
	"standing" TEXT NOT NULL CHECK ("standing" IN ('open', 'retired')),
	PRIMARY KEY ("machine", "hash")
) STRICT;

-- name: standing
SELECT "standing" FROM "main"."fsm_versions" WHERE "machine" = ?1 AND "hash" = ?2;

-- name: retire
INSERT INTO "main"."fsm_versions" ("machine", "hash", "version", "standing") VALUES (?1, ?2, ?3, 'retired')
ON CONFLICT ("machine", "hash") DO UPDATE SET "standing" = 'retired';

-- name: retire_all
UPDATE "main"."fsm_versions" SET "standing" = 'retired' WHERE "machine" = ?1;

-- name: reopen
UPDATE "main"."fsm_versions" SET "standing" = 'open' WHERE "machine" = ?1 AND "hash" = ?2;

-- name: remove_version
DELETE FROM "main"."fsm_versions" WHERE "machine" = ?1 AND "hash" = ?2;

-- name: restore
UPDATE "main"."lifecycle" SET "_chain" = 0, "state" = ?2, "rev" = ?3, "created_at" = ?4, "updated_at" = ?5, "dedupe_key" = ?6, "payload" = ?7, "owner" = ?8, "lease" = ?9, "result" = ?10, "error" = ?11, "queued_at" = ?12, "attempt" = ?13 WHERE "id" = ?1;

-- name: unchain
UPDATE "main"."lifecycle" SET "_chain" = 0 WHERE "id" = ?1;

-- name: edit
UPDATE "main"."lifecycle_events" SET "actor" = ?1, "reason" = ?2, "fingerprint" = ?3, "labels" = ?4, "inputs" = ?5, "changes" = ?6, "image" = ?7,
	"checksum" = ?8, "chain" = ?9 WHERE "id" = ?10 AND "rev" = ?11 AND "n" = ?12;

-- name: purge_row
DELETE FROM "main"."lifecycle" WHERE "id" = ?1 AND "rev" = ?2 AND "state" = ?3;

-- name: purge_events
DELETE FROM "main"."lifecycle_events" WHERE "id" = ?1 AND "operation" <> '__purge' AND "request_n" < 0 AND NOT ("rev" = 1 AND "n" = 0);

-- name: purge_contents
UPDATE "main"."lifecycle_events" SET "operation" = '__purged', "name" = '__purged', "actor" = '', "reason" = '', "labels" = NULL, "inputs" = NULL,
	"changes" = NULL, "image" = NULL, "cause" = NULL, "guard" = NULL, "checksum" = 0, "chain" = 0
WHERE "id" = ?1 AND "operation" <> '__purge';

-- name: tombstones
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" AS t WHERE t."id" > ?1 AND t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < ?2
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n")) ORDER BY t."id" LIMIT ?3 + 0;

-- name: forget_mark
UPDATE "main"."lifecycle_events" AS t SET "operation" = '__forget' WHERE t."id" = ?1 AND t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < ?2
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n"));

-- name: forget_others
DELETE FROM "main"."lifecycle_events" WHERE "id" = ?1 AND "operation" <> '__forget';

-- name: forget_last
DELETE FROM "main"."lifecycle_events" WHERE "id" = ?1;

-- name: orphans
SELECT DISTINCT e."id" FROM "main"."lifecycle_events" AS e WHERE e."id" > ?1 AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" AS r WHERE r."id" = e."id")
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS p WHERE p."id" = e."id" AND p."operation" = '__purge' AND p."n" > 0) ORDER BY e."id" LIMIT ?2 + 0;

-- name: loose
SELECT "id" FROM "main"."lifecycle" AS r WHERE "id" > ?1 AND "id" <= ?2 AND (
	NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS e WHERE e."id" = r."id" AND e."rev" = r."rev" AND e."n" = 0 AND e."to_state" = r."state")
	OR EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS e WHERE e."id" = r."id" AND e."rev" > r."rev" AND e."n" = 0))
ORDER BY "id" LIMIT ?3 + 0;

-- name: id_behind
SELECT "id" FROM "main"."lifecycle" WHERE "id" > ?1 ORDER BY "id" LIMIT 1 OFFSET ?2;
