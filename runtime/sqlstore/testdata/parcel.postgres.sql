-- row
SELECT "id", "state", "rev", "created_at", "updated_at", "label", "lane", "slot", "holder", "weight", "fragile", "due", "note", "size", "tags", "moves", "_chain" FROM "parcel" WHERE "id" = $1;

-- holdRow
SELECT "id", "state", "rev", "created_at", "updated_at", "label", "lane", "slot", "holder", "weight", "fragile", "due", "note", "size", "tags", "moves", "_chain" FROM "parcel" WHERE "id" = $1 FOR NO KEY UPDATE;

-- events
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "parcel_events" WHERE "id" = $1 AND ("rev", "n") > ($2, $3) ORDER BY "rev", "n" LIMIT $4;

-- request
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "parcel_events" WHERE "id" = $1 AND "request_id" = $2 ORDER BY "rev", "n";

-- batch
SELECT "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain" FROM "parcel_events" WHERE "request_id" = $1 AND "request_n" >= 0 ORDER BY "request_n";

-- outbox
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "parcel_outbox" WHERE "due" <= $1 ORDER BY "due", "id", "rev", "n" LIMIT $2;

-- effects
WITH RECURSIVE fresh("name") AS (SELECT min("effect") FROM "parcel_outbox" WHERE "attempts" = 0 UNION ALL SELECT (SELECT min("effect") FROM "parcel_outbox" WHERE "attempts" = 0 AND "effect" > fresh."name") FROM fresh WHERE fresh."name" IS NOT NULL), again("name") AS (SELECT min("effect") FROM "parcel_outbox" WHERE "attempts" > 0 UNION ALL SELECT (SELECT min("effect") FROM "parcel_outbox" WHERE "attempts" > 0 AND "effect" > again."name") FROM again WHERE again."name" IS NOT NULL) SELECT "name" FROM fresh WHERE (SELECT 1 FROM "parcel_outbox" WHERE "effect" = fresh."name" AND "attempts" = 0 AND "due" <= $1 ORDER BY "due" LIMIT 1) IS NOT NULL UNION SELECT "name" FROM again WHERE (SELECT 1 FROM "parcel_outbox" WHERE "effect" = again."name" AND "attempts" > 0 AND "due" <= $2 ORDER BY "due" LIMIT 1) IS NOT NULL ORDER BY 1;

-- orphans
SELECT DISTINCT "id" FROM "parcel_events" WHERE "id" > $1 AND NOT EXISTS (SELECT 1 FROM "parcel" WHERE "parcel"."id" = "parcel_events"."id")
			AND NOT EXISTS (SELECT 1 FROM "parcel_events" AS p WHERE p."id" = "parcel_events"."id" AND p."operation" = '__purge' AND p."n" > 0) ORDER BY "id" LIMIT $2;

-- insertRow
INSERT INTO "parcel" ("id", "state", "rev", "created_at", "updated_at", "label", "lane", "slot", "holder", "weight", "fragile", "due", "note", "size", "tags", "moves", "_chain") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17);

-- insertEvent
INSERT INTO "parcel_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, (coalesce((SELECT p."chain" FROM "parcel_events" AS p WHERE p."id" = $22 AND p."rev" = $23 AND p."n" = $24), 0) * 16777619 + $25) % 4294967296);

-- insertMove
INSERT INTO "parcel_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, (coalesce(nullif((SELECT r."_chain" FROM "parcel" AS r WHERE r."id" = $22), 0),
			(SELECT p."chain" FROM "parcel_events" AS p WHERE p."id" = $23 AND p."rev" = $24 AND p."n" = $25), 0) * 16777619 + $26) % 4294967296);

-- insertBehind
INSERT INTO "parcel_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "checksum", "chain", "xid") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, (coalesce((SELECT p."chain" FROM "parcel_events" AS p WHERE p."id" = $22 AND p."rev" = $23 AND p."n" = $24), 0) * 16777619 + $25) % 4294967296, greatest(pg_current_xact_id(), (SELECT "xid" FROM "parcel_events" WHERE "id" = $26 ORDER BY "rev" DESC, "n" DESC LIMIT 1)));

-- nextN
SELECT (SELECT coalesce(max("n"), 0) + 1 FROM "parcel_events" WHERE "id" = $1 AND "rev" = $2) FROM "parcel" WHERE "id" = $3 AND "rev" = $4 AND "state" = $5;

-- held
SELECT 1 FROM "parcel" WHERE "id" = $1 AND "rev" = $2 AND "state" = $3;

-- exists
SELECT 1 FROM "parcel" WHERE "id" = $1;

-- logged
SELECT 1 FROM "parcel_events" WHERE "id" = $1 LIMIT 1;

-- insertOutbox
INSERT INTO "parcel_outbox" ("id", "rev", "n", "effect", "key", "attempts", "due", "last_error") VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- leave
DELETE FROM "parcel_outbox" WHERE "id" = $1 AND "rev" = $2 AND "n" = 0;

-- fresh
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "parcel_outbox" WHERE "effect" = $1 AND "attempts" = 0 AND "due" <= $2 ORDER BY "due", "id", "rev", "n" LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED;

-- again
SELECT "id", "rev", "n", "effect", "key", "attempts", "due", "last_error" FROM "parcel_outbox" WHERE "effect" = $1 AND "attempts" > 0 AND "due" <= $2 ORDER BY "due", "id", "rev", "n" LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED;

-- claim
UPDATE "parcel_outbox" SET "attempts" = $1, "due" = $2 WHERE "id" = $3 AND "rev" = $4 AND "n" = $5;

-- settle
DELETE FROM "parcel_outbox" WHERE "id" = $1 AND "rev" = $2 AND "n" = $3 AND "attempts" = $4;

-- postpone
UPDATE "parcel_outbox" SET "due" = $1, "last_error" = $2 WHERE "id" = $3 AND "rev" = $4 AND "n" = $5 AND "attempts" = $6;

-- number
SELECT "number" FROM "parcel_groups" WHERE "name" = $1 AND "key" = $2;

-- putNumber
INSERT INTO "parcel_groups" ("name", "key", "number") VALUES ($1, $2, $3) ON CONFLICT ("name", "key") DO UPDATE SET "number" = excluded."number";

-- requestInLog
SELECT 1 FROM "parcel_events" WHERE "id" = $1 AND "request_id" = $2;

-- batchInLog
SELECT 1 FROM "parcel_events" WHERE "request_id" = $1 AND "request_n" = $2 AND "request_n" >= 0;

