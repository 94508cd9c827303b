--
-- PostgreSQL database dump
--

\restrict UgbW8tIwgIK1wCUoAQICPhH4BLoZgES3svl1NCNzZgpcjkjxF6NEgdX8D8hbg6C

-- Dumped from database version 18.6 (Debian 18.6-3)
-- Dumped by pg_dump version 18.6 (Debian 18.6-3)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: alembic_version; Type: TABLE; Schema: public; Owner: magnum
--

CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);


ALTER TABLE public.alembic_version OWNER TO magnum;

--
-- Name: cluster; Type: TABLE; Schema: public; Owner: magnum
--

CREATE TABLE public.cluster (
    id integer NOT NULL,
    project_id character varying(255),
    user_id character varying(255),
    uuid character varying(36),
    name character varying(255),
    cluster_template_id character varying(255),
    keypair character varying(255),
    docker_volume_size integer,
    labels text,
    master_flavor_id character varying(255),
    flavor_id character varying(255),
    stack_id character varying(255),
    api_address character varying(255),
    status character varying(20),
    status_reason text,
    health_status character varying(20),
    health_status_reason text,
    create_timeout integer,
    discovery_url character varying(255),
    coe_version character varying(255),
    container_version character varying(255),
    ca_cert_ref character varying(512),
    magnum_cert_ref character varying(512),
    etcd_ca_cert_ref character varying(512),
    front_proxy_ca_cert_ref character varying(512),
    fixed_network character varying(255),
    fixed_subnet character varying(255),
    floating_ip_enabled boolean,
    master_lb_enabled boolean,
    created_at timestamp without time zone,
    updated_at timestamp without time zone
);


ALTER TABLE public.cluster OWNER TO magnum;

--
-- Name: cluster_id_seq; Type: SEQUENCE; Schema: public; Owner: magnum
--

CREATE SEQUENCE public.cluster_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER SEQUENCE public.cluster_id_seq OWNER TO magnum;

--
-- Name: cluster_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: magnum
--

ALTER SEQUENCE public.cluster_id_seq OWNED BY public.cluster.id;


--
-- Name: cluster_template; Type: TABLE; Schema: public; Owner: magnum
--

CREATE TABLE public.cluster_template (
    id integer NOT NULL,
    uuid character varying(36),
    project_id character varying(255),
    user_id character varying(255),
    name character varying(255),
    image_id character varying(255),
    flavor_id character varying(255),
    master_flavor_id character varying(255),
    keypair_id character varying(255),
    external_network_id character varying(255),
    fixed_network character varying(255),
    fixed_subnet character varying(255),
    network_driver character varying(255),
    volume_driver character varying(255),
    dns_nameserver character varying(255),
    apiserver_port integer,
    docker_volume_size integer,
    docker_storage_driver character varying(255),
    cluster_distro character varying(255),
    coe character varying(255),
    http_proxy character varying(255),
    https_proxy character varying(255),
    no_proxy character varying(255),
    registry_enabled boolean,
    labels text,
    tls_disabled boolean,
    public boolean,
    server_type character varying(255),
    insecure_registry character varying(255),
    master_lb_enabled boolean,
    floating_ip_enabled boolean,
    hidden boolean,
    tags character varying(255),
    driver character varying(255),
    created_at timestamp without time zone,
    updated_at timestamp without time zone
);


ALTER TABLE public.cluster_template OWNER TO magnum;

--
-- Name: cluster_template_id_seq; Type: SEQUENCE; Schema: public; Owner: magnum
--

CREATE SEQUENCE public.cluster_template_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER SEQUENCE public.cluster_template_id_seq OWNER TO magnum;

--
-- Name: cluster_template_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: magnum
--

ALTER SEQUENCE public.cluster_template_id_seq OWNED BY public.cluster_template.id;


--
-- Name: federation; Type: TABLE; Schema: public; Owner: magnum
--

CREATE TABLE public.federation (
    id integer NOT NULL,
    project_id character varying(255),
    uuid character varying(36),
    name character varying(255),
    hostcluster_id character varying(255),
    member_ids text,
    status character varying(20),
    status_reason text,
    properties text,
    created_at timestamp without time zone,
    updated_at timestamp without time zone
);


ALTER TABLE public.federation OWNER TO magnum;

--
-- Name: federation_id_seq; Type: SEQUENCE; Schema: public; Owner: magnum
--

CREATE SEQUENCE public.federation_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER SEQUENCE public.federation_id_seq OWNER TO magnum;

--
-- Name: federation_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: magnum
--

ALTER SEQUENCE public.federation_id_seq OWNED BY public.federation.id;


--
-- Name: magnum_service; Type: TABLE; Schema: public; Owner: magnum
--

CREATE TABLE public.magnum_service (
    id integer NOT NULL,
    host character varying(255),
    "binary" character varying(255),
    disabled boolean,
    disabled_reason character varying(255),
    last_seen_up timestamp without time zone,
    forced_down boolean,
    report_count integer NOT NULL,
    created_at timestamp without time zone,
    updated_at timestamp without time zone
);


ALTER TABLE public.magnum_service OWNER TO magnum;

--
-- Name: magnum_service_id_seq; Type: SEQUENCE; Schema: public; Owner: magnum
--

CREATE SEQUENCE public.magnum_service_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER SEQUENCE public.magnum_service_id_seq OWNER TO magnum;

--
-- Name: magnum_service_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: magnum
--

ALTER SEQUENCE public.magnum_service_id_seq OWNED BY public.magnum_service.id;


--
-- Name: nodegroup; Type: TABLE; Schema: public; Owner: magnum
--

CREATE TABLE public.nodegroup (
    id integer NOT NULL,
    uuid character varying(36),
    name character varying(255),
    cluster_id character varying(255),
    project_id character varying(255),
    docker_volume_size integer,
    labels text,
    flavor_id character varying(255),
    image_id character varying(255),
    node_addresses text,
    node_count integer,
    role character varying(255),
    max_node_count integer,
    min_node_count integer,
    is_default boolean,
    stack_id character varying(255),
    status character varying(20),
    status_reason text,
    version character varying(20),
    node_labels text,
    node_taints text,
    created_at timestamp without time zone,
    updated_at timestamp without time zone
);


ALTER TABLE public.nodegroup OWNER TO magnum;

