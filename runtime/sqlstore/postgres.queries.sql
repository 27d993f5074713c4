-- The statements of one machine on PostgreSQL, as far as they are the same for each call.
-- `fsmctl queries` prints them for a specification.
--
-- A word in braces is the name of another query here and stands for its text. One that begins with
-- a capital is what the machine makes:
--   {M} {M_events} {M_outbox} {M_groups}  its tables, with their schema; {M_text} {M_groups_text} names as texts
--   {ROW} {NEW}      the columns of a new row, and their values
--   {STATE} {SETS}   what a move sets: , "owner" = i."v_owner", ...
--   {CELLS}          $2::text AS "id", ...
--   {ARRAYS} {NAMES} $2::text::text[], ... and "id", ...
--   {LAST}           the last parameter
--   {ALL} {TOO_FEW}  how many writes there are, and what is said where fewer were made
--   {WRITES} {ASKS} {LEAVES} {FREE} {PLACES}  parts below that a text has, or not: one or many writes, effects, unique rules
--   {META} {VERSIONS}  the tables fsm_meta and fsm_versions; {VALUES} parameters for a whole row
--   {SAME}           fails the statement when the names lead to other tables than those that the store was opened on
--
-- Parameters of a write: $1 says whether its event must stand behind the last one (see log_position), then
-- come the cells i, of a batch each as an array, then how many writes a batch has. A cell that all writes of a
-- batch lack is NULL instead of an array: unnest fills it up. So is, in each write, the time of an event that
-- is the row's, an empty reason, and the place of a request that belongs to the record alone.

-- part: event
"id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
"fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain"

------------------------------------------------------------------------------------------------
-- Writes

-- write: move
-- Moves records: each row at the revision and in the state that was decided on, then its effects, then
-- its event. Of a record that is elsewhere nothing is returned. There is one text for each operation; one for what
-- any operation may change; and one for a batch of any operations. The last two have a bit for each column in "changed".
WITH {moved}
{move_event}

-- write: take
-- Moves records that the transaction has locked, with COMMIT behind it in the same trip. It fails where one is not moved, or where it
-- has waited until a lease is over. The text that fails is no constant, which the planner would look at.
WITH {moved},
e AS (
	{move_event}
)
SELECT CASE WHEN count(*) = {ALL} AND coalesce(clock_timestamp() - transaction_timestamp() < {WITHIN}::bigint * interval '1 microsecond', true)
	THEN true ELSE concat({TOO_FEW}, count(*))::boolean END FROM e

-- part: moved
i AS {WRITES},
w AS (
	UPDATE {M} AS r SET "rev" = r."rev" + 1, "updated_at" = i."updated_at"{STATE}{SETS},
		"_chain" = (CASE WHEN r."_chain" <> 0 THEN r."_chain" ELSE coalesce((SELECT p."chain" FROM {M_events} AS p
			WHERE p."id" = r."id" AND p."rev" = r."rev" AND p."n" = 0), 0) END * 16777619 + i."checksum") % 4294967296
	FROM i
	WHERE r."id" = i."id" AND r."rev" = i."rev" AND r."state" = i."from_state" AND r."_chain" = coalesce(i."was", r."_chain")
	RETURNING i.*, r."_chain"
){ASKS}{LEAVES}

-- part: move_event
INSERT INTO {M_events} ({event}, "xid")
SELECT i."id", i."rev" + 1, 0, i."operation", i."name", i."from_state", i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."_chain", {log_position}
FROM w AS i WHERE {SAME}
RETURNING "id"

-- part: log_position
-- A transaction that may see what was committed after it began has an older number than the
-- record's last event: then the event takes that one's, so that the log stays in order.
CASE WHEN $1 THEN greatest(pg_current_xact_id(), (SELECT e."xid" FROM {M_events} AS e WHERE e."id" = i."id"
	ORDER BY e."rev" DESC, e."n" DESC LIMIT 1)) ELSE pg_current_xact_id() END

-- part: one
(SELECT {CELLS})

-- part: many
-- LIMIT hides from the planner how long the batch is: it keeps one plan, which finds each record by an index.
(SELECT * FROM unnest({ARRAYS}) AS i({NAMES}) LIMIT {LAST}::bigint)

