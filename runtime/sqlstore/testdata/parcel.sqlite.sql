-- row
SELECT "id", "state", "rev", "created_at", "updated_at", "label", "lane", "slot", "holder", "weight", "fragile", "due", "note", "size", "tags", "moves" FROM "parcel" WHERE "id" = ?;

-- holdRow
SELECT "id", "state", "rev", "created_at", "updated_at", "label", "lane", "slot", "holder", "weight", "fragile", "due", "note", "size", "tags", "moves" FROM "parcel" WHERE "id" = ?;

-- events
SELECT "id", "rev", "n", "operation", "name", "from", "to", "at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "sum", "chain" FROM "parcel_events" WHERE "id" = ? AND ("rev", "n") > (?, ?) ORDER BY "rev", "n" LIMIT ? + 0;

-- request
SELECT "id", "rev", "n", "operation", "name", "from", "to", "at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "sum", "chain" FROM "parcel_events" WHERE "id" = ? AND "request_id" = ? ORDER BY "rev", "n";

-- batch
SELECT "id", "rev", "n", "operation", "name", "from", "to", "at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "sum", "chain" FROM "parcel_events" WHERE "request_id" = ? AND "request_n" >= 0 ORDER BY "request_n";

-- outbox
SELECT "id", "rev", "effect", "key", "attempts", "due", "last_error" FROM "parcel_outbox" WHERE "due" <= ? ORDER BY "due", "id", "rev" LIMIT ? + 0;

-- orphans
SELECT DISTINCT "id" FROM "parcel_events" WHERE "id" > ? AND NOT EXISTS (SELECT 1 FROM "parcel" WHERE "parcel"."id" = "parcel_events"."id")
			AND NOT EXISTS (SELECT 1 FROM "parcel_events" AS p WHERE p."id" = "parcel_events"."id" AND p."operation" = '__purge' AND p."n" > 0) ORDER BY "id" LIMIT ? + 0;

-- insertRow
INSERT INTO "parcel" ("id", "state", "rev", "created_at", "updated_at", "label", "lane", "slot", "holder", "weight", "fragile", "due", "note", "size", "tags", "moves") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- insertEvent
INSERT INTO "parcel_events" ("id", "rev", "n", "operation", "name", "from", "to", "at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "sum", "chain") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (coalesce((SELECT p."chain" FROM "parcel_events" AS p WHERE p."id" = ? AND p."rev" = ? AND p."n" = ?), 0) * 16777619 + ?) % 4294967296);

-- nextN
SELECT (SELECT coalesce(max("n"), 0) + 1 FROM "parcel_events" WHERE "id" = ? AND "rev" = ?) FROM "parcel" WHERE "id" = ? AND "rev" = ? AND "state" = ?;

-- held
SELECT 1 FROM "parcel" WHERE "id" = ? AND "rev" = ? AND "state" = ?;

-- exists
SELECT 1 FROM "parcel" WHERE "id" = ?;

-- logged
SELECT 1 FROM "parcel_events" WHERE "id" = ? LIMIT 1;

-- insertOutbox
INSERT INTO "parcel_outbox" ("id", "rev", "effect", "key", "attempts", "due", "last_error") VALUES (?, ?, ?, ?, ?, ?, ?);

-- leave
DELETE FROM "parcel_outbox" WHERE "id" = ? AND "rev" = ?;

-- dueLocked
SELECT "id", "rev", "effect", "key", "attempts", "due", "last_error" FROM "parcel_outbox" WHERE "due" <= ? ORDER BY "due", "id", "rev" LIMIT ? + 0;

-- claim
UPDATE "parcel_outbox" SET "attempts" = "attempts" + 1, "due" = ? WHERE "id" = ? AND "rev" = ?;

-- settle
DELETE FROM "parcel_outbox" WHERE "id" = ? AND "rev" = ? AND "attempts" = ?;

-- postpone
UPDATE "parcel_outbox" SET "due" = ?, "last_error" = ? WHERE "id" = ? AND "rev" = ? AND "attempts" = ?;

-- number
SELECT "number" FROM "parcel_groups" WHERE "name" = ? AND "key" = ?;

-- putNumber
INSERT INTO "parcel_groups" ("name", "key", "number") VALUES (?, ?, ?) ON CONFLICT ("name", "key") DO UPDATE SET "number" = excluded."number";

-- chain
SELECT "chain" FROM "parcel_events" WHERE "id" = ? AND "rev" = ? AND "n" = 0;

-- requestInLog
SELECT 1 FROM "parcel_events" WHERE "id" = ? AND "request_id" = ?;

-- batchInLog
SELECT 1 FROM "parcel_events" WHERE "request_id" = ? AND "request_n" = ? AND "request_n" >= 0;

