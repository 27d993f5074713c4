-- The statements of one machine in a SQLite file, as far as they are the same for each call. See
-- postgres.queries.sql for the words in braces; {VALUES} are parameters. A write is some statements in one transaction
-- of the store's: the event first, for the schema lets a row change only when the event of its new revision is
-- there. Times are microseconds.
--
-- Parameters are numbered here. What is sent has the number only where SQLite would give another one: the driver asks
-- for the name of each parameter that has one, and a transition has dozens.

-- part: event
"id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain"

------------------------------------------------------------------------------------------------
-- Writes

-- part: values
?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21

-- write: log_step
-- The event of a creation or a move: ?1 id, ?2 rev, ?21 checksum. The row has the chain of its last
-- event, or the log where others than the engine have written the row.
INSERT INTO {M_events} ({event})
VALUES ({values}, (coalesce(nullif((SELECT r."_chain" FROM {M} AS r WHERE r."id" = ?1), 0),
	(SELECT p."chain" FROM {M_events} AS p WHERE p."id" = ?1 AND p."rev" = ?2 - 1 AND p."n" = 0), 0) * 16777619 + ?21) % 4294967296)

-- write: record
-- An event that moves nothing: ?3 its number, which was asked for before.
INSERT INTO {M_events} ({event})
VALUES ({values}, (coalesce((SELECT p."chain" FROM {M_events} AS p WHERE p."id" = ?1 AND p."rev" = ?2 AND p."n" = ?3 - 1), 0)
	* 16777619 + ?21) % 4294967296)

-- write: move
-- Changes a row: ?1 updated_at, ?2 checksum, then the values, and behind them id, rev, from_state, and its chain or null.
UPDATE {M} AS r SET "rev" = r."rev" + 1, "updated_at" = ?1,
	"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM {M_events} AS p
		WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + ?2) % 4294967296{STATE}{SETS}
WHERE r."id" = {ID} AND r."rev" = {REV} AND r."state" = {FROM} AND r."_chain" = coalesce({WAS}, r."_chain")

-- name: insert
-- Makes a row.
INSERT INTO {M} ({ROW}) VALUES ({VALUES})

