package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

const clusters = "/v1/clusters"

const shortKeys = `uuid name cluster_template_id keypair docker_volume_size labels node_count master_count status health_status master_flavor_id flavor_id
create_timeout links merge_labels cluster_id`

const fullKeys = shortKeys + ` status_reason health_status_reason api_address coe_version container_version discovery_url master_addresses node_addresses
fixed_network fixed_subnet floating_ip_enabled master_lb_enabled labels_overridden labels_added labels_skipped project_id user_id created_at updated_at`

// proves: M-C1, M-C2, M-C3, M-C13, M-C23, M-C24, M-C25, M-C26, M-C27
func TestClusterCreate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template := b.template()
	made := b.do(member, http.MethodPost, clusters, object{"name": "shop-prod", "cluster_template_id": template}).want(202)
	sameKeys(t, made.body, "uuid")
	uuid := made.str("uuid")
	shown := b.show(uuid)
	sameKeys(t, shown.body, fullKeys)
	shown.is("status", "CREATE_IN_PROGRESS").is("name", "shop-prod").is("cluster_template_id", template).is("keypair", nil).is("node_count", 1).is("master_count", 1).
		is("flavor_id", "m1.large").is("master_flavor_id", "m1.medium").is("labels", object{"auto_healing_enabled": "true"}).is("labels_skipped", object{}).
		is("create_timeout", 60).is("health_status", nil).is("health_status_reason", nil).is("api_address", nil).is("node_addresses", []string{}).is("updated_at", nil).
		is("master_lb_enabled", true).is("project_id", b.project)
	if id := shown.str("cluster_id"); !strings.HasPrefix(id, "shop-prod-") || len(id) != len("shop-prod-")+12 {
		t.Errorf("cluster_id %q", id)
	}
	old := b.with("").do(member, http.MethodGet, clusters+"/"+uuid, nil).want(200).is("stack_id", shown.str("cluster_id"))
	if old.get("cluster_id") != nil {
		t.Error("cluster_id at 1.1")
	}
	for version, key := range map[string]string{"1.12": "stack_id", "1.13": "cluster_id"} {
		item := b.with(version).do(member, http.MethodGet, clusters, nil).want(200).list("clusters")[0]
		sameKeys(t, item, strings.TrimSuffix(shortKeys, "cluster_id")+key)
	}
	detail := b.do(member, http.MethodGet, clusters+"/detail?limit=1", nil).want(200)
	sameKeys(t, detail.list("clusters")[0], fullKeys)
	if next := detail.str("next"); !strings.HasPrefix(next, b.address+"/v1/clusters/detail?") {
		t.Errorf("next %q", next)
	}
	b.do(member, http.MethodGet, clusters+"/"+uuid+"/detail", nil).want(404)
	nulls := b.do(member, http.MethodPost, clusters, object{"name": nil, "cluster_template_id": "k8s", "create_timeout": nil, "discovery_url": nil, "keypair": nil,
		"master_count": nil, "node_count": nil}).want(202).str("uuid")
	if name := b.show(nulls).str("name"); !strings.HasSuffix(name, "-cluster") || strings.Count(name, "-") != 2 {
		t.Errorf("name %q", name)
	}
}