--
-- Name: nodegroup_id_seq; Type: SEQUENCE; Schema: public; Owner: magnum
--

CREATE SEQUENCE public.nodegroup_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER SEQUENCE public.nodegroup_id_seq OWNER TO magnum;

--
-- Name: nodegroup_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: magnum
--

ALTER SEQUENCE public.nodegroup_id_seq OWNED BY public.nodegroup.id;


--
-- Name: quotas; Type: TABLE; Schema: public; Owner: magnum
--

CREATE TABLE public.quotas (
    id integer NOT NULL,
    project_id character varying(255),
    resource character varying(255),
    hard_limit integer,
    created_at timestamp without time zone,
    updated_at timestamp without time zone
);


ALTER TABLE public.quotas OWNER TO magnum;

--
-- Name: quotas_id_seq; Type: SEQUENCE; Schema: public; Owner: magnum
--

CREATE SEQUENCE public.quotas_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER SEQUENCE public.quotas_id_seq OWNER TO magnum;

--
-- Name: quotas_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: magnum
--

ALTER SEQUENCE public.quotas_id_seq OWNED BY public.quotas.id;


--
-- Name: x509keypair; Type: TABLE; Schema: public; Owner: magnum
--

CREATE TABLE public.x509keypair (
    id integer NOT NULL,
    uuid character varying(36),
    certificate text,
    private_key text,
    private_key_passphrase text,
    intermediates text,
    project_id character varying(255),
    user_id character varying(255),
    created_at timestamp without time zone,
    updated_at timestamp without time zone
);


ALTER TABLE public.x509keypair OWNER TO magnum;

--
-- Name: x509keypair_id_seq; Type: SEQUENCE; Schema: public; Owner: magnum
--

CREATE SEQUENCE public.x509keypair_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER SEQUENCE public.x509keypair_id_seq OWNER TO magnum;

--
-- Name: x509keypair_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: magnum
--

ALTER SEQUENCE public.x509keypair_id_seq OWNED BY public.x509keypair.id;


--
-- Name: cluster id; Type: DEFAULT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.cluster ALTER COLUMN id SET DEFAULT nextval('public.cluster_id_seq'::regclass);


--
-- Name: cluster_template id; Type: DEFAULT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.cluster_template ALTER COLUMN id SET DEFAULT nextval('public.cluster_template_id_seq'::regclass);


--
-- Name: federation id; Type: DEFAULT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.federation ALTER COLUMN id SET DEFAULT nextval('public.federation_id_seq'::regclass);


--
-- Name: magnum_service id; Type: DEFAULT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.magnum_service ALTER COLUMN id SET DEFAULT nextval('public.magnum_service_id_seq'::regclass);


--
-- Name: nodegroup id; Type: DEFAULT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.nodegroup ALTER COLUMN id SET DEFAULT nextval('public.nodegroup_id_seq'::regclass);


--
-- Name: quotas id; Type: DEFAULT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.quotas ALTER COLUMN id SET DEFAULT nextval('public.quotas_id_seq'::regclass);


--
-- Name: x509keypair id; Type: DEFAULT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.x509keypair ALTER COLUMN id SET DEFAULT nextval('public.x509keypair_id_seq'::regclass);


--
-- Data for Name: alembic_version; Type: TABLE DATA; Schema: public; Owner: magnum
--

COPY public.alembic_version (version_num) FROM stdin;
b3e1cf4a2d5e
\.


--
-- Data for Name: cluster; Type: TABLE DATA; Schema: public; Owner: magnum
--

COPY public.cluster (id, project_id, user_id, uuid, name, cluster_template_id, keypair, docker_volume_size, labels, master_flavor_id, flavor_id, stack_id, api_address, status, status_reason, health_status, health_status_reason, create_timeout, discovery_url, coe_version, container_version, ca_cert_ref, magnum_cert_ref, etcd_ca_cert_ref, front_proxy_ca_cert_ref, fixed_network, fixed_subnet, floating_ip_enabled, master_lb_enabled, created_at, updated_at) FROM stdin;
17	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	6c9f3a52-5c0e-4b9f-9a5c-000000000001	shop-prod	0b7a9e0c-0d3c-4a51-8a41-000000000001	ops	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	m1.large	shop-prod-k3v9x2m4q7zd	https://203.0.113.21:6443	CREATE_COMPLETE	\N	HEALTHY	{"cluster": "Ready", "infrastructure": "Ready", "controlplane": "Ready", "nodegroup": "Ready"}	60	\N	v1.34.2	\N	http://barbican/v1/containers/1	http://barbican/v1/containers/2	\N	\N	\N	\N	t	t	2026-02-03 09:01:12	2026-02-03 09:21:12
18	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	6c9f3a52-5c0e-4b9f-9a5c-000000000002	old-heat	0b7a9e0c-0d3c-4a51-8a41-000000000002	ops	\N	{"kube_tag": "v1.21.11"}	m1.medium	m1.large	7e5c4b7d-9d0d-4e0b-8a7f-9c113f1d5a0b	https://203.0.113.22:6443	CREATE_COMPLETE	\N	HEALTHY	{"api": "ok", "old-heat-master-0.Ready": "True"}	60	\N	v1.21.11	\N	5a1b1f4f-6a2f-4c10-8000-000000000001	http://barbican/v1/containers/2	5a1b1f4f-6a2f-4c10-8000-000000000002	5a1b1f4f-6a2f-4c10-8000-000000000003	\N	\N	t	t	2026-02-03 09:02:12	2026-02-03 09:22:12
19	aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	6c9f3a52-5c0e-4b9f-9a5c-000000000003	vex	0b7a9e0c-0d3c-4a51-8a41-000000000001	ops	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	m1.large	kube-abc12	https://203.0.113.23:6443	CREATE_COMPLETE	\N	HEALTHY	{"cluster": "Ready", "infrastructure": "Ready", "controlplane": "Ready", "nodegroup": "Ready"}	60	\N	v1.34.2	\N	http://barbican/v1/containers/1	http://barbican/v1/containers/2	\N	\N	\N	\N	t	t	2026-02-03 09:03:12	2026-02-03 09:23:12
20	aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	6c9f3a52-5c0e-4b9f-9a5c-000000000004	twin	0b7a9e0c-0d3c-4a51-8a41-000000000001	ops	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	m1.large	twin-aaaaaaaaaaaa	https://203.0.113.24:6443	CREATE_COMPLETE	\N	HEALTHY	{"cluster": "Ready", "infrastructure": "Ready", "controlplane": "Ready", "nodegroup": "Ready"}	60	\N	v1.34.2	\N	http://barbican/v1/containers/1	http://barbican/v1/containers/2	\N	\N	\N	\N	t	t	2026-02-03 09:04:12	2026-02-03 09:24:12
21	aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	6c9f3a52-5c0e-4b9f-9a5c-000000000005	twin	0b7a9e0c-0d3c-4a51-8a41-000000000001	ops	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	m1.large	twin-bbbbbbbbbbbb	https://203.0.113.25:6443	UPDATE_IN_PROGRESS	\N	HEALTHY	{"cluster": "Ready", "infrastructure": "Ready", "controlplane": "Ready", "nodegroup": "Ready"}	60	\N	v1.34.2	\N	http://barbican/v1/containers/1	http://barbican/v1/containers/2	\N	\N	\N	\N	t	t	2026-02-03 09:05:12	2026-02-03 09:25:12
22	dead5a0b7e5c4b7d9d0d6e0b4a7f9c33	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	6c9f3a52-5c0e-4b9f-9a5c-000000000006	orphan	0b7a9e0c-0d3c-4a51-8a41-000000000001	ops	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	m1.large	orphan-cccccccccccc	https://203.0.113.26:6443	CREATE_COMPLETE	\N	HEALTHY	{"cluster": "Ready", "infrastructure": "Ready", "controlplane": "Ready", "nodegroup": "Ready"}	60	\N	v1.34.2	\N	http://barbican/v1/containers/1	http://barbican/v1/containers/2	\N	\N	\N	\N	t	t	2026-02-03 09:06:12	2026-02-03 09:26:12
23	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	6c9f3a52-5c0e-4b9f-9a5c-000000000007	half	0b7a9e0c-0d3c-4a51-8a41-000000000001	ops	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	m1.large	\N	\N	CREATE_FAILED	Quota exceeded; "cores"\nline two\ttab \\ back	\N	{}	60	\N	\N	\N	http://barbican/v1/containers/1	http://barbican/v1/containers/2	\N	\N	\N	\N	t	t	2026-02-03 09:07:12	\N
\.


