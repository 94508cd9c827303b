package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/magnumtest"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// The callers of the acceptance rows: administrator, member and creator,
// another member and a reader of the same project, a member of another.
const (
	admin  = "admin"
	member = "member"
	other  = "other"
	reader = "reader"
	alien  = "alien"
	nobody = ""
)

// bench is a server on a sandbox's cloud, with callers.
type bench struct {
	t       testing.TB
	kube    client.WithWatch
	cloud   *sandboxtest.Cloud
	server  *Server
	address string
	logins  map[string]sandboxtest.Clients
	project string
	// version is the microversion of requests that name none; "" sends none.
	version string
}

// newBench starts everything; options may change the server's.
func newBench(t testing.TB, options ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, cloud: sandboxtest.Start(t), logins: map[string]sandboxtest.Clients{}, version: "latest"}
	b.people()
	b.things()
	b.kube = magnumtest.NewKube(t)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	stock, err := inventory.New(ctx, &magnumtest.Followed{WithWatch: b.kube, T: t})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	identity := b.cloud.Admin.Identity(t)
	o := Options{Client: b.kube, Inventory: stock, Cloud: &openstack.Cloud{}, Policy: rules, AuthURL: b.cloud.URL() + "/identity",
		Tokens:      keystone.NewValidator(keystone.Options{Identity: func(context.Context) (*gophercloud.ServiceClient, error) { return identity, nil }}),
		Credentials: openstack.CredentialOptions{Roles: []string{"member", "load-balancer_member", "creator"}, Region: "RegionOne"}}
	for _, option := range options {
		option(&o)
	}
	if b.server, err = New(o); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(b.server)
	t.Cleanup(front.Close)
	b.address = front.URL
	b.await(stock.Synced)
	return b
}

// people makes the callers and their projects.
func (b *bench) people() {
	b.t.Helper()
	identity := b.cloud.Admin.Identity(b.t)
	made := map[string]string{}
	for _, name := range []string{"shop", "bank"} {
		p, err := projects.Create(b.t.Context(), identity, projects.CreateOpts{Name: name, DomainID: "default"}).Extract()
		b.must(err)
		made[name] = p.ID
	}
	b.project = made["shop"]
	roleIDs := map[string]string{}
	pages, err := roles.List(identity, nil).AllPages(b.t.Context())
	b.must(err)
	all, err := roles.ExtractRoles(pages)
	b.must(err)
	for _, r := range all {
		roleIDs[r.Name] = r.ID
	}
	b.logins[admin] = b.cloud.Admin
	for name, place := range map[string][2]string{member: {"shop", "member"}, other: {"shop", "member"}, reader: {"shop", "reader"}, alien: {"bank", "member"}} {
		u, err := users.Create(b.t.Context(), identity, users.CreateOpts{Name: name, Password: "secret", DomainID: "default"}).Extract()
		b.must(err)
		b.must(roles.Assign(b.t.Context(), identity, roleIDs[place[1]], roles.AssignOpts{UserID: u.ID, ProjectID: made[place[0]]}).ExtractErr())
		b.logins[name] = b.cloud.Login(b.t, sandboxtest.User(name, "secret", place[0]))
	}
}

// things are what requests name in the cloud.
func (b *bench) things() {
	b.t.Helper()
	public := images.ImageVisibilityPublic
	client := b.cloud.Admin.Image(b.t)
	for name, properties := range map[string]map[string]string{
		"ubuntu-1.34": {"os_distro": "ubuntu", "kube_version": "v1.34.2"}, "ubuntu-1.35": {"os_distro": "ubuntu", "kube_version": "1.35.1"},
		"ubuntu-1.33": {"os_distro": "ubuntu", "kube_version": "v1.33.9"}, "ubuntu-1.36": {"os_distro": "ubuntu", "kube_version": "v1.36.0"},
		"no-distro": {"kube_version": "v1.34.2"}, "no-version": {"os_distro": "ubuntu"}, "windows": {"os_distro": "windows", "kube_version": "v1.34.2"},
		"of-arm": {"os_distro": "ubuntu", "kube_version": "v1.34.2", "architecture": "aarch64"}, "of-amd": {"os_distro": "ubuntu", "kube_version": "v1.34.2", "architecture": "x86_64"},
	} {
		_, err := images.Create(b.t.Context(), client, images.CreateOpts{Name: name, Visibility: &public, DiskFormat: "raw", ContainerFormat: "bare", Properties: properties}).Extract()
		b.must(err)
	}
	nothing := 0
	_, err := flavors.Create(b.t.Context(), b.cloud.Admin.Compute(b.t), flavors.CreateOpts{Name: "diskless", RAM: 4096, VCPUs: 2, Disk: &nothing}).Extract()
	b.must(err)
	_, err = keypairs.Create(b.t.Context(), b.logins[member].Compute(b.t), keypairs.CreateOpts{Name: "ops"}).Extract()
	b.must(err)
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) await(done func() bool) {
	b.t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatal("waited in vain")
		}
	}
}