// proves: M-C4, M-C5, M-C6, M-C8, M-C9, M-C10, M-C11, M-C12, M-C18, M-C19, M-C70
func TestClusterRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Rules.MinRAM, o.Rules.MinVCPUs = 2048, 2 })
	good := object{"name": "shop", "cluster_template_id": b.template()}
	for says, body := range map[string]object{
		"attribute name":                    good.over("name", "9x"),
		"attribute name: it must be like":   good.over("name", "a b"),
		"between 1 and 242":                 good.over("name", strings.Repeat("x", 243)),
		"master_count: it must be at least": good.over("master_count", 0),
		"master_count must be odd":          good.over("master_count", 2),
		"when master_lb_enabled is False":   good.over("master_count", 3, "master_lb_enabled", false),
		`Flavor \"aaa\": not found`:         good.over("flavor_id", "aaa"),
		`The flavor m1.small is too small`:  good.over("flavor_id", "m1.small"),
		`The flavor diskless has no root`:   good.over("flavor_id", "diskless"),
		`Network \"nowhere\": not found`:    good.over("fixed_network", "nowhere"),
		"api_address is read-only":          good.over("api_address", nil),
		"Unknown attribute: foo":            good.over("foo", 1),
		"node_count: it must be at least 0": good.over("node_count", -1),
		"node_count: it must be an integer": good.over("node_count", 1.5),
		"labels: it must be an object":      good.over("labels", []int{1}),
		"labels: it must be an object.":     good.over("labels", nil),
		"create_timeout: it must be":        good.over("create_timeout", -1),
		"docker_volume_size: it must be":    good.over("docker_volume_size", 0),
		"cluster_template_id is mandatory":  good.without("cluster_template_id"),
		"flavor_id: it must be between":     good.over("flavor_id", ""),
		"label min_node_count is 3, more":   good.over("labels", object{"min_node_count": 3}),
		"label max_node_count is 2, less":   good.over("labels", object{"max_node_count": "2"}, "node_count", 3),
	} {
		b.do(member, http.MethodPost, clusters, body).want(400).says(says)
	}
	b.do(member, http.MethodPost, clusters, good.over("keypair", "nobody")).want(404).says("nobody")
	plain := b.template("name", "plain", "flavor_id", nil, "master_flavor_id", nil)
	b.do(member, http.MethodPost, clusters, good.over("cluster_template_id", plain)).want(400).says("has no flavor")
	b.do(other, http.MethodPost, clusters, good.over("keypair", "ops")).want(404) // it is member's
	for version, status := range map[string]int{"": 400, "1.9": 400, "1.10": 404, "latest": 404} {
		b.with(version).do(member, http.MethodPost, clusters, good.over("cluster_template_id", unknown())).want(status)
	}
	b.do(member, http.MethodPost, clusters, good.over("master_count", 3)).want(202)
	b.do(member, http.MethodPost, clusters, good.over("master_count", "3", "node_count", "2")).want(202)
	// A template whose distribution nothing builds: the rules changed since.
	b.server.o.Rules.Distros = []string{"flatcar"}
	b.do(member, http.MethodPost, clusters, good).want(400).says("os_distro")
	if n := len(b.do(member, http.MethodGet, clusters, nil).list("clusters")); n != 2 {
		t.Errorf("%d clusters, want the 2 that were accepted", n)
	}
	if left := b.credentials(member); len(left) != 2 {
		t.Errorf("credentials %v, want 2", left)
	}
}

// slow is a cloud that takes its time about flavors.
type slow struct{ Lookup }

func (s slow) Flavors(ctx context.Context, t *keystone.Token, refs ...string) ([]openstack.Flavor, error) {
	time.Sleep(100 * time.Millisecond)
	return s.Lookup.Flavors(ctx, t, refs...)
}

// TestFirstMistakeIsTold: of several mistakes the one that the reference looks for
// first is told, however soon the cloud answers about the others.
//
// proves: M-C8, M-C11
func TestFirstMistakeIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.server.o.Cloud = slow{b.server.o.Cloud}
	body := object{"name": "shop", "cluster_template_id": b.template(), "keypair": "nobody", "fixed_network": "nowhere"}
	a := b.do(member, http.MethodPost, clusters, body.over("flavor_id", "m9.huge")).want(400).says("m9.huge")
	if title := a.list("errors")[0]["title"]; title != `Flavor "m9.huge": not found` {
		t.Errorf("title %q", title)
	}
	b.do(member, http.MethodPost, clusters, body).want(400).says("nowhere")
	b.do(member, http.MethodPost, clusters, body.without("fixed_network")).want(404).says("nobody")
}

// credentials are the application credentials of a caller.
func (b *bench) credentials(who string) []applicationcredentials.ApplicationCredential {
	b.t.Helper()
	client := b.logins[who].Identity(b.t)
	auth := b.server.o.Tokens
	token, err := auth.Validate(b.t.Context(), client.Token(), "")
	b.must(err)
	pages, err := applicationcredentials.List(client, token.UserID, nil).AllPages(b.t.Context())
	b.must(err)
	list, err := applicationcredentials.ExtractApplicationCredentials(pages)
	b.must(err)
	return list
}

// workers checks the size of the default workers, in the cluster and in its
// node group.
func (b *bench) workers(uuid string, want int) {
	b.t.Helper()
	b.show(uuid).is("node_count", want)
	b.do(member, http.MethodGet, clusters+"/"+uuid+"/nodegroups/default-worker", nil).want(200).is("node_count", want)
}

