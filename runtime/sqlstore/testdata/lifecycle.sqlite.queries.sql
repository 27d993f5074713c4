-- name: log_step
-- The event of a creation or a move: ?1 id, ?2 rev, ?21 checksum. The row has the chain of its last
-- event, or the log where others than the engine have written the row.
INSERT INTO "main"."lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain")
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (coalesce(nullif((SELECT r."_chain" FROM "main"."lifecycle" AS r WHERE r."id" = ?1), 0),
	(SELECT p."chain" FROM "main"."lifecycle_events" AS p WHERE p."id" = ?1 AND p."rev" = ?2 - 1 AND p."n" = 0), 0) * 16777619 + ?21) % 4294967296);

-- name: move claim_next
-- Changes a row: ?1 updated_at, ?2 checksum, then the values, and behind them id, rev, from_state, and its chain or null.
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "owner" = ?, "lease" = ?, "queued_at" = ?, "attempt" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move start
-- Changes a row: ?1 updated_at, ?2 checksum, then the values, and behind them id, rev, from_state, and its chain or null.
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: stay heartbeat
-- Changes a row: ?1 updated_at, ?2 checksum, then the values, and behind them id, rev, from_state, and its chain or null.
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "lease" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move complete
-- Changes a row: ?1 updated_at, ?2 checksum, then the values, and behind them id, rev, from_state, and its chain or null.
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "owner" = ?, "lease" = ?, "result" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move fail
-- Changes a row: ?1 updated_at, ?2 checksum, then the values, and behind them id, rev, from_state, and its chain or null.
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "owner" = ?, "lease" = ?, "error" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move stall
-- Changes a row: ?1 updated_at, ?2 checksum, then the values, and behind them id, rev, from_state, and its chain or null.
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "owner" = ?, "lease" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move requeue_stalled
-- Changes a row: ?1 updated_at, ?2 checksum, then the values, and behind them id, rev, from_state, and its chain or null.
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "queued_at" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: stay
-- Changes a row: ?1 updated_at, ?2 checksum, then the values, and behind them id, rev, from_state, and its chain or null.
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "dedupe_key" = ?, "payload" = ?, "owner" = ?, "lease" = ?, "result" = ?, "error" = ?, "queued_at" = ?, "attempt" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: move
-- Changes a row: ?1 updated_at, ?2 checksum, then the values, and behind them id, rev, from_state, and its chain or null.
UPDATE "main"."lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = ?,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?) % 4294967296, "state" = ?, "dedupe_key" = ?, "payload" = ?, "owner" = ?, "lease" = ?, "result" = ?, "error" = ?, "queued_at" = ?, "attempt" = ?
WHERE r."id" = ? AND r."rev" = ? AND r."state" = ? AND r."_chain" = coalesce(?, r."_chain");

-- name: leave
-- The effect of the revision that is left is of no more use.
DELETE FROM "main"."lifecycle_outbox" WHERE "id" = ? AND "rev" = ? AND "n" = 0;

-- name: record
-- An event that moves nothing: ?3 its number, which was asked for before.
INSERT INTO "main"."lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain")
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (coalesce((SELECT p."chain" FROM "main"."lifecycle_events" AS p WHERE p."id" = ?1 AND p."rev" = ?2 AND p."n" = ?3 - 1), 0)
	* 16777619 + ?21) % 4294967296);

