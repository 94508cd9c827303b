package api

import (
	"context"
	"net/http"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/policy"
)

// asked is a request that a test sends.
type asked struct {
	who, method, path string
	body              any
}

// writes are requests that each write something: the whole API, on a cluster that is ready.
func (b *bench) writes() map[string]asked {
	b.t.Helper()
	b.server.o.Rules.RotateCA = true
	used, uuid := b.ready("keypair", nil) // so that everybody of the project can take the cluster over
	spare := b.template("name", "spare")
	cluster, groups := clusters+"/"+uuid, clusters+"/"+uuid+"/nodegroups"
	b.do(member, http.MethodPost, groups, object{"name": "gpu"}).want(202)
	b.settle(uuid)
	quota := object{"project_id": b.project, "resource": "Cluster", "hard_limit": 10}
	b.do(admin, http.MethodPost, quotas, quota).want(201)
	bank, err := b.server.o.Tokens.Validate(b.t.Context(), b.logins[alien].Provider.Token(), "")
	b.must(err)
	return map[string]asked{
		"a template":             {member, http.MethodPost, "/v1/clustertemplates", templateBody()},
		"a template's change":    {member, http.MethodPatch, "/v1/clustertemplates/" + used, []object{patchOp("replace", "/name", "new")}},
		"a template's end":       {member, http.MethodDelete, "/v1/clustertemplates/" + spare, nil},
		"a cluster":              {member, http.MethodPost, clusters, object{"name": "two", "cluster_template_id": used}},
		"a cluster's size":       {member, http.MethodPatch, cluster, []object{patchOp("replace", "/node_count", 3)}},
		"a cluster's labels":     {member, http.MethodPatch, cluster, []object{patchOp("add", "/labels/auto_scaling_enabled", "true")}},
		"a cluster's health":     {admin, http.MethodPatch, cluster, []object{patchOp("replace", "/health_status", "UNHEALTHY")}},
		"a cluster's end":        {member, http.MethodDelete, cluster, nil},
		"an upgrade":             {member, http.MethodPost, cluster + "/actions/upgrade", object{"cluster_template": b.template("image_id", "ubuntu-1.35")}},
		"a resize":               {member, http.MethodPost, cluster + "/actions/resize", object{"node_count": 4}},
		"a node group":           {member, http.MethodPost, groups, object{"name": "more"}},
		"a node group's change":  {member, http.MethodPatch, groups + "/gpu", []object{patchOp("replace", "/max_node_count", 5)}},
		"a node group's end":     {member, http.MethodDelete, groups + "/gpu", nil},
		"a new authority":        {member, http.MethodPatch, certificates + "/" + uuid, nil},
		"a new credential":       {member, http.MethodPatch, "/v1/credentials/" + uuid, nil},
		"a quota":                {admin, http.MethodPost, quotas, quota.over("project_id", bank.ProjectID)},
		"a quota's change":       {admin, http.MethodPatch, quotas, quota.over("hard_limit", 11)},
		"a quota's end":          {admin, http.MethodDelete, quotas + "/" + b.project + "/Cluster", nil},
		"a template's publicity": {admin, http.MethodPatch, "/v1/clustertemplates/" + used, []object{patchOp("replace", "/public", true)}},
	}
}

// refuseWrites makes the API server read only.
func (b *bench) refuseWrites() {
	b.server.o.Client = interceptor.NewClient(b.kube, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return errLost },
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return errLost },
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return errLost },
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return errLost
		},
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return errLost
		},
	})
}

// A client must not take for done what the API server did not store.
func TestAWriteThatFailsIsNoSuccess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	requests := b.writes()
	b.refuseWrites()
	for name, r := range requests {
		t.Run(name, func(t *testing.T) {
			if a := b.do(r.who, r.method, r.path, r.body); a.status != http.StatusInternalServerError {
				t.Errorf("%s: %d, want 500: %s", a.what, a.status, a.text)
			}
		})
	}
}

// Another member who changes a cluster gives it a credential. If that cannot be kept, nothing is
// changed, and no credential is left over.
func TestACredentialThatCannotBeKeptEndsTheRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	requests := b.writes()
	b.refuseWrites()
	for _, name := range []string{"a cluster's size", "a resize", "an upgrade", "a node group", "a new credential"} {
		r := requests[name]
		if a := b.do(other, r.method, r.path, r.body); a.status != http.StatusInternalServerError {
			t.Errorf("%s: %d, want 500: %s", a.what, a.status, a.text)
		}
		if left := b.credentials(other); len(left) != 0 {
			t.Errorf("%s: left over are %v", name, left)
		}
	}
}

// A body that cannot be read is refused before anything is done, also where none is needed.
func TestNoRequestIsDoneWithoutItsBody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, r := range b.writes() {
		if r.method == http.MethodDelete {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if a := b.do(r.who, r.method, r.path, `{}`, "Content-Type", "text/plain"); a.status != http.StatusUnsupportedMediaType {
				t.Errorf("%s: %d, want 415: %s", a.what, a.status, a.text)
			}
			if a := b.do(r.who, r.method, r.path, `{"half`); r.body != nil && a.status != http.StatusBadRequest {
				t.Errorf("%s: %d, want 400: %s", a.what, a.status, a.text)
			}
		})
	}
}

// What this replica does not know, and cannot look for, may be there: that is not "not found".
func TestWhatCannotBeLookedForIsNotMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	b.server.o.Client = interceptor.NewClient(b.kube, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return errLost },
	})
	group := clusters + "/" + uuid + "/nodegroups/" + unknown()
	for _, r := range []asked{
		{member, http.MethodGet, clusters + "/" + unknown(), nil},
		{member, http.MethodDelete, clusters + "/" + unknown(), nil},
		{member, http.MethodGet, "/v1/clustertemplates/" + unknown(), nil},
		{member, http.MethodGet, group, nil},
		{member, http.MethodPatch, group, []object{patchOp("replace", "/max_node_count", 5)}},
		{member, http.MethodDelete, group, nil},
	} {
		b.do(r.who, r.method, r.path, r.body).want(http.StatusInternalServerError)
	}
}

// An operator may close any operation by the policy, also those that everybody may do.
func TestWhatThePolicyClosesIsForbidden(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	public := b.do(admin, http.MethodPost, "/v1/clustertemplates", templateBody().over("public", true)).want(201).str("uuid")
	var err error
	b.server.o.Policy, err = policy.New([]byte(`{"cluster:get_all": "!", "cluster:detail": "!", "stats:get_all": "!", "federation:get_all": "!",
		"clustertemplate:get_all": "!", "clustertemplate:detail": "!", "clustertemplate:get": "!", "cluster:update_health_status": "!"}`))
	b.must(err)
	for _, path := range []string{clusters, clusters + "/detail", "/v1/stats", "/v1/federations", "/v1/clustertemplates", "/v1/clustertemplates/detail", "/v1/clustertemplates/" + public} {
		b.do(member, http.MethodGet, path, nil).want(http.StatusForbidden)
	}
	b.do(admin, http.MethodPatch, clusters+"/"+uuid, []object{patchOp("replace", "/health_status", "HEALTHY")}).want(http.StatusForbidden)
}