// The zero nodes of 1.10 are taken at every version: Tempest asks for them
// without naming one.
//
// proves: M-C7, M-C34, M-C58
func TestZeroNodes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template := b.template()
	for _, version := range []string{"", "1.10"} {
		body := object{"cluster_template_id": template, "node_count": 0}
		uuid := b.with(version).do(member, http.MethodPost, clusters, body).want(202).str("uuid")
		b.show(uuid).is("node_count", 0).is("node_addresses", []string{})
	}
	_, uuid := b.ready()
	path := clusters + "/" + uuid
	for _, version := range []string{"", "1.9", "1.10"} {
		b.with(version).do(member, http.MethodPatch, path, []object{patchOp("replace", "/node_count", 0)}).want(202)
		b.workers(uuid, 0)
		b.do(member, http.MethodPatch, path, []object{patchOp("replace", "/node_count", 2)}).want(409).says("UPDATE_IN_PROGRESS")
		b.settle(uuid)
		b.with("1.9").do(member, http.MethodPost, path+"/actions/resize", object{"node_count": 2}).want(202)
		b.workers(uuid, 2)
		b.settle(uuid)
	}
	for _, version := range []string{"1.7", "1.9", "1.10"} {
		b.with(version).do(member, http.MethodPost, path+"/actions/resize", object{"node_count": 0}).want(202).is("uuid", uuid)
		b.workers(uuid, 0)
		b.settle(uuid)
		b.with("").do(member, http.MethodPatch, path, []object{patchOp("replace", "/node_count", 1)}).want(202)
		b.workers(uuid, 1)
		b.settle(uuid)
	}
	// The least of a group still holds.
	b.with("1.10").do(member, http.MethodPatch, path+"/nodegroups/default-worker", []object{patchOp("replace", "/min_node_count", 1)}).want(202)
	b.settle(uuid)
	for _, version := range []string{"1.9", "1.10"} {
		b.with(version).do(member, http.MethodPost, path+"/actions/resize", object{"node_count": 0}).want(400).says("min_node_count = 1")
	}
	b.workers(uuid, 1)
}

// proves: M-C14, M-C15, M-C16, M-C17, M-C71
func TestClusterLabels(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template := b.template("labels", object{"b": "2", "c": "3"})
	make := func(pairs ...any) *answer { return b.show(b.cluster(template, pairs...)) }
	make("labels", object{"a": 1}).is("labels", object{"a": "1"}).is("labels_added", object{"a": "1"}).is("labels_skipped", object{"b": "2", "c": "3"}).is("labels_overridden", object{})
	make("labels", object{"a": "1"}, "merge_labels", true).is("labels", object{"a": "1", "b": "2", "c": "3"}).is("labels_added", object{"a": "1"}).is("labels_skipped", object{})
	make("labels", object{"b": "9"}, "merge_labels", true).is("labels", object{"b": "9", "c": "3"}).is("labels_overridden", object{"b": "2"})
	make("labels", object{}).is("labels", object{"b": "2", "c": "3"})
	make("labels", object{"t": true, "f": false, "n": 1.5, "i": 7}).is("labels", object{"t": "true", "f": "false", "n": "1.5", "i": "7"})
	make("labels", "{'x': True}").is("labels", object{"x": "true"})
}

// proves: M-C20, M-C21, M-C22
func TestClusterRights(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template := b.template()
	body := object{"cluster_template_id": template}
	b.do(reader, http.MethodPost, clusters, body).want(403).says("cluster:create")
	b.do(admin, http.MethodPost, "/v1/quotas", object{"project_id": b.project, "resource": "Cluster", "hard_limit": 1}).want(201)
	b.cluster(template)
	b.do(member, http.MethodPost, clusters, body).want(403).says("maximum clusters")
	b.do(admin, http.MethodPatch, "/v1/quotas/"+b.project+"/Cluster", object{"hard_limit": 5}).want(202)
	b.do(admin, http.MethodPatch, templates+"/"+template, []object{patchOp("replace", "/public", true)}).want(200)
	b.do(admin, http.MethodPatch, templates+"/"+template, []object{patchOp("replace", "/hidden", true)}).want(200)
	b.do(member, http.MethodPost, clusters, body).want(403).says("hidden")
	b.do(admin, http.MethodPost, clusters, body).want(202)
}

