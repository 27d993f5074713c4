-- name: log_step
INSERT INTO "main"."lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain")
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (coalesce(nullif((SELECT r."_chain" FROM "main"."lifecycle" AS r WHERE r."id" = ?1), 0),
	(SELECT p."chain" FROM "main"."lifecycle_events" AS p WHERE p."id" = ?1 AND p."rev" = ?2 - 1 AND p."n" = 0), 0) * 16777619 + ?21) % 4294967296);

-- name: move claim_next
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "owner" = ?, "lease" = ?, "queued_at" = ?, "attempt" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move start
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: stay heartbeat
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "lease" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move complete
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "owner" = ?, "lease" = ?, "result" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move fail
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "owner" = ?, "lease" = ?, "error" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move stall
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "owner" = ?, "lease" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move requeue_stalled
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "queued_at" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: stay
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "dedupe_key" = ?, "payload" = ?, "owner" = ?, "lease" = ?, "result" = ?, "error" = ?, "queued_at" = ?, "attempt" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "dedupe_key" = ?, "payload" = ?, "owner" = ?, "lease" = ?, "result" = ?, "error" = ?, "queued_at" = ?, "attempt" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: leave
DELETE FROM "main"."lifecycle_outbox" WHERE "id" = ? AND "rev" = ? AND "n" = 0;

-- name: record
INSERT INTO "main"."lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain")
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p WHERE p."id" = ?1 AND p."rev" = ?2 AND p."n" = ?3 - 1), 0)
	* 16777619 + ?21) % 4294967296);