--
-- Data for Name: cluster_template; Type: TABLE DATA; Schema: public; Owner: magnum
--

COPY public.cluster_template (id, uuid, project_id, user_id, name, image_id, flavor_id, master_flavor_id, keypair_id, external_network_id, fixed_network, fixed_subnet, network_driver, volume_driver, dns_nameserver, apiserver_port, docker_volume_size, docker_storage_driver, cluster_distro, coe, http_proxy, https_proxy, no_proxy, registry_enabled, labels, tls_disabled, public, server_type, insecure_registry, master_lb_enabled, floating_ip_enabled, hidden, tags, driver, created_at, updated_at) FROM stdin;
17	0b7a9e0c-0d3c-4a51-8a41-000000000001	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	k8s-1-34	ubuntu-kube-v1.34.2	m1.large	m1.medium	\N	public	\N	\N	calico	cinder	192.0.2.53,192.0.2.54	\N	\N	\N	ubuntu	kubernetes	\N	\N	\N	f	{"auto_healing_enabled": "true", "monitoring_enabled": "false"}	f	t	vm	\N	t	t	f	a,b	k8s_capi_helm_v1	2026-02-03 09:00:12	\N
18	0b7a9e0c-0d3c-4a51-8a41-000000000002	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	old	fcos-38	m1.large	m1.medium	\N	public	\N	\N	flannel	cinder	192.0.2.53,192.0.2.54	\N	\N	\N	fedora-coreos	kubernetes	\N	\N	\N	f	{"auto_healing_enabled": "true", "monitoring_enabled": "false"}	f	f	vm	\N	f	t	t	\N	k8s_fedora_coreos_v1	2026-02-03 09:00:12	2026-02-03 09:05:12
19	0b7a9e0c-0d3c-4a51-8a41-000000000003	aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	swarm	ubuntu-kube-v1.34.2	m1.large	m1.medium	\N	public	\N	\N	calico	cinder	192.0.2.53,192.0.2.54	\N	\N	\N	ubuntu	swarm	\N	\N	\N	f	{"auto_healing_enabled": "true", "monitoring_enabled": "false"}	f	f	vm	\N	t	t	f	\N	k8s_capi_helm_v1	2026-02-03 09:00:12	\N
\.


--
-- Data for Name: federation; Type: TABLE DATA; Schema: public; Owner: magnum
--

COPY public.federation (id, project_id, uuid, name, hostcluster_id, member_ids, status, status_reason, properties, created_at, updated_at) FROM stdin;
\.


--
-- Data for Name: magnum_service; Type: TABLE DATA; Schema: public; Owner: magnum
--

COPY public.magnum_service (id, host, "binary", disabled, disabled_reason, last_seen_up, forced_down, report_count, created_at, updated_at) FROM stdin;
17	m	magnum-conductor	\N	\N	\N	\N	1	2026-02-03 09:01:12	\N
\.


--
-- Data for Name: nodegroup; Type: TABLE DATA; Schema: public; Owner: magnum
--