-- name: ask
-- Puts an effect into the outbox.
INSERT INTO {M_outbox} ({delivery}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- write: leave
-- The effect of the revision that is left is of no more use.
DELETE FROM {M_outbox} WHERE "id" = ?1 AND "rev" = ?2 AND "n" = 0

------------------------------------------------------------------------------------------------
-- Reads. SQLite plans by the value of a parameter that is the whole limit, and so prepares such a statement
-- again at each execution; it does not look into a sum.

-- name: row
-- One row.
SELECT {ROW} FROM {M} WHERE "id" = ?1

-- name: row_locked
-- The transaction has the write lock.
{row}

-- name: history
-- ?1 id, behind ?2 rev and ?3 n, ?4 limit
SELECT {event} FROM {M_events} WHERE "id" = ?1 AND ("rev", "n") > (?2, ?3) ORDER BY "rev", "n" LIMIT ?4 + 0

-- name: request
-- The events that carry a request, of one record.
SELECT {event} FROM {M_events} WHERE "id" = ?1 AND "request_id" = ?2 ORDER BY "rev", "n"

-- name: request_of_machine
-- The events of a call on many records.
SELECT {event} FROM {M_events} WHERE "request_id" = ?1 AND "request_n" >= 0 ORDER BY "request_n"

-- name: record_n
-- ?1 id, ?2 rev, ?3 state: the number of the next recorded event; no row where the record is elsewhere.
SELECT (SELECT coalesce(max(e."n"), 0) + 1 FROM {M_events} AS e WHERE e."id" = ?1 AND e."rev" = ?2)
FROM {M} WHERE "id" = ?1 AND "rev" = ?2 AND "state" = ?3

------------------------------------------------------------------------------------------------
-- Why a write did nothing

-- name: explain_write
-- The first cause, in the order in which a caller must hear of them: a known request first, for its answer is the first
-- outcome. ?1 id, ?2 request or null, ?3 its place in a batch, ?4 rev (0: a creation), ?5 state, ?6 whether the event is in
-- the log by now.
SELECT CASE
	WHEN EXISTS (SELECT 1 FROM {M_events} WHERE "id" = ?1 AND "request_id" = ?2)
		OR EXISTS (SELECT 1 FROM {M_events} WHERE "request_id" = ?2 AND "request_n" = ?3 AND "request_n" >= 0) THEN 'request'
	WHEN ?4 = 0 AND (EXISTS (SELECT 1 FROM {M} WHERE "id" = ?1)
		OR NOT ?6 AND EXISTS (SELECT 1 FROM {M_events} WHERE "id" = ?1)) THEN 'id'
	WHEN ?4 > 0 AND NOT EXISTS (SELECT 1 FROM {M} WHERE "id" = ?1 AND "rev" = ?4 AND "state" = ?5) THEN 'moved'
	ELSE '' END

------------------------------------------------------------------------------------------------
-- The log of all records

-- name: log
-- Behind the place ?1.
SELECT {event}, CAST("seq" AS TEXT) FROM {M_events} WHERE "seq" > ?1 ORDER BY "seq" LIMIT ?2 + 0

-- name: log_newest
-- Before the place ?1, backwards.
SELECT {event}, CAST("seq" AS TEXT) FROM {M_events} WHERE "seq" < ?1 ORDER BY "seq" DESC LIMIT ?2 + 0

-- name: log_is_ahead
-- Whether the cursor ?1 is beyond the log.
SELECT 0, ?1 > coalesce((SELECT max("seq") FROM "sqlite_sequence" WHERE "name" = {EVENTS}), 0)

------------------------------------------------------------------------------------------------
-- The outbox, and numbers of groups

-- part: delivery
"id", "rev", "n", "effect", "key", "attempts", "due", "last_error"

-- name: due
-- What is due, of any effect.
SELECT {delivery} FROM {M_outbox} WHERE "due" <= ?1 ORDER BY "due", "id", "rev", "n" LIMIT ?2 + 0

-- name: asked
-- One delivery.
SELECT {delivery} FROM {M_outbox} WHERE "id" = ?1 AND "rev" = ?2 AND "n" = ?3

-- name: due_effects
-- The effects of which a delivery is due: from each name to the next one by the index, however many wait between.
WITH RECURSIVE fresh("name") AS (
	SELECT min("effect") FROM {M_outbox} WHERE "attempts" = 0 UNION ALL
	SELECT (SELECT min("effect") FROM {M_outbox} WHERE "attempts" = 0 AND "effect" > fresh."name") FROM fresh WHERE fresh."name" IS NOT NULL
), again("name") AS (
	SELECT min("effect") FROM {M_outbox} WHERE "attempts" > 0 UNION ALL
	SELECT (SELECT min("effect") FROM {M_outbox} WHERE "attempts" > 0 AND "effect" > again."name") FROM again WHERE again."name" IS NOT NULL
)
SELECT "name" FROM fresh
WHERE (SELECT 1 FROM {M_outbox} WHERE "effect" = fresh."name" AND "attempts" = 0 AND "due" <= ?1 ORDER BY "due" LIMIT 1) IS NOT NULL
UNION SELECT "name" FROM again
WHERE (SELECT 1 FROM {M_outbox} WHERE "effect" = again."name" AND "attempts" > 0 AND "due" <= ?1 ORDER BY "due" LIMIT 1) IS NOT NULL
ORDER BY 1

-- name: fresh
-- What is due of the effect ?1 at ?2 and has no attempt; the next one: what has.
SELECT {delivery} FROM {M_outbox} WHERE "effect" = ?1 AND "attempts" = 0 AND "due" <= ?2
ORDER BY "due", "id", "rev", "n" LIMIT ?3 + 0

-- name: again
-- What is due of the effect and has attempts.
SELECT {delivery} FROM {M_outbox} WHERE "effect" = ?1 AND "attempts" > 0 AND "due" <= ?2
ORDER BY "due", "id", "rev", "n" LIMIT ?3 + 0

-- name: claim
-- Gives a delivery to its caller, until the new time.
UPDATE {M_outbox} SET "attempts" = ?1, "due" = ?2 WHERE "id" = ?3 AND "rev" = ?4 AND "n" = ?5

-- name: settle
-- Removes a delivery that was performed, unless it is at another attempt.
DELETE FROM {M_outbox} WHERE "id" = ?1 AND "rev" = ?2 AND "n" = ?3 AND "attempts" = ?4

-- name: postpone
-- Says when a delivery that failed is tried again, unless it is at another attempt.
UPDATE {M_outbox} SET "due" = ?1, "last_error" = ?2 WHERE "id" = ?3 AND "rev" = ?4 AND "n" = ?5 AND "attempts" = ?6

-- name: waiting
-- Whether a record waits for an effect: then it is neither purged nor redacted.
SELECT 1 FROM {M_outbox} WHERE "id" = ?1

-- name: number
-- The last number of a sequence.
SELECT "number" FROM {M_groups} WHERE "name" = ?1 AND "key" = ?2

-- name: put_number
-- Its next one.
INSERT INTO {M_groups} ("name", "key", "number") VALUES (?1, ?2, ?3) ON CONFLICT ("name", "key") DO UPDATE SET "number" = excluded."number"

------------------------------------------------------------------------------------------------
-- Parking

-- part: parked_until
{PARKED} > 0 AND {PARKED} <= ?1

-- park: stirred
-- Whether there is something to wake: a time has come, or there may be room.
SELECT 1 WHERE {REASONS}

-- part: a_time_has_come
EXISTS (SELECT 1 FROM {M} WHERE {parked_until})

-- part: no_time_comes
?1 IS NULL

-- part: there_may_be_room
EXISTS (SELECT 1 FROM {M_groups} WHERE "name" IN ({NOTES}))

-- park: park
-- Hides a row from a pick, at its revision.
UPDATE {M} SET {PARKED} = ?1 WHERE "id" = ?2 AND "rev" = ?3 AND {PARKED} IS NULL

-- name: leave_note
-- Notes that a group may have room.
INSERT INTO {M_groups} ("name", "key", "number") VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING

-- park: notes
-- What may have made room, and whether a time has come as well.
SELECT "name", "key", {A_TIME} FROM {M_groups} WHERE "name" IN ({NOTES}) ORDER BY "name", "key" LIMIT ?2 + 0

-- part: free_notes
-- The transaction has the write lock.
{notes}

-- name: remove_notes
-- Of groups in which nobody waits any longer.
DELETE FROM {M_groups} WHERE ("name", "key") IN (SELECT "value" ->> 'name', "value" ->> 'key' FROM json_each(?1))

-- park: wake_due
-- At most ?2 of them: the next round wakes the rest.
UPDATE {M} SET {PARKED} = NULL WHERE "id" IN (SELECT "id" FROM {M} WHERE {parked_until} LIMIT ?2 + 0)

-- park: still_parked
-- One whose time has come and that is hidden still.
SELECT "id" FROM {M} WHERE {parked_until} LIMIT 1

-- part: wake
-- Those of v, who are the first of a group.
UPDATE {M} SET {PARKED} = NULL WHERE "id" IN (SELECT "id" FROM v) RETURNING "id"

-- park: wake_all
-- Shows all rows again.
UPDATE {M} SET {PARKED} = NULL WHERE {PARKED} IS NOT NULL

------------------------------------------------------------------------------------------------
-- Which specification the tables are made for, and which others may work on them

-- name: meta
-- What the tables are made for.
SELECT "version", "hash", "enforce", "dialect" FROM {META} WHERE "machine" = ?1

-- name: is_ours
-- Whether they are made for this specification: 1 or 0.
SELECT count(*) FROM {META} WHERE "machine" = ?1 AND "hash" = ?2

-- name: new_meta
-- Of tables that were just made.
INSERT INTO {META} ("machine", "version", "hash", "enforce", "dialect") VALUES (?1, ?2, ?3, ?4, ?5)

-- name: change_meta
-- Of tables that were migrated.
UPDATE {META} SET "version" = ?2, "hash" = ?3, "enforce" = ?4, "dialect" = ?5 WHERE "machine" = ?1

-- name: make_versions
-- Which other versions may work on the tables; made by the first roll-out.
CREATE TABLE IF NOT EXISTS {VERSIONS} (
	"machine" TEXT NOT NULL,
	"hash" TEXT NOT NULL,
	"version" INTEGER NOT NULL,
	"standing" TEXT NOT NULL CHECK ("standing" IN ('open', 'retired')),
	PRIMARY KEY ("machine", "hash")
) STRICT

-- name: standing
-- Whether another version may work on the tables.
SELECT "standing" FROM {VERSIONS} WHERE "machine" = ?1 AND "hash" = ?2

-- name: retire
-- The version that the tables were made for.
INSERT INTO {VERSIONS} ("machine", "hash", "version", "standing") VALUES (?1, ?2, ?3, 'retired')
ON CONFLICT ("machine", "hash") DO UPDATE SET "standing" = 'retired'

-- name: retire_all
-- No other version may.
UPDATE {VERSIONS} SET "standing" = 'retired' WHERE "machine" = ?1

-- name: reopen
-- A version that may again.
UPDATE {VERSIONS} SET "standing" = 'open' WHERE "machine" = ?1 AND "hash" = ?2

-- name: remove_version
-- One that comes back is the tables' own.
DELETE FROM {VERSIONS} WHERE "machine" = ?1 AND "hash" = ?2

------------------------------------------------------------------------------------------------
-- Repair, purge, redaction. The store drops the triggers of the schema in the transaction and makes them again.

-- name: restore
-- Puts a row in the place of what is stored: in place, so that rows of others which refer to it stay. ?1 id, ?2 state,
-- ?3 rev, ?4 created_at, ?5 updated_at, then all columns.
UPDATE {M} SET "_chain" = 0, "state" = ?2, "rev" = ?3, "created_at" = ?4, "updated_at" = ?5{SETS} WHERE "id" = ?1

-- name: unchain
-- The next move looks the chain up in the log.
UPDATE {M} SET "_chain" = 0 WHERE "id" = ?1

-- name: edit
-- Puts an event with other contents in its place.
UPDATE {M_events} SET "actor" = ?1, "reason" = ?2, "fingerprint" = ?3, "labels" = ?4, "inputs" = ?5, "changes" = ?6, "image" = ?7,
	"checksum" = ?8, "chain" = ?9 WHERE "id" = ?10 AND "rev" = ?11 AND "n" = ?12

-- name: purge_row
-- Removes a row that is purged.
DELETE FROM {M} WHERE "id" = ?1 AND "rev" = ?2 AND "state" = ?3

-- name: purge_events
-- The mark, the creation and calls on many records stay, without their contents.
DELETE FROM {M_events} WHERE "id" = ?1 AND "operation" <> '__purge' AND "request_n" < 0 AND NOT ("rev" = 1 AND "n" = 0)

-- name: purge_contents
-- Empties the events that stay of a record that is purged.
UPDATE {M_events} SET "operation" = '__purged', "name" = '__purged', "actor" = '', "reason" = '', "labels" = NULL, "inputs" = NULL,
	"changes" = NULL, "image" = NULL, "cause" = NULL, "guard" = NULL, "checksum" = 0, "chain" = 0
WHERE "id" = ?1 AND "operation" <> '__purge'

-- part: is_tombstone
-- The condition on an event t that it ends the log of a record that was purged before ?2.
t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < ?2
	AND NOT EXISTS (SELECT 1 FROM {M} AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM {M_events} AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n"))

-- name: tombstones
-- The last events of records that were purged before a time, by id.
SELECT {event} FROM {M_events} AS t WHERE t."id" > ?1 AND {is_tombstone} ORDER BY t."id" LIMIT ?3 + 0

-- name: forget_mark
-- Marks the last event of a record that was purged, so that the triggers let the others go.
UPDATE {M_events} AS t SET "operation" = '__forget' WHERE t."id" = ?1 AND {is_tombstone}

-- name: forget_others
-- Removes the other events.
DELETE FROM {M_events} WHERE "id" = ?1 AND "operation" <> '__forget'

-- name: forget_last
-- Removes the last one.
DELETE FROM {M_events} WHERE "id" = ?1

-- name: orphans
-- Ids behind ?1 and up to ?2 that have events, and no row; up to ?3 of them.
SELECT DISTINCT e."id" FROM {M_events} AS e WHERE e."id" > ?1 AND e."id" <= ?2 AND NOT EXISTS (SELECT 1 FROM {M} AS r WHERE r."id" = e."id")
	AND NOT EXISTS (SELECT 1 FROM {M_events} AS p WHERE p."id" = e."id" AND p."operation" = '__purge' AND p."n" > 0) ORDER BY e."id" LIMIT ?3 + 0

-- name: logged_behind
-- The id of the event that stands ?2 events behind those of ?1.
SELECT "id" FROM {M_events} WHERE "id" > ?1 ORDER BY "id" LIMIT 1 OFFSET ?2

-- name: loose
-- Rows behind ?1 and up to ?2 that their log does not end with; up to ?3 of them.
SELECT "id" FROM {M} AS r WHERE "id" > ?1 AND "id" <= ?2 AND (
	NOT EXISTS (SELECT 1 FROM {M_events} AS e WHERE e."id" = r."id" AND e."rev" = r."rev" AND e."n" = 0 AND e."to_state" = r."state")
	OR EXISTS (SELECT 1 FROM {M_events} AS e WHERE e."id" = r."id" AND e."rev" > r."rev" AND e."n" = 0))
ORDER BY "id" LIMIT ?3 + 0

-- name: id_behind
-- The id that stands ?2 rows behind ?1.
SELECT "id" FROM {M} WHERE "id" > ?1 ORDER BY "id" LIMIT 1 OFFSET ?2