-- name: insert
INSERT INTO "main"."lifecycle" ("id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: ask
INSERT INTO "main"."lifecycle_outbox" ("id", "rev", "n", "effect", "key", "attempts", "due", "last_error") VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: row
SELECT "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "main"."lifecycle" WHERE "id" = ?;

-- name: row_locked
SELECT "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "main"."lifecycle" WHERE "id" = ?;

-- name: history
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" WHERE "id" = ? AND ("rev", "n") > (?, ?) ORDER BY "rev", "n" LIMIT ? + 0;

-- name: request
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" WHERE "id" = ? AND "request_id" = ? ORDER BY "rev", "n";

-- name: request_of_machine
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" WHERE "request_id" = ? AND "request_n" >= 0 ORDER BY "request_n";

-- name: record_n
SELECT (SELECT coalesce(max(e."n"), 0) + 1 FROM "main"."lifecycle_events" AS e WHERE e."id" = ? AND e."rev" = ?)
FROM "main"."lifecycle" WHERE "id" = ?1 AND "rev" = ?2 AND "state" = ?;

-- name: explain_write
SELECT CASE
	WHEN EXISTS (SELECT 1 FROM "main"."lifecycle_events" WHERE "id" = ? AND "request_id" = ?)
		OR EXISTS (SELECT 1 FROM "main"."lifecycle_events" WHERE "request_id" = ?2 AND "request_n" = ? AND "request_n" >= 0) THEN 'request'
	WHEN ? = 0 AND (EXISTS (SELECT 1 FROM "main"."lifecycle" WHERE "id" = ?1)
		OR NOT ?6 AND EXISTS (SELECT 1 FROM "main"."lifecycle_events" WHERE "id" = ?1)) THEN 'id'
	WHEN ?4 > 0 AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" WHERE "id" = ?1 AND "rev" = ?4 AND "state" = ?5) THEN 'moved'
	ELSE '' END;

-- name: log
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", CAST("seq" AS TEXT) FROM "main"."lifecycle_events" WHERE "seq" > ? ORDER BY "seq" LIMIT ? + 0;

-- name: log_newest
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", CAST("seq" AS TEXT) FROM "main"."lifecycle_events" WHERE "seq" < ? ORDER BY "seq" DESC LIMIT ? + 0;

-- name: log_is_ahead
SELECT 0, ? > coalesce((SELECT max("seq") FROM "sqlite_sequence" WHERE "name" = 'lifecycle_events'), 0);

-- name: due
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."lifecycle_outbox" WHERE "due" <= ? ORDER BY "due", "id", "rev", "n" LIMIT ? + 0;

-- name: asked
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."lifecycle_outbox" WHERE "id" = ? AND "rev" = ? AND "n" = ?;

-- name: due_effects
WITH RECURSIVE fresh("name") AS (
	SELECT min("effect") FROM "main"."lifecycle_outbox" WHERE "attempts" = 0 UNION ALL
	SELECT (SELECT min("effect") FROM "main"."lifecycle_outbox" WHERE "attempts" = 0 AND "effect" > fresh."name") FROM fresh WHERE fresh."name" IS NOT NULL
), again("name") AS (
	SELECT min("effect") FROM "main"."lifecycle_outbox" WHERE "attempts" > 0 UNION ALL
	SELECT (SELECT min("effect") FROM "main"."lifecycle_outbox" WHERE "attempts" > 0 AND "effect" > again."name") FROM again WHERE again."name" IS NOT NULL
)
SELECT "name" FROM fresh
WHERE (SELECT 1 FROM "main"."lifecycle_outbox" WHERE "effect" = fresh."name" AND "attempts" = 0 AND "due" <= ? ORDER BY "due" LIMIT 1) IS NOT NULL
UNION SELECT "name" FROM again
WHERE (SELECT 1 FROM "main"."lifecycle_outbox" WHERE "effect" = again."name" AND "attempts" > 0 AND "due" <= ?1 ORDER BY "due" LIMIT 1) IS NOT NULL
ORDER BY 1;

-- name: fresh
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."lifecycle_outbox" WHERE "effect" = ? AND "attempts" = 0 AND "due" <= ?
ORDER BY "due", "id", "rev", "n" LIMIT ? + 0;

-- name: again
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."lifecycle_outbox" WHERE "effect" = ? AND "attempts" > 0 AND "due" <= ?
ORDER BY "due", "id", "rev", "n" LIMIT ? + 0;

-- name: claim
UPDATE "main"."lifecycle_outbox" SET "attempts" = ?, "due" = ? WHERE "id" = ? AND "rev" = ? AND "n" = ?;

-- name: settle
DELETE FROM "main"."lifecycle_outbox" WHERE "id" = ? AND "rev" = ? AND "n" = ? AND "attempts" = ?;

-- name: postpone
UPDATE "main"."lifecycle_outbox" SET "due" = ?, "last_error" = ? WHERE "id" = ? AND "rev" = ? AND "n" = ? AND "attempts" = ?;

-- name: waiting
SELECT 1 FROM "main"."lifecycle_outbox" WHERE "id" = ?;

-- name: number
SELECT "number" FROM "main"."lifecycle_groups" WHERE "name" = ? AND "key" = ?;

-- name: put_number
INSERT INTO "main"."lifecycle_groups" ("name", "key", "number") VALUES (?, ?, ?) ON CONFLICT ("name", "key") DO UPDATE SET "number" = excluded."number";

-- name: leave_note
INSERT INTO "main"."lifecycle_groups" ("name", "key", "number") VALUES (?, ?, 0) ON CONFLICT DO NOTHING;

-- name: remove_notes
DELETE FROM "main"."lifecycle_groups" WHERE ("name", "key") IN (SELECT "value" ->> 'name', "value" ->> 'key' FROM json_each(?));

-- name: meta
SELECT "version", "hash", "enforce", "dialect" FROM "main"."fsm_meta" WHERE "machine" = ?;

-- name: is_ours
SELECT count(*) FROM "main"."fsm_meta" WHERE "machine" = ? AND "hash" = ?;

-- name: new_meta
INSERT INTO "main"."fsm_meta" ("machine", "version", "hash", "enforce", "dialect") VALUES (?, ?, ?, ?, ?);

-- name: change_meta
UPDATE "main"."fsm_meta" SET "version" = ?2, "hash" = ?, "enforce" = ?, "dialect" = ? WHERE "machine" = ?1;

-- name: make_versions
CREATE TABLE IF NOT EXISTS "main"."fsm_versions" (
	"machine" TEXT NOT NULL,
	"hash" TEXT NOT NULL,
	"version" INTEGER NOT NULL,
	"standing" TEXT NOT NULL CHECK ("standing" IN ('open', 'retired')),
	PRIMARY KEY ("machine", "hash")
) STRICT;

-- name: standing
SELECT "standing" FROM "main"."fsm_versions" WHERE "machine" = ? AND "hash" = ?;

-- name: retire
INSERT INTO "main"."fsm_versions" ("machine", "hash", "version", "standing") VALUES (?, ?, ?, 'retired')
ON CONFLICT ("machine", "hash") DO UPDATE SET "standing" = 'retired';

-- name: retire_all
UPDATE "main"."fsm_versions" SET "standing" = 'retired' WHERE "machine" = ?;

-- name: reopen
UPDATE "main"."fsm_versions" SET "standing" = 'open' WHERE "machine" = ? AND "hash" = ?;

-- name: remove_version
DELETE FROM "main"."fsm_versions" WHERE "machine" = ? AND "hash" = ?;

-- name: restore
UPDATE "main"."lifecycle" SET "_chain" = 0, "state" = ?2, "rev" = ?, "created_at" = ?, "updated_at" = ?, "dedupe_key" = ?, "payload" = ?, "owner" = ?, "lease" = ?, "result" = ?, "error" = ?, "queued_at" = ?, "attempt" = ? WHERE "id" = ?1;

-- name: unchain
UPDATE "main"."lifecycle" SET "_chain" = 0 WHERE "id" = ?;

-- name: edit
UPDATE "main"."lifecycle_events" SET "actor" = ?, "reason" = ?, "fingerprint" = ?, "labels" = ?, "inputs" = ?, "changes" = ?, "image" = ?,
	"checksum" = ?, "chain" = ? WHERE "id" = ? AND "rev" = ? AND "n" = ?;

-- name: purge_row
DELETE FROM "main"."lifecycle" WHERE "id" = ? AND "rev" = ? AND "state" = ?;

-- name: purge_events
DELETE FROM "main"."lifecycle_events" WHERE "id" = ? AND "operation" <> '__purge' AND "request_n" < 0 AND NOT ("rev" = 1 AND "n" = 0);

-- name: purge_contents
UPDATE "main"."lifecycle_events" SET "operation" = '__purged', "name" = '__purged', "actor" = '', "reason" = '', "labels" = NULL, "inputs" = NULL,
	"changes" = NULL, "image" = NULL, "cause" = NULL, "guard" = NULL, "checksum" = 0, "chain" = 0
WHERE "id" = ? AND "operation" <> '__purge';

-- name: tombstones
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" AS t WHERE t."id" > ? AND t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < ?
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n")) ORDER BY t."id" LIMIT ? + 0;

-- name: forget_mark
UPDATE "main"."lifecycle_events" AS t SET "operation" = '__forget' WHERE t."id" = ? AND t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < ?
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n"));

-- name: forget_others
DELETE FROM "main"."lifecycle_events" WHERE "id" = ? AND "operation" <> '__forget';

-- name: forget_last
DELETE FROM "main"."lifecycle_events" WHERE "id" = ?;

-- name: orphans
SELECT DISTINCT e."id" FROM "main"."lifecycle_events" AS e WHERE e."id" > ? AND e."id" <= ? AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" AS r WHERE r."id" = e."id")
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS p WHERE p."id" = e."id" AND p."operation" = '__purge' AND p."n" > 0) ORDER BY e."id" LIMIT ? + 0;

-- name: logged_behind
SELECT "id" FROM "main"."lifecycle_events" WHERE "id" > ? ORDER BY "id" LIMIT 1 OFFSET ?;

-- name: loose
SELECT "id" FROM "main"."lifecycle" AS r WHERE "id" > ? AND "id" <= ? AND (
	NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS e WHERE e."id" = r."id" AND e."rev" = r."rev" AND e."n" = 0 AND e."to_state" = r."state")
	OR EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS e WHERE e."id" = r."id" AND e."rev" > r."rev" AND e."n" = 0))
ORDER BY "id" LIMIT ? + 0;

-- name: id_behind
SELECT "id" FROM "main"."lifecycle" WHERE "id" > ? ORDER BY "id" LIMIT 1 OFFSET ?;