-- part: many_unlocked
-- A batch passes over records that another transaction has locked: they go alone, and wait while they hold nothing.
-- Before its first record, with which it gets its number, it says that it is on its way: see await_batches. It holds nothing yet, so nobody
-- waits for it meanwhile. Within a transaction that has begun ($1 is true, or NULL of a strict one) it says nothing: that has its records before.
MATERIALIZED (SELECT i.* FROM {many} AS i JOIN {M} AS r ON r."id" = i."id" AND r."rev" = i."rev"
	WHERE (SELECT CASE WHEN $1 IS NOT FALSE THEN true ELSE pg_advisory_xact_lock_shared({batches}) IS NOT NULL END)
	FOR NO KEY UPDATE OF r SKIP LOCKED)

-- part: batches
hashtextextended(concat_ws(' ', {M_text}::regclass::oid, 'batches'), 0)

-- part: asks
-- What a step asks for goes into the outbox. Left out, as is the next part, where no operation has an effect.
,
o AS (
	INSERT INTO {M_outbox} ({delivery})
	SELECT i."id", i."rev" + 1, x."n", x."effect", x."key", x."attempts", x."due", x."last_error" FROM w AS i,
		json_to_recordset(i."effects") AS x("n" bigint, "effect" text, "key" text, "attempts" bigint, "due" timestamptz, "last_error" text)
)

-- part: leaves
-- The effect of the revision that is left is of no more use.
,
d AS (DELETE FROM {M_outbox} AS x USING w AS i WHERE i."leave" AND x."id" = i."id" AND x."rev" = i."rev" AND x."n" = 0)

-- write: create
-- Makes a record. One whose id or place is taken is no error but no row. What the log alone has fails with 23505: a request
-- of the machine that is taken, and the id of a record that was purged.
WITH i AS {one},
r AS (INSERT INTO {M} ({ROW}) SELECT {NEW} FROM i ON CONFLICT DO NOTHING RETURNING "id"),
w AS (SELECT i.* FROM i JOIN r ON r."id" = i."id"){ASKS}
{create_event}

-- write: create_many
-- Makes records. What is known to be taken is left out before, and so is what another one is about
-- to take; what is taken by others at the same time fails the statement. OFFSET 0 makes the
-- planner look for each record by an index. Of each unique rule one NOT EXISTS looks. The places of what
-- is left are locked last: AND alone has no order.
WITH i AS MATERIALIZED (
	SELECT * FROM {many} AS i WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM {M} AS r WHERE r."id" = i."id" OFFSET 0)
		AND NOT EXISTS (SELECT 1 FROM {M_events} AS e WHERE e."request_id" = i."request_id" AND e."request_n" = i."request_n"
			AND e."request_n" >= 0 OFFSET 0){FREE} THEN {PLACES} ELSE false END
),
r AS (INSERT INTO {M} ({ROW}) SELECT {NEW} FROM i RETURNING "id"),
w AS (SELECT i.* FROM i JOIN r ON r."id" = i."id"){ASKS}
{create_event}

-- part: create_event
-- Only a row that is there gets its event: a trigger of the user's may suppress one.
INSERT INTO {M_events} ({event}, "xid")
SELECT i."id", 1, 0, i."operation", i."name", NULL, i."to_state", coalesce(i."occurred_at", i."updated_at"), i."actor",
	coalesce(i."reason", ''), i."request_id", coalesce(i."request_n", -1), i."fingerprint", i."labels", i."inputs", i."changes", i."image",
	i."version", i."cause", i."guard", i."checksum", i."checksum", {log_position}
FROM w AS i WHERE {SAME}
RETURNING "id"

-- part: try_places
-- The places of unique rules that a new record takes: those that nobody has are locked.
(SELECT bool_and(pg_try_advisory_xact_lock({place_lock}))
	FROM unnest(i."places"::int[]) AS n(k)) IS NOT FALSE