COPY public.nodegroup (id, uuid, name, cluster_id, project_id, docker_volume_size, labels, flavor_id, image_id, node_addresses, node_count, role, max_node_count, min_node_count, is_default, stack_id, status, status_reason, version, node_labels, node_taints, created_at, updated_at) FROM stdin;
17	c6b1d7a4-0f0e-4a80-9d0b-000000000010	default-master	6c9f3a52-5c0e-4b9f-9a5c-000000000001	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	ubuntu-kube-v1.34.2	[]	3	master	\N	0	t	shop-prod-k3v9x2m4q7zd	CREATE_COMPLETE	\N	\N	{}	[]	2026-02-03 09:01:12	\N
18	c6b1d7a4-0f0e-4a80-9d0b-000000000011	default-worker	6c9f3a52-5c0e-4b9f-9a5c-000000000001	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.large	ubuntu-kube-v1.34.2	[]	2	worker	5	1	t	shop-prod-k3v9x2m4q7zd	CREATE_COMPLETE	\N	\N	{}	[]	2026-02-03 09:01:12	2026-02-03 09:30:12
19	c6b1d7a4-0f0e-4a80-9d0b-000000000012	gpu_1	6c9f3a52-5c0e-4b9f-9a5c-000000000001	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	g1.large	ubuntu-kube-v1.34.2	[]	1	worker	3	0	f	shop-prod-k3v9x2m4q7zd	CREATE_COMPLETE	\N	\N	{"example.org/pool": "gpu"}	[{"key": "gpu", "value": "true", "effect": "NoSchedule"}]	2026-02-03 09:01:12	\N
20	c6b1d7a4-0f0e-4a80-9d0b-000000000020	default-master	6c9f3a52-5c0e-4b9f-9a5c-000000000002	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	\N	{"kube_tag": "v1.21.11"}	m1.medium	ubuntu-kube-v1.34.2	[]	1	master	\N	0	t	7e5c4b7d-9d0d-4e0b-8a7f-9c113f1d5a0b	CREATE_COMPLETE	\N	\N	{}	[]	2026-02-03 09:02:12	\N
21	c6b1d7a4-0f0e-4a80-9d0b-000000000021	default-worker	6c9f3a52-5c0e-4b9f-9a5c-000000000002	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	\N	{"kube_tag": "v1.21.11"}	m1.large	ubuntu-kube-v1.34.2	[]	1	worker	\N	0	t	7e5c4b7d-9d0d-4e0b-8a7f-9c113f1d5a0b	CREATE_COMPLETE	\N	\N	{}	[]	2026-02-03 09:02:12	\N
22	c6b1d7a4-0f0e-4a80-9d0b-000000000030	default-master	6c9f3a52-5c0e-4b9f-9a5c-000000000003	aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	ubuntu-kube-v1.34.2	[]	1	master	\N	0	t	kube-abc12	CREATE_COMPLETE	\N	\N	{}	[]	2026-02-03 09:03:12	\N
23	c6b1d7a4-0f0e-4a80-9d0b-000000000031	default-worker	6c9f3a52-5c0e-4b9f-9a5c-000000000003	aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.large	ubuntu-kube-v1.34.2	[]	1	worker	\N	0	t	kube-abc12	CREATE_COMPLETE	\N	\N	{}	[]	2026-02-03 09:03:12	\N
24	c6b1d7a4-0f0e-4a80-9d0b-000000000040	default-master	6c9f3a52-5c0e-4b9f-9a5c-000000000004	aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	ubuntu-kube-v1.34.2	[]	1	master	\N	0	t	twin-aaaaaaaaaaaa	CREATE_COMPLETE	\N	\N	{}	[]	2026-02-03 09:04:12	\N
25	c6b1d7a4-0f0e-4a80-9d0b-000000000041	default-worker	6c9f3a52-5c0e-4b9f-9a5c-000000000004	aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.large	ubuntu-kube-v1.34.2	[]	1	worker	\N	0	t	twin-aaaaaaaaaaaa	CREATE_COMPLETE	\N	\N	{}	[]	2026-02-03 09:04:12	\N
26	c6b1d7a4-0f0e-4a80-9d0b-000000000050	default-master	6c9f3a52-5c0e-4b9f-9a5c-000000000005	aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	ubuntu-kube-v1.34.2	[]	1	master	\N	0	t	twin-bbbbbbbbbbbb	UPDATE_IN_PROGRESS	\N	\N	{}	[]	2026-02-03 09:05:12	\N
27	c6b1d7a4-0f0e-4a80-9d0b-000000000051	default-worker	6c9f3a52-5c0e-4b9f-9a5c-000000000005	aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.large	ubuntu-kube-v1.34.2	[]	1	worker	\N	0	t	twin-bbbbbbbbbbbb	UPDATE_IN_PROGRESS	\N	\N	{}	[]	2026-02-03 09:05:12	\N
28	c6b1d7a4-0f0e-4a80-9d0b-000000000060	default-master	6c9f3a52-5c0e-4b9f-9a5c-000000000006	dead5a0b7e5c4b7d9d0d6e0b4a7f9c33	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	ubuntu-kube-v1.34.2	[]	1	master	\N	0	t	orphan-cccccccccccc	CREATE_COMPLETE	\N	\N	{}	[]	2026-02-03 09:06:12	\N
29	c6b1d7a4-0f0e-4a80-9d0b-000000000061	default-worker	6c9f3a52-5c0e-4b9f-9a5c-000000000006	dead5a0b7e5c4b7d9d0d6e0b4a7f9c33	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.large	ubuntu-kube-v1.34.2	[]	1	worker	\N	0	t	orphan-cccccccccccc	CREATE_COMPLETE	\N	\N	{}	[]	2026-02-03 09:06:12	\N
30	c6b1d7a4-0f0e-4a80-9d0b-000000000070	default-master	6c9f3a52-5c0e-4b9f-9a5c-000000000007	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.medium	ubuntu-kube-v1.34.2	[]	1	master	\N	0	t	\N	CREATE_FAILED	\N	\N	{}	[]	2026-02-03 09:07:12	\N
31	c6b1d7a4-0f0e-4a80-9d0b-000000000071	default-worker	6c9f3a52-5c0e-4b9f-9a5c-000000000007	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	\N	{"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \\"kept\\"\\\\n\\u00e9"}	m1.large	ubuntu-kube-v1.34.2	[]	1	worker	\N	0	t	\N	CREATE_FAILED	\N	\N	{}	[]	2026-02-03 09:07:12	\N
\.


--
-- Data for Name: quotas; Type: TABLE DATA; Schema: public; Owner: magnum
--

COPY public.quotas (id, project_id, resource, hard_limit, created_at, updated_at) FROM stdin;
17	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	Cluster	5	2026-02-03 09:01:12	\N
\.


--
-- Data for Name: x509keypair; Type: TABLE DATA; Schema: public; Owner: magnum
--

