-- row
SELECT "id", "state", "rev", "created_at", "updated_at", "label", "lane", "slot", "holder", "weight", "fragile", "due", "note", "size", "tags", "moves", "_chain" FROM "main"."parcel" WHERE "id" = ?;

-- holdRow
SELECT "id", "state", "rev", "created_at", "updated_at", "label", "lane", "slot", "holder", "weight", "fragile", "due", "note", "size", "tags", "moves", "_chain" FROM "main"."parcel" WHERE "id" = ?;

-- events
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."parcel_events" WHERE "id" = ? AND ("rev", "n") > (?, ?) ORDER BY "rev", "n" LIMIT ? + 0;

-- request
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."parcel_events" WHERE "id" = ? AND "request_id" = ? ORDER BY "rev", "n";

-- batch
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "main"."parcel_events" WHERE "request_id" = ? AND "request_n" >= 0 ORDER BY "request_n";

-- outbox
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."parcel_outbox" WHERE "due" <= ? ORDER BY "due", "id", "rev", "n" LIMIT ? + 0;

-- effects
WITH RECURSIVE fresh("name") AS (SELECT min("effect") FROM "main"."parcel_outbox" WHERE "attempts" = 0 UNION ALL SELECT (SELECT min("effect") FROM "main"."parcel_outbox" WHERE "attempts" = 0 AND "effect" > fresh."name") FROM fresh WHERE fresh."name" IS NOT NULL), again("name") AS (SELECT min("effect") FROM "main"."parcel_outbox" WHERE "attempts" > 0 UNION ALL SELECT (SELECT min("effect") FROM "main"."parcel_outbox" WHERE "attempts" > 0 AND "effect" > again."name") FROM again WHERE again."name" IS NOT NULL) SELECT "name" FROM fresh WHERE (SELECT 1 FROM "main"."parcel_outbox" WHERE "effect" = fresh."name" AND "attempts" = 0 AND "due" <= ? ORDER BY "due" LIMIT 1) IS NOT NULL UNION SELECT "name" FROM again WHERE (SELECT 1 FROM "main"."parcel_outbox" WHERE "effect" = again."name" AND "attempts" > 0 AND "due" <= ? ORDER BY "due" LIMIT 1) IS NOT NULL ORDER BY 1;

-- orphans
SELECT DISTINCT "id" FROM "main"."parcel_events" WHERE "id" > ? AND NOT EXISTS (SELECT 1 FROM "main"."parcel" WHERE "main"."parcel"."id" = "main"."parcel_events"."id")
			AND NOT EXISTS (SELECT 1 FROM "main"."parcel_events" AS p WHERE p."id" = "main"."parcel_events"."id" AND p."operation" = '__purge' AND p."n" > 0) ORDER BY "id" LIMIT ? + 0;

-- insertRow
INSERT INTO "main"."parcel" ("id", "state", "rev", "created_at", "updated_at", "label", "lane", "slot", "holder", "weight", "fragile", "due", "note", "size", "tags", "moves", "_chain") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- insertEvent
INSERT INTO "main"."parcel_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (coalesce((SELECT p."chain" FROM "main"."parcel_events" AS p WHERE p."id" = ? AND p."rev" = ? AND p."n" = ?), 0) * 16777619 + ?) % 4294967296);

-- insertMove
INSERT INTO "main"."parcel_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (coalesce(nullif((SELECT r."_chain" FROM "main"."parcel" AS r WHERE r."id" = ?), 0),
			(SELECT p."chain" FROM "main"."parcel_events" AS p WHERE p."id" = ? AND p."rev" = ? AND p."n" = ?), 0) * 16777619 + ?) % 4294967296);

-- nextN
SELECT (SELECT coalesce(max("n"), 0) + 1 FROM "main"."parcel_events" WHERE "id" = ? AND "rev" = ?) FROM "main"."parcel" WHERE "id" = ? AND "rev" = ? AND "state" = ?;

-- held
SELECT 1 FROM "main"."parcel" WHERE "id" = ? AND "rev" = ? AND "state" = ?;

-- exists
SELECT 1 FROM "main"."parcel" WHERE "id" = ?;

-- logged
SELECT 1 FROM "main"."parcel_events" WHERE "id" = ? LIMIT 1;

-- insertOutbox
INSERT INTO "main"."parcel_outbox" ("id", "rev", "n", "effect", "key", "attempts", "due", "last_error") VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- leave
DELETE FROM "main"."parcel_outbox" WHERE "id" = ? AND "rev" = ? AND "n" = 0;

-- fresh
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."parcel_outbox" WHERE "effect" = ? AND "attempts" = 0 AND "due" <= ? ORDER BY "due", "id", "rev", "n" LIMIT ? + 0;

-- again
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "main"."parcel_outbox" WHERE "effect" = ? AND "attempts" > 0 AND "due" <= ? ORDER BY "due", "id", "rev", "n" LIMIT ? + 0;

-- claim
UPDATE "main"."parcel_outbox" SET "attempts" = ?, "due" = ? WHERE "id" = ? AND "rev" = ? AND "n" = ?;

-- settle
DELETE FROM "main"."parcel_outbox" WHERE "id" = ? AND "rev" = ? AND "n" = ? AND "attempts" = ?;

-- postpone
UPDATE "main"."parcel_outbox" SET "due" = ?, "last_error" = ? WHERE "id" = ? AND "rev" = ? AND "n" = ? AND "attempts" = ?;

-- number
SELECT "number" FROM "main"."parcel_groups" WHERE "name" = ? AND "key" = ?;

-- putNumber
INSERT INTO "main"."parcel_groups" ("name", "key", "number") VALUES (?, ?, ?) ON CONFLICT ("name", "key") DO UPDATE SET "number" = excluded."number";

-- requestInLog
SELECT 1 FROM "main"."parcel_events" WHERE "id" = ? AND "request_id" = ?;

-- batchInLog
SELECT 1 FROM "main"."parcel_events" WHERE "request_id" = ? AND "request_n" = ? AND "request_n" >= 0;