// TestTemplatesOfOtherProjectsAreNotForNewClusters, of administrators either: the names that tenants
// give their own do not make one ambiguous. Administrators have hidden public ones besides.
func TestTemplatesOfOtherProjectsAreNotForNewClusters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := templateBody()
	foreign := b.do(alien, http.MethodPost, templates, good.over("name", "prod", "external_network_id", nil)).want(201).str("uuid")
	b.do(admin, http.MethodPost, clusters, object{"cluster_template_id": "prod"}).want(404).says("prod could not be found")
	b.do(admin, http.MethodPost, clusters, object{"cluster_template_id": foreign}).want(404)
	own := b.do(admin, http.MethodPost, templates, good.over("name", "prod")).want(201).str("uuid")
	uuid := b.do(admin, http.MethodPost, clusters, object{"cluster_template_id": "prod"}).want(202).str("uuid")
	b.do(admin, http.MethodGet, clusters+"/"+uuid, nil).want(200).is("cluster_template_id", own)
	b.do(admin, http.MethodGet, templates+"/prod", nil).want(409)
	b.do(admin, http.MethodPost, templates, good.over("name", "held-back", "public", true, "hidden", true)).want(201)
	b.do(admin, http.MethodPost, clusters, object{"cluster_template_id": "held-back"}).want(202)
	b.do(alien, http.MethodPost, clusters, object{"cluster_template_id": "held-back"}).want(404)
}

// A credential for each cluster: restricted, of the caller, in a Secret only.
func TestClusterCredential(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	uuid := b.cluster(b.template())
	cluster := b.view(uuid).Cluster
	made := b.credentials(member)
	if len(made) != 1 || made[0].Unrestricted || !strings.HasPrefix(made[0].Name, "magnum-"+uuid+"-") || len(made[0].Roles) != 1 || made[0].Roles[0].Name != "member" {
		t.Fatalf("%+v", made)
	}
	if cluster.Spec.Credential.ApplicationCredentialID != made[0].ID || cluster.Spec.Credential.SecretName != cluster.Name+"-cloud-credentials" {
		t.Errorf("%+v", cluster.Spec.Credential)
	}
	secret := &corev1.Secret{}
	b.must(b.kube.Get(t.Context(), types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.CredentialSecret()}, secret))
	clouds := string(secret.Data["clouds.yaml"])
	for _, want := range []string{"application_credential_id: " + made[0].ID, "v3applicationcredential", "RegionOne", "/identity/v3"} {
		if !strings.Contains(clouds, want) {
			t.Errorf("no %q in %s", want, clouds)
		}
	}
	if secret.Labels[v1alpha1.LabelCluster] != uuid || cluster.Namespace != "magnum-"+b.project {
		t.Errorf("labels %v in %s", secret.Labels, cluster.Namespace)
	}
	if !slices.Contains(cluster.Finalizers, v1alpha1.FinalizerCluster) || cluster.Spec.Resolved.Image.KubernetesVersion != "1.34.2" || cluster.Spec.Resolved.ExternalNetworkID == "" {
		t.Errorf("%+v", cluster.Spec.Resolved)
	}
	// A restricted application credential cannot make another: that is said at once.
	b.logins["robot"] = b.loginBy(member, false)
	b.do("robot", http.MethodPost, clusters, object{"cluster_template_id": "k8s"}).want(403).says("--unrestricted")
	b.logins["trusted"] = b.loginBy(member, true)
	b.do("trusted", http.MethodPost, clusters, object{"cluster_template_id": "k8s"}).want(202)
}

// proves: M-C28, M-C29, M-C30, M-C48, M-C53
func TestClusterVisibility(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	path := clusters + "/" + uuid
	b.do(alien, http.MethodGet, path, nil).want(404)
	b.do(reader, http.MethodGet, path, nil).want(200)
	b.do(admin, http.MethodGet, path, nil).want(200)
	for who, want := range map[string]int{admin: 1, reader: 1, alien: 0} {
		if n := len(b.do(who, http.MethodGet, clusters, nil).want(200).list("clusters")); n != want {
			t.Errorf("%s sees %d clusters, want %d", who, n, want)
		}
	}
	b.do(alien, http.MethodPatch, path, []object{patchOp("replace", "/node_count", 2)}).want(404)
	b.do(alien, http.MethodDelete, path, nil).want(404)
	b.do(reader, http.MethodDelete, path, nil).want(403)
	b.do(member, http.MethodGet, clusters+"/shop-prod", nil).want(200).is("uuid", uuid)
	b.cluster("k8s")
	b.do(member, http.MethodGet, clusters+"/shop-prod", nil).want(409)
	b.do(member, http.MethodGet, clusters+"/"+strings.ReplaceAll(uuid, "-", ""), nil).want(200)
}

