PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE IF NOT EXISTS "fsm_meta" (
    "machine" TEXT NOT NULL PRIMARY KEY,
    "version" INTEGER NOT NULL,
    "hash" TEXT NOT NULL,
    "enforce" TEXT NOT NULL,
    "dialect" TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO fsm_meta VALUES('lifecycle',1,'9aec8726e6e244a86a7a1300d6dff8de9be72ee8c0c41187978cf04c872e3316','full','sqlite');
CREATE TABLE IF NOT EXISTS "lifecycle" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "state" TEXT NOT NULL,
    "rev" INTEGER NOT NULL,
    "created_at" INTEGER NOT NULL,
    "updated_at" INTEGER NOT NULL,
    -- Enqueueing the same key again returns the job that is there.
    "dedupe_key" TEXT,
    -- The work to do.
    "payload" TEXT,
    -- The worker that is responsible for the job.
    "owner" TEXT,
    -- The instant at which the owner's claim ends unless a heartbeat extends
    -- it.
    "lease" INTEGER,
    -- What the work yielded.
    "result" TEXT,
    -- Why the work failed.
    "error" TEXT,
    -- How often the job was claimed.
    "attempt" INTEGER NOT NULL,
    CONSTRAINT "id is not empty" CHECK ("id" <> ''),
    CONSTRAINT "state is known" CHECK ("state" IN ('queued', 'claimed', 'running', 'succeeded', 'failed', 'stalled')),
    CONSTRAINT "rev is at least 1" CHECK ("rev" >= 1),
    CONSTRAINT "payload is JSON" CHECK (json_valid("payload")),
    CONSTRAINT "result is JSON" CHECK (json_valid("result")),
    CONSTRAINT "error is JSON" CHECK (json_valid("error")),
    CONSTRAINT "attempt is a count" CHECK ("attempt" >= 0),
    CONSTRAINT "queued: owner is absent" CHECK ("state" <> 'queued' OR "owner" IS NULL),
    CONSTRAINT "queued: lease is absent" CHECK ("state" <> 'queued' OR "lease" IS NULL),
    CONSTRAINT "queued: result is absent" CHECK ("state" <> 'queued' OR "result" IS NULL),
    CONSTRAINT "queued: error is absent" CHECK ("state" <> 'queued' OR "error" IS NULL),
    CONSTRAINT "claimed: owner is present" CHECK ("state" <> 'claimed' OR "owner" IS NOT NULL),
    CONSTRAINT "claimed: lease is present" CHECK ("state" <> 'claimed' OR "lease" IS NOT NULL),
    CONSTRAINT "claimed: result is absent" CHECK ("state" <> 'claimed' OR "result" IS NULL),
    CONSTRAINT "claimed: error is absent" CHECK ("state" <> 'claimed' OR "error" IS NULL),
    CONSTRAINT "claimed: attempt >= 1" CHECK ("state" <> 'claimed' OR "attempt" >= 1),
    CONSTRAINT "running: owner is present" CHECK ("state" <> 'running' OR "owner" IS NOT NULL),
    CONSTRAINT "running: lease is present" CHECK ("state" <> 'running' OR "lease" IS NOT NULL),
    CONSTRAINT "running: result is absent" CHECK ("state" <> 'running' OR "result" IS NULL),
    CONSTRAINT "running: error is absent" CHECK ("state" <> 'running' OR "error" IS NULL),
    CONSTRAINT "running: attempt >= 1" CHECK ("state" <> 'running' OR "attempt" >= 1),
    CONSTRAINT "succeeded: result is present" CHECK ("state" <> 'succeeded' OR "result" IS NOT NULL),
    CONSTRAINT "succeeded: error is absent" CHECK ("state" <> 'succeeded' OR "error" IS NULL),
    CONSTRAINT "failed: error is present" CHECK ("state" <> 'failed' OR "error" IS NOT NULL),
    CONSTRAINT "failed: result is absent" CHECK ("state" <> 'failed' OR "result" IS NULL),
    CONSTRAINT "stalled: owner is absent" CHECK ("state" <> 'stalled' OR "owner" IS NULL),
    CONSTRAINT "stalled: lease is absent" CHECK ("state" <> 'stalled' OR "lease" IS NULL),
    CONSTRAINT "stalled: result is absent" CHECK ("state" <> 'stalled' OR "result" IS NULL),
    CONSTRAINT "stalled: error is absent" CHECK ("state" <> 'stalled' OR "error" IS NULL)
) STRICT, WITHOUT ROWID;
INSERT INTO lifecycle VALUES('job-0','succeeded',4,1795168803000000,1795168818000000,'key-0','{"n":0}',NULL,NULL,'{"ok":true}',NULL,1);
INSERT INTO lifecycle VALUES('job-1','failed',4,1795168804000000,1795168822000000,'key-1','{"n":1}',NULL,NULL,NULL,'{"why":"''quoted''"}',1);
INSERT INTO lifecycle VALUES('job-10','queued',1,1795168813000000,1795168813000000,'key-10','{"n":10}',NULL,NULL,NULL,NULL,0);
INSERT INTO lifecycle VALUES('job-11','queued',1,1795168814000000,1795168814000000,'key-11','{"n":11}',NULL,NULL,NULL,NULL,0);
INSERT INTO lifecycle VALUES('job-2','running',3,1795168805000000,1795168825000000,'key-2','{"n":2}','w1',1795172422000000,NULL,NULL,1);
INSERT INTO lifecycle VALUES('job-3','succeeded',4,1795168806000000,1795168829000000,'key-3','{"n":3}',NULL,NULL,'{"ok":true}',NULL,1);
INSERT INTO lifecycle VALUES('job-4','failed',4,1795168807000000,1795168833000000,'key-4','{"n":4}',NULL,NULL,NULL,'{"why":"''quoted''"}',1);
INSERT INTO lifecycle VALUES('job-5','running',69,1795168808000000,1795168902000000,'key-5','{"n":5}','w1',1795172501000000,NULL,NULL,1);
INSERT INTO lifecycle VALUES('job-6','claimed',2,1795168809000000,1795168904000000,'key-6','{"n":6}','w1',1795172502000000,NULL,NULL,1);
INSERT INTO lifecycle VALUES('job-7','claimed',2,1795168810000000,1795168906000000,'key-7','{"n":7}','w1',1795172504000000,NULL,NULL,1);
INSERT INTO lifecycle VALUES('job-8','queued',1,1795168811000000,1795168811000000,'key-8','{"n":8}',NULL,NULL,NULL,NULL,0);
INSERT INTO lifecycle VALUES('job-9','queued',1,1795168812000000,1795168812000000,'key-9','{"n":9}',NULL,NULL,NULL,NULL,0);
CREATE TABLE IF NOT EXISTS "lifecycle_events" (
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
    CONSTRAINT "lifecycle_events_revision" UNIQUE ("id", "rev", "n"),
    CONSTRAINT "seq is at least 1" CHECK ("seq" >= 1),
    CONSTRAINT "rev is at least 1" CHECK ("rev" >= 1),
    CONSTRAINT "n is a count" CHECK ("n" >= 0),
    CONSTRAINT "revision 1 is the creation" CHECK ("n" > 0 OR ("rev" = 1) = ("from" IS NULL)),
    CONSTRAINT "a recorded call moves nothing" CHECK ("n" = 0 OR "from" IS NOT NULL AND "from" = "to"),
    CONSTRAINT "request_id is not empty" CHECK ("request_id" <> ''),
    CONSTRAINT "request_n is an index" CHECK ("request_n" >= -1)
) STRICT;
INSERT INTO lifecycle_events VALUES(1,'job-0',1,0,'enqueue','enqueued',NULL,'queued',1795168803000000,'ann','','enqueue-0',0,'v1:156cb79252ad9ba9f27ab6e6875add5af513b037d9a27d814e32bdda2910157a','{"trace":"t"}','{"dedupe_key":"key-0","payload":{"n":0}}','{"dedupe_key":"key-0","payload":{"n":0}}','{"created_at":"2026-11-20T10:00:03.000000Z","updated_at":"2026-11-20T10:00:03.000000Z","dedupe_key":"key-0","payload":{"n":0},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,3493521916,3493521916);
INSERT INTO lifecycle_events VALUES(2,'job-1',1,0,'enqueue','enqueued',NULL,'queued',1795168804000000,'ann','','enqueue-1',0,'v1:90295da2f104c06a4a165d13a0ca96c61f89f1df79def7f978e9178078fbbd47','{"trace":"t"}','{"dedupe_key":"key-1","payload":{"n":1}}','{"dedupe_key":"key-1","payload":{"n":1}}','{"created_at":"2026-11-20T10:00:04.000000Z","updated_at":"2026-11-20T10:00:04.000000Z","dedupe_key":"key-1","payload":{"n":1},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,3168237233,3168237233);
INSERT INTO lifecycle_events VALUES(3,'job-2',1,0,'enqueue','enqueued',NULL,'queued',1795168805000000,'ann','','enqueue-2',0,'v1:131f33eafa4c861c663875195f6139f92d9662fccd55e52dfd78c46806886907','{"trace":"t"}','{"dedupe_key":"key-2","payload":{"n":2}}','{"dedupe_key":"key-2","payload":{"n":2}}','{"created_at":"2026-11-20T10:00:05.000000Z","updated_at":"2026-11-20T10:00:05.000000Z","dedupe_key":"key-2","payload":{"n":2},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,1303487571,1303487571);
INSERT INTO lifecycle_events VALUES(4,'job-3',1,0,'enqueue','enqueued',NULL,'queued',1795168806000000,'ann','','enqueue-3',0,'v1:659211f934d53e5f330828941684d4d485055fb407981984dd6cda9ac2f75abe','{"trace":"t"}','{"dedupe_key":"key-3","payload":{"n":3}}','{"dedupe_key":"key-3","payload":{"n":3}}','{"created_at":"2026-11-20T10:00:06.000000Z","updated_at":"2026-11-20T10:00:06.000000Z","dedupe_key":"key-3","payload":{"n":3},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,1463100407,1463100407);
INSERT INTO lifecycle_events VALUES(5,'job-4',1,0,'enqueue','enqueued',NULL,'queued',1795168807000000,'ann','','enqueue-4',0,'v1:3882377c4ddfd28c5ec541b9f2e00d4cb485fa56a2de4218c4fa64d604e06fc7','{"trace":"t"}','{"dedupe_key":"key-4","payload":{"n":4}}','{"dedupe_key":"key-4","payload":{"n":4}}','{"created_at":"2026-11-20T10:00:07.000000Z","updated_at":"2026-11-20T10:00:07.000000Z","dedupe_key":"key-4","payload":{"n":4},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,1105059390,1105059390);
INSERT INTO lifecycle_events VALUES(6,'job-5',1,0,'enqueue','enqueued',NULL,'queued',1795168808000000,'ann','','enqueue-5',0,'v1:1e7c54fd545708b501e575f69779f4ae76529cfab0cb2abab57de0cd4938bb54','{"trace":"t"}','{"dedupe_key":"key-5","payload":{"n":5}}','{"dedupe_key":"key-5","payload":{"n":5}}','{"created_at":"2026-11-20T10:00:08.000000Z","updated_at":"2026-11-20T10:00:08.000000Z","dedupe_key":"key-5","payload":{"n":5},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,791193794,791193794);
INSERT INTO lifecycle_events VALUES(7,'job-6',1,0,'enqueue','enqueued',NULL,'queued',1795168809000000,'ann','','enqueue-6',0,'v1:7148494ef149264b8e0bd7fed826576b5786d060e1724403087d37237198fe0f','{"trace":"t"}','{"dedupe_key":"key-6","payload":{"n":6}}','{"dedupe_key":"key-6","payload":{"n":6}}','{"created_at":"2026-11-20T10:00:09.000000Z","updated_at":"2026-11-20T10:00:09.000000Z","dedupe_key":"key-6","payload":{"n":6},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,810574340,810574340);
INSERT INTO lifecycle_events VALUES(8,'job-7',1,0,'enqueue','enqueued',NULL,'queued',1795168810000000,'ann','','enqueue-7',0,'v1:2843e42481c629e497ef816fd3acad502815bab278ee02de630df298cb11e829','{"trace":"t"}','{"dedupe_key":"key-7","payload":{"n":7}}','{"dedupe_key":"key-7","payload":{"n":7}}','{"created_at":"2026-11-20T10:00:10.000000Z","updated_at":"2026-11-20T10:00:10.000000Z","dedupe_key":"key-7","payload":{"n":7},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,812472367,812472367);
INSERT INTO lifecycle_events VALUES(9,'job-8',1,0,'enqueue','enqueued',NULL,'queued',1795168811000000,'ann','','enqueue-8',0,'v1:a58864efdd3d5009b972679bb6a5ffd0a3846bcfb35aea622ef53b423bf0d3da','{"trace":"t"}','{"dedupe_key":"key-8","payload":{"n":8}}','{"dedupe_key":"key-8","payload":{"n":8}}','{"created_at":"2026-11-20T10:00:11.000000Z","updated_at":"2026-11-20T10:00:11.000000Z","dedupe_key":"key-8","payload":{"n":8},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,1721747383,1721747383);
INSERT INTO lifecycle_events VALUES(10,'job-9',1,0,'enqueue','enqueued',NULL,'queued',1795168812000000,'ann','','enqueue-9',0,'v1:167de49f0cea342c99bcb08fdac466c6baf7be50bb620735290606222c9c480c','{"trace":"t"}','{"dedupe_key":"key-9","payload":{"n":9}}','{"dedupe_key":"key-9","payload":{"n":9}}','{"created_at":"2026-11-20T10:00:12.000000Z","updated_at":"2026-11-20T10:00:12.000000Z","dedupe_key":"key-9","payload":{"n":9},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,1148275122,1148275122);
INSERT INTO lifecycle_events VALUES(11,'job-10',1,0,'enqueue','enqueued',NULL,'queued',1795168813000000,'ann','','enqueue-10',0,'v1:3fdc089f9669f720e0b6351e16267ea0feab1f5e3295fe0e4364b8276410cd7d','{"trace":"t"}','{"dedupe_key":"key-10","payload":{"n":10}}','{"dedupe_key":"key-10","payload":{"n":10}}','{"created_at":"2026-11-20T10:00:13.000000Z","updated_at":"2026-11-20T10:00:13.000000Z","dedupe_key":"key-10","payload":{"n":10},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,2958298758,2958298758);
INSERT INTO lifecycle_events VALUES(12,'job-11',1,0,'enqueue','enqueued',NULL,'queued',1795168814000000,'ann','','enqueue-11',0,'v1:c151e1325093ae4d21d002422bea8fb62bd43e00b988f729d515eb493e22d9d6','{"trace":"t"}','{"dedupe_key":"key-11","payload":{"n":11}}','{"dedupe_key":"key-11","payload":{"n":11}}','{"created_at":"2026-11-20T10:00:14.000000Z","updated_at":"2026-11-20T10:00:14.000000Z","dedupe_key":"key-11","payload":{"n":11},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}',1,NULL,NULL,135049495,135049495);
INSERT INTO lifecycle_events VALUES(13,'job-0',2,0,'claim_next','claimed','queued','claimed',1795168816000000,'w1','','claim-0',0,'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2',NULL,'{"lease":"2026-11-20T11:00:14.000000Z"}','{"owner":"w1","lease":"2026-11-20T11:00:14.000000Z","attempt":1}',NULL,1,NULL,NULL,1932872243,1005822439);
INSERT INTO lifecycle_events VALUES(14,'job-0',3,0,'start','started','claimed','running',1795168817000000,'w1','','start-0',-1,'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6',NULL,'{}','{}',NULL,1,NULL,NULL,3009902863,4209989556);
INSERT INTO lifecycle_events VALUES(15,'job-0',4,0,'complete','succeeded','running','succeeded',1795168818000000,'w1','','complete-0',-1,'v1:cfc4f0bc2762852b2ee4419b225f66d248306b449ae965b4df125607e3ff4498',NULL,'{"result":{"ok":true}}','{"owner":null,"lease":null,"result":{"ok":true}}',NULL,1,NULL,NULL,772362468,3905970496);
INSERT INTO lifecycle_events VALUES(16,'job-1',2,0,'claim_next','claimed','queued','claimed',1795168820000000,'w1','','claim-1',0,'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2',NULL,'{"lease":"2026-11-20T11:00:18.000000Z"}','{"owner":"w1","lease":"2026-11-20T11:00:18.000000Z","attempt":1}',NULL,1,NULL,NULL,2508498108,2377416031);
INSERT INTO lifecycle_events VALUES(17,'job-1',3,0,'start','started','claimed','running',1795168821000000,'w1','','start-1',-1,'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6',NULL,'{}','{}',NULL,1,NULL,NULL,1305265335,3220054340);
INSERT INTO lifecycle_events VALUES(18,'job-1',4,0,'fail','failed','running','failed',1795168822000000,'w1','','fail-1',-1,'v1:00638e7b93e08fbf4997e845914afc179a63cbd5a96b0db7fa8c98c30e8f8cce',NULL,'{"error":{"why":"''quoted''"}}','{"owner":null,"lease":null,"error":{"why":"''quoted''"}}',NULL,1,NULL,NULL,775639842,2518266158);
INSERT INTO lifecycle_events VALUES(19,'job-2',2,0,'claim_next','claimed','queued','claimed',1795168824000000,'w1','','claim-2',0,'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2',NULL,'{"lease":"2026-11-20T11:00:22.000000Z"}','{"owner":"w1","lease":"2026-11-20T11:00:22.000000Z","attempt":1}',NULL,1,NULL,NULL,1760328576,177351209);
INSERT INTO lifecycle_events VALUES(20,'job-2',3,0,'start','started','claimed','running',1795168825000000,'w1','','start-2',-1,'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6',NULL,'{}','{}',NULL,1,NULL,NULL,1734418294,880377345);
INSERT INTO lifecycle_events VALUES(21,'job-3',2,0,'claim_next','claimed','queued','claimed',1795168827000000,'w1','','claim-3',0,'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2',NULL,'{"lease":"2026-11-20T11:00:25.000000Z"}','{"owner":"w1","lease":"2026-11-20T11:00:25.000000Z","attempt":1}',NULL,1,NULL,NULL,860331015,1928280540);
INSERT INTO lifecycle_events VALUES(22,'job-3',3,0,'start','started','claimed','running',1795168828000000,'w1','','start-3',-1,'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6',NULL,'{}','{}',NULL,1,NULL,NULL,1689497769,793495037);
INSERT INTO lifecycle_events VALUES(23,'job-3',4,0,'complete','succeeded','running','succeeded',1795168829000000,'w1','','complete-3',-1,'v1:cfc4f0bc2762852b2ee4419b225f66d248306b449ae965b4df125607e3ff4498',NULL,'{"result":{"ok":true}}','{"owner":null,"lease":null,"result":{"ok":true}}',NULL,1,NULL,NULL,4003346319,1608967382);
INSERT INTO lifecycle_events VALUES(24,'job-4',2,0,'claim_next','claimed','queued','claimed',1795168831000000,'w1','','claim-4',0,'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2',NULL,'{"lease":"2026-11-20T11:00:29.000000Z"}','{"owner":"w1","lease":"2026-11-20T11:00:29.000000Z","attempt":1}',NULL,1,NULL,NULL,3687701639,3390224417);
INSERT INTO lifecycle_events VALUES(25,'job-4',3,0,'start','started','claimed','running',1795168832000000,'w1','','start-4',-1,'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6',NULL,'{}','{}',NULL,1,NULL,NULL,3102876871,4117364922);
INSERT INTO lifecycle_events VALUES(26,'job-4',4,0,'fail','failed','running','failed',1795168833000000,'w1','','fail-4',-1,'v1:00638e7b93e08fbf4997e845914afc179a63cbd5a96b0db7fa8c98c30e8f8cce',NULL,'{"error":{"why":"''quoted''"}}','{"owner":null,"lease":null,"error":{"why":"''quoted''"}}',NULL,1,NULL,NULL,720938431,987220621);
INSERT INTO lifecycle_events VALUES(27,'job-5',2,0,'claim_next','claimed','queued','claimed',1795168835000000,'w1','','claim-5',0,'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2',NULL,'{"lease":"2026-11-20T11:00:33.000000Z"}','{"owner":"w1","lease":"2026-11-20T11:00:33.000000Z","attempt":1}',NULL,1,NULL,NULL,1202121351,1185453037);
INSERT INTO lifecycle_events VALUES(28,'job-5',3,0,'start','started','claimed','running',1795168836000000,'w1','','start-5',-1,'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6',NULL,'{}','{}',NULL,1,NULL,NULL,4063645819,446115474);
INSERT INTO lifecycle_events VALUES(29,'job-5',4,0,'heartbeat','heartbeat','running','running',1795168837000000,'w1','','beat-5-0',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:36.000000Z"}','{"lease":"2026-11-20T11:00:36.000000Z"}',NULL,1,NULL,NULL,3184039927,734455757);
INSERT INTO lifecycle_events VALUES(30,'job-5',5,0,'heartbeat','heartbeat','running','running',1795168838000000,'w1','','beat-5-1',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:37.000000Z"}','{"lease":"2026-11-20T11:00:37.000000Z"}',NULL,1,NULL,NULL,3766226821,2543515452);
INSERT INTO lifecycle_events VALUES(31,'job-5',6,0,'heartbeat','heartbeat','running','running',1795168839000000,'w1','','beat-5-2',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:38.000000Z"}','{"lease":"2026-11-20T11:00:38.000000Z"}',NULL,1,NULL,NULL,3251668710,2797845082);
INSERT INTO lifecycle_events VALUES(32,'job-5',7,0,'heartbeat','heartbeat','running','running',1795168840000000,'w1','','beat-5-3',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:39.000000Z"}','{"lease":"2026-11-20T11:00:39.000000Z"}',NULL,1,NULL,NULL,1529774331,994892969);
INSERT INTO lifecycle_events VALUES(33,'job-5',8,0,'heartbeat','heartbeat','running','running',1795168841000000,'w1','','beat-5-4',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:40.000000Z"}','{"lease":"2026-11-20T11:00:40.000000Z"}',NULL,1,NULL,NULL,175128793,225418980);
INSERT INTO lifecycle_events VALUES(34,'job-5',9,0,'heartbeat','heartbeat','running','running',1795168842000000,'w1','','beat-5-5',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:41.000000Z"}','{"lease":"2026-11-20T11:00:41.000000Z"}',NULL,1,NULL,NULL,513589255,693362931);
INSERT INTO lifecycle_events VALUES(35,'job-5',10,0,'heartbeat','heartbeat','running','running',1795168843000000,'w1','','beat-5-6',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:42.000000Z"}','{"lease":"2026-11-20T11:00:42.000000Z"}',NULL,1,NULL,NULL,2233118969,2267402114);
INSERT INTO lifecycle_events VALUES(36,'job-5',11,0,'heartbeat','heartbeat','running','running',1795168844000000,'w1','','beat-5-7',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:43.000000Z"}','{"lease":"2026-11-20T11:00:43.000000Z"}',NULL,1,NULL,NULL,1436161516,2552217490);
INSERT INTO lifecycle_events VALUES(37,'job-5',12,0,'heartbeat','heartbeat','running','running',1795168845000000,'w1','','beat-5-8',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:44.000000Z"}','{"lease":"2026-11-20T11:00:44.000000Z"}',NULL,1,NULL,NULL,243720907,444691873);
INSERT INTO lifecycle_events VALUES(38,'job-5',13,0,'heartbeat','heartbeat','running','running',1795168846000000,'w1','','beat-5-9',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:45.000000Z"}','{"lease":"2026-11-20T11:00:45.000000Z"}',NULL,1,NULL,NULL,443179541,1966509704);
INSERT INTO lifecycle_events VALUES(39,'job-5',14,0,'heartbeat','heartbeat','running','running',1795168847000000,'w1','','beat-5-10',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:46.000000Z"}','{"lease":"2026-11-20T11:00:46.000000Z"}',NULL,1,NULL,NULL,4185781095,106976127);
INSERT INTO lifecycle_events VALUES(40,'job-5',15,0,'heartbeat','heartbeat','running','running',1795168848000000,'w1','','beat-5-11',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:47.000000Z"}','{"lease":"2026-11-20T11:00:47.000000Z"}',NULL,1,NULL,NULL,2049636249,47081606);
INSERT INTO lifecycle_events VALUES(41,'job-5',16,0,'heartbeat','heartbeat','running','running',1795168849000000,'w1','','beat-5-12',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:48.000000Z"}','{"lease":"2026-11-20T11:00:48.000000Z"}',NULL,1,NULL,NULL,1277513785,1024711467);
INSERT INTO lifecycle_events VALUES(42,'job-5',17,0,'heartbeat','heartbeat','running','running',1795168850000000,'w1','','beat-5-13',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:49.000000Z"}','{"lease":"2026-11-20T11:00:49.000000Z"}',NULL,1,NULL,NULL,339623124,1702904197);
INSERT INTO lifecycle_events VALUES(43,'job-5',18,0,'heartbeat','heartbeat','running','running',1795168851000000,'w1','','beat-5-14',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:50.000000Z"}','{"lease":"2026-11-20T11:00:50.000000Z"}',NULL,1,NULL,NULL,1145990072,2452983831);
INSERT INTO lifecycle_events VALUES(44,'job-5',19,0,'heartbeat','heartbeat','running','running',1795168852000000,'w1','','beat-5-15',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:51.000000Z"}','{"lease":"2026-11-20T11:00:51.000000Z"}',NULL,1,NULL,NULL,676875560,1772757341);
INSERT INTO lifecycle_events VALUES(45,'job-5',20,0,'heartbeat','heartbeat','running','running',1795168853000000,'w1','','beat-5-16',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:52.000000Z"}','{"lease":"2026-11-20T11:00:52.000000Z"}',NULL,1,NULL,NULL,392272815,3409191190);
INSERT INTO lifecycle_events VALUES(46,'job-5',21,0,'heartbeat','heartbeat','running','running',1795168854000000,'w1','','beat-5-17',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:53.000000Z"}','{"lease":"2026-11-20T11:00:53.000000Z"}',NULL,1,NULL,NULL,565664997,449278599);
INSERT INTO lifecycle_events VALUES(47,'job-5',22,0,'heartbeat','heartbeat','running','running',1795168855000000,'w1','','beat-5-18',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:54.000000Z"}','{"lease":"2026-11-20T11:00:54.000000Z"}',NULL,1,NULL,NULL,1829274881,469880710);
INSERT INTO lifecycle_events VALUES(48,'job-5',23,0,'heartbeat','heartbeat','running','running',1795168856000000,'w1','','beat-5-19',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:55.000000Z"}','{"lease":"2026-11-20T11:00:55.000000Z"}',NULL,1,NULL,NULL,18785169,2650297219);
INSERT INTO lifecycle_events VALUES(49,'job-5',24,0,'heartbeat','heartbeat','running','running',1795168857000000,'w1','','beat-5-20',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:56.000000Z"}','{"lease":"2026-11-20T11:00:56.000000Z"}',NULL,1,NULL,NULL,3190616263,4011354112);
INSERT INTO lifecycle_events VALUES(50,'job-5',25,0,'heartbeat','heartbeat','running','running',1795168858000000,'w1','','beat-5-21',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:57.000000Z"}','{"lease":"2026-11-20T11:00:57.000000Z"}',NULL,1,NULL,NULL,1031533625,2699537465);
INSERT INTO lifecycle_events VALUES(51,'job-5',26,0,'heartbeat','heartbeat','running','running',1795168859000000,'w1','','beat-5-22',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:58.000000Z"}','{"lease":"2026-11-20T11:00:58.000000Z"}',NULL,1,NULL,NULL,192172953,2435346772);
INSERT INTO lifecycle_events VALUES(52,'job-5',27,0,'heartbeat','heartbeat','running','running',1795168860000000,'w1','','beat-5-23',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:00:59.000000Z"}','{"lease":"2026-11-20T11:00:59.000000Z"}',NULL,1,NULL,NULL,257604557,3859096329);
INSERT INTO lifecycle_events VALUES(53,'job-5',28,0,'heartbeat','heartbeat','running','running',1795168861000000,'w1','','beat-5-24',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:00.000000Z"}','{"lease":"2026-11-20T11:01:00.000000Z"}',NULL,1,NULL,NULL,1231464722,1820119101);
INSERT INTO lifecycle_events VALUES(54,'job-5',29,0,'heartbeat','heartbeat','running','running',1795168862000000,'w1','','beat-5-25',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:01.000000Z"}','{"lease":"2026-11-20T11:01:01.000000Z"}',NULL,1,NULL,NULL,628133762,720134025);
INSERT INTO lifecycle_events VALUES(55,'job-5',30,0,'heartbeat','heartbeat','running','running',1795168863000000,'w1','','beat-5-26',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:02.000000Z"}','{"lease":"2026-11-20T11:01:02.000000Z"}',NULL,1,NULL,NULL,2777819775,3232534314);
INSERT INTO lifecycle_events VALUES(56,'job-5',31,0,'heartbeat','heartbeat','running','running',1795168864000000,'w1','','beat-5-27',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:03.000000Z"}','{"lease":"2026-11-20T11:01:03.000000Z"}',NULL,1,NULL,NULL,2470767925,216681555);
INSERT INTO lifecycle_events VALUES(57,'job-5',32,0,'heartbeat','heartbeat','running','running',1795168865000000,'w1','','beat-5-28',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:04.000000Z"}','{"lease":"2026-11-20T11:01:04.000000Z"}',NULL,1,NULL,NULL,3757782225,2278644602);
INSERT INTO lifecycle_events VALUES(58,'job-5',33,0,'heartbeat','heartbeat','running','running',1795168866000000,'w1','','beat-5-29',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:05.000000Z"}','{"lease":"2026-11-20T11:01:05.000000Z"}',NULL,1,NULL,NULL,3018658369,4236251983);
INSERT INTO lifecycle_events VALUES(59,'job-5',34,0,'heartbeat','heartbeat','running','running',1795168867000000,'w1','','beat-5-30',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:06.000000Z"}','{"lease":"2026-11-20T11:01:06.000000Z"}',NULL,1,NULL,NULL,983850821,121816226);
INSERT INTO lifecycle_events VALUES(60,'job-5',35,0,'heartbeat','heartbeat','running','running',1795168868000000,'w1','','beat-5-31',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:07.000000Z"}','{"lease":"2026-11-20T11:01:07.000000Z"}',NULL,1,NULL,NULL,3119733691,3389974209);
INSERT INTO lifecycle_events VALUES(61,'job-5',36,0,'heartbeat','heartbeat','running','running',1795168869000000,'w1','','beat-5-32',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:08.000000Z"}','{"lease":"2026-11-20T11:01:08.000000Z"}',NULL,1,NULL,NULL,2415721499,1718762990);
INSERT INTO lifecycle_events VALUES(62,'job-5',37,0,'heartbeat','heartbeat','running','running',1795168870000000,'w1','','beat-5-33',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:09.000000Z"}','{"lease":"2026-11-20T11:01:09.000000Z"}',NULL,1,NULL,NULL,3622277366,197070496);
INSERT INTO lifecycle_events VALUES(63,'job-5',38,0,'heartbeat','heartbeat','running','running',1795168871000000,'w1','','beat-5-34',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:10.000000Z"}','{"lease":"2026-11-20T11:01:10.000000Z"}',NULL,1,NULL,NULL,2274871194,2774257018);
INSERT INTO lifecycle_events VALUES(64,'job-5',39,0,'heartbeat','heartbeat','running','running',1795168872000000,'w1','','beat-5-35',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:11.000000Z"}','{"lease":"2026-11-20T11:01:11.000000Z"}',NULL,1,NULL,NULL,3951157514,3037091864);
INSERT INTO lifecycle_events VALUES(65,'job-5',40,0,'heartbeat','heartbeat','running','running',1795168873000000,'w1','','beat-5-36',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:12.000000Z"}','{"lease":"2026-11-20T11:01:12.000000Z"}',NULL,1,NULL,NULL,2934089608,3219084624);
INSERT INTO lifecycle_events VALUES(66,'job-5',41,0,'heartbeat','heartbeat','running','running',1795168874000000,'w1','','beat-5-37',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:13.000000Z"}','{"lease":"2026-11-20T11:01:13.000000Z"}',NULL,1,NULL,NULL,2553569474,4106726834);
INSERT INTO lifecycle_events VALUES(67,'job-5',42,0,'heartbeat','heartbeat','running','running',1795168875000000,'w1','','beat-5-38',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:14.000000Z"}','{"lease":"2026-11-20T11:01:14.000000Z"}',NULL,1,NULL,NULL,3565926694,3705808988);
INSERT INTO lifecycle_events VALUES(68,'job-5',43,0,'heartbeat','heartbeat','running','running',1795168876000000,'w1','','beat-5-39',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:15.000000Z"}','{"lease":"2026-11-20T11:01:15.000000Z"}',NULL,1,NULL,NULL,3097337782,3433244810);
INSERT INTO lifecycle_events VALUES(69,'job-5',44,0,'heartbeat','heartbeat','running','running',1795168877000000,'w1','','beat-5-40',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:16.000000Z"}','{"lease":"2026-11-20T11:01:16.000000Z"}',NULL,1,NULL,NULL,1801056324,439533954);
INSERT INTO lifecycle_events VALUES(70,'job-5',45,0,'heartbeat','heartbeat','running','running',1795168878000000,'w1','','beat-5-41',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:17.000000Z"}','{"lease":"2026-11-20T11:01:17.000000Z"}',NULL,1,NULL,NULL,3893294266,2817889376);
INSERT INTO lifecycle_events VALUES(71,'job-5',46,0,'heartbeat','heartbeat','running','running',1795168879000000,'w1','','beat-5-42',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:18.000000Z"}','{"lease":"2026-11-20T11:01:18.000000Z"}',NULL,1,NULL,NULL,3724628762,2778326586);
INSERT INTO lifecycle_events VALUES(72,'job-5',47,0,'heartbeat','heartbeat','running','running',1795168880000000,'w1','','beat-5-43',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:19.000000Z"}','{"lease":"2026-11-20T11:01:19.000000Z"}',NULL,1,NULL,NULL,394188329,46416759);
INSERT INTO lifecycle_events VALUES(73,'job-5',48,0,'heartbeat','heartbeat','running','running',1795168881000000,'w1','','beat-5-44',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:20.000000Z"}','{"lease":"2026-11-20T11:01:20.000000Z"}',NULL,1,NULL,NULL,177586997,3700160394);
INSERT INTO lifecycle_events VALUES(74,'job-5',49,0,'heartbeat','heartbeat','running','running',1795168882000000,'w1','','beat-5-45',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:21.000000Z"}','{"lease":"2026-11-20T11:01:21.000000Z"}',NULL,1,NULL,NULL,1719920037,551195619);
INSERT INTO lifecycle_events VALUES(75,'job-5',50,0,'heartbeat','heartbeat','running','running',1795168883000000,'w1','','beat-5-46',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:22.000000Z"}','{"lease":"2026-11-20T11:01:22.000000Z"}',NULL,1,NULL,NULL,3865133144,2172128945);
INSERT INTO lifecycle_events VALUES(76,'job-5',51,0,'heartbeat','heartbeat','running','running',1795168884000000,'w1','','beat-5-47',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:23.000000Z"}','{"lease":"2026-11-20T11:01:23.000000Z"}',NULL,1,NULL,NULL,3501688594,1370924981);
INSERT INTO lifecycle_events VALUES(77,'job-5',52,0,'heartbeat','heartbeat','running','running',1795168885000000,'w1','','beat-5-48',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:24.000000Z"}','{"lease":"2026-11-20T11:01:24.000000Z"}',NULL,1,NULL,NULL,2617794294,4086456549);
INSERT INTO lifecycle_events VALUES(78,'job-5',53,0,'heartbeat','heartbeat','running','running',1795168886000000,'w1','','beat-5-49',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:25.000000Z"}','{"lease":"2026-11-20T11:01:25.000000Z"}',NULL,1,NULL,NULL,4028528742,1150091493);
INSERT INTO lifecycle_events VALUES(79,'job-5',54,0,'heartbeat','heartbeat','running','running',1795168887000000,'w1','','beat-5-50',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:26.000000Z"}','{"lease":"2026-11-20T11:01:26.000000Z"}',NULL,1,NULL,NULL,2035758434,1213177313);
INSERT INTO lifecycle_events VALUES(80,'job-5',55,0,'heartbeat','heartbeat','running','running',1795168888000000,'w1','','beat-5-51',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:27.000000Z"}','{"lease":"2026-11-20T11:01:27.000000Z"}',NULL,1,NULL,NULL,4194316700,2958408399);
INSERT INTO lifecycle_events VALUES(81,'job-5',56,0,'heartbeat','heartbeat','running','running',1795168889000000,'w1','','beat-5-52',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:28.000000Z"}','{"lease":"2026-11-20T11:01:28.000000Z"}',NULL,1,NULL,NULL,3423573564,839166489);
INSERT INTO lifecycle_events VALUES(82,'job-5',57,0,'heartbeat','heartbeat','running','running',1795168890000000,'w1','','beat-5-53',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:29.000000Z"}','{"lease":"2026-11-20T11:01:29.000000Z"}',NULL,1,NULL,NULL,2484402897,1785511980);
INSERT INTO lifecycle_events VALUES(83,'job-5',58,0,'heartbeat','heartbeat','running','running',1795168891000000,'w1','','beat-5-54',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:30.000000Z"}','{"lease":"2026-11-20T11:01:30.000000Z"}',NULL,1,NULL,NULL,3294932413,2039952129);
INSERT INTO lifecycle_events VALUES(84,'job-5',59,0,'heartbeat','heartbeat','running','running',1795168892000000,'w1','','beat-5-55',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:31.000000Z"}','{"lease":"2026-11-20T11:01:31.000000Z"}',NULL,1,NULL,NULL,2826079021,309843392);
INSERT INTO lifecycle_events VALUES(85,'job-5',60,0,'heartbeat','heartbeat','running','running',1795168893000000,'w1','','beat-5-56',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:32.000000Z"}','{"lease":"2026-11-20T11:01:32.000000Z"}',NULL,1,NULL,NULL,2538298794,1777392362);
INSERT INTO lifecycle_events VALUES(86,'job-5',61,0,'heartbeat','heartbeat','running','running',1795168894000000,'w1','','beat-5-57',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:33.000000Z"}','{"lease":"2026-11-20T11:01:33.000000Z"}',NULL,1,NULL,NULL,2711460576,1371945278);
INSERT INTO lifecycle_events VALUES(87,'job-5',62,0,'heartbeat','heartbeat','running','running',1795168895000000,'w1','','beat-5-58',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:34.000000Z"}','{"lease":"2026-11-20T11:01:34.000000Z"}',NULL,1,NULL,NULL,3978445572,3861798814);
INSERT INTO lifecycle_events VALUES(88,'job-5',63,0,'heartbeat','heartbeat','running','running',1795168896000000,'w1','','beat-5-59',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:35.000000Z"}','{"lease":"2026-11-20T11:01:35.000000Z"}',NULL,1,NULL,NULL,2167694740,2050288462);
INSERT INTO lifecycle_events VALUES(89,'job-5',64,0,'heartbeat','heartbeat','running','running',1795168897000000,'w1','','beat-5-60',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:36.000000Z"}','{"lease":"2026-11-20T11:01:36.000000Z"}','{"created_at":"2026-11-20T10:00:08.000000Z","updated_at":"2026-11-20T10:01:37.000000Z","dedupe_key":"key-5","payload":{"n":5},"owner":"w1","lease":"2026-11-20T11:01:36.000000Z","result":null,"error":null,"attempt":1}',1,NULL,NULL,4017849018,2664033924);
INSERT INTO lifecycle_events VALUES(90,'job-5',65,0,'heartbeat','heartbeat','running','running',1795168898000000,'w1','','beat-5-61',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:37.000000Z"}','{"lease":"2026-11-20T11:01:37.000000Z"}',NULL,1,NULL,NULL,3176215100,959687688);
INSERT INTO lifecycle_events VALUES(91,'job-5',66,0,'heartbeat','heartbeat','running','running',1795168899000000,'w1','','beat-5-62',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:38.000000Z"}','{"lease":"2026-11-20T11:01:38.000000Z"}',NULL,1,NULL,NULL,2338231708,2679531060);
INSERT INTO lifecycle_events VALUES(92,'job-5',67,0,'heartbeat','heartbeat','running','running',1795168900000000,'w1','','beat-5-63',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:39.000000Z"}','{"lease":"2026-11-20T11:01:39.000000Z"}',NULL,1,NULL,NULL,1106536540,3793177656);
INSERT INTO lifecycle_events VALUES(93,'job-5',68,0,'heartbeat','heartbeat','running','running',1795168901000000,'w1','','beat-5-64',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:40.000000Z"}','{"lease":"2026-11-20T11:01:40.000000Z"}',NULL,1,NULL,NULL,3341416864,3923178952);
INSERT INTO lifecycle_events VALUES(94,'job-5',69,0,'heartbeat','heartbeat','running','running',1795168902000000,'w1','','beat-5-65',-1,'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7',NULL,'{"lease":"2026-11-20T11:01:41.000000Z"}','{"lease":"2026-11-20T11:01:41.000000Z"}',NULL,1,NULL,NULL,2873089840,2426718472);
INSERT INTO lifecycle_events VALUES(95,'job-6',2,0,'claim_next','claimed','queued','claimed',1795168904000000,'w1','','claim-6',0,'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2',NULL,'{"lease":"2026-11-20T11:01:42.000000Z"}','{"owner":"w1","lease":"2026-11-20T11:01:42.000000Z","attempt":1}',NULL,1,NULL,NULL,499705837,810759225);
INSERT INTO lifecycle_events VALUES(96,'job-7',2,0,'claim_next','claimed','queued','claimed',1795168906000000,'w1','','claim-7',0,'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2',NULL,'{"lease":"2026-11-20T11:01:44.000000Z"}','{"owner":"w1","lease":"2026-11-20T11:01:44.000000Z","attempt":1}',NULL,1,NULL,NULL,4247493453,1749904714);
CREATE TABLE IF NOT EXISTS "lifecycle_outbox" (
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
CREATE TABLE IF NOT EXISTS "lifecycle_groups" (
    -- of the guard or the sequence
    "name" TEXT NOT NULL,
    -- the group's values as a JSON array
    "key" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    PRIMARY KEY ("name", "key")
) STRICT, WITHOUT ROWID;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('lifecycle_events',96);
CREATE UNIQUE INDEX "lifecycle_events_request" ON "lifecycle_events" ("id", "request_id")
    WHERE "request_id" IS NOT NULL;
CREATE UNIQUE INDEX "lifecycle_events_batch" ON "lifecycle_events" ("request_id", "request_n")
    WHERE "request_n" >= 0;
CREATE INDEX "lifecycle_outbox_due" ON "lifecycle_outbox" ("due", "id", "rev");
CREATE UNIQUE INDEX "lifecycle_unique_dedupe_enqueue" ON "lifecycle" ("dedupe_key");
CREATE INDEX "lifecycle_state" ON "lifecycle" ("state", "id");
CREATE INDEX "lifecycle_next_claim_next" ON "lifecycle" ("created_at", "id") WHERE "state" IN ('queued', 'stalled');
CREATE INDEX "lifecycle_due_stall" ON "lifecycle" ("lease", "id") WHERE "state" IN ('claimed', 'running');
CREATE TRIGGER "lifecycle_insert_keeps" BEFORE INSERT ON "lifecycle"
BEGIN
    SELECT RAISE(ABORT, 'fsm: lifecycle: the id is taken')
    WHERE EXISTS (SELECT 1 FROM "lifecycle" WHERE "id" = NEW."id");
    SELECT RAISE(ABORT, 'fsm: lifecycle: the unique rule dedupe_enqueue is taken')
    WHERE EXISTS (SELECT 1 FROM "lifecycle" WHERE "dedupe_key" = NEW."dedupe_key");
END;
CREATE TRIGGER "lifecycle_update_keeps" BEFORE UPDATE ON "lifecycle"
BEGIN
    SELECT RAISE(ABORT, 'fsm: lifecycle: the id never changes')
    WHERE NEW."id" IS NOT OLD."id";
    SELECT RAISE(ABORT, 'fsm: lifecycle: the unique rule dedupe_enqueue is taken')
    WHERE (NEW."dedupe_key" IS NOT OLD."dedupe_key")
      AND EXISTS (SELECT 1 FROM "lifecycle" WHERE "dedupe_key" = NEW."dedupe_key");
END;
CREATE TRIGGER "lifecycle_events_insert_keeps" BEFORE INSERT ON "lifecycle_events"
BEGIN
    SELECT RAISE(ABORT, 'fsm: lifecycle: the event is in the log already')
    WHERE EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = NEW."n");
    SELECT RAISE(ABORT, 'fsm: lifecycle: the place in the log is taken')
    WHERE EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "seq" = NEW."seq");
    SELECT RAISE(ABORT, 'fsm: lifecycle: the request id stands in the log already')
    WHERE EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = NEW."id" AND "request_id" = NEW."request_id");
    SELECT RAISE(ABORT, 'fsm: lifecycle: the request id stands in the log already')
    WHERE EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "request_id" = NEW."request_id" AND "request_n" = NEW."request_n" AND "request_n" >= 0);
END;
CREATE TRIGGER "lifecycle_events_update" BEFORE UPDATE ON "lifecycle_events"
BEGIN
    SELECT RAISE(ABORT, 'fsm: lifecycle: the log is append-only: an event never changes')
    WHERE NOT (OLD."operation" <> '__purge'
      AND EXISTS (SELECT 1 FROM "lifecycle_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0)
      AND NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = OLD."id")
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
CREATE TRIGGER "lifecycle_events_delete" BEFORE DELETE ON "lifecycle_events"
BEGIN
    SELECT RAISE(ABORT, 'fsm: lifecycle: the log is append-only: an event is never deleted')
    WHERE NOT (OLD."operation" <> '__purge'
      AND EXISTS (SELECT 1 FROM "lifecycle_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0)
      AND NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = OLD."id")
      AND OLD."request_n" < 0
      AND NOT (OLD."rev" = 1 AND OLD."n" = 0));
END;
CREATE TRIGGER "lifecycle_events_insert" BEFORE INSERT ON "lifecycle_events"
BEGIN
    -- A transition is one that an operation makes.
    SELECT RAISE(ABORT, 'fsm: lifecycle: no operation makes this move')
    WHERE NEW."n" = 0
      AND NEW."operation" || ': ' || coalesce(NEW."from", '') || ' > ' || NEW."to" NOT IN (
          'enqueue:  > queued', 'claim_next: queued > claimed', 'claim_next: stalled > claimed',
          'start: claimed > running', 'heartbeat: claimed > claimed', 'heartbeat: running > running',
          'complete: running > succeeded', 'fail: running > failed', 'stall: claimed > stalled',
          'stall: running > stalled', 'requeue_stalled: stalled > queued');
    SELECT RAISE(ABORT, 'fsm: lifecycle: the id is taken')
    WHERE NEW."n" = 0
      AND NEW."rev" = 1
      AND EXISTS (SELECT 1 FROM "lifecycle" WHERE "id" = NEW."id");
    -- It starts at the record's revision and state.
    SELECT RAISE(ABORT, 'fsm: lifecycle: the record is not at the revision and state that the event leaves')
    WHERE NEW."n" = 0
      AND NEW."rev" > 1
      AND NOT EXISTS (SELECT 1 FROM "lifecycle" WHERE "id" = NEW."id" AND "rev" = NEW."rev" - 1 AND "state" = NEW."from");
    -- An event that is recorded only stands at the record's revision and
    -- state, and has the next number.
    SELECT RAISE(ABORT, 'fsm: lifecycle: the record is not at the revision and state of the event')
    WHERE NEW."n" > 0
      AND NOT EXISTS (SELECT 1 FROM "lifecycle" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "state" = NEW."to");
    SELECT RAISE(ABORT, 'fsm: lifecycle: only a finished record is purged')
    WHERE NEW."operation" = '__purge'
      AND NEW."to" NOT IN ('succeeded', 'failed');
    SELECT RAISE(ABORT, 'fsm: lifecycle: the log has a gap')
    WHERE NEW."n" > 0
      AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = NEW."n" - 1);
END
;
CREATE TRIGGER "lifecycle_insert" BEFORE INSERT ON "lifecycle"
BEGIN
    SELECT RAISE(ABORT, 'fsm: lifecycle: a record begins in queued')
    WHERE NEW."state" NOT IN ('queued');
    SELECT RAISE(ABORT, 'fsm: lifecycle: a record needs the event of its creation')
    WHERE NOT EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "from" IS NULL AND "to" = NEW."state" AND "operation" <> '__purged');
END;
CREATE TRIGGER "lifecycle_update" BEFORE UPDATE ON "lifecycle"
BEGIN
    SELECT RAISE(ABORT, 'fsm: lifecycle: the state queued leads to claimed only')
    WHERE OLD."state" = 'queued'
      AND NEW."state" NOT IN ('claimed');
    SELECT RAISE(ABORT, 'fsm: lifecycle: the state claimed leads to claimed, running, stalled only')
    WHERE OLD."state" = 'claimed'
      AND NEW."state" NOT IN ('claimed', 'running', 'stalled');
    SELECT RAISE(ABORT, 'fsm: lifecycle: the state running leads to running, succeeded, failed, stalled only')
    WHERE OLD."state" = 'running'
      AND NEW."state" NOT IN ('running', 'succeeded', 'failed', 'stalled');
    SELECT RAISE(ABORT, 'fsm: lifecycle: a record in the terminal state succeeded never changes')
    WHERE OLD."state" = 'succeeded';
    SELECT RAISE(ABORT, 'fsm: lifecycle: a record in the terminal state failed never changes')
    WHERE OLD."state" = 'failed';
    SELECT RAISE(ABORT, 'fsm: lifecycle: the state stalled leads to queued, claimed only')
    WHERE OLD."state" = 'stalled'
      AND NEW."state" NOT IN ('queued', 'claimed');
    SELECT RAISE(ABORT, 'fsm: lifecycle: the revision rises by one')
    WHERE NEW."rev" IS NOT OLD."rev" + 1;
    SELECT RAISE(ABORT, 'fsm: lifecycle: created_at never changes')
    WHERE NEW."created_at" IS NOT OLD."created_at";
    SELECT RAISE(ABORT, 'fsm: lifecycle: updated_at never falls')
    WHERE NEW."updated_at" < OLD."updated_at";
    SELECT RAISE(ABORT, 'fsm: lifecycle: the new revision needs its event')
    WHERE NOT EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "from" = OLD."state" AND "to" = NEW."state");
    SELECT RAISE(ABORT, 'fsm: lifecycle: dedupe_key never changes after the creation')
    WHERE NEW."dedupe_key" IS NOT OLD."dedupe_key";
    SELECT RAISE(ABORT, 'fsm: lifecycle: payload never changes after the creation')
    WHERE NEW."payload" IS NOT OLD."payload";
    SELECT RAISE(ABORT, 'fsm: lifecycle: owner is changed by claim_next, complete, fail, stall only')
    WHERE NEW."owner" IS NOT OLD."owner"
      AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('claim_next', 'complete', 'fail', 'stall'));
    SELECT RAISE(ABORT, 'fsm: lifecycle: lease is changed by claim_next, heartbeat, complete, fail, stall only')
    WHERE NEW."lease" IS NOT OLD."lease"
      AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('claim_next', 'heartbeat', 'complete', 'fail', 'stall'));
    SELECT RAISE(ABORT, 'fsm: lifecycle: result is changed by complete only')
    WHERE NEW."result" IS NOT OLD."result"
      AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('complete'));
    SELECT RAISE(ABORT, 'fsm: lifecycle: error is changed by fail only')
    WHERE NEW."error" IS NOT OLD."error"
      AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('fail'));
    SELECT RAISE(ABORT, 'fsm: lifecycle: attempt never falls')
    WHERE NEW."attempt" < OLD."attempt";
    SELECT RAISE(ABORT, 'fsm: lifecycle: attempt is changed by claim_next only')
    WHERE NEW."attempt" IS NOT OLD."attempt"
      AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0 AND "operation" IN ('claim_next'));
END;
CREATE TRIGGER "lifecycle_delete" BEFORE DELETE ON "lifecycle"
BEGIN
    SELECT RAISE(ABORT, 'fsm: lifecycle: a record is never deleted')
    WHERE OLD."state" NOT IN ('succeeded', 'failed') OR NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0 AND p."rev" = OLD."rev");
END;
COMMIT;
