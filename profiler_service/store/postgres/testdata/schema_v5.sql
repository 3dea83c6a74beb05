--
-- PostgreSQL database dump
--

\restrict RHHsfndPTwQ30g2HJj2w5uLH6A0Jp9v3oyLAZjZphEoWQTRJy3aHz8Pgj0uIYNC

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: sassay; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA sassay;


--
-- Name: count_accepted(); Type: FUNCTION; Schema: sassay; Owner: -
--

CREATE FUNCTION sassay.count_accepted() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO tenant_slots AS t (tenant, slot, queued) VALUES (NEW.tenant, my_slot(), 1)
    ON CONFLICT (tenant, slot) DO UPDATE SET queued = t.queued + 1;
  RETURN NULL;
END $$;


--
-- Name: count_moved(); Type: FUNCTION; Schema: sassay; Owner: -
--

CREATE FUNCTION sassay.count_moved() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO tenant_slots AS t (tenant, slot, queued, leased)
    VALUES (NEW.tenant, my_slot(), (NEW.state = 0)::integer - (OLD.state = 0)::integer,
            (NEW.state = 1)::integer - (OLD.state = 1)::integer)
    ON CONFLICT (tenant, slot) DO UPDATE SET queued = t.queued + excluded.queued, leased = t.leased + excluded.leased;
  RETURN NULL;
END $$;


--
-- Name: finished_is_final(); Type: FUNCTION; Schema: sassay; Owner: -
--

CREATE FUNCTION sassay.finished_is_final() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.state = 0 AND EXISTS (
      SELECT 1 FROM exclusions x WHERE x.id = OLD.id AND x.attempt = OLD.attempt AND x.rerun = 1) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'a finished submission stays finished';
END $$;


--
-- Name: my_slot(); Type: FUNCTION; Schema: sassay; Owner: -
--

CREATE FUNCTION sassay.my_slot() RETURNS integer
    LANGUAGE sql STABLE
    AS $$ SELECT coalesce(nullif(current_setting('sassay.slot', true), ''), '-1')::integer $$;


--
-- Name: never_changes(); Type: FUNCTION; Schema: sassay; Owner: -
--

CREATE FUNCTION sassay.never_changes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION '% never change', TG_TABLE_NAME;
END $$;


--
-- Name: number_audit(); Type: FUNCTION; Schema: sassay; Owner: -
--

CREATE FUNCTION sassay.number_audit() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  NEW.sequence := (SELECT coalesce(max(sequence), 0) + 1 FROM audit);
  RETURN NEW;
END $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: attempts; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.attempts (
    id text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    gpu text NOT NULL COLLATE pg_catalog."C",
    seated_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    gpu_ns bigint NOT NULL,
    status integer NOT NULL
);


--
-- Name: audit; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.audit (
    sequence bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    target text NOT NULL,
    outcome text NOT NULL,
    detail text NOT NULL
);


--
-- Name: blob_chunks; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.blob_chunks (
    sha256 text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    bytes bytea NOT NULL
);
ALTER TABLE ONLY sassay.blob_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;


--
-- Name: blob_folder; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.blob_folder (
    one boolean DEFAULT true NOT NULL,
    id text NOT NULL,
    CONSTRAINT blob_folder_one_check CHECK (one)
);


--
-- Name: blob_holders; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.blob_holders (
    tenant text NOT NULL COLLATE pg_catalog."C",
    sha256 text NOT NULL COLLATE pg_catalog."C",
    size bigint NOT NULL,
    used_at bigint NOT NULL
);


--
-- Name: blob_upload_chunks; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.blob_upload_chunks (
    tenant text NOT NULL COLLATE pg_catalog."C",
    sha256 text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    bytes bytea NOT NULL
);
ALTER TABLE ONLY sassay.blob_upload_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;