-- write: record
-- Appends an event that moves nothing; its number n was asked for before, under the row's lock.
INSERT INTO {M_events} ({event}, "xid")
SELECT i."id", i."rev", i."n", i."operation", i."name", i."from_state", i."to_state", i."occurred_at", i."actor", i."reason",
	i."request_id", i."request_n", i."fingerprint", i."labels", i."inputs", i."changes", i."image", i."version", i."cause", i."guard", i."checksum",
	(coalesce((SELECT p."chain" FROM {M_events} AS p WHERE p."id" = i."id" AND p."rev" = i."rev" AND p."n" = i."n" - 1), 0) * 16777619
		+ i."checksum") % 4294967296, {log_position}
FROM {one} AS i

-- name: insert
-- A row without its event: of a repair, or so that the server names what stands against a creation.
INSERT INTO {M} ({ROW}) VALUES ({VALUES})

-- name: ask
-- What a recorded event asks for.
INSERT INTO {M_outbox} ({delivery}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)

------------------------------------------------------------------------------------------------
-- Reads

-- name: some
-- The rows of ids.
SELECT {ROW} FROM {M} WHERE "id" = ANY($1::text::text[]) AND {SAME}

-- name: row
-- One row.
SELECT {ROW} FROM {M} WHERE "id" = $1 AND {SAME}

-- name: row_locked
-- A foreign key of the user's that refers to the row waits for nobody.
SELECT {ROW} FROM {M} WHERE "id" = $1 AND {SAME} FOR NO KEY UPDATE

-- name: history
-- $1 id, behind $2 rev and $3 n, $4 limit
SELECT {event} FROM {M_events} WHERE "id" = $1 AND ("rev", "n") > ($2, $3) AND {SAME} ORDER BY "rev", "n" LIMIT $4

-- name: request
-- The events that carry a request, of one record.
SELECT {event} FROM {M_events} WHERE "id" = $1 AND "request_id" = $2 ORDER BY "rev", "n"

-- name: request_of_machine
-- The events of a call on many records.
SELECT {event} FROM {M_events} WHERE "request_id" = $1 AND "request_n" >= 0 ORDER BY "request_n"

-- name: await_batches
-- Before an event alone, and under its row's lock, the batches that are on their way are waited for. One of them could have an older
-- number, and come to the record after this transaction: it would not see the event, and its own would stand before it. One that begins
-- later has a higher number. The error takes the lock back at once. A lock of the session would stay where the wait for it ends by a
-- timeout at the moment at which it is granted.
DO $await$ BEGIN
	PERFORM pg_advisory_xact_lock({batches});
	RAISE SQLSTATE 'FS000';
EXCEPTION WHEN SQLSTATE 'FS000' THEN NULL;
END $await$

-- name: record_n
-- $1 id, $2 rev, $3 state: the number of the next recorded event; no row where the record is elsewhere.
SELECT (SELECT coalesce(max(e."n"), 0) + 1 FROM {M_events} AS e WHERE e."id" = $1 AND e."rev" = $2)
FROM {M} WHERE "id" = $1 AND "rev" = $2 AND "state" = $3

------------------------------------------------------------------------------------------------
-- Why a write did nothing

-- name: explain_write
-- The first cause, in the order in which a caller must hear of them: a known request first, for its answer is the first
-- outcome. $1 id, $2 request or null, $3 its place in a batch, $4 rev (0: a creation), $5 state, $6 whether the event is in
-- the log by now.
SELECT CASE
	WHEN EXISTS (SELECT 1 FROM {M_events} WHERE "id" = $1 AND "request_id" = $2)
		OR EXISTS (SELECT 1 FROM {M_events} WHERE "request_id" = $2 AND "request_n" = $3 AND "request_n" >= 0) THEN 'request'
	WHEN $4::bigint = 0 AND (EXISTS (SELECT 1 FROM {M} WHERE "id" = $1)
		OR NOT $6::boolean AND EXISTS (SELECT 1 FROM {M_events} WHERE "id" = $1)) THEN 'id'
	WHEN $4 > 0 AND NOT EXISTS (SELECT 1 FROM {M} WHERE "id" = $1 AND "rev" = $4 AND "state" = $5) THEN 'moved'
	ELSE '' END

------------------------------------------------------------------------------------------------
-- The log of all records

-- name: log
-- Behind the cursor $1 xid, $2 id, $3 rev, $4 n. Below the oldest open transaction nothing can come any more.
-- The text of "xid" has a name of its own: under its own one, ORDER BY would take the text.
SELECT {event}, "xid"::text AS "place" FROM {M_events}
WHERE "xid" >= $1::text::xid8 AND ("xid", "id", "rev", "n") > ($1::text::xid8, $2, $3, $4)
	AND "xid" < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY "xid", "id", "rev", "n" LIMIT $5