// What is created in the same second is listed in the order of its creation.
func TestListInOrderOfCreation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template := b.template()
	var want, got []string
	for i := range 8 {
		want = append(want, b.cluster(template, "name", fmt.Sprintf("shop-%d", i)))
	}
	for _, c := range b.do(member, http.MethodGet, clusters, nil).want(200).list("clusters") {
		got = append(got, c["uuid"].(string))
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %v, created %v", got, want)
	}
}

// proves: M-C31, M-C32, M-C72
func TestClusterStatus(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready("node_count", 2)
	shown := b.show(uuid).is("status", "CREATE_COMPLETE").is("api_address", "https://203.0.113.20:6443").is("coe_version", "v1.34.2").
		is("health_status", "HEALTHY").is("health_status_reason", object{"api": "ok"}).is("node_addresses", []string{"10.0.0.10", "10.0.0.11"}).is("master_addresses", []string{"10.0.0.10"})
	if _, ok := shown.body["faults"]; ok {
		t.Error("faults of a healthy cluster")
	}
	for _, g := range b.view(uuid).Groups {
		if g.Title() == v1alpha1.DefaultWorker {
			g = g.DeepCopy()
			g.Status.Phase, g.Status.StatusReason = v1alpha1.UpdateFailed, "no valid host"
			b.must(b.kube.Status().Update(t.Context(), g))
		}
	}
	c := b.view(uuid).Cluster.DeepCopy()
	c.Status.Phase, c.Status.StatusReason = v1alpha1.UpdateFailed, "no valid host"
	b.must(b.kube.Status().Update(t.Context(), c))
	b.await(func() bool { // two informers tell of the group and of the cluster
		v := b.view(uuid)
		return v.Phase() == v1alpha1.UpdateFailed && v.Default(false).Status.Phase == v1alpha1.UpdateFailed
	})
	b.show(uuid).is("faults", object{"default-worker": "no valid host"}).is("status_reason", "no valid host")
}

// proves: M-C33, M-C35, M-C38
func TestClusterPatchCount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	patch := func(operations ...object) *answer {
		t.Helper()
		return b.do(member, http.MethodPatch, clusters+"/"+uuid, operations)
	}
	patched := patch(patchOp("replace", "/node_count", 3)).want(202)
	sameKeys(t, patched.body, "uuid")
	b.show(uuid).is("status", "UPDATE_IN_PROGRESS").is("node_count", 3)
	patch(patchOp("replace", "/node_count", 4)).want(409).says("UPDATE_IN_PROGRESS")
	b.settle(uuid)
	patch(patchOp("replace", "/node_count", 3)).want(202)
	b.show(uuid).is("status", "UPDATE_COMPLETE")
	patch(patchOp("remove", "/node_count")).want(202)
	b.show(uuid).is("node_count", 1).is("status", "UPDATE_IN_PROGRESS")
	b.settle(uuid)
	patch(patchOp("add", "/node_count", 5)).want(400)
	patch(patchOp("replace", "/node_count", "2")).want(202)
	b.show(uuid).is("node_count", 2)
	// A failed update can be tried again, also one that could not be rolled back.
	b.settle(uuid, func(c *v1alpha1.Cluster) { c.Status.Phase = v1alpha1.UpdateFailed })
	patch(patchOp("replace", "/node_count", 1)).want(202)
	b.settle(uuid, func(c *v1alpha1.Cluster) { c.Status.Phase = v1alpha1.RollbackFailed })
	patch(patchOp("replace", "/node_count", 2)).want(202)
}