COPY public.x509keypair (id, uuid, certificate, private_key, private_key_passphrase, intermediates, project_id, user_id, created_at, updated_at) FROM stdin;
17	5a1b1f4f-6a2f-4c10-8000-000000000001	-----BEGIN CERTIFICATE-----\nMIIC9jCCAd6gAwIBAgIRAIbCuMppvkXQjarb5UJ4shQwDQYJKoZIhvcNAQELBQAw\nEzERMA8GA1UEAwwIb2xkLWhlYXQwHhcNMjYxMTI0MDAyNTQzWhcNMzExMTI0MDAy\nNTQzWjATMREwDwYDVQQDDAhvbGQtaGVhdDCCASIwDQYJKoZIhvcNAQEBBQADggEP\nADCCAQoCggEBAMg8bKcMpnKNgErnKyfD3ZyK0Ycgf6w4D13vpIxQZ5yGT0PueUWQ\nIXYWPXTZ/8ZCiXb9G6d5EWDzbKVLFCW/KEO1KyEprZI1D7OcHJHjnpqAHUwd+D0M\n9spvJUdDW7FEozUno38sanWJziGRisqrwWbU1EFqjLc5UtRVvGrjSWn5g4l5ch+S\n33Qyn7rMsCx+dYvvIT3m6QFPimSwsN263RwfHQ0tnnPIk+BsvOnjxJjIOG6F0yWa\njTPp66IXn8Y6LCd8iBp11LL4pwy33F6c186A9IMzF7FOREnNxBWkjRwVsRGRSvyC\nQ5H5J05QnhwKPZqrHPZz1W4oMHH82IyZOcMCAwEAAaNFMEMwEgYDVR0TAQH/BAgw\nBgEB/wIBADAOBgNVHQ8BAf8EBAMCAgQwHQYDVR0OBBYEFFlwV0mxj//vcjj8fb9R\nphJtsqWWMA0GCSqGSIb3DQEBCwUAA4IBAQAsyK02QA/rNBmQ0Ci8k73ytXLKPuVI\nTg9s6ytDwpmQc8u50Ml1fN7nOtbT+SRiMsYaANC4IgbFuCs/U0A3wZBDlL6PQQUs\nfxPJCs7GTAO3nEOonTQequZ8EJJAh79i7SMRP+TGHjRerpxTuEG0h4SOilItEByQ\nMRJrCEPeXHFRGTM6kt+PqilTmAlaUB3Z69Nabwq6Uze9/GjcC1tAXSk1jLbcYQRA\ndBSP8kx5xOLO97KeHQ/BW905b5EEeLCkWPsS+bwz1BytbTCyR4kCcIkcVQa/oRkF\nBPq5uxTT7Y21tIwlSNipSNjEujToz82qKYGTfqf3hWlKeDD+565H0Vc+\n-----END CERTIFICATE-----	-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIFNTBfBgkqhkiG9w0BBQ0wUjAxBgkqhkiG9w0BBQwwJAQQ0QCTboZBqUEercQc\nsmdJsAICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEENK2naTftkQTvcGL\ngXwvBj0EggTQ68Q2gZOvPP6LAmrikUV1G5WRIOhyxTBJjzFID4otJCX/vPoTfxq6\nUZGvxMOKv0n6F350W7wA91mFuTgv1prMf+Btu5I5tTTJr22ib6S1eCwRZcFGGg0l\nLfNGdQhRyu8+68jW024jMtg73FFL+nrOE8QhsGR3oSNG4GkI65PRdXI/utjbVfiy\nvTDPP/VzMW+xMmGQkc54+zepA0BwySNOo7vKdFB+PyNu3t89UV0oFFTd3S9ideTJ\n0zMXO/kDsuEaVneU0+4dkAT2+nzgj8fE35wvYwByquP4cGufaBwH+jKGI+GIi1MI\nC7ZzZH4fgcWR4Ek1p/QIcBA18PDdHj+FgmP2IzW7nhX1NeR9SzvJCm7tXdeeIlGh\ngHbzVCGngFY9l+tcqEBes6V6DuKDHf8fNXNLYKRaQP3HwfzzLXHn9FMk373obsai\nbHdFyKZOx3wZii1JeUYrpa5h+JM3xKy9iBVWNEYIJNRdx9AkyPQbEnBC6PakqvAL\nK48AaSByWLJUr10OD187jmCuU945kLyExAPBelh3aggb6pBQX9/+yz2SVvwcm8vr\nYKV8g1npzyinYNDTVZqba8rplYoDX4sllmgm2f1JRFlVrGPS+0ltLA0ZV6h1ks+D\n8A2uQTeF+kfjCsBnXbbnEBx+fAB0m43CruFQkq422bXCfEFNPeyth/je5a3QTfxe\nlaL6ns74AwLlQB4oOrwwsWhzHXMBeK/TpQf6A2rQbzfnkWzTG+7Gkqv7k50nUl9h\ntmj7wi1dbv4gTAyawFO/vFV52su28xshMlEFustKkQy3FgHMwGzV88R0MiYKl7/X\n/iuK382VNngRQSucYis5IsTJU+rUFzemInrhNGLbhnP61FlFYw8y4EZIyqHkqYql\nGTC+pNYUVxZT2hlowqaRR9RirqYjKtyTRl9QrmGExoIlHkVAWnOPLYn0cMTn9LLh\nzN0fbQaDeLVpJzaw/V3I+rrs9c1xGJfXW1bN8pEJSv0nERFJe2pMJMKPr4MCe0vd\nGlJsdVWfGkoRh3sVH5bVPT3oEKit5a2ou+FiO/4nnuH8DIl57G6gfcCLdiD/SGIx\nF/Ej786EpnPpVgDRMdD/YiGGPtQ02Tti8X8qLNuqUXcstSSkzJZ2vCUukxEBnOYg\nN4JlLZ5mGsYN/Mc/iwe7rbIBUE/ZDMu2uJyIzfOEW4Z8uUzfladRZV16sLhq8imj\n0F11MkJ5tkUvOAA/mzrjcHfO1gr2xBrGzTjsPBs8U/3ECwf4HTHfZnR/SQdDXtiS\naSlfnzyeG9kLUcBsuEKAlcTQWr9lmBo1yKot9+Mj0Bxf2lMv4OlZGKmbUYDtUHIx\nLPSm4rbtI/J8ZaAhjzXqwzBrnt9USpIFWV4HVA/b2PZ2//DfBM1EU5NTYzv8LARJ\n+GXWdMKsiWjOedaBbYSl07iw7CdBVRhAuj4/vMdtVNkcl2bubZXVvtMiqkrSWg+n\nPGSMnvwBgTlavc/Pr38t8o9nJ3aBhIF+CadUwYbwlwu9Bphgo638S6DqHazzukK6\nPevV/8lUuVH0LwrqM+IcV4xV7zOa4h8J+vU5lI619W9dZELIpKpEDoQCoZRChwtQ\nwt/0kVK6kWcnOfdK0gtqJB5M0Y9Y+5ASHaX4sr1aVQi/H/eEMbpwFio=\n-----END ENCRYPTED PRIVATE KEY-----\n	passphrase-0	\N	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	2026-02-03 09:02:12	\N
18	5a1b1f4f-6a2f-4c10-8000-000000000002	-----BEGIN CERTIFICATE-----\nMIIC9TCCAd2gAwIBAgIQGb9CgOaRRi2B7bqZaZ1LJzANBgkqhkiG9w0BAQsFADAT\nMREwDwYDVQQDDAhvbGQtaGVhdDAeFw0yNjExMjQwMDI1NDNaFw0zMTExMjQwMDI1\nNDNaMBMxETAPBgNVBAMMCG9sZC1oZWF0MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\nMIIBCgKCAQEAtzt++9NYR3Dnhi85MJaQr8qH3okIBif9E0nKP3cWBa7kXaaPxQ/t\niUCsN1u1Lj+aye/Usdp6WQYVApOhmXJIJwVVi1lKcKfzJFAVAg4XjUCVmN9tu6sD\nhas2ir/58kRn6jF/aXN4kOnbRh5VDvANMavQfx15Nc7I1nX7DG0MFmqOB8s28GQz\nb+VNPvbcDU2J3OpMYwqgK0K7NDyfdGA1qDuNBRSkvVgA6a2PNPTwt6CAbthorrCI\nSpr1HSU9LV9LVfVqL+7ZgD2evbX7jCuYIw6wrqbWNy0FMJp54WWEg0ctPS9bZ44o\nmal/tjBYTdtrk7pV4zFepCP3Q1UuX40pXQIDAQABo0UwQzASBgNVHRMBAf8ECDAG\nAQH/AgEAMA4GA1UdDwEB/wQEAwICBDAdBgNVHQ4EFgQUu69Q6K2oHUVv+l8qrZcL\nwIq+WO0wDQYJKoZIhvcNAQELBQADggEBACXs51VxgdYZh3yWXABQkKMUk/rZXQ8p\n2LmGQZa851A3Yg+84ZtwRgkt3fXGBjd0w84XbwA80Zz5WqeRrHv4uk1Y2o2LoL0j\nRAb4/oPAf0o7QoZ4uTCimHpG20E0O1d3Y8RGqCFwSOXB8KXqfioctNYYYRtB87j2\nZunvYi0ag8v+QqahY2CUjWXEGXhuVjEP0481fVwgDAEoCbzzA92ZJCWXXmKtt4ev\ni2VfMoaFi0FjKHfBgArH/7OUt2GiyDDGqDOYsgMwRwLflq9KjqVU5PLKAUWGN5zn\niVpsy1ZacY4XK4uyLHuJdn9pvTaZXh8LbDt2aOD60Hdl2i3CDOc5Kms=\n-----END CERTIFICATE-----	-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIFNTBfBgkqhkiG9w0BBQ0wUjAxBgkqhkiG9w0BBQwwJAQQZzV58KBcrzpmFPl6\n/TWZDQICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEIt7iNH4HTFZcbcm\ndQoVNOkEggTQoEOjQdhoJTwkaLXMHLrPaXDjA//kK8VritsUK8VRTvalwKd0MV62\nfh6/PfMoKezSAze0UP2iL31juRNRK1mndfeA6CoCUGl1fBkNmhij7CkHhorMDyO2\ngurTLVIWnk4GqITPEOu9r6ba9guqDEs02QgcYgklHK3JwW7Wu1zxt4wlqAanKoMe\nchIVNDMv+Tr2KvVBiCTKkHb/mgNgkBt2SKVHwAm1VaQhk4Jsx9iusHjO3anRrTI6\nxBctekDilpNGip4ZvTWt/sjtH8O1v7G5Aqi7OJMsFDNSsEDI7E/h2p5afBQRm3Bz\nxiMfZMbDIYRtqeY0m0kFhPFhPYWx4duj2OE+lEC1MrCTc3NxXTjlANWlWyWFBuMF\nFeF4JxliPYAp5fr9Fn+rraU3grx4KxY3B9I7wFC0vZ9/rRnHSkPA4GxxLjSv9HMm\nCKhHXGq7fLkUnimpzv3XqGnDIQs5NKqk96BnLgDwSjUR8Apam5JW0f2DBaDDP/f7\nT5Ej0BGk/sLe/cFIQ+7Ah0PN29k8MZlXUEhLBS7aA4TUsNI2drPxzgwAQyTlcfa8\nK9xfsVoO3K+zWe2BZEkz7G2MyAeTU9tXVLxOdk40b0fYGhz/DVMqlEerSYDDbD1d\n7sqD7Slt3Se2fVjdh3FBt+jEhvkW3BmZXZlaUgGy6DmQfvkGTmJPeTcZt1Qgeeph\nKXknUmLwsBKN5Emt1ubSWAZqAdtDt7GBJD/DscSD2ufNBbl+1lJOheTdFI1tZVEw\nhznv0x0rKBTaqKpbD/bhW/kGSZZuHtRHTxRuL8qKBwjMMq5OuRk0aG3X0LluX6SO\nnRlQBX12mqy4WT0UxINahj5pnB+d6Z5r+6BiX9LE6FYhzMozE9vpnNQnVO9oZxEu\nkVGpqFB0fWm8t9HemPmOgm8v4yC9UI+9OVe5mDZ0SiRU7aCV7KLt9IZQ847tP7MK\nFdEIwmkodBCbbpAug3628AzGGcZ+YRybZaawLSn6BAuDdm/85mRJTe9RkRZ7o31E\nKP8sHm5N6FLekmfSzLOqOq4KkezoAoW7VQZ2ZOsrlVBBVw9s5ucmIbSJFEP//7we\n2wbCqBa+FWyK3nnDsaSuWUA7QYNtfFc2+8VUGidVxKVFIG85otIMBz76GvV18Cwg\n464EMIJOPjHL3WJWD6tUq/8Lyiv+M5cmKWzLkhSZrv9m5t9xyS83/vOVBEJtCXS7\nD85lNW6OHAtJLGD6D+ARPk8t9lLtBJVYML/+fS3HwX+XyW7WTOur6Kh4GKvxQ2Sf\nEMq08f+pD7QLiztp+cg8c35uJUeNxgYDc45PoVT+r05SNxufaoZzygNJ8hyAng2o\nhGT1KSYEfsRXK0I+wp3ChMo6mBPA3pA67bS/QqE7Oj1bpKCfLnjxZ7vV0JBd/lSC\nkiuHXNyBWbwf/pw6MmqLdEC88i7KFy4FjdqakNVamkdkGvhZNhGu1xc0ePDm7wUq\nbWcAz8hMWpL/tZeTpLwppKKO8F1COxrC6aANaVLy7HP9ilyroE37vfAeStXd5jrb\nbzEbdYZw2QqqD+Vk4qiedkG78lK0D9i42efmIraeNaQs9i4vppY8/fFrtuxPJvNw\n7Oei7skZP64+2yPOMoIfsOytQONh4odDLZJLWdd+UiCSio6Pfj4nQ5Q=\n-----END ENCRYPTED PRIVATE KEY-----\n	passphrase-1	\N	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	2026-02-03 09:02:12	\N
19	5a1b1f4f-6a2f-4c10-8000-000000000003	-----BEGIN CERTIFICATE-----\nMIIC9TCCAd2gAwIBAgIQUkVm9sIoSoyI/Jxnb4tr+jANBgkqhkiG9w0BAQsFADAT\nMREwDwYDVQQDDAhvbGQtaGVhdDAeFw0yNjExMjQwMDI1NDNaFw0zMTExMjQwMDI1\nNDNaMBMxETAPBgNVBAMMCG9sZC1oZWF0MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\nMIIBCgKCAQEAwF03zKSLrgLRy+s/Qxud3vdef4NGN8+VisTPBlwf6RuyuQj1bTrr\nDQq4Jooyb/l5vH5MX+XUHBKw9vucAxnTRIutcW60756Rw+phVELKK7s3DbiH+26B\nH5+lk+lM/WhPeBR1/HLJ+CsdrQIxKCFag94ts/tRO7LUTYMA9x7mJT7cx4Ef+hlr\nrJCf80DM0Rp0Yj8T42yA7vHGxGQvD534+m7qZfsI8DcYOeXpQ3EYcmkfiPNnVqsz\nZ8zhOMYkrbJo6UQzEM8SPUAIqCByelvBHV1t54ZVobh9B+QKgjwQxum8vkpnuij4\nxD3GKy0iOoxNV6qDhh8A+khzs/JZuiIXJwIDAQABo0UwQzASBgNVHRMBAf8ECDAG\nAQH/AgEAMA4GA1UdDwEB/wQEAwICBDAdBgNVHQ4EFgQUAktLcbdDa0e3hfPXErgU\n31cpve0wDQYJKoZIhvcNAQELBQADggEBAJziZeRRWuOvro81crmTP4qloOTpXOH8\ninbVLYM+XQJ8/BZpb9AwAOFeDrllm3w+8aVYS4pYrRAP3+Fowc9BN9EUzFPFLyJe\nNt46oOHIBng6GC4nxAundunwbpHR3U7fB0sXSXa6EQYWMJMNll2OutaX3l4P/Wkz\nsYXkc7ARxRy4lDCBArTjS3ZmDFEn/dFoK9V/8wyXUzI/+oPqsq8bxcmoQ9/ITuul\nh6FruOMs/ji1on8mgelIsR6y27FD3JDgGowR+QuZZS4dJ/FWAsgXLQ8m1GgFt3Bc\nd3vhXK81cYa9OBxEqAeBmFQaA5/Y0x1CTJdmRFozfri85GgphwtEB1E=\n-----END CERTIFICATE-----	-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIFNTBfBgkqhkiG9w0BBQ0wUjAxBgkqhkiG9w0BBQwwJAQQCn+omKk5Irv+D9lz\nRAtzsgICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEENienSaOkjEjB8h/\naeuDEjAEggTQ07T3gsNzfjk8NIT1DHrS5onAIi79nMHA6sc5AzVutQy+aKhHOEml\n6XU9gRh/nGAW7hXrqakRzRMqo/BNMNJeD0xRLV5CXN4Dxsy5R8lntSH8/LUWZBbP\nruIbtfPGI/DRqetEhqgzbV85wVp8ItKUMvCs5s7fJb3/qZ1yh2Ct81lLD3G8Qbp7\nmEyOErqp2B93cSMlor2vTpDeOwDLHe2upyuzjLvBSR4fwckBVd8SAk6U7l68g4O1\nohpT5t++ENtl6RSZlZVvkJe5Do3cM2C1WPYzKEhqmiAamAEuPDK3vX3pZ/rEE8qQ\nIB5J0Ejkg5TFn+ALmZ8fN6aGsV+OhLzVTJhtDqQvc/oLxi8H3U8Wt9L61rJCaZzL\nlysAHPSgqC559FnLSREmE+Q6OJcD0o/e9f/MNZ0+UsxN/5ScvMAbWkLzpIQsMZH2\n/V6cSME+USQ8S70gSppkE5VLQbBWAqYe8P3Xq6iAVLKNNfSwpfuUiIF14JwlxhG4\nx/eJ2Anaj8yWQaJc+HJss8YY8ZB6HjHtIA++q6bJ7ZlVNv7Q5E7HGX4LXfxxm+Gd\ntK28ttOxLCda8MwzUs0+Fa83SKmwkFgwPRDpiwUgeKe+CJM34813rbTgJVChA2Kl\nyerJJtGhHkyBDAa6zyz9ybJOy6AWZPkQ+NJar6DIsyJ3cx8MWYYh4pPl2UtJwDaY\nLjTo8xwHDk/YiCEJhGCEzPnweOr9SL2s8+EVfOq5MJUgAjCUEd7GYJA1NVFelwhT\nhNymtyNrbEYdHEg7twBm3+2cj5LZzOr2c+G8BftgtXG/vgP598v5e2bG2U9DP274\n/mKuiDuIpq+4Aey9mvCWG32706NvsW9NDpatD71cXdoPvCitBdTgqxMma45qrQzk\nYBq5MzdgU/5nioll2OUZ0ic+SO65fXa7DaIlKs8oN/SYlIUlOQ7E9FNSHnxtd6Qw\nxfkgv5qhlR9xc5BmmjJ/n9tgF+1/2lLhzv+LAICzVa+o9oLYo8t4hALe8LKRFIoN\n1FuXh/R1Vp+ydtJmWmcwC+1U2hcB98IoVhrDITjkx8Pz5eZ51ftwWgyg2VQNHJwN\nS2ik7+BN6MP+zNdtvZFWYHVNOZPA3d/T2WHfmDckOl7SMgl1lu2A4XEqqoOYqSaH\nR0BMlyKwbyPku0G3hnQ1W/hqKuCxMCXG1vOZT46ULT+gZpau/chzsT6w3/8cxJTO\nE5vjen7SD581T6iPRamNimBArBVEUwQ9ApfpcAwvcgabWBiLeH47siF5wOEr3tX4\nY5lgkxUpCkPkkaO4SKweznld38LTdxFjnNJ648MLZjn1Pb8DtDfO9bbvvMx+ZFXH\n6JGRWlq00PUlbn4hHjxZIaFGVCh5CsNMazA3na0ZNBKe1//UkvzM9yhSVGM/USzR\n2eXB4Vf8t9dqyQSitNmQJqcj7j50yJIl2AEU+5bn2azxYHKwm5q49PJ9YWlXOWZ7\ndebxgHELh50BAdvF8FchI5iMz0nzfuzCJkhWQJbuUghsaAvUbDGnam3Xv7RpkuPk\nOvLLW/YmqB3h6BQ9/w8rNWlnDp4IzWZzTowEDoEzUxnEc//6580eNaEATraxJMJD\nOHcEyXPrRyzKs02jcpKwQXwUJqWtQkdgdZqt+dhDrd8wsevY7Q1tiy0=\n-----END ENCRYPTED PRIVATE KEY-----\n	passphrase-2	\N	3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11	9a2b7c1d5e6f47e08f1e2d3c4b5a6978	2026-02-03 09:02:12	\N
\.