-- name: log_newest
-- Before the cursor $1 xid, $2 id, $3 rev, $4 n, backwards; what is open may still come between.
SELECT {event}, "xid"::text AS "place" FROM {M_events}
WHERE "xid" <= $1::text::xid8 AND ("xid", "id", "rev", "n") < ($1::text::xid8, $2, $3, $4)
ORDER BY "xid" DESC, "id" DESC, "rev" DESC, "n" DESC LIMIT $5

-- name: log_is_ahead
-- Whether the log, or the cursor $1, is of another server, whose transactions are ahead of this one's.
-- Only the last event is read, whatever the planner knows of the log.
SELECT coalesce((SELECT "xid" >= pg_snapshot_xmax(pg_current_snapshot()) FROM {M_events} ORDER BY "xid" DESC LIMIT 1), false),
	$1::text::xid8 >= pg_snapshot_xmax(pg_current_snapshot())

-- name: log_lag
-- The oldest event that is held back, and who has the oldest transaction.
WITH oldest AS (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS x)
SELECT "occurred_at", coalesce((SELECT format('the session %s of the role %s in the database %s', pid, usename, datname)
	FROM pg_stat_activity WHERE backend_xid = x::xid LIMIT 1),
	(SELECT format('the prepared transaction %L of the role %s in the database %s', gid, owner, database)
	FROM pg_prepared_xacts WHERE transaction = x::xid), '')
FROM (SELECT "occurred_at" FROM {M_events} WHERE "xid" >= (SELECT x FROM oldest) ORDER BY "xid", "id", "rev", "n" LIMIT 1) AS held, oldest

------------------------------------------------------------------------------------------------
-- The outbox, and numbers of groups

-- part: place
"id", "rev", "n"

-- part: delivery
"id", "rev", "n", "effect", "key", "attempts", "due", "last_error"

-- name: due
-- What is due, of any effect.
SELECT {delivery} FROM {M_outbox} WHERE "due" <= $1 AND {SAME} ORDER BY "due", "id", "rev", "n" LIMIT $2

-- name: asked
-- One delivery.
SELECT {delivery} FROM {M_outbox} WHERE "id" = $1 AND "rev" = $2 AND "n" = $3 AND {SAME}

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
WHERE (SELECT 1 FROM {M_outbox} WHERE "effect" = fresh."name" AND "attempts" = 0 AND "due" <= $1 ORDER BY "due" LIMIT 1) IS NOT NULL AND {SAME}
UNION SELECT "name" FROM again
WHERE (SELECT 1 FROM {M_outbox} WHERE "effect" = again."name" AND "attempts" > 0 AND "due" <= $1 ORDER BY "due" LIMIT 1) IS NOT NULL AND {SAME}
ORDER BY 1

-- name: claim
-- Gives what is due of the effect $1 at $2 to its caller, until $4: at most $3, those without an attempt first. What others
-- have locked is passed over. The attempts stay at the greatest number.
WITH fresh AS MATERIALIZED (
	SELECT {place}, "due" FROM {M_outbox} WHERE "effect" = $1 AND "attempts" = 0 AND "due" <= $2 AND {SAME}
	ORDER BY "due", "id", "rev", "n" LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
), again AS MATERIALIZED (
	SELECT {place}, "due" FROM {M_outbox} WHERE "effect" = $1 AND "attempts" > 0 AND "due" <= $2 AND {SAME}
	ORDER BY "due", "id", "rev", "n" LIMIT $3 - (SELECT count(*) FROM fresh) FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
	UPDATE {M_outbox} AS x SET "attempts" = x."attempts" + (x."attempts" < 9223372036854775807)::int, "due" = $4
	FROM (SELECT 0 AS "tried", fresh.* FROM fresh UNION ALL SELECT 1, again.* FROM again) AS d
	WHERE x."id" = d."id" AND x."rev" = d."rev" AND x."n" = d."n"
	RETURNING x."id", x."rev", x."n", x."effect", x."key", x."attempts", x."due", x."last_error", d."tried" AS "was_tried", d."due" AS "was_due"
)
SELECT {delivery} FROM claimed ORDER BY "was_tried", "was_due", {place}