--
-- Name: blob_uploads; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.blob_uploads (
    tenant text NOT NULL COLLATE pg_catalog."C",
    sha256 text NOT NULL COLLATE pg_catalog."C",
    committed bigint NOT NULL,
    arrived_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: blobs; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.blobs (
    sha256 text NOT NULL COLLATE pg_catalog."C",
    size bigint NOT NULL,
    file text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: events; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.events (
    id text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    event bytea NOT NULL
);


--
-- Name: exclusions; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.exclusions (
    place bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    incident text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL,
    rerun smallint NOT NULL,
    sequence bigint NOT NULL
);


--
-- Name: exclusions_place_seq; Type: SEQUENCE; Schema: sassay; Owner: -
--

ALTER TABLE sassay.exclusions ALTER COLUMN place ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME sassay.exclusions_place_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: holds; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.holds (
    gpu text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL COLLATE pg_catalog."C",
    state integer NOT NULL,
    reason text NOT NULL,
    incident text NOT NULL COLLATE pg_catalog."C",
    since bigint NOT NULL,
    actor text NOT NULL
);


--
-- Name: incidents; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.incidents (
    place bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    until bigint NOT NULL,
    incident bytea NOT NULL
);


--
-- Name: incidents_place_seq; Type: SEQUENCE; Schema: sassay; Owner: -
--

ALTER TABLE sassay.incidents ALTER COLUMN place ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME sassay.incidents_place_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: nodes; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.nodes (
    name text NOT NULL COLLATE pg_catalog."C",
    instance text NOT NULL,
    facts bytea NOT NULL,
    seen bigint NOT NULL,
    draining smallint NOT NULL
)
WITH (fillfactor='50');


--
-- Name: pools; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.pools (
    arch text NOT NULL COLLATE pg_catalog."C",
    virtual_time bigint NOT NULL
)
WITH (fillfactor='50');


--
-- Name: provisional; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.provisional (
    id text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    gpu text NOT NULL COLLATE pg_catalog."C",
    ended_at bigint NOT NULL
);


--
-- Name: schema_version; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.schema_version (
    one boolean DEFAULT true NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT schema_version_one_check CHECK (one)
);


--
-- Name: settlements; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.settlements (
    place bigint NOT NULL,
    arch text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    charged bigint NOT NULL,
    gpu_ns bigint NOT NULL,
    outcome smallint NOT NULL,
    at bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');


--
-- Name: settlements_place_seq; Type: SEQUENCE; Schema: sassay; Owner: -
--

ALTER TABLE sassay.settlements ALTER COLUMN place ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME sassay.settlements_place_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: shares; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.shares (
    arch text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    pass bigint NOT NULL,
    batch_credit bigint NOT NULL,
    running_interactive bigint NOT NULL,
    running_batch bigint NOT NULL,
    charged_interactive bigint NOT NULL,
    charged_batch bigint NOT NULL,
    recent_interactive bigint NOT NULL,
    recent_batch bigint NOT NULL,
    attempts_interactive bigint NOT NULL,
    attempts_batch bigint NOT NULL,
    as_of_interactive bigint NOT NULL,
    as_of_batch bigint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');


--
-- Name: submissions; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.submissions (
    place bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    request_id text NOT NULL COLLATE pg_catalog."C",
    request bytea NOT NULL,
    state smallint DEFAULT 0 NOT NULL,
    accepted_at bigint NOT NULL,
    queue_deadline bigint NOT NULL,
    run_deadline bigint NOT NULL,
    attempt bigint DEFAULT 0 NOT NULL,
    failures bigint DEFAULT 0 NOT NULL,
    losses bigint DEFAULT 0 NOT NULL,
    exclusions bigint DEFAULT 0 NOT NULL,
    cancelling smallint DEFAULT 0 NOT NULL,
    last_sequence bigint DEFAULT 0 NOT NULL,
    owner text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    epoch bigint DEFAULT 0 NOT NULL,
    expires_at bigint DEFAULT 0 NOT NULL,
    arch text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    priority smallint DEFAULT 0 NOT NULL,
    model text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    workload text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    lost smallint DEFAULT 0 NOT NULL,
    lost_on text DEFAULT ''::text NOT NULL,
    node text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    charged bigint DEFAULT 0 NOT NULL,
    reuse_key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    reused_from text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');


--
-- Name: submissions_place_seq; Type: SEQUENCE; Schema: sassay; Owner: -
--

ALTER TABLE sassay.submissions ALTER COLUMN place ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME sassay.submissions_place_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: tenant_slots; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.tenant_slots (
    tenant text NOT NULL COLLATE pg_catalog."C",
    slot integer NOT NULL,
    last_turn bigint DEFAULT 0 NOT NULL,
    queued bigint DEFAULT 0 NOT NULL,
    leased bigint DEFAULT 0 NOT NULL,
    verdicts bigint DEFAULT 0 NOT NULL,
    gpu_ns bigint DEFAULT 0 NOT NULL,
    excluded_verdicts bigint DEFAULT 0 NOT NULL,
    excluded_gpu_ns bigint DEFAULT 0 NOT NULL,
    lost_attempts bigint DEFAULT 0 NOT NULL,
    lost_gpu_ns bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');


--
-- Name: tenants; Type: VIEW; Schema: sassay; Owner: -
--

CREATE VIEW sassay.tenants AS
 SELECT tenant_slots.tenant AS name,
    max(tenant_slots.last_turn) AS last_turn,
    (sum(tenant_slots.queued))::bigint AS queued,
    (sum(tenant_slots.leased))::bigint AS leased,
    (sum(tenant_slots.verdicts))::bigint AS verdicts,
    (sum(tenant_slots.gpu_ns))::bigint AS gpu_ns,
    (sum(tenant_slots.excluded_verdicts))::bigint AS excluded_verdicts,
    (sum(tenant_slots.excluded_gpu_ns))::bigint AS excluded_gpu_ns,
    (sum(tenant_slots.lost_attempts))::bigint AS lost_attempts,
    (sum(tenant_slots.lost_gpu_ns))::bigint AS lost_gpu_ns
   FROM sassay.tenant_slots
  GROUP BY tenant_slots.tenant;


--
-- Name: turns; Type: SEQUENCE; Schema: sassay; Owner: -
--

CREATE SEQUENCE sassay.turns
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: verdicts; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.verdicts (
    id text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    status integer NOT NULL,
    decided_at bigint NOT NULL
);


--
-- Name: weights; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.weights (
    tenant text NOT NULL COLLATE pg_catalog."C",
    weight bigint NOT NULL
);


--
-- Name: windows; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.windows (
    gpu text NOT NULL COLLATE pg_catalog."C",
    incident text NOT NULL COLLATE pg_catalog."C",
    since bigint NOT NULL,
    until bigint NOT NULL,
    reason text NOT NULL
);


--
-- Name: writers; Type: TABLE; Schema: sassay; Owner: -
--

CREATE TABLE sassay.writers (
    writer text NOT NULL COLLATE pg_catalog."C",
    transaction bigint NOT NULL,
    seen timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='50');


--
-- Data for Name: attempts; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.attempts (id, attempt, gpu, seated_at, ended_at, gpu_ns, status) FROM stdin;
finished	1	h	1700000000000000000	1700000001000000000	0	1
excluded	1	g	1700000000000000000	1700000001000000000	0	1
\.


--
-- Data for Name: audit; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.audit (sequence, at, actor, action, target, outcome, detail) FROM stdin;
1	1700000000000000000	root	a	b	OK	
\.


--
-- Data for Name: blob_chunks; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.blob_chunks (sha256, "position", bytes) FROM stdin;
\.


--
-- Data for Name: blob_folder; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.blob_folder (one, id) FROM stdin;
\.


--
-- Data for Name: blob_holders; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.blob_holders (tenant, sha256, size, used_at) FROM stdin;
\.


--
-- Data for Name: blob_upload_chunks; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.blob_upload_chunks (tenant, sha256, "position", bytes) FROM stdin;
\.


--
-- Data for Name: blob_uploads; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.blob_uploads (tenant, sha256, committed, arrived_at) FROM stdin;
\.


--
-- Data for Name: blobs; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.blobs (sha256, size, file) FROM stdin;
\.


--
-- Data for Name: events; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.events (id, sequence, event) FROM stdin;
finished	1	\\x0a0866696e697368656410011a060880e2cfaa062200
excluded	1	\\x0a086578636c7564656410011a060880e2cfaa0622020801
queued	1	\\x0a0671756575656410011a060880e2cfaa0622020802
finished	2	\\x0a0866696e697368656410022a020804
finished	3	\\x0a0866696e697368656410031a060881e2cfaa0642150a0866696e69736865641001a201060881e2cfaa06
excluded	2	\\x0a086578636c7564656410021a060881e2cfaa0642150a086578636c756465641001a201060881e2cfaa06
excluded	3	\\x0a086578636c7564656410031a060880e2cfaa06520c080112080a01691203686f74
\.


--
-- Data for Name: exclusions; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.exclusions (place, id, attempt, tenant, at, incident, reason, rerun, sequence) FROM stdin;
1	excluded	1	ann	1700000000000000000	i	hot	0	3
\.


--
-- Data for Name: holds; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.holds (gpu, holder, state, reason, incident, since, actor) FROM stdin;
g	operator	5			1700000000000000000	root
\.


--
-- Data for Name: incidents; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.incidents (place, id, revision, until, incident) FROM stdin;
\.


--
-- Data for Name: nodes; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.nodes (name, instance, facts, seen, draining) FROM stdin;
\.


--
-- Data for Name: pools; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.pools (arch, virtual_time) FROM stdin;
	0
\.


--
-- Data for Name: provisional; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.provisional (id, attempt, gpu, ended_at) FROM stdin;
\.


--
-- Data for Name: schema_version; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.schema_version (one, version) FROM stdin;
t	5
\.


--
-- Data for Name: settlements; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.settlements (place, arch, tenant, priority, charged, gpu_ns, outcome, at) FROM stdin;
1		ann	0	5000000	0	0	1700000001000000000
2		ann	0	5000000	0	0	1700000001000000000
\.


--
-- Data for Name: shares; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.shares (arch, tenant, pass, batch_credit, running_interactive, running_batch, charged_interactive, charged_batch, recent_interactive, recent_batch, attempts_interactive, attempts_batch, as_of_interactive, as_of_batch) FROM stdin;
	ann	10000000	0	2	0	10000000	0	0	0	0	0	0	0
\.


--
-- Data for Name: submissions; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.submissions (place, id, tenant, request_id, request, state, accepted_at, queue_deadline, run_deadline, attempt, failures, losses, exclusions, cancelling, last_sequence, owner, epoch, expires_at, arch, priority, model, workload, lost, lost_on, node, charged, reuse_key, reused_from) FROM stdin;
3	queued	ann	queued	\\x0a06717565756564	0	1700000000000000000	1700003600000000000	60000000000	0	0	0	0	0	1		0	0		0			0			0		
1	finished	ann	finished	\\x0a0866696e6973686564	2	1700000000000000000	1700003600000000000	60000000000	1	0	0	0	0	3		1	1700000030000000000		0			0		local	5000000		
2	excluded	ann	excluded	\\x0a086578636c75646564	2	1700000000000000000	1700003600000000000	60000000000	1	0	0	1	0	3		1	1700000030000000000		0			0		local	5000000		
\.


--
-- Data for Name: tenant_slots; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.tenant_slots (tenant, slot, last_turn, queued, leased, verdicts, gpu_ns, excluded_verdicts, excluded_gpu_ns, lost_attempts, lost_gpu_ns) FROM stdin;
ann	0	0	1	0	1	0	1	0	0	0
\.


--
-- Data for Name: verdicts; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.verdicts (id, sequence, status, decided_at) FROM stdin;
finished	3	1	1700000001000000000
excluded	2	1	1700000001000000000
\.


--
-- Data for Name: weights; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.weights (tenant, weight) FROM stdin;
\.


--
-- Data for Name: windows; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.windows (gpu, incident, since, until, reason) FROM stdin;
g	i	1700000000000000000	9223372036854775807	hot
\.


--
-- Data for Name: writers; Type: TABLE DATA; Schema: sassay; Owner: -
--

COPY sassay.writers (writer, transaction, seen) FROM stdin;
2f62bd439d0200c13bbeae8a5309c975	11	2026-11-30 21:47:58.352163+00
\.


--
-- Name: exclusions_place_seq; Type: SEQUENCE SET; Schema: sassay; Owner: -
--

SELECT pg_catalog.setval('sassay.exclusions_place_seq', 1, true);


--
-- Name: incidents_place_seq; Type: SEQUENCE SET; Schema: sassay; Owner: -
--

SELECT pg_catalog.setval('sassay.incidents_place_seq', 1, false);


--
-- Name: settlements_place_seq; Type: SEQUENCE SET; Schema: sassay; Owner: -
--

SELECT pg_catalog.setval('sassay.settlements_place_seq', 2, true);


--
-- Name: submissions_place_seq; Type: SEQUENCE SET; Schema: sassay; Owner: -
--

SELECT pg_catalog.setval('sassay.submissions_place_seq', 3, true);


--
-- Name: turns; Type: SEQUENCE SET; Schema: sassay; Owner: -
--

SELECT pg_catalog.setval('sassay.turns', 1, false);


--
-- Name: attempts attempts_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (id, attempt);


--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (sequence);


--
-- Name: blob_chunks blob_chunks_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.blob_chunks
    ADD CONSTRAINT blob_chunks_pkey PRIMARY KEY (sha256, "position");


--
-- Name: blob_folder blob_folder_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.blob_folder
    ADD CONSTRAINT blob_folder_pkey PRIMARY KEY (one);


--
-- Name: blob_holders blob_holders_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.blob_holders
    ADD CONSTRAINT blob_holders_pkey PRIMARY KEY (tenant, sha256);


--
-- Name: blob_upload_chunks blob_upload_chunks_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.blob_upload_chunks
    ADD CONSTRAINT blob_upload_chunks_pkey PRIMARY KEY (tenant, sha256, "position");


--
-- Name: blob_uploads blob_uploads_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.blob_uploads
    ADD CONSTRAINT blob_uploads_pkey PRIMARY KEY (tenant, sha256);


--
-- Name: blobs blobs_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (sha256);


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id, sequence);


--
-- Name: exclusions exclusions_id_attempt_key; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.exclusions
    ADD CONSTRAINT exclusions_id_attempt_key UNIQUE (id, attempt);


--
-- Name: exclusions exclusions_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.exclusions
    ADD CONSTRAINT exclusions_pkey PRIMARY KEY (place);


--
-- Name: holds holds_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.holds
    ADD CONSTRAINT holds_pkey PRIMARY KEY (gpu, holder);


--
-- Name: incidents incidents_id_revision_key; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.incidents
    ADD CONSTRAINT incidents_id_revision_key UNIQUE (id, revision);


--
-- Name: incidents incidents_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.incidents
    ADD CONSTRAINT incidents_pkey PRIMARY KEY (place);


--
-- Name: nodes nodes_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (name);


--
-- Name: pools pools_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.pools
    ADD CONSTRAINT pools_pkey PRIMARY KEY (arch);


--
-- Name: provisional provisional_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.provisional
    ADD CONSTRAINT provisional_pkey PRIMARY KEY (id);


--
-- Name: schema_version schema_version_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (one);


--
-- Name: settlements settlements_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.settlements
    ADD CONSTRAINT settlements_pkey PRIMARY KEY (place);


--
-- Name: shares shares_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.shares
    ADD CONSTRAINT shares_pkey PRIMARY KEY (arch, tenant);


--
-- Name: submissions submissions_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.submissions
    ADD CONSTRAINT submissions_pkey PRIMARY KEY (id);


--
-- Name: submissions submissions_tenant_request_id_key; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.submissions
    ADD CONSTRAINT submissions_tenant_request_id_key UNIQUE (tenant, request_id);


--
-- Name: tenant_slots tenant_slots_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.tenant_slots
    ADD CONSTRAINT tenant_slots_pkey PRIMARY KEY (tenant, slot);


--
-- Name: verdicts verdicts_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.verdicts
    ADD CONSTRAINT verdicts_pkey PRIMARY KEY (id);


--
-- Name: weights weights_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.weights
    ADD CONSTRAINT weights_pkey PRIMARY KEY (tenant);


--
-- Name: windows windows_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.windows
    ADD CONSTRAINT windows_pkey PRIMARY KEY (gpu, incident, since);


--
-- Name: writers writers_pkey; Type: CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.writers
    ADD CONSTRAINT writers_pkey PRIMARY KEY (writer);


--
-- Name: attempts_gpu; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX attempts_gpu ON sassay.attempts USING btree (gpu, ended_at);


--
-- Name: blob_holders_sha256; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX blob_holders_sha256 ON sassay.blob_holders USING btree (sha256);


--
-- Name: blob_holders_used; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX blob_holders_used ON sassay.blob_holders USING btree (used_at);


--
-- Name: exclusions_tenant; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX exclusions_tenant ON sassay.exclusions USING btree (tenant, place);


--
-- Name: submissions_copies; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX submissions_copies ON sassay.submissions USING btree (reused_from) WHERE (reused_from <> ''::text);


--
-- Name: submissions_deadline; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX submissions_deadline ON sassay.submissions USING btree (queue_deadline) WHERE (state = 0);


--
-- Name: submissions_leased; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX submissions_leased ON sassay.submissions USING btree (expires_at) WHERE (state = 1);


--
-- Name: submissions_lines; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX submissions_lines ON sassay.submissions USING btree (arch, tenant, priority, lost, model, place) WHERE (state = 0);


--
-- Name: submissions_reuse; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX submissions_reuse ON sassay.submissions USING btree (tenant, reuse_key, place) WHERE ((reuse_key <> ''::text) AND (state = 2));


--
-- Name: submissions_states; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX submissions_states ON sassay.submissions USING btree (arch, tenant, priority, workload, place) WHERE ((state = 0) AND (lost = 0));


--
-- Name: submissions_suspects; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX submissions_suspects ON sassay.submissions USING btree (node) WHERE ((state = 1) AND (lost = 1));


--
-- Name: verdicts_decided; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX verdicts_decided ON sassay.verdicts USING btree (decided_at, id);


--
-- Name: windows_until; Type: INDEX; Schema: sassay; Owner: -
--

CREATE INDEX windows_until ON sassay.windows USING btree (gpu, until);


--
-- Name: attempts attempts_keep; Type: TRIGGER; Schema: sassay; Owner: -
--

CREATE TRIGGER attempts_keep BEFORE UPDATE ON sassay.attempts FOR EACH STATEMENT EXECUTE FUNCTION sassay.never_changes();


--
-- Name: audit audit_keeps; Type: TRIGGER; Schema: sassay; Owner: -
--

CREATE TRIGGER audit_keeps BEFORE DELETE OR UPDATE ON sassay.audit FOR EACH STATEMENT EXECUTE FUNCTION sassay.never_changes();


--
-- Name: audit audit_numbered; Type: TRIGGER; Schema: sassay; Owner: -
--

CREATE TRIGGER audit_numbered BEFORE INSERT ON sassay.audit FOR EACH ROW EXECUTE FUNCTION sassay.number_audit();


--
-- Name: exclusions exclusions_keep; Type: TRIGGER; Schema: sassay; Owner: -
--

CREATE TRIGGER exclusions_keep BEFORE UPDATE ON sassay.exclusions FOR EACH STATEMENT EXECUTE FUNCTION sassay.never_changes();


--
-- Name: incidents incidents_keep; Type: TRIGGER; Schema: sassay; Owner: -
--

CREATE TRIGGER incidents_keep BEFORE DELETE OR UPDATE ON sassay.incidents FOR EACH STATEMENT EXECUTE FUNCTION sassay.never_changes();


--
-- Name: submissions submissions_finished_is_final; Type: TRIGGER; Schema: sassay; Owner: -
--

CREATE TRIGGER submissions_finished_is_final BEFORE UPDATE OF state ON sassay.submissions FOR EACH ROW WHEN (((old.state = 2) AND (new.state <> 2))) EXECUTE FUNCTION sassay.finished_is_final();


--
-- Name: submissions submissions_inserted; Type: TRIGGER; Schema: sassay; Owner: -
--

CREATE TRIGGER submissions_inserted AFTER INSERT ON sassay.submissions FOR EACH ROW EXECUTE FUNCTION sassay.count_accepted();


--
-- Name: submissions submissions_moved; Type: TRIGGER; Schema: sassay; Owner: -
--

CREATE TRIGGER submissions_moved AFTER UPDATE OF state ON sassay.submissions FOR EACH ROW WHEN ((old.state <> new.state)) EXECUTE FUNCTION sassay.count_moved();


--
-- Name: attempts attempts_id_fkey; Type: FK CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.attempts
    ADD CONSTRAINT attempts_id_fkey FOREIGN KEY (id) REFERENCES sassay.submissions(id);


--
-- Name: blob_chunks blob_chunks_sha256_fkey; Type: FK CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.blob_chunks
    ADD CONSTRAINT blob_chunks_sha256_fkey FOREIGN KEY (sha256) REFERENCES sassay.blobs(sha256) ON DELETE CASCADE;


--
-- Name: blob_holders blob_holders_sha256_fkey; Type: FK CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.blob_holders
    ADD CONSTRAINT blob_holders_sha256_fkey FOREIGN KEY (sha256) REFERENCES sassay.blobs(sha256);


--
-- Name: blob_upload_chunks blob_upload_chunks_tenant_sha256_fkey; Type: FK CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.blob_upload_chunks
    ADD CONSTRAINT blob_upload_chunks_tenant_sha256_fkey FOREIGN KEY (tenant, sha256) REFERENCES sassay.blob_uploads(tenant, sha256) ON DELETE CASCADE;


--
-- Name: events events_id_fkey; Type: FK CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.events
    ADD CONSTRAINT events_id_fkey FOREIGN KEY (id) REFERENCES sassay.submissions(id);


--
-- Name: exclusions exclusions_id_fkey; Type: FK CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.exclusions
    ADD CONSTRAINT exclusions_id_fkey FOREIGN KEY (id) REFERENCES sassay.submissions(id);


--
-- Name: provisional provisional_id_fkey; Type: FK CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.provisional
    ADD CONSTRAINT provisional_id_fkey FOREIGN KEY (id) REFERENCES sassay.submissions(id);


--
-- Name: verdicts verdicts_id_fkey; Type: FK CONSTRAINT; Schema: sassay; Owner: -
--

ALTER TABLE ONLY sassay.verdicts
    ADD CONSTRAINT verdicts_id_fkey FOREIGN KEY (id) REFERENCES sassay.submissions(id);


--
-- PostgreSQL database dump complete
--

\unrestrict RHHsfndPTwQ30g2HJj2w5uLH6A0Jp9v3oyLAZjZphEoWQTRJy3aHz8Pgj0uIYNC

