CREATE FUNCTION public.notice_events_has_row() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW."n" > 0 THEN
        IF NEW."operation" = '__purge' THEN
            IF EXISTS (SELECT 1 FROM "notice" AS r WHERE r."id" = NEW."id" AND (r."rev" <> NEW."rev" OR r."state" NOT IN ('delivered', 'dropped')))
            OR NOT EXISTS (SELECT 1 FROM "notice_events" AS e WHERE e."id" = NEW."id" AND e."rev" = 1 AND e."n" = 0) THEN
                RAISE EXCEPTION 'fsm: notice: % is not finished and cannot be purged', quote_literal(NEW."id") USING ERRCODE = 'FS005';
            END IF;
            RETURN NULL;
        END IF;
        IF NOT EXISTS (SELECT 1 FROM "notice" AS r WHERE r."id" = NEW."id" AND r."rev" >= NEW."rev") THEN
            RAISE EXCEPTION 'fsm: notice: % has no revision %', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
        END IF;
        IF NOT EXISTS (SELECT 1 FROM "notice_events" AS e WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" AND e."n" = NEW."n" - 1 AND e."to" = NEW."to") THEN
            RAISE EXCEPTION 'fsm: notice: %: the log of revision % has a gap', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
        END IF;
        RETURN NULL;
    END IF;
    IF NEW."operation" || ': ' || coalesce(NEW."from", '') || ' > ' || NEW."to" NOT IN (
        'publish:  > due', 'confirm: due > delivered', 'give_up: due > dead', 'retry: dead > due',
        'drop: dead > dropped') THEN
        RAISE EXCEPTION 'fsm: notice: %: % makes no move from % to %', quote_literal(NEW."id"), NEW."operation", coalesce(NEW."from", 'nothing'), NEW."to" USING ERRCODE = 'FS005';
    END IF;
    IF NEW."rev" > 1 THEN
        IF EXISTS (SELECT 1 FROM "notice_events" AS e
            WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" - 1 AND e."n" = 0 AND e."to" = NEW."from"
              AND (e."xid" = NEW."xid" AND EXISTS (SELECT 1 FROM (SELECT max(l."rev") AS "rev" FROM "notice_events" AS l WHERE l."id" = NEW."id") AS newest
                    WHERE newest."rev" > NEW."rev" AND NOT EXISTS (SELECT 1 FROM "notice_events" AS p
                        WHERE p."id" = NEW."id" AND p."rev" = newest."rev" AND p."operation" = '__purge'))
                OR EXISTS (SELECT 1 FROM "notice" AS r WHERE r."id" = NEW."id" AND r."rev" >= NEW."rev"))) THEN
            RETURN NULL;
        END IF;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM "notice" AS r WHERE r."id" = NEW."id" AND r."rev" >= NEW."rev") THEN
        RAISE EXCEPTION 'fsm: notice: % has no revision %', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
    END IF;
    IF NEW."rev" > 1 THEN
        RAISE EXCEPTION 'fsm: notice: %: the event of revision % does not follow the one before it', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.notice_events_keep() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD."operation" <> '__purge'
            AND EXISTS (SELECT 1 FROM "notice_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0)
            AND NOT EXISTS (SELECT 1 FROM "notice" AS r WHERE r."id" = OLD."id")
            AND OLD."request_n" < 0
            AND NOT (OLD."rev" = 1 AND OLD."n" = 0) THEN
            RETURN OLD;
        END IF;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF OLD."operation" <> '__purge'
            AND EXISTS (SELECT 1 FROM "notice_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0)
            AND NOT EXISTS (SELECT 1 FROM "notice" AS r WHERE r."id" = OLD."id")
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
    RAISE EXCEPTION 'fsm: notice: the log is append-only: %', lower(TG_OP) USING ERRCODE = 'FS006';
END
$$;
CREATE FUNCTION public.notice_guard() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD."state" NOT IN ('delivered', 'dropped') OR NOT EXISTS (SELECT 1 FROM "notice_events" AS p WHERE p."id" = OLD."id" AND p."operation" = '__purge' AND p."n" > 0 AND p."rev" = OLD."rev") THEN
            RAISE EXCEPTION 'fsm: notice: % is never deleted', quote_literal(OLD."id") USING ERRCODE = 'FS006';
        END IF;
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW."state" NOT IN ('due') THEN
            RAISE EXCEPTION 'fsm: notice: % begins in due', quote_literal(NEW."id") USING ERRCODE = 'FS001';
        END IF;
        IF NEW."rev" <> 1 THEN
            RAISE EXCEPTION 'fsm: notice: % begins at revision 1', quote_literal(NEW."id") USING ERRCODE = 'FS001';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD."state" = 'due' AND NEW."state" NOT IN ('delivered', 'dead') THEN
        RAISE EXCEPTION 'fsm: notice: %: the state due leads to delivered, dead only', quote_literal(OLD."id") USING ERRCODE = 'FS002';
    END IF;
    IF OLD."state" = 'delivered' THEN
        RAISE EXCEPTION 'fsm: notice: % is in the terminal state delivered and never changes', quote_literal(OLD."id") USING ERRCODE = 'FS003';
    END IF;
    IF OLD."state" = 'dead' AND NEW."state" NOT IN ('due', 'dropped') THEN
        RAISE EXCEPTION 'fsm: notice: %: the state dead leads to due, dropped only', quote_literal(OLD."id") USING ERRCODE = 'FS002';
    END IF;
    IF OLD."state" = 'dropped' THEN
        RAISE EXCEPTION 'fsm: notice: % is in the terminal state dropped and never changes', quote_literal(OLD."id") USING ERRCODE = 'FS003';
    END IF;
    IF NEW."id" <> OLD."id" THEN
        RAISE EXCEPTION 'fsm: notice: %: the id never changes', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."rev" <> OLD."rev" + 1 THEN
        RAISE EXCEPTION 'fsm: notice: %: the revision rises by one', quote_literal(OLD."id") USING ERRCODE = 'FS005';
    END IF;
    IF NEW."created_at" <> OLD."created_at" THEN
        RAISE EXCEPTION 'fsm: notice: %: created_at never changes', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."updated_at" < OLD."updated_at" THEN
        RAISE EXCEPTION 'fsm: notice: %: updated_at never falls', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."topic" IS DISTINCT FROM OLD."topic" THEN
        RAISE EXCEPTION 'fsm: notice: %: topic never changes after the creation', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."number" IS DISTINCT FROM OLD."number" THEN
        RAISE EXCEPTION 'fsm: notice: %: number never changes after the creation', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    IF NEW."body"::text IS DISTINCT FROM OLD."body"::text THEN
        RAISE EXCEPTION 'fsm: notice: %: body never changes after the creation', quote_literal(OLD."id") USING ERRCODE = 'FS004';
    END IF;
    RETURN NEW;
END
$$;
CREATE FUNCTION public.notice_has_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    made_by text COLLATE "C";
    came_from text COLLATE "C";
BEGIN
    IF TG_OP = 'UPDATE' THEN
        came_from := OLD."state";
    END IF;
    SELECT e."operation" INTO made_by FROM "notice_events" AS e
    WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" AND e."n" = 0
      AND e."from" IS NOT DISTINCT FROM came_from AND e."to" = NEW."state" AND e."operation" <> '__purged';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'fsm: notice: %: revision % has no event', quote_literal(NEW."id"), NEW."rev" USING ERRCODE = 'FS005';
    END IF;
    IF TG_OP = 'INSERT' THEN
        RETURN NULL;
    END IF;
    IF NEW."give_up_at" IS DISTINCT FROM OLD."give_up_at" AND made_by NOT IN ('confirm', 'give_up', 'retry') THEN
        RAISE EXCEPTION 'fsm: notice: %: give_up_at is changed by confirm, give_up, retry only', quote_literal(NEW."id") USING ERRCODE = 'FS004';
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.notice_keep() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'fsm: notice: records are never removed: %', lower(TG_OP) USING ERRCODE = 'FS006';
END
$$;
CREATE TABLE public.fsm_meta (
    machine text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    enforce text NOT NULL COLLATE pg_catalog."C",
    dialect text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.notice (
    id text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    rev bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    topic text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    body json NOT NULL,
    give_up_at timestamp with time zone,
    CONSTRAINT "due: give_up_at is present" CHECK (((state <> 'due'::text) OR (give_up_at IS NOT NULL))),
    CONSTRAINT "id is not empty" CHECK ((id <> ''::text)),
    CONSTRAINT "number is a number of a sequence" CHECK ((number >= 1)),
    CONSTRAINT "rev is at least 1" CHECK ((rev >= 1)),
    CONSTRAINT "state is known" CHECK ((state = ANY (ARRAY['due'::text, 'delivered'::text, 'dead'::text, 'dropped'::text])))
);
CREATE TABLE public.notice_events (
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
CREATE TABLE public.notice_groups (
    name text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL
);
CREATE TABLE public.notice_outbox (
    id text NOT NULL COLLATE pg_catalog."C",
    rev bigint NOT NULL,
    effect text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    attempts bigint NOT NULL,
    due timestamp with time zone NOT NULL,
    last_error text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT "attempts is a count" CHECK ((attempts >= 0))
);
INSERT INTO public.fsm_meta VALUES ('notice', 1, '001a4e3142201df24d44d5c7e556e839053d8219fcfd7ee1725626b0a08fef59', 'full', 'postgres');
INSERT INTO public.notice VALUES ('notice-1', 'due', 1, '2026-11-20 10:00:07+00', '2026-11-20 10:00:07+00', 'b', 1, '{"n":1}', '2026-11-20 11:00:07+00');
INSERT INTO public.notice VALUES ('notice-2', 'due', 1, '2026-11-20 10:00:10+00', '2026-11-20 10:00:10+00', 'a', 2, '{"n":2}', '2026-11-20 11:00:10+00');
INSERT INTO public.notice VALUES ('notice-0', 'delivered', 2, '2026-11-20 10:00:04+00', '2026-11-20 10:00:16+00', 'a', 1, '{"n":0}', NULL);
INSERT INTO public.notice VALUES ('notice-3', 'delivered', 2, '2026-11-20 10:00:13+00', '2026-11-20 10:00:19+00', 'b', 2, '{"n":3}', NULL);
INSERT INTO public.notice VALUES ('notice-4', 'due', 1, '2026-11-20 10:00:21+00', '2026-11-20 10:00:21+00', 'a', 3, '{"n":4}', '2026-11-20 11:00:21+00');
INSERT INTO public.notice VALUES ('notice-5', 'due', 1, '2026-11-20 10:00:24+00', '2026-11-20 10:00:24+00', 'b', 3, '{"n":5}', '2026-11-20 11:00:24+00');
INSERT INTO public.notice VALUES ('notice-6', 'due', 1, '2026-11-20 10:00:27+00', '2026-11-20 10:00:27+00', 'a', 4, '{"n":6}', '2026-11-20 11:00:27+00');
INSERT INTO public.notice_events VALUES ('726', 'notice-0', 1, 0, 'publish', 'publish', NULL, 'due', '2026-11-20 10:00:04+00', '', '', 'publish-0', 0, 'v1:df3ea8589ed5c769754e52c17a1bb8cee3684b7dc02dc89d01a882ea081f5549', NULL, '{"topic":"a","body":{"n":0}}', '{"topic":"a","number":1,"body":{"n":0},"give_up_at":"2026-11-20T11:00:04.000000Z"}', '{"created_at":"2026-11-20T10:00:04.000000Z","updated_at":"2026-11-20T10:00:04.000000Z","topic":"a","number":1,"body":{"n":0},"give_up_at":"2026-11-20T11:00:04.000000Z"}', 1, NULL, NULL, 3577267593, 3577267593);
INSERT INTO public.notice_events VALUES ('727', 'notice-1', 1, 0, 'publish', 'publish', NULL, 'due', '2026-11-20 10:00:07+00', '', '', 'publish-1', 0, 'v1:40c713348a1f588623a6b73be297fadf70440a61946dd344c01b12157cd461ac', NULL, '{"topic":"b","body":{"n":1}}', '{"topic":"b","number":1,"body":{"n":1},"give_up_at":"2026-11-20T11:00:07.000000Z"}', '{"created_at":"2026-11-20T10:00:07.000000Z","updated_at":"2026-11-20T10:00:07.000000Z","topic":"b","number":1,"body":{"n":1},"give_up_at":"2026-11-20T11:00:07.000000Z"}', 1, NULL, NULL, 2097564300, 2097564300);
INSERT INTO public.notice_events VALUES ('728', 'notice-2', 1, 0, 'publish', 'publish', NULL, 'due', '2026-11-20 10:00:10+00', '', '', 'publish-2', 0, 'v1:9ae9073859a6c0f22b461f85f520564667a83c89e6322e2fc317aff5519e6109', NULL, '{"topic":"a","body":{"n":2}}', '{"topic":"a","number":2,"body":{"n":2},"give_up_at":"2026-11-20T11:00:10.000000Z"}', '{"created_at":"2026-11-20T10:00:10.000000Z","updated_at":"2026-11-20T10:00:10.000000Z","topic":"a","number":2,"body":{"n":2},"give_up_at":"2026-11-20T11:00:10.000000Z"}', 1, NULL, NULL, 2532023539, 2532023539);
INSERT INTO public.notice_events VALUES ('729', 'notice-3', 1, 0, 'publish', 'publish', NULL, 'due', '2026-11-20 10:00:13+00', '', '', 'publish-3', 0, 'v1:68669457f516455ecf7f904505ed20999ba9522bb41344f3e1fbf6774a413602', NULL, '{"topic":"b","body":{"n":3}}', '{"topic":"b","number":2,"body":{"n":3},"give_up_at":"2026-11-20T11:00:13.000000Z"}', '{"created_at":"2026-11-20T10:00:13.000000Z","updated_at":"2026-11-20T10:00:13.000000Z","topic":"b","number":2,"body":{"n":3},"give_up_at":"2026-11-20T11:00:13.000000Z"}', 1, NULL, NULL, 313972988, 313972988);
INSERT INTO public.notice_events VALUES ('730', 'notice-0', 2, 0, 'confirm', 'confirm', 'due', 'delivered', '2026-11-20 10:00:16+00', 'system', '', 'sys:confirm:1', -1, 'v1:b91c77a2c87695486c2bf6052a9fd63abfdecb76131c2472553620a322b2da83', NULL, '{}', '{"give_up_at":null}', NULL, 1, 'publish', NULL, 1113995647, 1942302762);
INSERT INTO public.notice_events VALUES ('733', 'notice-3', 2, 0, 'confirm', 'confirm', 'due', 'delivered', '2026-11-20 10:00:19+00', 'system', '', 'sys:confirm:1', -1, 'v1:b91c77a2c87695486c2bf6052a9fd63abfdecb76131c2472553620a322b2da83', NULL, '{}', '{"give_up_at":null}', NULL, 1, 'publish', NULL, 4159780929, 1774767349);
INSERT INTO public.notice_events VALUES ('734', 'notice-4', 1, 0, 'publish', 'publish', NULL, 'due', '2026-11-20 10:00:21+00', '', '', 'publish-4', 0, 'v1:6b5cd9d298c50642284a9b3d6ff363098f3f94437f4cda62ec9e9d53b1dd0f9b', NULL, '{"topic":"a","body":{"n":4}}', '{"topic":"a","number":3,"body":{"n":4},"give_up_at":"2026-11-20T11:00:21.000000Z"}', '{"created_at":"2026-11-20T10:00:21.000000Z","updated_at":"2026-11-20T10:00:21.000000Z","topic":"a","number":3,"body":{"n":4},"give_up_at":"2026-11-20T11:00:21.000000Z"}', 1, NULL, NULL, 4104633232, 4104633232);
INSERT INTO public.notice_events VALUES ('735', 'notice-5', 1, 0, 'publish', 'publish', NULL, 'due', '2026-11-20 10:00:24+00', '', '', 'publish-5', 0, 'v1:e85a784a59e7edbd06e0f0eb16d1711a510870cf6feb293e1c8bf1b20109ccfc', NULL, '{"topic":"b","body":{"n":5}}', '{"topic":"b","number":3,"body":{"n":5},"give_up_at":"2026-11-20T11:00:24.000000Z"}', '{"created_at":"2026-11-20T10:00:24.000000Z","updated_at":"2026-11-20T10:00:24.000000Z","topic":"b","number":3,"body":{"n":5},"give_up_at":"2026-11-20T11:00:24.000000Z"}', 1, NULL, NULL, 1530148751, 1530148751);
INSERT INTO public.notice_events VALUES ('736', 'notice-6', 1, 0, 'publish', 'publish', NULL, 'due', '2026-11-20 10:00:27+00', '', '', 'publish-6', 0, 'v1:a18cc3a4907c54bc61f204ebb777006c5265e236d44f96ed02219ab77fe965d2', NULL, '{"topic":"a","body":{"n":6}}', '{"topic":"a","number":4,"body":{"n":6},"give_up_at":"2026-11-20T11:00:27.000000Z"}', '{"created_at":"2026-11-20T10:00:27.000000Z","updated_at":"2026-11-20T10:00:27.000000Z","topic":"a","number":4,"body":{"n":6},"give_up_at":"2026-11-20T11:00:27.000000Z"}', 1, NULL, NULL, 1875548015, 1875548015);
INSERT INTO public.notice_groups VALUES ('number', '["b"]', 3);
INSERT INTO public.notice_groups VALUES ('number', '["a"]', 4);
INSERT INTO public.notice_outbox VALUES ('notice-1', 1, 'post', '"b"/1', 1, '2026-11-20 10:00:18+00', 'the receiver is down');
INSERT INTO public.notice_outbox VALUES ('notice-2', 1, 'post', '"a"/2', 1, '2026-11-20 10:00:19+00', 'the receiver is down');
INSERT INTO public.notice_outbox VALUES ('notice-4', 1, 'post', '"a"/3', 0, '2026-11-20 10:00:22+00', '');
INSERT INTO public.notice_outbox VALUES ('notice-5', 1, 'post', '"b"/3', 0, '2026-11-20 10:00:25+00', '');
INSERT INTO public.notice_outbox VALUES ('notice-6', 1, 'post', '"a"/4', 0, '2026-11-20 10:00:28+00', '');
ALTER TABLE ONLY public.fsm_meta
    ADD CONSTRAINT fsm_meta_pkey PRIMARY KEY (machine);
ALTER TABLE ONLY public.notice_events
    ADD CONSTRAINT notice_events_revision UNIQUE (id, rev, n);
ALTER TABLE ONLY public.notice_groups
    ADD CONSTRAINT notice_groups_pkey PRIMARY KEY (name, key);
ALTER TABLE ONLY public.notice_outbox
    ADD CONSTRAINT notice_outbox_pkey PRIMARY KEY (id, rev);
ALTER TABLE ONLY public.notice
    ADD CONSTRAINT notice_pkey PRIMARY KEY (id);
CREATE INDEX notice_due_give_up ON public.notice USING btree (give_up_at, id) WHERE (state = 'due'::text);
CREATE UNIQUE INDEX notice_events_batch ON public.notice_events USING btree (request_id, request_n) WHERE (request_n >= 0);
CREATE INDEX notice_events_log ON public.notice_events USING btree (xid, id, rev, n);
CREATE UNIQUE INDEX notice_events_request ON public.notice_events USING btree (id, request_id) WHERE (request_id IS NOT NULL);
CREATE INDEX notice_outbox_due ON public.notice_outbox USING btree (due, id, rev);
CREATE INDEX notice_state ON public.notice USING btree (state, id);
CREATE UNIQUE INDEX notice_unique_sequence_number ON public.notice USING btree (topic, number);
CREATE CONSTRAINT TRIGGER notice_events_has_row AFTER INSERT ON public.notice_events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.notice_events_has_row();
CREATE TRIGGER notice_events_keep BEFORE DELETE OR UPDATE ON public.notice_events FOR EACH ROW EXECUTE FUNCTION public.notice_events_keep();
CREATE TRIGGER notice_events_truncate BEFORE TRUNCATE ON public.notice_events FOR EACH STATEMENT EXECUTE FUNCTION public.notice_events_keep();
CREATE TRIGGER notice_guard BEFORE INSERT OR DELETE OR UPDATE ON public.notice FOR EACH ROW EXECUTE FUNCTION public.notice_guard();
CREATE CONSTRAINT TRIGGER notice_has_event AFTER INSERT OR UPDATE ON public.notice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.notice_has_event();
CREATE TRIGGER notice_truncate BEFORE TRUNCATE ON public.notice FOR EACH STATEMENT EXECUTE FUNCTION public.notice_keep();