-- name: settle
-- Removes a delivery that was performed, unless it is at another attempt.
DELETE FROM {M_outbox} WHERE "id" = $1 AND "rev" = $2 AND "n" = $3 AND "attempts" = $4 AND {SAME}

-- name: postpone
-- Says when a delivery that failed is tried again, unless it is at another attempt.
UPDATE {M_outbox} SET "due" = $1, "last_error" = $2 WHERE "id" = $3 AND "rev" = $4 AND "n" = $5 AND "attempts" = $6 AND {SAME}

-- name: waiting
-- Whether a record waits for an effect: then it is neither purged nor redacted.
SELECT 1 FROM {M_outbox} WHERE "id" = $1

-- name: number
-- The last number of a sequence.
SELECT "number" FROM {M_groups} WHERE "name" = $1 AND "key" = $2

-- name: lock_group
-- Locks the group of the guard or sequence $1 with the key $2 until the transaction ends. The lock is the server's own, named by the
-- table and a hash, so that it can be tried. Its holder also writes the group's row: a transaction of a caller whose snapshot
-- is older than that fails (40001) instead of counting what was.
WITH l AS MATERIALIZED (SELECT 1 FROM pg_advisory_xact_lock({group_lock})) {note_group}

-- name: try_group
-- The same, without a wait: no row where another transaction has it.
WITH l AS MATERIALIZED (SELECT 1 FROM pg_try_advisory_xact_lock({group_lock}) AS l(mine) WHERE mine) {note_group}

-- part: group_lock
hashtextextended(concat_ws(' ', {M_groups_text}::regclass::oid, $1::text, $2::text), 0)

-- part: note_group
INSERT INTO {M_groups} AS g ("name", "key", "number") SELECT $1, $2, 0 FROM l
	ON CONFLICT ("name", "key") DO UPDATE SET "number" = g."number" RETURNING 1

-- name: lock_places
-- Locks the places of unique rules with the numbers $1 until the transaction ends, and counts them.
SELECT count(*) FROM (SELECT pg_advisory_xact_lock({place_lock}) FROM unnest($1::text::int[]) AS n(k)) AS l

-- name: try_to_lock_places
-- Those alone that nobody has.
SELECT count(*) FROM unnest($1::text::int[]) AS n(k) WHERE pg_try_advisory_xact_lock({place_lock})

-- part: place_lock
hashtextextended(concat_ws(' ', {M_text}::regclass::oid, 'place', k), 0)

-- name: put_number
-- Its next one.
INSERT INTO {M_groups} ("name", "key", "number") VALUES ($1, $2, $3) ON CONFLICT ("name", "key") DO UPDATE SET "number" = excluded."number"

------------------------------------------------------------------------------------------------
-- Parking: {PARKED} is the column by which a pick passes over a record that it met and cannot take; {NOTES} are the
-- names under which it is noted that a group may have room.

-- part: parked_until
{PARKED} > 0 AND {PARKED} <= $1

-- park: stirred
-- Whether there is something to wake: a time has come, or there may be room.
SELECT 1 WHERE {REASONS}

-- part: a_time_has_come
EXISTS (SELECT 1 FROM {M} WHERE {parked_until})

-- part: no_time_comes
$1::bigint IS NULL

-- part: there_may_be_room
EXISTS (SELECT 1 FROM {M_groups} WHERE "name" IN ({NOTES}))

-- park: park
-- Rows that nobody else has, at their revision.
WITH v AS MATERIALIZED (SELECT r."id", v.until FROM json_to_recordset($1::text::json) AS v(id text, rev bigint, until bigint)
	JOIN {M} AS r ON r."id" = v.id AND r."rev" = v.rev WHERE r.{PARKED} IS NULL AND {SAME} FOR NO KEY UPDATE OF r SKIP LOCKED)
UPDATE {M} AS r SET {PARKED} = v.until FROM v WHERE r."id" = v."id" RETURNING r."id"