// answer is a response that has been read.
type answer struct {
	t      testing.TB
	what   string
	status int
	header http.Header
	text   string
	body   map[string]any
}

// with asks as version.
func (b *bench) with(version string) *bench {
	copied := *b
	copied.version = version
	return &copied
}

// do sends a request: body is nil, text as it is, or marshalled. Headers are
// pairs.
func (b *bench) do(who, method, path string, body any, headers ...string) *answer {
	b.t.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	default:
		text, err := json.Marshal(body)
		b.must(err)
		reader = bytes.NewReader(text)
	}
	if !strings.HasPrefix(path, "http") {
		path = b.address + path
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, path, reader)
	b.must(err)
	if reader != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if who != nobody {
		r.Header.Set("X-Auth-Token", b.logins[who].Provider.Token())
	}
	if b.version != "" {
		r.Header.Set("OpenStack-API-Version", "container-infra "+b.version)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	b.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	b.must(err)
	a := &answer{t: b.t, what: fmt.Sprintf("%s %s %s", who, method, path), status: response.StatusCode, header: response.Header, text: string(text)}
	_ = json.Unmarshal(text, &a.body)
	return a
}

// want ends the test unless the status is this one. Errors must have Magnum's
// envelope.
func (a *answer) want(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: %d, want %d: %s", a.what, a.status, status, a.text)
	}
	if status >= 400 && status != http.StatusUnauthorized {
		errors, _ := a.body["errors"].([]any)
		if len(errors) != 1 || a.header.Get("Content-Type") != "application/json" {
			a.t.Fatalf("%s: no error envelope: %s", a.what, a.text)
		}
	}
	return a
}

// says ends the test unless the error's detail has a text.
func (a *answer) says(text string) *answer {
	a.t.Helper()
	if !strings.Contains(a.text, text) {
		a.t.Fatalf("%s: %s does not say %q", a.what, a.text, text)
	}
	return a
}

// get is a member of the body.
func (a *answer) get(name string) any { return a.body[name] }

// str is a member that is text.
func (a *answer) str(name string) string {
	value, _ := a.body[name].(string)
	return value
}

// is ends the test unless a member has a value, compared as JSON.
func (a *answer) is(name string, want any) *answer {
	a.t.Helper()
	have, _ := json.Marshal(a.body[name])
	wanted, _ := json.Marshal(want)
	if string(have) != string(wanted) {
		a.t.Fatalf("%s: %s is %s, want %s", a.what, name, have, wanted)
	}
	return a
}

// list is the members of a collection.
func (a *answer) list(name string) []map[string]any {
	a.t.Helper()
	items, ok := a.body[name].([]any)
	if !ok {
		a.t.Fatalf("%s: no %s: %s", a.what, name, a.text)
	}
	var list []map[string]any
	for _, item := range items {
		list = append(list, item.(map[string]any))
	}
	return list
}

type object map[string]any

// over is a copy with members changed; nil values are kept as null.
func (o object) over(pairs ...any) object {
	copied := object{}
	for name, value := range o {
		copied[name] = value
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		copied[pairs[i].(string)] = pairs[i+1]
	}
	return copied
}

// without is a copy without members.
func (o object) without(names ...string) object {
	copied := o.over()
	for _, name := range names {
		delete(copied, name)
	}
	return copied
}

func templateBody() object {
	return object{"name": "k8s", "coe": "kubernetes", "image_id": "ubuntu-1.34", "external_network_id": "public", "flavor_id": "m1.large",
		"master_flavor_id": "m1.medium", "master_lb_enabled": true, "labels": object{"auto_healing_enabled": "true"}}
}