--
-- Name: cluster_id_seq; Type: SEQUENCE SET; Schema: public; Owner: magnum
--

SELECT pg_catalog.setval('public.cluster_id_seq', 1, false);


--
-- Name: cluster_template_id_seq; Type: SEQUENCE SET; Schema: public; Owner: magnum
--

SELECT pg_catalog.setval('public.cluster_template_id_seq', 1, false);


--
-- Name: federation_id_seq; Type: SEQUENCE SET; Schema: public; Owner: magnum
--

SELECT pg_catalog.setval('public.federation_id_seq', 1, false);


--
-- Name: magnum_service_id_seq; Type: SEQUENCE SET; Schema: public; Owner: magnum
--

SELECT pg_catalog.setval('public.magnum_service_id_seq', 1, false);


--
-- Name: nodegroup_id_seq; Type: SEQUENCE SET; Schema: public; Owner: magnum
--

SELECT pg_catalog.setval('public.nodegroup_id_seq', 1, false);


--
-- Name: quotas_id_seq; Type: SEQUENCE SET; Schema: public; Owner: magnum
--

SELECT pg_catalog.setval('public.quotas_id_seq', 1, false);


--
-- Name: x509keypair_id_seq; Type: SEQUENCE SET; Schema: public; Owner: magnum
--