-- name: insert
-- Makes a row.
INSERT INTO "main"."lifecycle" ("id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: ask
-- Puts an effect into the outbox.
INSERT INTO "main"."lifecycle_outbox" ("id", "rev", "n", "effect", "key", "attempts", "due", "last_error") VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: row
-- One row.
SELECT "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "main"."lifecycle" WHERE "id" = ?;

-- name: row_locked
-- The transaction has the write lock.
SELECT "id", "state", "rev", "created_at", "updated_at", "dedupe_key", "payload", "owner", "lease", "result", "error", "queued_at", "attempt", "_chain" FROM "main"."lifecycle" WHERE "id" = ?;

-- name: history
-- ?1 id, behind ?2 rev and ?3 n, ?4 limit
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" WHERE "id" = ? AND ("rev", "n") > (?, ?) ORDER BY "rev", "n" LIMIT ? + 0;

-- name: request
-- The events that carry a request, of one record.
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" WHERE "id" = ? AND "request_id" = ? ORDER BY "rev", "n";

-- name: request_of_machine
-- The events of a call on many records.
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" WHERE "request_id" = ? AND "request_n" >= 0 ORDER BY "request_n";

-- name: record_n
-- ?1 id, ?2 rev, ?3 state: the number of the next recorded event; no row where the record is elsewhere.
SELECT (SELECT coalesce(max(e."n"), 0) + 1 FROM "main"."lifecycle_events" AS e WHERE e."id" = ? AND e."rev" = ?)
FROM "main"."lifecycle" WHERE "id" = ?1 AND "rev" = ?2 AND "state" = ?;

-- name: explain_write
-- The first cause, in the order in which a caller must hear of them: a known request first, for its answer is the first
-- outcome. ?1 id, ?2 request or null, ?3 its place in a batch, ?4 rev (0: a creation), ?5 state, ?6 whether the event is in
-- the log by now.
SELECT CASE
	WHEN EXISTS (SELECT 1 FROM "main"."lifecycle_events" WHERE "id" = ? AND "request_id" = ?)
		OR EXISTS (SELECT 1 FROM "main"."lifecycle_events" WHERE "request_id" = ?2 AND "request_n" = ? AND "request_n" >= 0) THEN 'request'
	WHEN ? = 0 AND (EXISTS (SELECT 1 FROM "main"."lifecycle" WHERE "id" = ?1)
		OR NOT ?6 AND EXISTS (SELECT 1 FROM "main"."lifecycle_events" WHERE "id" = ?1)) THEN 'id'
	WHEN ?4 > 0 AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" WHERE "id" = ?1 AND "rev" = ?4 AND "state" = ?5) THEN 'moved'
	ELSE '' END;

-- name: log
-- Behind the place ?1.
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", CAST("seq" AS TEXT) FROM "main"."lifecycle_events" WHERE "seq" > ? ORDER BY "seq" LIMIT ? + 0;

-- name: log_newest
-- Before the place ?1, backwards.
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", CAST("seq" AS TEXT) FROM "main"."lifecycle_events" WHERE "seq" < ? ORDER BY "seq" DESC LIMIT ? + 0;

-- name: log_is_ahead
-- Whether the cursor ?1 is beyond the log.
SELECT 0, ? > coalesce((SELECT max("seq") FROM "sqlite_sequence" WHERE "name" = 'lifecycle_events'), 0);

-- name: due
-- What is due, of any effect.
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."lifecycle_outbox" WHERE "due" <= ? ORDER BY "due", "id", "rev", "n" LIMIT ? + 0;

-- name: asked
-- One delivery.
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."lifecycle_outbox" WHERE "id" = ? AND "rev" = ? AND "n" = ?;

-- name: due_effects
-- The effects of which a delivery is due: from each name to the next one by the index, however many wait between.
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
-- What is due of the effect ?1 at ?2 and has no attempt; the next one: what has.
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."lifecycle_outbox" WHERE "effect" = ? AND "attempts" = 0 AND "due" <= ?
ORDER BY "due", "id", "rev", "n" LIMIT ? + 0;

-- name: again
-- What is due of the effect and has attempts.
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."lifecycle_outbox" WHERE "effect" = ? AND "attempts" > 0 AND "due" <= ?
ORDER BY "due", "id", "rev", "n" LIMIT ? + 0;

-- name: claim
-- Gives a delivery to its caller, until the new time.
UPDATE "main"."lifecycle_outbox" SET "attempts" = ?, "due" = ? WHERE "id" = ? AND "rev" = ? AND "n" = ?;

-- name: settle
-- Removes a delivery that was performed, unless it is at another attempt.
DELETE FROM "main"."lifecycle_outbox" WHERE "id" = ? AND "rev" = ? AND "n" = ? AND "attempts" = ?;

-- name: postpone
-- Says when a delivery that failed is tried again, unless it is at another attempt.
UPDATE "main"."lifecycle_outbox" SET "due" = ?, "last_error" = ? WHERE "id" = ? AND "rev" = ? AND "n" = ? AND "attempts" = ?;

-- name: waiting
-- Whether a record waits for an effect: then it is neither purged nor redacted.
SELECT 1 FROM "main"."lifecycle_outbox" WHERE "id" = ?;

-- name: number
-- The last number of a sequence.
SELECT "number" FROM "main"."lifecycle_groups" WHERE "name" = ? AND "key" = ?;

-- name: put_number
-- Its next one.
INSERT INTO "main"."lifecycle_groups" ("name", "key", "number") VALUES (?, ?, ?) ON CONFLICT ("name", "key") DO UPDATE SET "number" = excluded."number";

-- name: leave_note
-- Notes that a group may have room.
INSERT INTO "main"."lifecycle_groups" ("name", "key", "number") VALUES (?, ?, 0) ON CONFLICT DO NOTHING;

-- name: remove_notes
-- Of groups in which nobody waits any longer.
DELETE FROM "main"."lifecycle_groups" WHERE ("name", "key") IN (SELECT "value" ->> 'name', "value" ->> 'key' FROM json_each(?));

-- name: meta
-- What the tables are made for.
SELECT "version", "hash", "enforce", "dialect" FROM "main"."fsm_meta" WHERE "machine" = ?;

-- name: is_ours
-- Whether they are made for this specification: 1 or 0.
SELECT count(*) FROM "main"."fsm_meta" WHERE "machine" = ? AND "hash" = ?;

-- name: new_meta
-- Of tables that were just made.
INSERT INTO "main"."fsm_meta" ("machine", "version", "hash", "enforce", "dialect") VALUES (?, ?, ?, ?, ?);

-- name: change_meta
-- Of tables that were migrated.
UPDATE "main"."fsm_meta" SET "version" = ?2, "hash" = ?, "enforce" = ?, "dialect" = ? WHERE "machine" = ?1;

-- name: make_versions
-- Which other versions may work on the tables; made by the first roll-out.
CREATE TABLE IF NOT EXISTS "main"."fsm_versions" (
	"machine" TEXT NOT NULL,
	"hash" TEXT NOT NULL,
	"version" INTEGER NOT NULL,
	"standing" TEXT NOT NULL CHECK ("standing" IN ('open', 'retired')),
	PRIMARY KEY ("machine", "hash")
) STRICT;

-- name: standing
-- Whether another version may work on the tables.
SELECT "standing" FROM "main"."fsm_versions" WHERE "machine" = ? AND "hash" = ?;

-- name: retire
-- The version that the tables were made for.
INSERT INTO "main"."fsm_versions" ("machine", "hash", "version", "standing") VALUES (?, ?, ?, 'retired')
ON CONFLICT ("machine", "hash") DO UPDATE SET "standing" = 'retired';

-- name: retire_all
-- No other version may.
UPDATE "main"."fsm_versions" SET "standing" = 'retired' WHERE "machine" = ?;

-- name: reopen
-- A version that may again.
UPDATE "main"."fsm_versions" SET "standing" = 'open' WHERE "machine" = ? AND "hash" = ?;

-- name: remove_version
-- One that comes back is the tables' own.
DELETE FROM "main"."fsm_versions" WHERE "machine" = ? AND "hash" = ?;

-- name: restore
-- Puts a row in the place of what is stored: in place, so that rows of others which refer to it stay. ?1 id, ?2 state,
-- ?3 rev, ?4 created_at, ?5 updated_at, then all columns.
UPDATE "main"."lifecycle" SET "_chain" = 0, "state" = ?2, "rev" = ?, "created_at" = ?, "updated_at" = ?, "dedupe_key" = ?, "payload" = ?, "owner" = ?, "lease" = ?, "result" = ?, "error" = ?, "queued_at" = ?, "attempt" = ? WHERE "id" = ?1;

-- name: unchain
-- The next move looks the chain up in the log.
UPDATE "main"."lifecycle" SET "_chain" = 0 WHERE "id" = ?;

-- name: edit
-- Puts an event with other contents in its place.
UPDATE "main"."lifecycle_events" SET "actor" = ?, "reason" = ?, "fingerprint" = ?, "labels" = ?, "inputs" = ?, "changes" = ?, "image" = ?,
	"checksum" = ?, "chain" = ? WHERE "id" = ? AND "rev" = ? AND "n" = ?;

-- name: purge_row
-- Removes a row that is purged.
DELETE FROM "main"."lifecycle" WHERE "id" = ? AND "rev" = ? AND "state" = ?;

-- name: purge_events
-- The mark, the creation and calls on many records stay, without their contents.
DELETE FROM "main"."lifecycle_events" WHERE "id" = ? AND "operation" <> '__purge' AND "request_n" < 0 AND NOT ("rev" = 1 AND "n" = 0);

-- name: purge_contents
-- Empties the events that stay of a record that is purged.
UPDATE "main"."lifecycle_events" SET "operation" = '__purged', "name" = '__purged', "actor" = '', "reason" = '', "labels" = NULL, "inputs" = NULL,
	"changes" = NULL, "image" = NULL, "cause" = NULL, "guard" = NULL, "checksum" = 0, "chain" = 0
WHERE "id" = ? AND "operation" <> '__purge';

-- name: tombstones
-- The last events of records that were purged before a time, by id.
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."lifecycle_events" AS t WHERE t."id" > ? AND t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < ?
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n")) ORDER BY t."id" LIMIT ? + 0;

-- name: forget_mark
-- Marks the last event of a record that was purged, so that the triggers let the others go.
UPDATE "main"."lifecycle_events" AS t SET "operation" = '__forget' WHERE t."id" = ? AND t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < ?
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n"));

-- name: forget_others
-- Removes the other events.
DELETE FROM "main"."lifecycle_events" WHERE "id" = ? AND "operation" <> '__forget';

-- name: forget_last
-- Removes the last one.
DELETE FROM "main"."lifecycle_events" WHERE "id" = ?;

-- name: orphans
-- Ids behind ?1 and up to ?2 that have events, and no row; up to ?3 of them.
SELECT DISTINCT e."id" FROM "main"."lifecycle_events" AS e WHERE e."id" > ? AND e."id" <= ? AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle" AS r WHERE r."id" = e."id")
	AND NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS p WHERE p."id" = e."id" AND p."operation" = '__purge' AND p."n" > 0) ORDER BY e."id" LIMIT ? + 0;

-- name: logged_behind
-- The id of the event that stands ?2 events behind those of ?1.
SELECT "id" FROM "main"."lifecycle_events" WHERE "id" > ? ORDER BY "id" LIMIT 1 OFFSET ?;

-- name: loose
-- Rows behind ?1 and up to ?2 that their log does not end with; up to ?3 of them.
SELECT "id" FROM "main"."lifecycle" AS r WHERE "id" > ? AND "id" <= ? AND (
	NOT EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS e WHERE e."id" = r."id" AND e."rev" = r."rev" AND e."n" = 0 AND e."to_state" = r."state")
	OR EXISTS (SELECT 1 FROM "main"."lifecycle_events" AS e WHERE e."id" = r."id" AND e."rev" > r."rev" AND e."n" = 0))
ORDER BY "id" LIMIT ? + 0;

-- name: id_behind
-- The id that stands ?2 rows behind ?1.
SELECT "id" FROM "main"."lifecycle" WHERE "id" > ? ORDER BY "id" LIMIT 1 OFFSET ?;