// proves: M-C36, M-C37, M-C39, M-C40, M-C41, M-C44, M-C45, M-C46, M-C47, M-C49
func TestClusterPatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	path := clusters + "/" + uuid
	for says, operation := range map[string]object{
		"internal attribute":            patchOp("replace", "/api_address", "x"),
		"'/stack_id' is an internal":    patchOp("replace", "/stack_id", "x"),
		"'/uuid' is an internal":        patchOp("replace", "/uuid", "x"),
		"'/cluster_template_id' is a m": patchOp("remove", "/cluster_template_id"),
		"flavor_id of a cluster cannot": patchOp("replace", "/flavor_id", "m1.xlarge"),
		"keypair of a cluster cannot":   patchOp("replace", "/keypair", "x"),
		"is no path":                    patchOp("replace", "node_count", 2),
		"add, replace or remove":        patchOp("move", "/node_count", 2),
		"no such attribute":             patchOp("replace", "/foo", 2),
		"odd number of nodes":           patchOp("replace", "/master_count", 2),
		"status' can not":               patchOp("replace", "/status", "CREATE_FAILED"),
	} {
		b.do(member, http.MethodPatch, path, []object{operation}).want(400).says(says)
	}
	b.do(member, http.MethodPatch, path, object{}).want(400)
	b.do(member, http.MethodPatch, clusters+"/fooo", []object{patchOp("replace", "/node_count", 2)}).want(404)
	b.do(reader, http.MethodPatch, path, []object{patchOp("replace", "/node_count", 2)}).want(403)
	b.show(uuid).is("status", "CREATE_COMPLETE")
	b.do(member, http.MethodPatch, path, []object{patchOp("replace", "/name", "renamed"), patchOp("add", "/labels/x.y", "1")}).want(202)
	b.show(uuid).is("name", "renamed").is("labels", object{"auto_healing_enabled": "true", "x.y": "1"})
	b.settle(uuid)
	b.do(member, http.MethodPatch, path, []object{patchOp("replace", "/labels", object{"z": 1})}).want(202)
	b.show(uuid).is("labels", object{"z": "1"})
	b.settle(uuid)
	b.do(member, http.MethodPatch, path, []object{patchOp("replace", "/master_count", 3)}).want(202)
	b.show(uuid).is("master_count", 3)
	b.settle(uuid)
	resize := []object{patchOp("replace", "/node_count", 2)}
	b.with("1.2").do(member, http.MethodPatch, path+"?rollback=true", resize).want(400)
	b.with("1.3").do(member, http.MethodPatch, path+"?rollback=maybe", resize).want(400)
	b.with("1.3").do(member, http.MethodPatch, path+"?rollback=true", resize).want(202)
	if !b.view(uuid).Cluster.Spec.Rollback {
		t.Error("rollback is not kept")
	}
	b.settle(uuid)
	b.do(member, http.MethodPatch, path+"/?rollback=True", []object{patchOp("replace", "/node_count", 1)}).want(202)
}

// proves: M-C42, M-C43
func TestClusterHealth(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	patch := []object{patchOp("replace", "/health_status", "UNHEALTHY"), patchOp("replace", "/health_status_reason", "{'api': 'nok', 'node-1.Ready': False}")}
	b.do(member, http.MethodPatch, clusters+"/"+uuid, patch).want(202)
	b.show(uuid).is("health_status", "UNHEALTHY").is("health_status_reason", object{"api": "nok", "node-1.Ready": "false"}).is("status", "CREATE_COMPLETE")
	b.do(member, http.MethodPatch, clusters+"/"+uuid, []object{patchOp("replace", "/health_status", "FINE")}).want(400)
}

// proves: M-C50, M-C51, M-C52
func TestClusterDelete(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	uuid := b.cluster(b.template())
	path := clusters + "/" + uuid
	b.do(member, http.MethodDelete, clusters+"/"+unknown(), nil).want(404)
	b.do(member, http.MethodDelete, path, nil).want(204)
	b.show(uuid).is("status", "DELETE_IN_PROGRESS")
	b.do(member, http.MethodGet, path+"/nodegroups/default-worker", nil).want(200).is("status", "DELETE_IN_PROGRESS")
	b.do(member, http.MethodDelete, path, nil).want(204)
	b.do(member, http.MethodPatch, path, []object{patchOp("replace", "/node_count", 2)}).want(409)
	c := b.view(uuid).Cluster.DeepCopy()
	c.Finalizers = nil
	b.must(b.kube.Update(t.Context(), c))
	b.await(func() bool { return b.do(member, http.MethodGet, path, nil).status == 404 })
	b.do(member, http.MethodDelete, path, nil).want(404)
}