SELECT pg_catalog.setval('public.x509keypair_id_seq', 1, false);


--
-- Name: alembic_version alembic_version_pkc; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);


--
-- Name: cluster cluster_pkey; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.cluster
    ADD CONSTRAINT cluster_pkey PRIMARY KEY (id);


--
-- Name: cluster_template cluster_template_pkey; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.cluster_template
    ADD CONSTRAINT cluster_template_pkey PRIMARY KEY (id);


--
-- Name: cluster_template cluster_template_uuid_key; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.cluster_template
    ADD CONSTRAINT cluster_template_uuid_key UNIQUE (uuid);


--
-- Name: cluster cluster_uuid_key; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.cluster
    ADD CONSTRAINT cluster_uuid_key UNIQUE (uuid);


--
-- Name: federation federation_pkey; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.federation
    ADD CONSTRAINT federation_pkey PRIMARY KEY (id);


--
-- Name: magnum_service magnum_service_pkey; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.magnum_service
    ADD CONSTRAINT magnum_service_pkey PRIMARY KEY (id);


--
-- Name: nodegroup nodegroup_pkey; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.nodegroup
    ADD CONSTRAINT nodegroup_pkey PRIMARY KEY (id);


--
-- Name: quotas quotas_pkey; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.quotas
    ADD CONSTRAINT quotas_pkey PRIMARY KEY (id);


