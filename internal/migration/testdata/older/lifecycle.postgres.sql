CREATE FUNCTION public.lifecycle_events_has_row() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW."n" > 0 THEN
        IF NEW."operation" = '__purge' THEN
            IF EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = NEW."id" AND (r."rev" <> NEW."rev" OR r."state" NOT IN ('succeeded', 'failed')))
            OR NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS e WHERE e."id" = NEW."id" AND e."rev" = 1 AND e."n" = 0) THEN
                RAISE EXCEPTION 'fsm: lifecycle: % is not finished and cannot be purged', quote_literal(NEW."id") USING ERRCODE = 'FS005';
            END IF;
            RETURN NULL;
        END IF;
        IF NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = NEW."id" AND r."rev" >= NEW."rev") THEN
            RAISE EXCEPTION 'fsm: lifecycle: % has no revision %', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
        END IF;
        IF NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS e WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" AND e."n" = NEW."n" - 1 AND e."to" = NEW."to") THEN
            RAISE EXCEPTION 'fsm: lifecycle: %: the log of revision % has a gap', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
        END IF;
        RETURN NULL;
    END IF;
    IF NEW."operation" || ': ' || coalesce(NEW."from", '') || ' > ' || NEW."to" NOT IN (
        'enqueue:  > queued', 'claim_next: queued > claimed', 'claim_next: stalled > claimed',
        'start: claimed > running', 'heartbeat: claimed > claimed', 'heartbeat: running > running',
        'complete: running > succeeded', 'fail: running > failed', 'stall: claimed > stalled',
        'stall: running > stalled', 'requeue_stalled: stalled > queued') THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: % makes no move from % to %', quote_literal(NEW."id"), NEW."operation", coalesce(NEW."from", 'nothing'), NEW."to" USING ERRCODE = 'FS005';
    END IF;
    IF NEW."rev" > 1 THEN
        IF EXISTS (SELECT 1 FROM "lifecycle_events" AS e
            WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" - 1 AND e."n" = 0 AND e."to" = NEW."from"
              AND (e."xid" = NEW."xid" AND EXISTS (SELECT 1 FROM (SELECT max(l."rev") AS "rev" FROM "lifecycle_events" AS l WHERE l."id" = NEW."id") AS newest
                    WHERE newest."rev" > NEW."rev" AND NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS p
                        WHERE p."id" = NEW."id" AND p."rev" = newest."rev" AND p."operation" = '__purge'))
                OR EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = NEW."id" AND r."rev" >= NEW."rev"))) THEN
            RETURN NULL;
        END IF;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = NEW."id" AND r."rev" >= NEW."rev") THEN
        RAISE EXCEPTION 'fsm: lifecycle: % has no revision %', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
    END IF;
    IF NEW."rev" > 1 THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: the event of revision % does not follow the one before it', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.lifecycle_events_keep() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD."operation" <> '__purge'
            AND EXISTS (SELECT 1 FROM "lifecycle_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0)
            AND NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = OLD."id")
            AND OLD."request_n" < 0
            AND NOT (OLD."rev" = 1 AND OLD."n" = 0) THEN
            RETURN OLD;
        END IF;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF OLD."operation" <> '__purge'
            AND EXISTS (SELECT 1 FROM "lifecycle_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0)
            AND NOT EXISTS (SELECT 1 FROM "lifecycle" AS r WHERE r."id" = OLD."id")
            AND NEW."operation" = '__purged'
            AND NEW."name" = '__purged'
            AND NEW."actor" = ''
            AND NEW."reason" = ''
            AND NEW."id" IS NOT DISTINCT FROM OLD."id"
            AND NEW."rev" IS NOT DISTINCT FROM OLD."rev"
            AND NEW."n" IS NOT DISTINCT FROM OLD."n"
            AND NEW."from" IS NOT DISTINCT FROM OLD."from"
            AND NEW."to" IS NOT DISTINCT FROM OLD."to"
            AND NEW."request_id" IS NOT DISTINCT FROM OLD."request_id"
            AND NEW."request_n" IS NOT DISTINCT FROM OLD."request_n"
            AND NEW."fingerprint" IS NOT DISTINCT FROM OLD."fingerprint"
            AND NEW."version" IS NOT DISTINCT FROM OLD."version"
            AND NEW."xid" IS NOT DISTINCT FROM OLD."xid"
            AND NEW."labels" IS NULL
            AND NEW."inputs" IS NULL
            AND NEW."changes" IS NULL
            AND NEW."image" IS NULL
            AND NEW."cause" IS NULL
            AND NEW."guard" IS NULL THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'fsm: lifecycle: the log is append-only: %', lower(TG_OP) USING ERRCODE = 'FS006';
END
$$;
CREATE FUNCTION public.lifecycle_guard() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD."state" NOT IN ('succeeded', 'failed') OR NOT EXISTS (SELECT 1 FROM "lifecycle_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0 AND p."rev" = OLD."rev") THEN
            RAISE EXCEPTION 'fsm: lifecycle: % is never deleted', quote_literal(OLD."id") USING ERRCODE = 'FS006';
        END IF;
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW."state" NOT IN ('queued') THEN
            RAISE EXCEPTION 'fsm: lifecycle: % begins in queued', quote_literal(NEW."id") USING ERRCODE = 'FS001';
        END IF;
        IF NEW."rev" <> 1 THEN
            RAISE EXCEPTION 'fsm: lifecycle: % begins at revision 1', quote_literal(NEW."id") USING ERRCODE = 'FS001';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD."state" = 'queued' AND NEW."state" NOT IN ('claimed') THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: the state queued leads to claimed only', quote_literal(OLD."id") USING ERRCODE = 'FS002';
    END IF;
    IF OLD."state" = 'claimed' AND NEW."state" NOT IN ('claimed', 'running', 'stalled') THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: the state claimed leads to claimed, running, stalled only', quote_literal(OLD."id") USING ERRCODE = 'FS002';
    END IF;
    IF OLD."state" = 'running' AND NEW."state" NOT IN ('running', 'succeeded', 'failed', 'stalled') THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: the state running leads to running, succeeded, failed, stalled only', quote_literal(OLD."id") USING ERRCODE = 'FS002';
    END IF;
    IF OLD."state" = 'succeeded' THEN
        RAISE EXCEPTION 'fsm: lifecycle: % is in the terminal state succeeded and never changes', quote_literal(OLD."id") USING ERRCODE = 'FS003';
    END IF;
    IF OLD."state" = 'failed' THEN
        RAISE EXCEPTION 'fsm: lifecycle: % is in the terminal state failed and never changes', quote_literal(OLD."id") USING ERRCODE = 'FS003';
    END IF;
    IF OLD."state" = 'stalled' AND NEW."state" NOT IN ('queued', 'claimed') THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: the state stalled leads to queued, claimed only', quote_literal(OLD."id") USING ERRCODE = 'FS002';
    END IF;
    IF NEW."id" <> OLD."id" THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: the id never changes', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."rev" <> OLD."rev" + 1 THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: the revision rises by one', quote_literal(OLD."id") USING ERRCODE = 'FS005';
    END IF;
    IF NEW."created_at" <> OLD."created_at" THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: created_at never changes', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."updated_at" < OLD."updated_at" THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: updated_at never falls', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."dedupe_key" IS DISTINCT FROM OLD."dedupe_key" THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: dedupe_key never changes after the creation', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."payload"::text IS DISTINCT FROM OLD."payload"::text THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: payload never changes after the creation', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."attempt" < OLD."attempt" THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: attempt never falls', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    RETURN NEW;
END
$$;
CREATE FUNCTION public.lifecycle_has_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    made_by text COLLATE "C";
    came_from text COLLATE "C";
BEGIN
    IF TG_OP = 'UPDATE' THEN
        came_from := OLD."state";
    END IF;
    SELECT e."operation" INTO made_by FROM "lifecycle_events" AS e
    WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" AND e."n" = 0
      AND e."from" IS NOT DISTINCT FROM came_from AND e."to" = NEW."state" AND e."operation" <> '__purged';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: revision % has no event', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
    END IF;
    IF TG_OP = 'INSERT' THEN
        RETURN NULL;
    END IF;
    IF NEW."owner" IS DISTINCT FROM OLD."owner" AND made_by NOT IN ('claim_next', 'complete', 'fail', 'stall') THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: owner is changed by claim_next, complete, fail, stall only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."lease" IS DISTINCT FROM OLD."lease" AND made_by NOT IN ('claim_next', 'heartbeat', 'complete', 'fail', 'stall') THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: lease is changed by claim_next, heartbeat, complete, fail, stall only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."result"::text IS DISTINCT FROM OLD."result"::text AND made_by NOT IN ('complete') THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: result is changed by complete only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."error"::text IS DISTINCT FROM OLD."error"::text AND made_by NOT IN ('fail') THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: error is changed by fail only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."attempt" IS DISTINCT FROM OLD."attempt" AND made_by NOT IN ('claim_next') THEN
        RAISE EXCEPTION 'fsm: lifecycle: %: attempt is changed by claim_next only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.lifecycle_keep() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'fsm: lifecycle: records are never removed: %', lower(TG_OP) USING ERRCODE = 'FS006';
END
$$;
CREATE TABLE public.fsm_meta (
    machine text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    enforce text NOT NULL COLLATE pg_catalog."C",
    dialect text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.lifecycle (
    id text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    rev bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    dedupe_key text COLLATE pg_catalog."C",
    payload json,
    owner text COLLATE pg_catalog."C",
    lease timestamp with time zone,
    result json,
    error json,
    attempt bigint NOT NULL,
    queued_at timestamp with time zone,
    CONSTRAINT "attempt is a count" CHECK ((attempt >= 0)),
    CONSTRAINT "claimed: present owner, lease; absent result, error, q_d078e23a" CHECK (((state <> 'claimed'::text) OR ((owner IS NOT NULL) AND (lease IS NOT NULL) AND (result IS NULL) AND (error IS NULL) AND (queued_at IS NULL) AND (attempt >= 1)))),
    CONSTRAINT "failed: present error; absent result" CHECK (((state <> 'failed'::text) OR ((error IS NOT NULL) AND (result IS NULL)))),
    CONSTRAINT "id is not empty" CHECK ((id <> ''::text)),
    CONSTRAINT "queued: absent owner, lease, result, error" CHECK (((state <> 'queued'::text) OR ((owner IS NULL) AND (lease IS NULL) AND (result IS NULL) AND (error IS NULL)))),
    CONSTRAINT "rev is at least 1" CHECK ((rev >= 1)),
    CONSTRAINT "running: present owner, lease; absent result, error, q_c4f94558" CHECK (((state <> 'running'::text) OR ((owner IS NOT NULL) AND (lease IS NOT NULL) AND (result IS NULL) AND (error IS NULL) AND (queued_at IS NULL) AND (attempt >= 1)))),
    CONSTRAINT "stalled: absent owner, lease, result, error, queued_at" CHECK (((state <> 'stalled'::text) OR ((owner IS NULL) AND (lease IS NULL) AND (result IS NULL) AND (error IS NULL) AND (queued_at IS NULL)))),
    CONSTRAINT "state is known" CHECK ((state = ANY (ARRAY['queued'::text, 'claimed'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'stalled'::text]))),
    CONSTRAINT "succeeded: present result; absent error" CHECK (((state <> 'succeeded'::text) OR ((result IS NOT NULL) AND (error IS NULL))))
);
CREATE TABLE public.lifecycle_events (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    rev bigint NOT NULL,
    n bigint NOT NULL,
    operation text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    "from" text COLLATE pg_catalog."C",
    "to" text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    actor text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL COLLATE pg_catalog."C",
    request_id text COLLATE pg_catalog."C",
    request_n bigint NOT NULL,
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    labels json,
    inputs json,
    changes json,
    image json,
    version bigint NOT NULL,
    cause text COLLATE pg_catalog."C",
    guard text COLLATE pg_catalog."C",
    sum bigint NOT NULL,
    chain bigint DEFAULT 0 NOT NULL,
    CONSTRAINT "a recorded call moves nothing" CHECK (((n = 0) OR (("from" IS NOT NULL) AND ("from" = "to")))),
    CONSTRAINT "n is a count" CHECK ((n >= 0)),
    CONSTRAINT "request_id is not empty" CHECK ((request_id <> ''::text)),
    CONSTRAINT "request_n is an index" CHECK ((request_n >= '-1'::integer)),
    CONSTRAINT "rev is at least 1" CHECK ((rev >= 1)),
    CONSTRAINT "revision 1 is the creation" CHECK (((n > 0) OR ((rev = 1) = ("from" IS NULL))))
);
CREATE TABLE public.lifecycle_groups (
    name text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL
);
CREATE TABLE public.lifecycle_outbox (
    id text NOT NULL COLLATE pg_catalog."C",
    rev bigint NOT NULL,
    effect text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    attempts bigint NOT NULL,
    due timestamp with time zone NOT NULL,
    last_error text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT "attempts is a count" CHECK ((attempts >= 0))
);
INSERT INTO public.fsm_meta VALUES ('lifecycle', 1, '9aec8726e6e244a86a7a1300d6dff8de9be72ee8c0c41187978cf04c872e3316', 'full', 'postgres');
INSERT INTO public.lifecycle VALUES ('job-8', 'queued', 1, '2026-11-20 10:00:11+00', '2026-11-20 10:00:11+00', 'key-8', '{"n":8}', NULL, NULL, NULL, NULL, 0);
INSERT INTO public.lifecycle VALUES ('job-9', 'queued', 1, '2026-11-20 10:00:12+00', '2026-11-20 10:00:12+00', 'key-9', '{"n":9}', NULL, NULL, NULL, NULL, 0);
INSERT INTO public.lifecycle VALUES ('job-10', 'queued', 1, '2026-11-20 10:00:13+00', '2026-11-20 10:00:13+00', 'key-10', '{"n":10}', NULL, NULL, NULL, NULL, 0);
INSERT INTO public.lifecycle VALUES ('job-11', 'queued', 1, '2026-11-20 10:00:14+00', '2026-11-20 10:00:14+00', 'key-11', '{"n":11}', NULL, NULL, NULL, NULL, 0);
INSERT INTO public.lifecycle VALUES ('job-0', 'succeeded', 4, '2026-11-20 10:00:03+00', '2026-11-20 10:00:18+00', 'key-0', '{"n":0}', NULL, NULL, '{"ok":true}', NULL, 1);
INSERT INTO public.lifecycle VALUES ('job-1', 'failed', 4, '2026-11-20 10:00:04+00', '2026-11-20 10:00:22+00', 'key-1', '{"n":1}', NULL, NULL, NULL, '{"why":"''quoted''"}', 1);
INSERT INTO public.lifecycle VALUES ('job-2', 'running', 3, '2026-11-20 10:00:05+00', '2026-11-20 10:00:25+00', 'key-2', '{"n":2}', 'w1', '2026-11-20 11:00:22+00', NULL, NULL, 1);
INSERT INTO public.lifecycle VALUES ('job-3', 'succeeded', 4, '2026-11-20 10:00:06+00', '2026-11-20 10:00:29+00', 'key-3', '{"n":3}', NULL, NULL, '{"ok":true}', NULL, 1);
INSERT INTO public.lifecycle VALUES ('job-4', 'failed', 4, '2026-11-20 10:00:07+00', '2026-11-20 10:00:33+00', 'key-4', '{"n":4}', NULL, NULL, NULL, '{"why":"''quoted''"}', 1);
INSERT INTO public.lifecycle VALUES ('job-5', 'running', 69, '2026-11-20 10:00:08+00', '2026-11-20 10:01:42+00', 'key-5', '{"n":5}', 'w1', '2026-11-20 11:01:41+00', NULL, NULL, 1);
INSERT INTO public.lifecycle VALUES ('job-6', 'claimed', 2, '2026-11-20 10:00:09+00', '2026-11-20 10:01:44+00', 'key-6', '{"n":6}', 'w1', '2026-11-20 11:01:42+00', NULL, NULL, 1);
INSERT INTO public.lifecycle VALUES ('job-7', 'claimed', 2, '2026-11-20 10:00:10+00', '2026-11-20 10:01:46+00', 'key-7', '{"n":7}', 'w1', '2026-11-20 11:01:44+00', NULL, NULL, 1);
INSERT INTO public.lifecycle_events VALUES ('725', 'job-0', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:03+00', 'ann', '', 'enqueue-0', 0, 'v1:156cb79252ad9ba9f27ab6e6875add5af513b037d9a27d814e32bdda2910157a', '{"trace":"t"}', '{"dedupe_key":"key-0","payload":{"n":0}}', '{"dedupe_key":"key-0","payload":{"n":0}}', '{"created_at":"2026-11-20T10:00:03.000000Z","updated_at":"2026-11-20T10:00:03.000000Z","dedupe_key":"key-0","payload":{"n":0},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 3493521916, 3493521916);
INSERT INTO public.lifecycle_events VALUES ('726', 'job-1', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:04+00', 'ann', '', 'enqueue-1', 0, 'v1:90295da2f104c06a4a165d13a0ca96c61f89f1df79def7f978e9178078fbbd47', '{"trace":"t"}', '{"dedupe_key":"key-1","payload":{"n":1}}', '{"dedupe_key":"key-1","payload":{"n":1}}', '{"created_at":"2026-11-20T10:00:04.000000Z","updated_at":"2026-11-20T10:00:04.000000Z","dedupe_key":"key-1","payload":{"n":1},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 3168237233, 3168237233);
INSERT INTO public.lifecycle_events VALUES ('727', 'job-2', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:05+00', 'ann', '', 'enqueue-2', 0, 'v1:131f33eafa4c861c663875195f6139f92d9662fccd55e52dfd78c46806886907', '{"trace":"t"}', '{"dedupe_key":"key-2","payload":{"n":2}}', '{"dedupe_key":"key-2","payload":{"n":2}}', '{"created_at":"2026-11-20T10:00:05.000000Z","updated_at":"2026-11-20T10:00:05.000000Z","dedupe_key":"key-2","payload":{"n":2},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 1303487571, 1303487571);
INSERT INTO public.lifecycle_events VALUES ('728', 'job-3', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:06+00', 'ann', '', 'enqueue-3', 0, 'v1:659211f934d53e5f330828941684d4d485055fb407981984dd6cda9ac2f75abe', '{"trace":"t"}', '{"dedupe_key":"key-3","payload":{"n":3}}', '{"dedupe_key":"key-3","payload":{"n":3}}', '{"created_at":"2026-11-20T10:00:06.000000Z","updated_at":"2026-11-20T10:00:06.000000Z","dedupe_key":"key-3","payload":{"n":3},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 1463100407, 1463100407);
INSERT INTO public.lifecycle_events VALUES ('729', 'job-4', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:07+00', 'ann', '', 'enqueue-4', 0, 'v1:3882377c4ddfd28c5ec541b9f2e00d4cb485fa56a2de4218c4fa64d604e06fc7', '{"trace":"t"}', '{"dedupe_key":"key-4","payload":{"n":4}}', '{"dedupe_key":"key-4","payload":{"n":4}}', '{"created_at":"2026-11-20T10:00:07.000000Z","updated_at":"2026-11-20T10:00:07.000000Z","dedupe_key":"key-4","payload":{"n":4},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 1105059390, 1105059390);
INSERT INTO public.lifecycle_events VALUES ('730', 'job-5', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:08+00', 'ann', '', 'enqueue-5', 0, 'v1:1e7c54fd545708b501e575f69779f4ae76529cfab0cb2abab57de0cd4938bb54', '{"trace":"t"}', '{"dedupe_key":"key-5","payload":{"n":5}}', '{"dedupe_key":"key-5","payload":{"n":5}}', '{"created_at":"2026-11-20T10:00:08.000000Z","updated_at":"2026-11-20T10:00:08.000000Z","dedupe_key":"key-5","payload":{"n":5},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 791193794, 791193794);
INSERT INTO public.lifecycle_events VALUES ('731', 'job-6', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:09+00', 'ann', '', 'enqueue-6', 0, 'v1:7148494ef149264b8e0bd7fed826576b5786d060e1724403087d37237198fe0f', '{"trace":"t"}', '{"dedupe_key":"key-6","payload":{"n":6}}', '{"dedupe_key":"key-6","payload":{"n":6}}', '{"created_at":"2026-11-20T10:00:09.000000Z","updated_at":"2026-11-20T10:00:09.000000Z","dedupe_key":"key-6","payload":{"n":6},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 810574340, 810574340);
INSERT INTO public.lifecycle_events VALUES ('732', 'job-7', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:10+00', 'ann', '', 'enqueue-7', 0, 'v1:2843e42481c629e497ef816fd3acad502815bab278ee02de630df298cb11e829', '{"trace":"t"}', '{"dedupe_key":"key-7","payload":{"n":7}}', '{"dedupe_key":"key-7","payload":{"n":7}}', '{"created_at":"2026-11-20T10:00:10.000000Z","updated_at":"2026-11-20T10:00:10.000000Z","dedupe_key":"key-7","payload":{"n":7},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 812472367, 812472367);
INSERT INTO public.lifecycle_events VALUES ('733', 'job-8', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:11+00', 'ann', '', 'enqueue-8', 0, 'v1:a58864efdd3d5009b972679bb6a5ffd0a3846bcfb35aea622ef53b423bf0d3da', '{"trace":"t"}', '{"dedupe_key":"key-8","payload":{"n":8}}', '{"dedupe_key":"key-8","payload":{"n":8}}', '{"created_at":"2026-11-20T10:00:11.000000Z","updated_at":"2026-11-20T10:00:11.000000Z","dedupe_key":"key-8","payload":{"n":8},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 1721747383, 1721747383);
INSERT INTO public.lifecycle_events VALUES ('734', 'job-9', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:12+00', 'ann', '', 'enqueue-9', 0, 'v1:167de49f0cea342c99bcb08fdac466c6baf7be50bb620735290606222c9c480c', '{"trace":"t"}', '{"dedupe_key":"key-9","payload":{"n":9}}', '{"dedupe_key":"key-9","payload":{"n":9}}', '{"created_at":"2026-11-20T10:00:12.000000Z","updated_at":"2026-11-20T10:00:12.000000Z","dedupe_key":"key-9","payload":{"n":9},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 1148275122, 1148275122);
INSERT INTO public.lifecycle_events VALUES ('735', 'job-10', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:13+00', 'ann', '', 'enqueue-10', 0, 'v1:3fdc089f9669f720e0b6351e16267ea0feab1f5e3295fe0e4364b8276410cd7d', '{"trace":"t"}', '{"dedupe_key":"key-10","payload":{"n":10}}', '{"dedupe_key":"key-10","payload":{"n":10}}', '{"created_at":"2026-11-20T10:00:13.000000Z","updated_at":"2026-11-20T10:00:13.000000Z","dedupe_key":"key-10","payload":{"n":10},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 2958298758, 2958298758);
INSERT INTO public.lifecycle_events VALUES ('736', 'job-11', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', '2026-11-20 10:00:14+00', 'ann', '', 'enqueue-11', 0, 'v1:c151e1325093ae4d21d002422bea8fb62bd43e00b988f729d515eb493e22d9d6', '{"trace":"t"}', '{"dedupe_key":"key-11","payload":{"n":11}}', '{"dedupe_key":"key-11","payload":{"n":11}}', '{"created_at":"2026-11-20T10:00:14.000000Z","updated_at":"2026-11-20T10:00:14.000000Z","dedupe_key":"key-11","payload":{"n":11},"owner":null,"lease":null,"result":null,"error":null,"attempt":0}', 1, NULL, NULL, 135049495, 135049495);
INSERT INTO public.lifecycle_events VALUES ('737', 'job-0', 2, 0, 'claim_next', 'claimed', 'queued', 'claimed', '2026-11-20 10:00:16+00', 'w1', '', 'claim-0', 0, 'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2', NULL, '{"lease":"2026-11-20T11:00:14.000000Z"}', '{"owner":"w1","lease":"2026-11-20T11:00:14.000000Z","attempt":1}', NULL, 1, NULL, NULL, 1932872243, 1005822439);
INSERT INTO public.lifecycle_events VALUES ('738', 'job-0', 3, 0, 'start', 'started', 'claimed', 'running', '2026-11-20 10:00:17+00', 'w1', '', 'start-0', -1, 'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6', NULL, '{}', '{}', NULL, 1, NULL, NULL, 3009902863, 4209989556);
INSERT INTO public.lifecycle_events VALUES ('739', 'job-0', 4, 0, 'complete', 'succeeded', 'running', 'succeeded', '2026-11-20 10:00:18+00', 'w1', '', 'complete-0', -1, 'v1:cfc4f0bc2762852b2ee4419b225f66d248306b449ae965b4df125607e3ff4498', NULL, '{"result":{"ok":true}}', '{"owner":null,"lease":null,"result":{"ok":true}}', NULL, 1, NULL, NULL, 772362468, 3905970496);
INSERT INTO public.lifecycle_events VALUES ('740', 'job-1', 2, 0, 'claim_next', 'claimed', 'queued', 'claimed', '2026-11-20 10:00:20+00', 'w1', '', 'claim-1', 0, 'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2', NULL, '{"lease":"2026-11-20T11:00:18.000000Z"}', '{"owner":"w1","lease":"2026-11-20T11:00:18.000000Z","attempt":1}', NULL, 1, NULL, NULL, 2508498108, 2377416031);
INSERT INTO public.lifecycle_events VALUES ('741', 'job-1', 3, 0, 'start', 'started', 'claimed', 'running', '2026-11-20 10:00:21+00', 'w1', '', 'start-1', -1, 'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6', NULL, '{}', '{}', NULL, 1, NULL, NULL, 1305265335, 3220054340);
INSERT INTO public.lifecycle_events VALUES ('742', 'job-1', 4, 0, 'fail', 'failed', 'running', 'failed', '2026-11-20 10:00:22+00', 'w1', '', 'fail-1', -1, 'v1:00638e7b93e08fbf4997e845914afc179a63cbd5a96b0db7fa8c98c30e8f8cce', NULL, '{"error":{"why":"''quoted''"}}', '{"owner":null,"lease":null,"error":{"why":"''quoted''"}}', NULL, 1, NULL, NULL, 775639842, 2518266158);
INSERT INTO public.lifecycle_events VALUES ('743', 'job-2', 2, 0, 'claim_next', 'claimed', 'queued', 'claimed', '2026-11-20 10:00:24+00', 'w1', '', 'claim-2', 0, 'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2', NULL, '{"lease":"2026-11-20T11:00:22.000000Z"}', '{"owner":"w1","lease":"2026-11-20T11:00:22.000000Z","attempt":1}', NULL, 1, NULL, NULL, 1760328576, 177351209);
INSERT INTO public.lifecycle_events VALUES ('744', 'job-2', 3, 0, 'start', 'started', 'claimed', 'running', '2026-11-20 10:00:25+00', 'w1', '', 'start-2', -1, 'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6', NULL, '{}', '{}', NULL, 1, NULL, NULL, 1734418294, 880377345);
INSERT INTO public.lifecycle_events VALUES ('745', 'job-3', 2, 0, 'claim_next', 'claimed', 'queued', 'claimed', '2026-11-20 10:00:27+00', 'w1', '', 'claim-3', 0, 'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2', NULL, '{"lease":"2026-11-20T11:00:25.000000Z"}', '{"owner":"w1","lease":"2026-11-20T11:00:25.000000Z","attempt":1}', NULL, 1, NULL, NULL, 860331015, 1928280540);
INSERT INTO public.lifecycle_events VALUES ('746', 'job-3', 3, 0, 'start', 'started', 'claimed', 'running', '2026-11-20 10:00:28+00', 'w1', '', 'start-3', -1, 'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6', NULL, '{}', '{}', NULL, 1, NULL, NULL, 1689497769, 793495037);
INSERT INTO public.lifecycle_events VALUES ('747', 'job-3', 4, 0, 'complete', 'succeeded', 'running', 'succeeded', '2026-11-20 10:00:29+00', 'w1', '', 'complete-3', -1, 'v1:cfc4f0bc2762852b2ee4419b225f66d248306b449ae965b4df125607e3ff4498', NULL, '{"result":{"ok":true}}', '{"owner":null,"lease":null,"result":{"ok":true}}', NULL, 1, NULL, NULL, 4003346319, 1608967382);
INSERT INTO public.lifecycle_events VALUES ('748', 'job-4', 2, 0, 'claim_next', 'claimed', 'queued', 'claimed', '2026-11-20 10:00:31+00', 'w1', '', 'claim-4', 0, 'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2', NULL, '{"lease":"2026-11-20T11:00:29.000000Z"}', '{"owner":"w1","lease":"2026-11-20T11:00:29.000000Z","attempt":1}', NULL, 1, NULL, NULL, 3687701639, 3390224417);
INSERT INTO public.lifecycle_events VALUES ('749', 'job-4', 3, 0, 'start', 'started', 'claimed', 'running', '2026-11-20 10:00:32+00', 'w1', '', 'start-4', -1, 'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6', NULL, '{}', '{}', NULL, 1, NULL, NULL, 3102876871, 4117364922);
INSERT INTO public.lifecycle_events VALUES ('750', 'job-4', 4, 0, 'fail', 'failed', 'running', 'failed', '2026-11-20 10:00:33+00', 'w1', '', 'fail-4', -1, 'v1:00638e7b93e08fbf4997e845914afc179a63cbd5a96b0db7fa8c98c30e8f8cce', NULL, '{"error":{"why":"''quoted''"}}', '{"owner":null,"lease":null,"error":{"why":"''quoted''"}}', NULL, 1, NULL, NULL, 720938431, 987220621);
INSERT INTO public.lifecycle_events VALUES ('751', 'job-5', 2, 0, 'claim_next', 'claimed', 'queued', 'claimed', '2026-11-20 10:00:35+00', 'w1', '', 'claim-5', 0, 'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2', NULL, '{"lease":"2026-11-20T11:00:33.000000Z"}', '{"owner":"w1","lease":"2026-11-20T11:00:33.000000Z","attempt":1}', NULL, 1, NULL, NULL, 1202121351, 1185453037);
INSERT INTO public.lifecycle_events VALUES ('752', 'job-5', 3, 0, 'start', 'started', 'claimed', 'running', '2026-11-20 10:00:36+00', 'w1', '', 'start-5', -1, 'v1:415feb473ac622b6c4cf499008e6b5b425010244a86d87bcda644e4afd2dcca6', NULL, '{}', '{}', NULL, 1, NULL, NULL, 4063645819, 446115474);
INSERT INTO public.lifecycle_events VALUES ('753', 'job-5', 4, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:37+00', 'w1', '', 'beat-5-0', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:36.000000Z"}', '{"lease":"2026-11-20T11:00:36.000000Z"}', NULL, 1, NULL, NULL, 3184039927, 734455757);
INSERT INTO public.lifecycle_events VALUES ('754', 'job-5', 5, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:38+00', 'w1', '', 'beat-5-1', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:37.000000Z"}', '{"lease":"2026-11-20T11:00:37.000000Z"}', NULL, 1, NULL, NULL, 3766226821, 2543515452);
INSERT INTO public.lifecycle_events VALUES ('755', 'job-5', 6, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:39+00', 'w1', '', 'beat-5-2', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:38.000000Z"}', '{"lease":"2026-11-20T11:00:38.000000Z"}', NULL, 1, NULL, NULL, 3251668710, 2797845082);
INSERT INTO public.lifecycle_events VALUES ('756', 'job-5', 7, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:40+00', 'w1', '', 'beat-5-3', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:39.000000Z"}', '{"lease":"2026-11-20T11:00:39.000000Z"}', NULL, 1, NULL, NULL, 1529774331, 994892969);
INSERT INTO public.lifecycle_events VALUES ('757', 'job-5', 8, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:41+00', 'w1', '', 'beat-5-4', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:40.000000Z"}', '{"lease":"2026-11-20T11:00:40.000000Z"}', NULL, 1, NULL, NULL, 175128793, 225418980);
INSERT INTO public.lifecycle_events VALUES ('758', 'job-5', 9, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:42+00', 'w1', '', 'beat-5-5', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:41.000000Z"}', '{"lease":"2026-11-20T11:00:41.000000Z"}', NULL, 1, NULL, NULL, 513589255, 693362931);
INSERT INTO public.lifecycle_events VALUES ('759', 'job-5', 10, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:43+00', 'w1', '', 'beat-5-6', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:42.000000Z"}', '{"lease":"2026-11-20T11:00:42.000000Z"}', NULL, 1, NULL, NULL, 2233118969, 2267402114);
INSERT INTO public.lifecycle_events VALUES ('760', 'job-5', 11, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:44+00', 'w1', '', 'beat-5-7', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:43.000000Z"}', '{"lease":"2026-11-20T11:00:43.000000Z"}', NULL, 1, NULL, NULL, 1436161516, 2552217490);
INSERT INTO public.lifecycle_events VALUES ('761', 'job-5', 12, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:45+00', 'w1', '', 'beat-5-8', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:44.000000Z"}', '{"lease":"2026-11-20T11:00:44.000000Z"}', NULL, 1, NULL, NULL, 243720907, 444691873);
INSERT INTO public.lifecycle_events VALUES ('762', 'job-5', 13, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:46+00', 'w1', '', 'beat-5-9', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:45.000000Z"}', '{"lease":"2026-11-20T11:00:45.000000Z"}', NULL, 1, NULL, NULL, 443179541, 1966509704);
INSERT INTO public.lifecycle_events VALUES ('763', 'job-5', 14, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:47+00', 'w1', '', 'beat-5-10', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:46.000000Z"}', '{"lease":"2026-11-20T11:00:46.000000Z"}', NULL, 1, NULL, NULL, 4185781095, 106976127);
INSERT INTO public.lifecycle_events VALUES ('764', 'job-5', 15, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:48+00', 'w1', '', 'beat-5-11', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:47.000000Z"}', '{"lease":"2026-11-20T11:00:47.000000Z"}', NULL, 1, NULL, NULL, 2049636249, 47081606);
INSERT INTO public.lifecycle_events VALUES ('765', 'job-5', 16, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:49+00', 'w1', '', 'beat-5-12', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:48.000000Z"}', '{"lease":"2026-11-20T11:00:48.000000Z"}', NULL, 1, NULL, NULL, 1277513785, 1024711467);
INSERT INTO public.lifecycle_events VALUES ('766', 'job-5', 17, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:50+00', 'w1', '', 'beat-5-13', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:49.000000Z"}', '{"lease":"2026-11-20T11:00:49.000000Z"}', NULL, 1, NULL, NULL, 339623124, 1702904197);
INSERT INTO public.lifecycle_events VALUES ('767', 'job-5', 18, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:51+00', 'w1', '', 'beat-5-14', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:50.000000Z"}', '{"lease":"2026-11-20T11:00:50.000000Z"}', NULL, 1, NULL, NULL, 1145990072, 2452983831);
INSERT INTO public.lifecycle_events VALUES ('768', 'job-5', 19, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:52+00', 'w1', '', 'beat-5-15', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:51.000000Z"}', '{"lease":"2026-11-20T11:00:51.000000Z"}', NULL, 1, NULL, NULL, 676875560, 1772757341);
INSERT INTO public.lifecycle_events VALUES ('769', 'job-5', 20, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:53+00', 'w1', '', 'beat-5-16', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:52.000000Z"}', '{"lease":"2026-11-20T11:00:52.000000Z"}', NULL, 1, NULL, NULL, 392272815, 3409191190);
INSERT INTO public.lifecycle_events VALUES ('770', 'job-5', 21, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:54+00', 'w1', '', 'beat-5-17', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:53.000000Z"}', '{"lease":"2026-11-20T11:00:53.000000Z"}', NULL, 1, NULL, NULL, 565664997, 449278599);
INSERT INTO public.lifecycle_events VALUES ('771', 'job-5', 22, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:55+00', 'w1', '', 'beat-5-18', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:54.000000Z"}', '{"lease":"2026-11-20T11:00:54.000000Z"}', NULL, 1, NULL, NULL, 1829274881, 469880710);
INSERT INTO public.lifecycle_events VALUES ('772', 'job-5', 23, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:56+00', 'w1', '', 'beat-5-19', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:55.000000Z"}', '{"lease":"2026-11-20T11:00:55.000000Z"}', NULL, 1, NULL, NULL, 18785169, 2650297219);
INSERT INTO public.lifecycle_events VALUES ('773', 'job-5', 24, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:57+00', 'w1', '', 'beat-5-20', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:56.000000Z"}', '{"lease":"2026-11-20T11:00:56.000000Z"}', NULL, 1, NULL, NULL, 3190616263, 4011354112);
INSERT INTO public.lifecycle_events VALUES ('774', 'job-5', 25, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:58+00', 'w1', '', 'beat-5-21', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:57.000000Z"}', '{"lease":"2026-11-20T11:00:57.000000Z"}', NULL, 1, NULL, NULL, 1031533625, 2699537465);
INSERT INTO public.lifecycle_events VALUES ('775', 'job-5', 26, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:00:59+00', 'w1', '', 'beat-5-22', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:58.000000Z"}', '{"lease":"2026-11-20T11:00:58.000000Z"}', NULL, 1, NULL, NULL, 192172953, 2435346772);
INSERT INTO public.lifecycle_events VALUES ('776', 'job-5', 27, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:00+00', 'w1', '', 'beat-5-23', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:00:59.000000Z"}', '{"lease":"2026-11-20T11:00:59.000000Z"}', NULL, 1, NULL, NULL, 257604557, 3859096329);
INSERT INTO public.lifecycle_events VALUES ('777', 'job-5', 28, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:01+00', 'w1', '', 'beat-5-24', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:00.000000Z"}', '{"lease":"2026-11-20T11:01:00.000000Z"}', NULL, 1, NULL, NULL, 1231464722, 1820119101);
INSERT INTO public.lifecycle_events VALUES ('778', 'job-5', 29, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:02+00', 'w1', '', 'beat-5-25', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:01.000000Z"}', '{"lease":"2026-11-20T11:01:01.000000Z"}', NULL, 1, NULL, NULL, 628133762, 720134025);
INSERT INTO public.lifecycle_events VALUES ('779', 'job-5', 30, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:03+00', 'w1', '', 'beat-5-26', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:02.000000Z"}', '{"lease":"2026-11-20T11:01:02.000000Z"}', NULL, 1, NULL, NULL, 2777819775, 3232534314);
INSERT INTO public.lifecycle_events VALUES ('780', 'job-5', 31, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:04+00', 'w1', '', 'beat-5-27', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:03.000000Z"}', '{"lease":"2026-11-20T11:01:03.000000Z"}', NULL, 1, NULL, NULL, 2470767925, 216681555);
INSERT INTO public.lifecycle_events VALUES ('781', 'job-5', 32, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:05+00', 'w1', '', 'beat-5-28', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:04.000000Z"}', '{"lease":"2026-11-20T11:01:04.000000Z"}', NULL, 1, NULL, NULL, 3757782225, 2278644602);
INSERT INTO public.lifecycle_events VALUES ('782', 'job-5', 33, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:06+00', 'w1', '', 'beat-5-29', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:05.000000Z"}', '{"lease":"2026-11-20T11:01:05.000000Z"}', NULL, 1, NULL, NULL, 3018658369, 4236251983);
INSERT INTO public.lifecycle_events VALUES ('783', 'job-5', 34, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:07+00', 'w1', '', 'beat-5-30', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:06.000000Z"}', '{"lease":"2026-11-20T11:01:06.000000Z"}', NULL, 1, NULL, NULL, 983850821, 121816226);
INSERT INTO public.lifecycle_events VALUES ('784', 'job-5', 35, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:08+00', 'w1', '', 'beat-5-31', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:07.000000Z"}', '{"lease":"2026-11-20T11:01:07.000000Z"}', NULL, 1, NULL, NULL, 3119733691, 3389974209);
INSERT INTO public.lifecycle_events VALUES ('785', 'job-5', 36, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:09+00', 'w1', '', 'beat-5-32', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:08.000000Z"}', '{"lease":"2026-11-20T11:01:08.000000Z"}', NULL, 1, NULL, NULL, 2415721499, 1718762990);
INSERT INTO public.lifecycle_events VALUES ('786', 'job-5', 37, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:10+00', 'w1', '', 'beat-5-33', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:09.000000Z"}', '{"lease":"2026-11-20T11:01:09.000000Z"}', NULL, 1, NULL, NULL, 3622277366, 197070496);
INSERT INTO public.lifecycle_events VALUES ('787', 'job-5', 38, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:11+00', 'w1', '', 'beat-5-34', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:10.000000Z"}', '{"lease":"2026-11-20T11:01:10.000000Z"}', NULL, 1, NULL, NULL, 2274871194, 2774257018);
INSERT INTO public.lifecycle_events VALUES ('788', 'job-5', 39, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:12+00', 'w1', '', 'beat-5-35', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:11.000000Z"}', '{"lease":"2026-11-20T11:01:11.000000Z"}', NULL, 1, NULL, NULL, 3951157514, 3037091864);
INSERT INTO public.lifecycle_events VALUES ('789', 'job-5', 40, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:13+00', 'w1', '', 'beat-5-36', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:12.000000Z"}', '{"lease":"2026-11-20T11:01:12.000000Z"}', NULL, 1, NULL, NULL, 2934089608, 3219084624);
INSERT INTO public.lifecycle_events VALUES ('790', 'job-5', 41, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:14+00', 'w1', '', 'beat-5-37', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:13.000000Z"}', '{"lease":"2026-11-20T11:01:13.000000Z"}', NULL, 1, NULL, NULL, 2553569474, 4106726834);
INSERT INTO public.lifecycle_events VALUES ('791', 'job-5', 42, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:15+00', 'w1', '', 'beat-5-38', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:14.000000Z"}', '{"lease":"2026-11-20T11:01:14.000000Z"}', NULL, 1, NULL, NULL, 3565926694, 3705808988);
INSERT INTO public.lifecycle_events VALUES ('792', 'job-5', 43, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:16+00', 'w1', '', 'beat-5-39', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:15.000000Z"}', '{"lease":"2026-11-20T11:01:15.000000Z"}', NULL, 1, NULL, NULL, 3097337782, 3433244810);
INSERT INTO public.lifecycle_events VALUES ('793', 'job-5', 44, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:17+00', 'w1', '', 'beat-5-40', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:16.000000Z"}', '{"lease":"2026-11-20T11:01:16.000000Z"}', NULL, 1, NULL, NULL, 1801056324, 439533954);
INSERT INTO public.lifecycle_events VALUES ('794', 'job-5', 45, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:18+00', 'w1', '', 'beat-5-41', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:17.000000Z"}', '{"lease":"2026-11-20T11:01:17.000000Z"}', NULL, 1, NULL, NULL, 3893294266, 2817889376);
INSERT INTO public.lifecycle_events VALUES ('795', 'job-5', 46, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:19+00', 'w1', '', 'beat-5-42', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:18.000000Z"}', '{"lease":"2026-11-20T11:01:18.000000Z"}', NULL, 1, NULL, NULL, 3724628762, 2778326586);
INSERT INTO public.lifecycle_events VALUES ('796', 'job-5', 47, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:20+00', 'w1', '', 'beat-5-43', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:19.000000Z"}', '{"lease":"2026-11-20T11:01:19.000000Z"}', NULL, 1, NULL, NULL, 394188329, 46416759);
INSERT INTO public.lifecycle_events VALUES ('797', 'job-5', 48, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:21+00', 'w1', '', 'beat-5-44', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:20.000000Z"}', '{"lease":"2026-11-20T11:01:20.000000Z"}', NULL, 1, NULL, NULL, 177586997, 3700160394);
INSERT INTO public.lifecycle_events VALUES ('798', 'job-5', 49, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:22+00', 'w1', '', 'beat-5-45', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:21.000000Z"}', '{"lease":"2026-11-20T11:01:21.000000Z"}', NULL, 1, NULL, NULL, 1719920037, 551195619);
INSERT INTO public.lifecycle_events VALUES ('799', 'job-5', 50, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:23+00', 'w1', '', 'beat-5-46', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:22.000000Z"}', '{"lease":"2026-11-20T11:01:22.000000Z"}', NULL, 1, NULL, NULL, 3865133144, 2172128945);
INSERT INTO public.lifecycle_events VALUES ('800', 'job-5', 51, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:24+00', 'w1', '', 'beat-5-47', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:23.000000Z"}', '{"lease":"2026-11-20T11:01:23.000000Z"}', NULL, 1, NULL, NULL, 3501688594, 1370924981);
INSERT INTO public.lifecycle_events VALUES ('801', 'job-5', 52, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:25+00', 'w1', '', 'beat-5-48', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:24.000000Z"}', '{"lease":"2026-11-20T11:01:24.000000Z"}', NULL, 1, NULL, NULL, 2617794294, 4086456549);
INSERT INTO public.lifecycle_events VALUES ('802', 'job-5', 53, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:26+00', 'w1', '', 'beat-5-49', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:25.000000Z"}', '{"lease":"2026-11-20T11:01:25.000000Z"}', NULL, 1, NULL, NULL, 4028528742, 1150091493);
INSERT INTO public.lifecycle_events VALUES ('803', 'job-5', 54, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:27+00', 'w1', '', 'beat-5-50', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:26.000000Z"}', '{"lease":"2026-11-20T11:01:26.000000Z"}', NULL, 1, NULL, NULL, 2035758434, 1213177313);
INSERT INTO public.lifecycle_events VALUES ('804', 'job-5', 55, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:28+00', 'w1', '', 'beat-5-51', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:27.000000Z"}', '{"lease":"2026-11-20T11:01:27.000000Z"}', NULL, 1, NULL, NULL, 4194316700, 2958408399);
INSERT INTO public.lifecycle_events VALUES ('805', 'job-5', 56, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:29+00', 'w1', '', 'beat-5-52', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:28.000000Z"}', '{"lease":"2026-11-20T11:01:28.000000Z"}', NULL, 1, NULL, NULL, 3423573564, 839166489);
INSERT INTO public.lifecycle_events VALUES ('806', 'job-5', 57, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:30+00', 'w1', '', 'beat-5-53', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:29.000000Z"}', '{"lease":"2026-11-20T11:01:29.000000Z"}', NULL, 1, NULL, NULL, 2484402897, 1785511980);
INSERT INTO public.lifecycle_events VALUES ('807', 'job-5', 58, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:31+00', 'w1', '', 'beat-5-54', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:30.000000Z"}', '{"lease":"2026-11-20T11:01:30.000000Z"}', NULL, 1, NULL, NULL, 3294932413, 2039952129);
INSERT INTO public.lifecycle_events VALUES ('808', 'job-5', 59, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:32+00', 'w1', '', 'beat-5-55', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:31.000000Z"}', '{"lease":"2026-11-20T11:01:31.000000Z"}', NULL, 1, NULL, NULL, 2826079021, 309843392);
INSERT INTO public.lifecycle_events VALUES ('809', 'job-5', 60, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:33+00', 'w1', '', 'beat-5-56', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:32.000000Z"}', '{"lease":"2026-11-20T11:01:32.000000Z"}', NULL, 1, NULL, NULL, 2538298794, 1777392362);
INSERT INTO public.lifecycle_events VALUES ('810', 'job-5', 61, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:34+00', 'w1', '', 'beat-5-57', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:33.000000Z"}', '{"lease":"2026-11-20T11:01:33.000000Z"}', NULL, 1, NULL, NULL, 2711460576, 1371945278);
INSERT INTO public.lifecycle_events VALUES ('811', 'job-5', 62, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:35+00', 'w1', '', 'beat-5-58', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:34.000000Z"}', '{"lease":"2026-11-20T11:01:34.000000Z"}', NULL, 1, NULL, NULL, 3978445572, 3861798814);
INSERT INTO public.lifecycle_events VALUES ('812', 'job-5', 63, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:36+00', 'w1', '', 'beat-5-59', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:35.000000Z"}', '{"lease":"2026-11-20T11:01:35.000000Z"}', NULL, 1, NULL, NULL, 2167694740, 2050288462);
INSERT INTO public.lifecycle_events VALUES ('813', 'job-5', 64, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:37+00', 'w1', '', 'beat-5-60', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:36.000000Z"}', '{"lease":"2026-11-20T11:01:36.000000Z"}', '{"created_at":"2026-11-20T10:00:08.000000Z","updated_at":"2026-11-20T10:01:37.000000Z","dedupe_key":"key-5","payload":{"n":5},"owner":"w1","lease":"2026-11-20T11:01:36.000000Z","result":null,"error":null,"attempt":1}', 1, NULL, NULL, 4017849018, 2664033924);
INSERT INTO public.lifecycle_events VALUES ('814', 'job-5', 65, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:38+00', 'w1', '', 'beat-5-61', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:37.000000Z"}', '{"lease":"2026-11-20T11:01:37.000000Z"}', NULL, 1, NULL, NULL, 3176215100, 959687688);
INSERT INTO public.lifecycle_events VALUES ('815', 'job-5', 66, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:39+00', 'w1', '', 'beat-5-62', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:38.000000Z"}', '{"lease":"2026-11-20T11:01:38.000000Z"}', NULL, 1, NULL, NULL, 2338231708, 2679531060);
INSERT INTO public.lifecycle_events VALUES ('816', 'job-5', 67, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:40+00', 'w1', '', 'beat-5-63', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:39.000000Z"}', '{"lease":"2026-11-20T11:01:39.000000Z"}', NULL, 1, NULL, NULL, 1106536540, 3793177656);
INSERT INTO public.lifecycle_events VALUES ('817', 'job-5', 68, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:41+00', 'w1', '', 'beat-5-64', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:40.000000Z"}', '{"lease":"2026-11-20T11:01:40.000000Z"}', NULL, 1, NULL, NULL, 3341416864, 3923178952);
INSERT INTO public.lifecycle_events VALUES ('818', 'job-5', 69, 0, 'heartbeat', 'heartbeat', 'running', 'running', '2026-11-20 10:01:42+00', 'w1', '', 'beat-5-65', -1, 'v1:6082836aabcbcad3535d3796e5d7ba0b555aeb9f3d97dcc2e21b1395e81404a7', NULL, '{"lease":"2026-11-20T11:01:41.000000Z"}', '{"lease":"2026-11-20T11:01:41.000000Z"}', NULL, 1, NULL, NULL, 2873089840, 2426718472);
INSERT INTO public.lifecycle_events VALUES ('819', 'job-6', 2, 0, 'claim_next', 'claimed', 'queued', 'claimed', '2026-11-20 10:01:44+00', 'w1', '', 'claim-6', 0, 'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2', NULL, '{"lease":"2026-11-20T11:01:42.000000Z"}', '{"owner":"w1","lease":"2026-11-20T11:01:42.000000Z","attempt":1}', NULL, 1, NULL, NULL, 499705837, 810759225);
INSERT INTO public.lifecycle_events VALUES ('820', 'job-7', 2, 0, 'claim_next', 'claimed', 'queued', 'claimed', '2026-11-20 10:01:46+00', 'w1', '', 'claim-7', 0, 'v1:4871a040cd39ebbc18a36ae39fe7dc2622376c164347aa98b6346a7ed5fa49d2', NULL, '{"lease":"2026-11-20T11:01:44.000000Z"}', '{"owner":"w1","lease":"2026-11-20T11:01:44.000000Z","attempt":1}', NULL, 1, NULL, NULL, 4247493453, 1749904714);
ALTER TABLE ONLY public.fsm_meta
    ADD CONSTRAINT fsm_meta_pkey PRIMARY KEY (machine);
ALTER TABLE ONLY public.lifecycle_events
    ADD CONSTRAINT lifecycle_events_revision UNIQUE (id, rev, n);
ALTER TABLE ONLY public.lifecycle_groups
    ADD CONSTRAINT lifecycle_groups_pkey PRIMARY KEY (name, key);
ALTER TABLE ONLY public.lifecycle_outbox
    ADD CONSTRAINT lifecycle_outbox_pkey PRIMARY KEY (id, rev);
ALTER TABLE ONLY public.lifecycle
    ADD CONSTRAINT lifecycle_pkey PRIMARY KEY (id);
CREATE INDEX lifecycle_due_stall ON public.lifecycle USING btree (lease, id) WHERE (state = ANY (ARRAY['claimed'::text, 'running'::text]));
CREATE UNIQUE INDEX lifecycle_events_batch ON public.lifecycle_events USING btree (request_id, request_n) WHERE (request_n >= 0);
CREATE INDEX lifecycle_events_log ON public.lifecycle_events USING btree (xid, id, rev, n);
CREATE UNIQUE INDEX lifecycle_events_request ON public.lifecycle_events USING btree (id, request_id) WHERE (request_id IS NOT NULL);
CREATE INDEX lifecycle_next_claim_next ON public.lifecycle USING btree (created_at, id) WHERE (state = ANY (ARRAY['queued'::text, 'stalled'::text]));
CREATE INDEX lifecycle_outbox_due ON public.lifecycle_outbox USING btree (due, id, rev);
CREATE INDEX lifecycle_state ON public.lifecycle USING btree (state, id);
CREATE UNIQUE INDEX lifecycle_unique_dedupe_enqueue ON public.lifecycle USING btree (dedupe_key) WHERE (dedupe_key IS NOT NULL);
CREATE CONSTRAINT TRIGGER lifecycle_events_has_row AFTER INSERT ON public.lifecycle_events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.lifecycle_events_has_row();
CREATE TRIGGER lifecycle_events_keep BEFORE DELETE OR UPDATE ON public.lifecycle_events FOR EACH ROW EXECUTE FUNCTION public.lifecycle_events_keep();
CREATE TRIGGER lifecycle_events_truncate BEFORE TRUNCATE ON public.lifecycle_events FOR EACH STATEMENT EXECUTE FUNCTION public.lifecycle_events_keep();
CREATE TRIGGER lifecycle_guard BEFORE INSERT OR DELETE OR UPDATE ON public.lifecycle FOR EACH ROW EXECUTE FUNCTION public.lifecycle_guard();
CREATE CONSTRAINT TRIGGER lifecycle_has_event AFTER INSERT OR UPDATE ON public.lifecycle DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.lifecycle_has_event();
CREATE TRIGGER lifecycle_truncate BEFORE TRUNCATE ON public.lifecycle FOR EACH STATEMENT EXECUTE FUNCTION public.lifecycle_keep();