// proves: M-C54, M-C55, M-C56, M-C57, M-C59, M-C60, M-C61, M-C62
func TestClusterResize(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	uuid := b.cluster(b.template(), "labels", object{"min_node_count": 1})
	path := clusters + "/" + uuid + "/actions/resize"
	resize := func(status int, body object) *answer {
		t.Helper()
		return b.do(member, http.MethodPost, path, body).want(status)
	}
	resize(409, object{"node_count": 4}).says("CREATE_IN_PROGRESS")
	b.settle(uuid)
	made := b.with("1.7").do(member, http.MethodPost, path, object{"node_count": 4}).want(202)
	sameKeys(t, made.body, "uuid")
	b.show(uuid).is("node_count", 4).is("status", "UPDATE_IN_PROGRESS")
	resize(202, object{"node_count": 3, "nodes_to_remove": []string{"server-1"}}) // while it is being updated: the autoscaler does
	if g := b.view(uuid).Default(false); len(g.Spec.NodesToRemove) != 1 || g.Spec.NodesToRemove[0] != "server-1" || g.Spec.NodeCount != 3 {
		t.Errorf("%+v", g.Spec)
	}
	b.settle(uuid)
	group := b.view(uuid).Default(false)
	resize(202, object{"node_count": 2, "nodegroup": group.UUID()})
	if len(b.view(uuid).Default(false).Spec.NodesToRemove) != 0 {
		t.Error("nodes_to_remove outlives its request")
	}
	resize(202, object{"node_count": 3, "nodegroup": "default-worker"})
	resize(400, object{"node_count": 0}).says("min_node_count = 1")
	b.do(member, http.MethodPatch, clusters+"/"+uuid+"/nodegroups/default-worker", []object{patchOp("replace", "/max_node_count", 5)}).want(202)
	resize(400, object{"node_count": 6}).says("max_node_count = 5")
	resize(202, object{"node_count": 3, "nodegroup": "default-master"})
	b.show(uuid).is("master_count", 3)
	resize(400, object{"node_count": 2, "nodegroup": "default-master"})
	resize(400, object{"node_count": 0, "nodegroup": "default-master"})
	resize(400, object{})
	resize(400, object{"node_count": -1})
	resize(400, object{"node_count": 1, "nodes_to_remove": "x"})
	resize(404, object{"node_count": 1, "nodegroup": "nothing"})
	b.do(member, http.MethodPost, clusters+"/nothing/actions/resize", object{"node_count": 1}).want(404)
}

// proves: M-C63, M-C64, M-C65, M-C66, M-C67, M-C68, M-C69, S-40
func TestClusterUpgrade(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template, uuid := b.ready()
	newer, newest, older := b.template("name", "135", "image_id", "ubuntu-1.35"), b.template("name", "136", "image_id", "ubuntu-1.36"), b.template("name", "133", "image_id", "ubuntu-1.33")
	path := clusters + "/" + uuid + "/actions/upgrade"
	upgrade := func(who string, status int, pairs ...any) *answer {
		t.Helper()
		return b.do(who, http.MethodPost, path, object{"max_batch_size": 1}.over(pairs...)).want(status)
	}
	b.do(member, http.MethodPost, clusters+"/"+uuid+"/nodegroups", object{"name": "gpu-nodes", "flavor_id": "m1.large"}).want(202)
	b.settle(uuid)
	upgrade(member, 404, "cluster_template", unknown())
	upgrade(member, 400)
	upgrade(member, 400, "cluster_template", newer, "max_batch_size", 0)
	upgrade(member, 404, "cluster_template", newer, "nodegroup", "nothing")
	upgrade(member, 409, "cluster_template", newer, "nodegroup", "gpu-nodes")
	upgrade(member, 202, "cluster_template", template, "nodegroup", "gpu-nodes")
	b.settle(uuid)
	upgrade(member, 409, "cluster_template", newest).says("skip a minor version")
	upgrade(member, 409, "cluster_template", older).says("cannot be downgraded")
	upgrade(member, 409, "cluster_template", b.template("name", "cilium", "image_id", "ubuntu-1.35", "network_driver", "cilium")).says("keeps its network driver")
	upgrade(reader, 403, "cluster_template", newer)
	upgrade(alien, 404, "cluster_template", newer)
	sameKeys(t, b.with("1.8").do(member, http.MethodPost, path, object{"cluster_template": newer, "max_batch_size": 2}).want(202).body, "uuid")
	b.show(uuid).is("status", "UPDATE_IN_PROGRESS").is("cluster_template_id", newer)
	if c := b.view(uuid).Cluster; c.Spec.Upgrade.MaxBatchSize != 2 || c.Spec.Resolved.Image.KubernetesVersion != "1.35.1" || c.Spec.Template.ImageID != "ubuntu-1.35" {
		t.Errorf("%+v", c.Spec)
	}
	upgrade(member, 400, "cluster_template", newer).says("UPDATE_IN_PROGRESS")
	b.settle(uuid)
	b.show(uuid).is("status", "UPDATE_COMPLETE").is("coe_version", "v1.35.1")
	b.do(admin, http.MethodPost, path, object{"cluster_template": newest}).want(202)
}

