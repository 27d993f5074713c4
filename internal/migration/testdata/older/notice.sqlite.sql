PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE IF NOT EXISTS "fsm_meta" (
    "machine" TEXT NOT NULL PRIMARY KEY,
    "version" INTEGER NOT NULL,
    "hash" TEXT NOT NULL,
    "enforce" TEXT NOT NULL,
    "dialect" TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO fsm_meta VALUES('notice',1,'001a4e3142201df24d44d5c7e556e839053d8219fcfd7ee1725626b0a08fef59','full','sqlite');
CREATE TABLE IF NOT EXISTS "notice" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "state" TEXT NOT NULL,
    "rev" INTEGER NOT NULL,
    "created_at" INTEGER NOT NULL,
    "updated_at" INTEGER NOT NULL,
    -- What the notice is about, such as an order's number.
    "topic" TEXT NOT NULL,
    -- The notice's place among those of its topic, from 1.
    "number" INTEGER NOT NULL,
    -- What is sent.
    "body" TEXT NOT NULL,
    -- When it becomes a dead letter.
    "give_up_at" INTEGER,
    CONSTRAINT "id is not empty" CHECK ("id" <> ''),
    CONSTRAINT "state is known" CHECK ("state" IN ('due', 'delivered', 'dead', 'dropped')),
    CONSTRAINT "rev is at least 1" CHECK ("rev" >= 1),
    CONSTRAINT "number is a number of a sequence" CHECK ("number" >= 1),
    CONSTRAINT "body is JSON" CHECK (json_valid("body")),
    CONSTRAINT "due: give_up_at is present" CHECK ("state" <> 'due' OR "give_up_at" IS NOT NULL)
) STRICT, WITHOUT ROWID;
INSERT INTO notice VALUES('notice-0','delivered',2,1795168804000000,1795168816000000,'a',1,'{"n":0}',NULL);
INSERT INTO notice VALUES('notice-1','due',1,1795168807000000,1795168807000000,'b',1,'{"n":1}',1795172407000000);
INSERT INTO notice VALUES('notice-2','due',1,1795168810000000,1795168810000000,'a',2,'{"n":2}',1795172410000000);
INSERT INTO notice VALUES('notice-3','delivered',2,1795168813000000,1795168819000000,'b',2,'{"n":3}',NULL);
INSERT INTO notice VALUES('notice-4','due',1,1795168821000000,1795168821000000,'a',3,'{"n":4}',1795172421000000);
INSERT INTO notice VALUES('notice-5','due',1,1795168824000000,1795168824000000,'b',3,'{"n":5}',1795172424000000);
INSERT INTO notice VALUES('notice-6','due',1,1795168827000000,1795168827000000,'a',4,'{"n":6}',1795172427000000);
CREATE TABLE IF NOT EXISTS "notice_events" (
    -- the order of the commits; a place is never given again
    "seq" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "id" TEXT NOT NULL,
    "rev" INTEGER NOT NULL,
    "n" INTEGER NOT NULL,
    "operation" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    -- null: the creation
    "from" TEXT,
    "to" TEXT NOT NULL,
    "at" INTEGER NOT NULL,
    "actor" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    -- null: a call without one, or a step that another operation leads to
    "request_id" TEXT,
    -- -1: the request belongs to the record; else to the machine, and this is
    -- its index in a batch
    "request_n" INTEGER NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "labels" TEXT,
    "inputs" TEXT,
    -- the new values of the changed fields; of a set, the added members
    "changes" TEXT,
    -- all fields, at revision 1 and every 64th
    "image" TEXT,
    -- of the specification
    "version" INTEGER NOT NULL,
    -- the operation that led to this one
    "cause" TEXT,
    -- the guard that failed, when the call was recorded only for that
    "guard" TEXT,
    -- CRC-32C over the event
    "sum" INTEGER NOT NULL,
    -- over the sums of this event and all before it; see Event.Chain
    "chain" INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT "notice_events_revision" UNIQUE ("id", "rev", "n"),
    CONSTRAINT "seq is at least 1" CHECK ("seq" >= 1),
    CONSTRAINT "rev is at least 1" CHECK ("rev" >= 1),
    CONSTRAINT "n is a count" CHECK ("n" >= 0),
    CONSTRAINT "revision 1 is the creation" CHECK ("n" > 0 OR ("rev" = 1) = ("from" IS NULL)),
    CONSTRAINT "a recorded call moves nothing" CHECK ("n" = 0 OR "from" IS NOT NULL AND "from" = "to"),
    CONSTRAINT "request_id is not empty" CHECK ("request_id" <> ''),
    CONSTRAINT "request_n is an index" CHECK ("request_n" >= -1)
) STRICT;
INSERT INTO notice_events VALUES(1,'notice-0',1,0,'publish','publish',NULL,'due',1795168804000000,'','','publish-0',0,'v1:df3ea8589ed5c769754e52c17a1bb8cee3684b7dc02dc89d01a882ea081f5549',NULL,'{"topic":"a","body":{"n":0}}','{"topic":"a","number":1,"body":{"n":0},"give_up_at":"2026-11-20T11:00:04.000000Z"}','{"created_at":"2026-11-20T10:00:04.000000Z","updated_at":"2026-11-20T10:00:04.000000Z","topic":"a","number":1,"body":{"n":0},"give_up_at":"2026-11-20T11:00:04.000000Z"}',1,NULL,NULL,3577267593,3577267593);
INSERT INTO notice_events VALUES(2,'notice-1',1,0,'publish','publish',NULL,'due',1795168807000000,'','','publish-1',0,'v1:40c713348a1f588623a6b73be297fadf70440a61946dd344c01b12157cd461ac',NULL,'{"topic":"b","body":{"n":1}}','{"topic":"b","number":1,"body":{"n":1},"give_up_at":"2026-11-20T11:00:07.000000Z"}','{"created_at":"2026-11-20T10:00:07.000000Z","updated_at":"2026-11-20T10:00:07.000000Z","topic":"b","number":1,"body":{"n":1},"give_up_at":"2026-11-20T11:00:07.000000Z"}',1,NULL,NULL,2097564300,2097564300);
INSERT INTO notice_events VALUES(3,'notice-2',1,0,'publish','publish',NULL,'due',1795168810000000,'','','publish-2',0,'v1:9ae9073859a6c0f22b461f85f520564667a83c89e6322e2fc317aff5519e6109',NULL,'{"topic":"a","body":{"n":2}}','{"topic":"a","number":2,"body":{"n":2},"give_up_at":"2026-11-20T11:00:10.000000Z"}','{"created_at":"2026-11-20T10:00:10.000000Z","updated_at":"2026-11-20T10:00:10.000000Z","topic":"a","number":2,"body":{"n":2},"give_up_at":"2026-11-20T11:00:10.000000Z"}',1,NULL,NULL,2532023539,2532023539);
INSERT INTO notice_events VALUES(4,'notice-3',1,0,'publish','publish',NULL,'due',1795168813000000,'','','publish-3',0,'v1:68669457f516455ecf7f904505ed20999ba9522bb41344f3e1fbf6774a413602',NULL,'{"topic":"b","body":{"n":3}}','{"topic":"b","number":2,"body":{"n":3},"give_up_at":"2026-11-20T11:00:13.000000Z"}','{"created_at":"2026-11-20T10:00:13.000000Z","updated_at":"2026-11-20T10:00:13.000000Z","topic":"b","number":2,"body":{"n":3},"give_up_at":"2026-11-20T11:00:13.000000Z"}',1,NULL,NULL,313972988,313972988);
INSERT INTO notice_events VALUES(5,'notice-0',2,0,'confirm','confirm','due','delivered',1795168816000000,'system','','sys:confirm:1',-1,'v1:b91c77a2c87695486c2bf6052a9fd63abfdecb76131c2472553620a322b2da83',NULL,'{}','{"give_up_at":null}',NULL,1,'publish',NULL,1113995647,1942302762);
INSERT INTO notice_events VALUES(6,'notice-3',2,0,'confirm','confirm','due','delivered',1795168819000000,'system','','sys:confirm:1',-1,'v1:b91c77a2c87695486c2bf6052a9fd63abfdecb76131c2472553620a322b2da83',NULL,'{}','{"give_up_at":null}',NULL,1,'publish',NULL,4159780929,1774767349);
INSERT INTO notice_events VALUES(7,'notice-4',1,0,'publish','publish',NULL,'due',1795168821000000,'','','publish-4',0,'v1:6b5cd9d298c50642284a9b3d6ff363098f3f94437f4cda62ec9e9d53b1dd0f9b',NULL,'{"topic":"a","body":{"n":4}}','{"topic":"a","number":3,"body":{"n":4},"give_up_at":"2026-11-20T11:00:21.000000Z"}','{"created_at":"2026-11-20T10:00:21.000000Z","updated_at":"2026-11-20T10:00:21.000000Z","topic":"a","number":3,"body":{"n":4},"give_up_at":"2026-11-20T11:00:21.000000Z"}',1,NULL,NULL,4104633232,4104633232);
INSERT INTO notice_events VALUES(8,'notice-5',1,0,'publish','publish',NULL,'due',1795168824000000,'','','publish-5',0,'v1:e85a784a59e7edbd06e0f0eb16d1711a510870cf6feb293e1c8bf1b20109ccfc',NULL,'{"topic":"b","body":{"n":5}}','{"topic":"b","number":3,"body":{"n":5},"give_up_at":"2026-11-20T11:00:24.000000Z"}','{"created_at":"2026-11-20T10:00:24.000000Z","updated_at":"2026-11-20T10:00:24.000000Z","topic":"b","number":3,"body":{"n":5},"give_up_at":"2026-11-20T11:00:24.000000Z"}',1,NULL,NULL,1530148751,1530148751);
INSERT INTO notice_events VALUES(9,'notice-6',1,0,'publish','publish',NULL,'due',1795168827000000,'','','publish-6',0,'v1:a18cc3a4907c54bc61f204ebb777006c5265e236d44f96ed02219ab77fe965d2',NULL,'{"topic":"a","body":{"n":6}}','{"topic":"a","number":4,"body":{"n":6},"give_up_at":"2026-11-20T11:00:27.000000Z"}','{"created_at":"2026-11-20T10:00:27.000000Z","updated_at":"2026-11-20T10:00:27.000000Z","topic":"a","number":4,"body":{"n":6},"give_up_at":"2026-11-20T11:00:27.000000Z"}',1,NULL,NULL,1875548015,1875548015);
CREATE TABLE IF NOT EXISTS "notice_outbox" (
    "id" TEXT NOT NULL,
    -- the revision whose commit asked for it
    "rev" INTEGER NOT NULL,
    "effect" TEXT NOT NULL,
    -- the effect's idempotency key
    "key" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL,
    "due" INTEGER NOT NULL,
    "last_error" TEXT NOT NULL,
    PRIMARY KEY ("id", "rev"),
    CONSTRAINT "attempts is a count" CHECK ("attempts" >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO notice_outbox VALUES('notice-1',1,'post','"b"/1',1,1795168818000000,'the receiver is down');
INSERT INTO notice_outbox VALUES('notice-2',1,'post','"a"/2',1,1795168819000000,'the receiver is down');
INSERT INTO notice_outbox VALUES('notice-4',1,'post','"a"/3',0,1795168822000000,'');
INSERT INTO notice_outbox VALUES('notice-5',1,'post','"b"/3',0,1795168825000000,'');
INSERT INTO notice_outbox VALUES('notice-6',1,'post','"a"/4',0,1795168828000000,'');
CREATE TABLE IF NOT EXISTS "notice_groups" (
    -- of the guard or the sequence
    "name" TEXT NOT NULL,
    -- the group's values as a JSON array
    "key" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    PRIMARY KEY ("name", "key")
) STRICT, WITHOUT ROWID;
INSERT INTO notice_groups VALUES('number','["a"]',4);
INSERT INTO notice_groups VALUES('number','["b"]',3);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('notice_events',9);
CREATE UNIQUE INDEX "notice_events_request" ON "notice_events" ("id", "request_id")
    WHERE "request_id" IS NOT NULL;
CREATE UNIQUE INDEX "notice_events_batch" ON "notice_events" ("request_id", "request_n")
    WHERE "request_n" >= 0;
CREATE INDEX "notice_outbox_due" ON "notice_outbox" ("due", "id", "rev");
CREATE UNIQUE INDEX "notice_unique_sequence_number" ON "notice" ("topic", "number");
CREATE INDEX "notice_state" ON "notice" ("state", "id");
CREATE INDEX "notice_due_give_up" ON "notice" ("give_up_at", "id") WHERE "state" IN ('due');
CREATE TRIGGER "notice_insert_keeps" BEFORE INSERT ON "notice"
BEGIN
    SELECT RAISE(ABORT, 'fsm: notice: the id is taken')
    WHERE EXISTS (SELECT 1 FROM "notice" WHERE "id" = NEW."id");
    SELECT RAISE(ABORT, 'fsm: notice: the unique rule sequence_number is taken')
    WHERE EXISTS (SELECT 1 FROM "notice" WHERE "topic" = NEW."topic" AND "number" = NEW."number");
END;
CREATE TRIGGER "notice_update_keeps" BEFORE UPDATE ON "notice"
BEGIN
    SELECT RAISE(ABORT, 'fsm: notice: the id never changes')
    WHERE NEW."id" IS NOT OLD."id";
    SELECT RAISE(ABORT, 'fsm: notice: the unique rule sequence_number is taken')
    WHERE (NEW."topic" IS NOT OLD."topic" OR NEW."number" IS NOT OLD."number")
      AND EXISTS (SELECT 1 FROM "notice" WHERE "topic" = NEW."topic" AND "number" = NEW."number");
END;
CREATE TRIGGER "notice_events_insert_keeps" BEFORE INSERT ON "notice_events"
BEGIN
    SELECT RAISE(ABORT, 'fsm: notice: the event is in the log already')
    WHERE EXISTS (SELECT 1 FROM "notice_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = NEW."n");
    SELECT RAISE(ABORT, 'fsm: notice: the place in the log is taken')
    WHERE EXISTS (SELECT 1 FROM "notice_events" WHERE "seq" = NEW."seq");
    SELECT RAISE(ABORT, 'fsm: notice: the request id stands in the log already')
    WHERE EXISTS (SELECT 1 FROM "notice_events" WHERE "id" = NEW."id" AND "request_id" = NEW."request_id");
    SELECT RAISE(ABORT, 'fsm: notice: the request id stands in the log already')
    WHERE EXISTS (SELECT 1 FROM "notice_events" WHERE "request_id" = NEW."request_id" AND "request_n" = NEW."request_n" AND "request_n" >= 0);
END;
CREATE TRIGGER "notice_events_update" BEFORE UPDATE ON "notice_events"
BEGIN
    SELECT RAISE(ABORT, 'fsm: notice: the log is append-only: an event never changes')
    WHERE NOT (OLD."operation" <> '__purge'
      AND EXISTS (SELECT 1 FROM "notice_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0)
      AND NOT EXISTS (SELECT 1 FROM "notice" AS r WHERE r."id" = OLD."id")
      AND NEW."operation" = '__purged'
      AND NEW."name" = '__purged'
      AND NEW."actor" = ''
      AND NEW."reason" = ''
      AND NEW."id" IS OLD."id"
      AND NEW."rev" IS OLD."rev"
      AND NEW."n" IS OLD."n"
      AND NEW."from" IS OLD."from"
      AND NEW."to" IS OLD."to"
      AND NEW."request_id" IS OLD."request_id"
      AND NEW."request_n" IS OLD."request_n"
      AND NEW."fingerprint" IS OLD."fingerprint"
      AND NEW."version" IS OLD."version"
      AND NEW."seq" IS OLD."seq"
      AND NEW."labels" IS NULL
      AND NEW."inputs" IS NULL
      AND NEW."changes" IS NULL
      AND NEW."image" IS NULL
      AND NEW."cause" IS NULL
      AND NEW."guard" IS NULL);
END;
CREATE TRIGGER "notice_events_delete" BEFORE DELETE ON "notice_events"
BEGIN
    SELECT RAISE(ABORT, 'fsm: notice: the log is append-only: an event is never deleted')
    WHERE NOT (OLD."operation" <> '__purge'
      AND EXISTS (SELECT 1 FROM "notice_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0)
      AND NOT EXISTS (SELECT 1 FROM "notice" AS r WHERE r."id" = OLD."id")
      AND OLD."request_n" < 0
      AND NOT (OLD."rev" = 1 AND OLD."n" = 0));
END;
CREATE TRIGGER "notice_events_insert" BEFORE INSERT ON "notice_events"
BEGIN
    -- A transition is one that an operation makes.
    SELECT RAISE(ABORT, 'fsm: notice: no operation makes this move')
    WHERE NEW."n" = 0
      AND NEW."operation" || ': ' || coalesce(NEW."from", '') || ' > ' || NEW."to" NOT IN (
          'publish:  > due', 'confirm: due > delivered', 'give_up: due > dead', 'retry: dead > due',
          'drop: dead > dropped');
    SELECT RAISE(ABORT, 'fsm: notice: the id is taken')
    WHERE NEW."n" = 0
      AND NEW."rev" = 1
      AND EXISTS (SELECT 1 FROM "notice" WHERE "id" = NEW."id");
    -- It starts at the record's revision and state.
    SELECT RAISE(ABORT, 'fsm: notice: the record is not at the revision and state that the event leaves')
    WHERE NEW."n" = 0
      AND NEW."rev" > 1
      AND NOT EXISTS (SELECT 1 FROM "notice" WHERE "id" = NEW."id" AND "rev" = NEW."rev" - 1 AND "state" = NEW."from");
    -- An event that is recorded only stands at the record's revision and
    -- state, and has the next number.
    SELECT RAISE(ABORT, 'fsm: notice: the record is not at the revision and state of the event')
    WHERE NEW."n" > 0
      AND NOT EXISTS (SELECT 1 FROM "notice" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "state" = NEW."to");
    SELECT RAISE(ABORT, 'fsm: notice: only a finished record is purged')
    WHERE NEW."operation" = '__purge'
      AND NEW."to" NOT IN ('delivered', 'dropped');
    SELECT RAISE(ABORT, 'fsm: notice: the log has a gap')
    WHERE NEW."n" > 0
      AND NOT EXISTS (SELECT 1 FROM "notice_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = NEW."n" - 1);
END
;
CREATE TRIGGER "notice_insert" BEFORE INSERT ON "notice"
BEGIN
    SELECT RAISE(ABORT, 'fsm: notice: a record begins in due')
    WHERE NEW."state" NOT IN ('due');
    SELECT RAISE(ABORT, 'fsm: notice: a record needs the event of its creation')
    WHERE NOT EXISTS (SELECT 1 FROM "notice_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "from" IS NULL AND "to" = NEW."state" AND "operation" <> '__purged');
END;
CREATE TRIGGER "notice_update" BEFORE UPDATE ON "notice"
BEGIN
    SELECT RAISE(ABORT, 'fsm: notice: the state due leads to delivered, dead only')
    WHERE OLD."state" = 'due'
      AND NEW."state" NOT IN ('delivered', 'dead');
    SELECT RAISE(ABORT, 'fsm: notice: a record in the terminal state delivered never changes')
    WHERE OLD."state" = 'delivered';
    SELECT RAISE(ABORT, 'fsm: notice: the state dead leads to due, dropped only')
    WHERE OLD."state" = 'dead'
      AND NEW."state" NOT IN ('due', 'dropped');
    SELECT RAISE(ABORT, 'fsm: notice: a record in the terminal state dropped never changes')
    WHERE OLD."state" = 'dropped';
    SELECT RAISE(ABORT, 'fsm: notice: the revision rises by one')
    WHERE NEW."rev" IS NOT OLD."rev" + 1;
    SELECT RAISE(ABORT, 'fsm: notice: created_at never changes')
    WHERE NEW."created_at" IS NOT OLD."created_at";
    SELECT RAISE(ABORT, 'fsm: notice: updated_at never falls')
    WHERE NEW."updated_at" < OLD."updated_at";
    SELECT RAISE(ABORT, 'fsm: notice: the new revision needs its event')
    WHERE NOT EXISTS (SELECT 1 FROM "notice_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "from" = OLD."state" AND "to" = NEW."state");
    SELECT RAISE(ABORT, 'fsm: notice: topic never changes after the creation')
    WHERE NEW."topic" IS NOT OLD."topic";
    SELECT RAISE(ABORT, 'fsm: notice: number never changes after the creation')
    WHERE NEW."number" IS NOT OLD."number";
    SELECT RAISE(ABORT, 'fsm: notice: body never changes after the creation')
    WHERE NEW."body" IS NOT OLD."body";
    SELECT RAISE(ABORT, 'fsm: notice: give_up_at is changed by confirm, give_up, retry only')
    WHERE NEW."give_up_at" IS NOT OLD."give_up_at"
      AND NOT EXISTS (SELECT 1 FROM "notice_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('confirm', 'give_up', 'retry'));
END;
CREATE TRIGGER "notice_delete" BEFORE DELETE ON "notice"
BEGIN
    SELECT RAISE(ABORT, 'fsm: notice: a record is never deleted')
    WHERE OLD."state" NOT IN ('delivered', 'dropped') OR NOT EXISTS (SELECT 1 FROM "notice_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0 AND p."rev" = OLD."rev");
END;
COMMIT;