--
-- Name: federation uniq_federation0uuid; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.federation
    ADD CONSTRAINT uniq_federation0uuid UNIQUE (uuid);


--
-- Name: magnum_service uniq_magnum_service0host0binary; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.magnum_service
    ADD CONSTRAINT uniq_magnum_service0host0binary UNIQUE (host, "binary");


--
-- Name: nodegroup uniq_nodegroup0cluster_id0name; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.nodegroup
    ADD CONSTRAINT uniq_nodegroup0cluster_id0name UNIQUE (cluster_id, name);


--
-- Name: nodegroup uniq_nodegroup0uuid; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.nodegroup
    ADD CONSTRAINT uniq_nodegroup0uuid UNIQUE (uuid);


--
-- Name: quotas uniq_quotas0project_id0resource; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.quotas
    ADD CONSTRAINT uniq_quotas0project_id0resource UNIQUE (project_id, resource);


--
-- Name: x509keypair uniq_x509keypair0uuid; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.x509keypair
    ADD CONSTRAINT uniq_x509keypair0uuid UNIQUE (uuid);


--
-- Name: x509keypair x509keypair_pkey; Type: CONSTRAINT; Schema: public; Owner: magnum
--

ALTER TABLE ONLY public.x509keypair
    ADD CONSTRAINT x509keypair_pkey PRIMARY KEY (id);


--
-- PostgreSQL database dump complete
--

\unrestrict UgbW8tIwgIK1wCUoAQICPhH4BLoZgES3svl1NCNzZgpcjkjxF6NEgdX8D8hbg6C