-- name: leave_notes
-- Notes that a group may have room.
INSERT INTO {M_groups} ("name", "key", "number") SELECT v.name, v.key, 0
FROM json_to_recordset($1::text::json) AS v(name text, key text) WHERE {SAME} ON CONFLICT DO NOTHING

-- park: notes
-- What may have made room, and whether a time has come as well.
SELECT "name", "key", {A_TIME} FROM {M_groups} WHERE "name" IN ({NOTES}) ORDER BY "name", "key" LIMIT $2 FOR NO KEY UPDATE

-- park: free_notes
-- The same, of which no other transaction has one.
{notes} SKIP LOCKED

-- name: remove_notes
-- Of groups in which nobody waits any longer.
DELETE FROM {M_groups} WHERE ("name", "key") IN (SELECT v.name, v.key FROM json_to_recordset($1::text::json) AS v(name text, key text)) AND {SAME}

-- park: wake_due
-- At most $2 of them, so that the statement takes no longer than it may; the next round wakes the rest.
WITH v AS MATERIALIZED (SELECT "id" FROM {M} WHERE {parked_until} AND {SAME} LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)
UPDATE {M} AS r SET {PARKED} = NULL FROM v WHERE r."id" = v."id"

-- park: still_parked
-- One that another writer has.
SELECT "id" FROM {M} WHERE {parked_until} LIMIT 1

-- part: wake
-- Those of v, who are the first of a group.
UPDATE {M} AS r SET {PARKED} = NULL FROM v WHERE r."id" = v."id" AND {SAME} RETURNING r."id"

------------------------------------------------------------------------------------------------
-- Which specification the tables are made for, and which others may work on them

-- name: meta
-- What the tables are made for.
SELECT "version", "hash", "enforce", "dialect" FROM {META} WHERE "machine" = $1

-- name: is_ours
-- Whether they are made for this specification: 1 or 0.
SELECT count(*) FROM {META} WHERE "machine" = $1 AND "hash" = $2

-- name: new_meta
-- Of tables that were just made.
INSERT INTO {META} ("machine", "version", "hash", "enforce", "dialect") VALUES ($1, $2, $3, $4, $5)

-- name: change_meta
-- Of tables that were migrated.
UPDATE {META} SET "version" = $2, "hash" = $3, "enforce" = $4, "dialect" = $5 WHERE "machine" = $1

-- name: make_versions
-- Which other versions may work on the tables; made by the first roll-out.
CREATE TABLE IF NOT EXISTS {VERSIONS} (
	"machine" text COLLATE "C" NOT NULL,
	"hash" text COLLATE "C" NOT NULL,
	"version" bigint NOT NULL,
	"standing" text COLLATE "C" NOT NULL CHECK ("standing" IN ('open', 'retired')),
	PRIMARY KEY ("machine", "hash")
)

-- name: standing
-- Whether another version may work on the tables.
SELECT "standing" FROM {VERSIONS} WHERE "machine" = $1 AND "hash" = $2

-- name: retire
-- The version that the tables were made for.
INSERT INTO {VERSIONS} ("machine", "hash", "version", "standing") VALUES ($1, $2, $3, 'retired')
ON CONFLICT ("machine", "hash") DO UPDATE SET "standing" = 'retired'

-- name: retire_all
-- No other version may.
UPDATE {VERSIONS} SET "standing" = 'retired' WHERE "machine" = $1

-- name: reopen
-- A version that may again.
UPDATE {VERSIONS} SET "standing" = 'open' WHERE "machine" = $1 AND "hash" = $2

-- name: remove_version
-- One that comes back is the tables' own.
DELETE FROM {VERSIONS} WHERE "machine" = $1 AND "hash" = $2

------------------------------------------------------------------------------------------------
-- Repair, purge, redaction. The triggers of the schema let them pass.

-- name: restore
-- Puts a row in the place of what is stored: in place, so that rows of others which refer to it stay. $1 id, $2 state,
-- $3 rev, $4 created_at, $5 updated_at, then all columns.
UPDATE {M} SET "_chain" = 0, "state" = $2, "rev" = $3, "created_at" = $4, "updated_at" = $5{SETS} WHERE "id" = $1 AND {SAME}

-- name: unchain
-- The next move looks the chain up in the log.
UPDATE {M} SET "_chain" = 0 WHERE "id" = $1 AND {SAME}