// TestUpgradeKeepsTheExternalNetwork: CAPO takes no other one for a cluster that runs.
func TestUpgradeKeepsTheExternalNetwork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	had := b.view(uuid).Cluster.Spec.Resolved.ExternalNetworkID
	other := b.template("name", "135", "image_id", "ubuntu-1.35", "external_network_id", nil)
	b.do(member, http.MethodPost, clusters+"/"+uuid+"/actions/upgrade", object{"cluster_template": other}).want(202)
	now := b.view(uuid).Cluster.Spec
	if had == "" || now.Resolved.ExternalNetworkID != had || now.Resolved.Image.KubernetesVersion != "1.35.1" || now.Template.ExternalNetworkID != "" {
		t.Errorf("had %q, now %+v of template %+v", had, now.Resolved, now.Template)
	}
}

// proves: M-X20
func TestCredentialRotation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	first := b.view(uuid).Cluster.Spec.Credential.ApplicationCredentialID
	path := "/v1/credentials/" + uuid
	b.do(admin, http.MethodPatch, path, nil).want(403)
	b.do(reader, http.MethodPatch, path, nil).want(403)
	b.do(alien, http.MethodPatch, path, nil).want(404)
	b.with("1.12").do(member, http.MethodPatch, path, nil, "Content-Type", "application/octet-stream").want(202).is("uuid", uuid)
	cluster := b.view(uuid).Cluster
	if now := cluster.Spec.Credential; now.ApplicationCredentialID == first || len(now.Superseded) != 1 || now.Superseded[0].ID != first {
		t.Errorf("%+v", now)
	}
	secret := &corev1.Secret{}
	b.must(b.kube.Get(t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.CredentialSecret()}, secret))
	if !strings.Contains(string(secret.Data["clouds.yaml"]), cluster.Spec.Credential.ApplicationCredentialID) {
		t.Error("the Secret does not have the new credential")
	}
	// Another user's change brings another user's credential, if that user has the key pair.
	b.settle(uuid, func(c *v1alpha1.Cluster) { c.Status.RevokedCredentials = []string{first} })
	b.do(other, http.MethodPatch, clusters+"/"+uuid, []object{patchOp("replace", "/node_count", 3)}).want(202)
	if now := b.view(uuid).Cluster.Spec.Credential; now.ApplicationCredentialID != cluster.Spec.Credential.ApplicationCredentialID || len(b.credentials(other)) != 0 {
		t.Errorf("without the key pair: %+v", now)
	}
	b.do(other, http.MethodPatch, path, nil).want(409).says("You have no key pair ops")
	if _, err := keypairs.Create(t.Context(), b.logins[other].Compute(t), keypairs.CreateOpts{Name: "ops"}).Extract(); err != nil {
		t.Fatal(err)
	}
	b.settle(uuid)
	b.do(other, http.MethodPatch, clusters+"/"+uuid, []object{patchOp("replace", "/node_count", 2)}).want(202)
	cluster = b.view(uuid).Cluster
	if made := b.credentials(other); len(made) != 1 || cluster.Spec.Credential.ApplicationCredentialID != made[0].ID {
		t.Errorf("%+v, credential %+v", made, cluster.Spec.Credential)
	}
	if old := cluster.Spec.Credential.Superseded; len(old) != 1 || old[0].ID == first {
		t.Errorf("superseded %+v: what is revoked is forgotten", old)
	}
	b.show(uuid).is("node_count", 2)
	b.settle(uuid, func(c *v1alpha1.Cluster) { c.Status.Phase = v1alpha1.CreateFailed })
	b.do(member, http.MethodPatch, path, nil).want(400).says("CREATE_FAILED")
}