// template makes a template of member and returns its uuid.
func (b *bench) template(pairs ...any) string {
	b.t.Helper()
	return b.do(member, http.MethodPost, "/v1/clustertemplates", templateBody().over(pairs...)).want(201).str("uuid")
}

// cluster makes a cluster of member and returns its uuid.
func (b *bench) cluster(template string, pairs ...any) string {
	b.t.Helper()
	body := object{"name": "shop-prod", "cluster_template_id": template, "keypair": "ops"}.over(pairs...)
	return b.do(member, http.MethodPost, "/v1/clusters", body).want(202).str("uuid")
}

// show reads a cluster as member.
func (b *bench) show(uuid string) *answer {
	b.t.Helper()
	return b.do(member, http.MethodGet, "/v1/clusters/"+uuid, nil).want(200)
}

// view is what the inventory has of a cluster.
func (b *bench) view(uuid string) *inventory.View {
	b.t.Helper()
	views := b.server.o.Inventory.FindClusters(uuid, "")
	if len(views) != 1 {
		b.t.Fatalf("%d clusters with uuid %s", len(views), uuid)
	}
	return views[0]
}

// settle does the controllers' work: everything that is wanted is there. change
// may make it something else.
func (b *bench) settle(uuid string, change ...func(*v1alpha1.Cluster)) {
	b.t.Helper()
	v := b.view(uuid)
	for _, g := range v.Groups {
		g = g.DeepCopy()
		if g.DeletionTimestamp != nil {
			g.Finalizers = nil
			b.must(b.kube.Update(b.t.Context(), g))
			continue
		}
		if g.ResourceVersion == "" {
			b.must(b.kube.Create(b.t.Context(), g))
		}
		g.Status.Phase, g.Status.ObservedGeneration = done(g.Status.Phase), g.Generation
		g.Status.NodeAddresses = nil
		for i := range g.Spec.NodeCount {
			g.Status.NodeAddresses = append(g.Status.NodeAddresses, fmt.Sprintf("10.0.0.%d", i+10))
		}
		b.must(b.kube.Status().Update(b.t.Context(), g))
	}
	c := v.Cluster.DeepCopy()
	c.Status.Phase, c.Status.ObservedGeneration = done(c.Status.Phase), c.Generation
	c.Status.APIAddress, c.Status.COEVersion = "https://203.0.113.20:6443", "v"+c.Spec.Resolved.Image.KubernetesVersion
	c.Status.HealthStatus, c.Status.HealthStatusReason = v1alpha1.Healthy, map[string]string{"api": "ok"}
	for _, f := range change {
		f(c)
	}
	b.must(b.kube.Status().Update(b.t.Context(), c))
	b.await(func() bool {
		now := b.view(uuid)
		return now.Cluster.ResourceVersion == c.ResourceVersion && now.Phase() == c.Status.Phase
	})
}

func done(phase v1alpha1.Phase) v1alpha1.Phase {
	if phase == "" || phase == v1alpha1.CreateInProgress {
		return v1alpha1.CreateComplete
	}
	return v1alpha1.UpdateComplete
}

// ready makes a template and a cluster that is complete.
func (b *bench) ready(pairs ...any) (template, cluster string) {
	b.t.Helper()
	template = b.template()
	cluster = b.cluster(template, pairs...)
	b.settle(cluster)
	return template, cluster
}

func unknown() string { return uuid.NewString() }

// loginBy logs in by an application credential of a caller.
func (b *bench) loginBy(who string, unrestricted bool) sandboxtest.Clients {
	b.t.Helper()
	token, err := b.server.o.Tokens.Validate(b.t.Context(), b.logins[who].Provider.Token(), "")
	b.must(err)
	made, err := applicationcredentials.Create(b.t.Context(), b.logins[who].Identity(b.t), token.UserID,
		applicationcredentials.CreateOpts{Name: fmt.Sprint("login-", unrestricted), Unrestricted: unrestricted}).Extract()
	b.must(err)
	return b.cloud.Login(b.t, gophercloud.AuthOptions{ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret})
}

// serve puts another server behind the bench's address.
func (b *bench) serve(s *Server) {
	b.t.Helper()
	front := httptest.NewServer(s)
	b.t.Cleanup(front.Close)
	b.address = front.URL
}