-- name: edit
-- Puts an event with other contents in its place.
UPDATE {M_events} SET "actor" = $1, "reason" = $2, "fingerprint" = $3, "labels" = $4, "inputs" = $5, "changes" = $6, "image" = $7,
	"checksum" = $8, "chain" = $9 WHERE "id" = $10 AND "rev" = $11 AND "n" = $12 AND {SAME}

-- name: purge_row
-- Removes a row that is purged.
DELETE FROM {M} WHERE "id" = $1 AND "rev" = $2 AND "state" = $3 AND {SAME}

-- name: purge_events
-- The mark, the creation and calls on many records stay, without their contents.
DELETE FROM {M_events} WHERE "id" = $1 AND "operation" <> '__purge' AND "request_n" < 0 AND NOT ("rev" = 1 AND "n" = 0) AND {SAME}

-- name: purge_contents
-- Empties the events that stay of a record that is purged.
UPDATE {M_events} SET "operation" = '__purged', "name" = '__purged', "actor" = '', "reason" = '', "labels" = NULL, "inputs" = NULL,
	"changes" = NULL, "image" = NULL, "cause" = NULL, "guard" = NULL, "checksum" = 0, "chain" = 0
WHERE "id" = $1 AND "operation" <> '__purge' AND {SAME}

-- part: is_tombstone
-- The condition on an event t that it ends the log of a record that was purged before $2.
t."operation" = '__purge' AND t."n" > 0 AND t."occurred_at" < $2
	AND NOT EXISTS (SELECT 1 FROM {M} AS r WHERE r."id" = t."id")
	AND NOT EXISTS (SELECT 1 FROM {M_events} AS l WHERE l."id" = t."id" AND (l."rev", l."n") > (t."rev", t."n"))

-- name: tombstones
-- The last events of records that were purged before a time, by id.
SELECT {event} FROM {M_events} AS t WHERE t."id" > $1 AND {is_tombstone} ORDER BY t."id" LIMIT $3

-- name: forget_mark
-- Marks the last event of a record that was purged, so that the triggers let the others go.
UPDATE {M_events} AS t SET "operation" = '__forget' WHERE t."id" = $1 AND {is_tombstone} AND {SAME}

-- name: forget_others
-- Removes the other events.
DELETE FROM {M_events} WHERE "id" = $1 AND "operation" <> '__forget' AND {SAME}

-- name: forget_last
-- Removes the last one.
DELETE FROM {M_events} WHERE "id" = $1 AND {SAME}

-- name: orphans
-- Ids behind $1 and up to $2 that have events, and no row; up to $3 of them. OFFSET 0 makes the
-- planner look for each row by its id: else it may read all of them for each window.
SELECT e."id" FROM (SELECT DISTINCT "id" FROM {M_events} WHERE "id" > $1 AND "id" <= $2) AS e
WHERE NOT EXISTS (SELECT 1 FROM {M} AS r WHERE r."id" = e."id" OFFSET 0)
	AND NOT EXISTS (SELECT 1 FROM {M_events} AS p WHERE p."id" = e."id" AND p."operation" = '__purge' AND p."n" > 0 OFFSET 0)
ORDER BY e."id" LIMIT $3

-- name: logged_behind
-- The id of the event that stands $2 events behind those of $1.
SELECT "id" FROM {M_events} WHERE "id" > $1 ORDER BY "id" LIMIT 1 OFFSET $2

-- name: loose
-- Rows behind $1 and up to $2 that their log does not end with; up to $3 of them.
SELECT "id" FROM {M} AS r WHERE "id" > $1 AND "id" <= $2 AND (
	NOT EXISTS (SELECT 1 FROM {M_events} AS e WHERE e."id" = r."id" AND e."rev" = r."rev" AND e."n" = 0 AND e."to_state" = r."state")
	OR EXISTS (SELECT 1 FROM {M_events} AS e WHERE e."id" = r."id" AND e."rev" > r."rev" AND e."n" = 0))
ORDER BY "id" LIMIT $3

-- name: id_behind
-- The id that stands $2 rows behind $1.
SELECT "id" FROM {M} WHERE "id" > $1 ORDER BY "id" LIMIT 1 OFFSET $2
