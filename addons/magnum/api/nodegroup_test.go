package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

const groupKeys = `id uuid name cluster_id project_id role is_default flavor_id image_id docker_volume_size node_count min_node_count max_node_count node_addresses
status status_reason stack_id version labels merge_labels labels_overridden labels_added labels_skipped node_labels node_taints created_at updated_at links`

// proves: M-N1, M-N2, M-N3, M-N4, M-N6, M-N26
func TestGroupsOfNewCluster(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	uuid := b.cluster(b.template(), "labels", object{"min_node_count": 1}, "node_count", 2)
	path := clusters + "/" + uuid + "/nodegroups"
	list := b.with("1.9").do(member, http.MethodGet, path, nil).want(200).list("nodegroups")
	if got := names(list); !slices.Equal(got, []string{"default-master", "default-worker"}) {
		t.Fatalf("groups %v", got)
	}
	for _, g := range list {
		sameKeys(t, g, "uuid name flavor_id image_id node_count role is_default status stack_id min_node_count max_node_count merge_labels")
		if g["is_default"] != true || g["status"] != "CREATE_IN_PROGRESS" || g["image_id"] != "ubuntu-1.34" {
			t.Errorf("%v", g)
		}
	}
	workers := b.do(member, http.MethodGet, path+"/?role=worker", nil).want(200).list("nodegroups")
	if len(workers) != 1 || workers[0]["min_node_count"] != 1.0 || workers[0]["max_node_count"] != nil || workers[0]["node_count"] != 2.0 {
		t.Errorf("%v", workers)
	}
	for _, ident := range []string{"default-worker", workers[0]["uuid"].(string)} {
		g := b.do(member, http.MethodGet, path+"/"+ident, nil).want(200)
		sameKeys(t, g.body, groupKeys)
		g.is("cluster_id", uuid).is("role", "worker").is("labels", object{"min_node_count": "1"}).is("node_addresses", []string{}).is("node_labels", nil).is("node_taints", nil)
	}
	b.do(member, http.MethodGet, path+"/nothing", nil).want(404)
	b.do(member, http.MethodGet, path+"/"+unknown(), nil).want(404)
	b.do(member, http.MethodGet, clusters+"/nothing/nodegroups", nil).want(404)
	b.do(member, http.MethodPost, path, object{"name": "gpu"}).want(409).says("api_address")
	b.do(member, http.MethodPatch, path+"/default-worker", []object{patchOp("replace", "/max_node_count", 5)}).want(409).says("CREATE_IN_PROGRESS")
	first := b.do(member, http.MethodGet, path+"?limit=1&role=master", nil).want(200)
	if next := first.str("next"); !strings.Contains(next, "/clusters/"+uuid+"/nodegroups?") || !strings.Contains(next, "role=master") {
		t.Errorf("next %q", next)
	}
}

// proves: M-N5, M-N14, M-N24
func TestGroupCreate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready("labels", object{"a": "1", "b": "1"})
	path := clusters + "/" + uuid + "/nodegroups"
	made := b.do(member, http.MethodPost, path, object{"name": "gpu_1", "flavor_id": "m1.xlarge", "node_count": 2, "min_node_count": 1, "max_node_count": 5,
		"labels": object{"b": "2", "c": "3"}, "merge_labels": true, "node_labels": object{"node.kubernetes.io/pool": "gpu", "team": "x"},
		"node_taints": []object{{"key": "gpu", "value": "true", "effect": "NoSchedule"}}}).want(202)
	sameKeys(t, made.body, groupKeys)
	made.is("status", "CREATE_IN_PROGRESS").is("labels", object{"a": "1", "b": "2", "c": "3"}).is("labels_overridden", object{"b": "1"}).is("labels_added", object{"c": "3"}).
		is("labels_skipped", object{}).is("node_taints", []object{{"effect": "NoSchedule", "key": "gpu", "value": "true"}}).is("image_id", "ubuntu-1.34").is("is_default", false)
	shown := b.do(member, http.MethodGet, path+"/"+made.str("uuid"), nil).want(200).is("status", "CREATE_IN_PROGRESS")
	if shown.text != made.text {
		t.Errorf("made\n%s\nshown\n%s", made.text, shown.text)
	}
	b.show(uuid).is("status", "UPDATE_IN_PROGRESS").is("node_count", 3)
	b.settle(uuid)
	b.do(member, http.MethodPost, path, object{"name": "other-image", "image_id": "ubuntu-1.33", "node_count": 0, "max_node_count": nil}).want(202).is("image_id", "ubuntu-1.33").is("max_node_count", nil)
	for _, g := range b.view(uuid).Groups {
		if g.Title() == "other-image" && (g.Spec.Image == nil || g.Spec.Image.KubernetesVersion != "1.33.9") {
			t.Errorf("image %+v", g.Spec.Image)
		}
	}
}

// proves: M-N7, M-N8, M-N9, M-N10, M-N11, M-N12, M-N13, M-N23, M-N27, M-N28
func TestGroupRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	path := clusters + "/" + uuid + "/nodegroups"
	good := object{"name": "gpu-1", "flavor_id": "m1.large"}
	taint := func(pairs ...any) object { return good.over("node_taints", []object{object{}.over(pairs...)}) }
	for says, body := range map[string]object{
		"default-worker already exists":  good.over("name", "default-worker"),
		"becomes default-worker":         good.over("name", "Default_Worker"),
		"min_node_count (3)":             good.over("min_node_count", 3, "node_count", 2),
		"max_node_count (1)":             good.over("max_node_count", 1, "node_count", 2),
		"min_node_count (5)":             good.over("max_node_count", 1, "min_node_count", 5),
		"effect of the taint a":          taint("key", "a", "effect", "Bad"),
		"needs a key":                    taint("effect", "NoExecute"),
		"more is wrong":                  taint("key", "a", "effect", "NoExecute", "more", "x"),
		"kubernetes.io/foo is reserved":  good.over("node_labels", object{"kubernetes.io/foo": "x"}),
		"x.k8s.io/foo is reserved":       good.over("node_labels", object{"x.k8s.io/foo": "x"}),
		"Master nodegroups cannot have":  good.over("role", "master", "node_labels", object{"a": "b"}),
		"is no label of Kubernetes":      good.over("node_labels", object{"a b": "x"}),
		"is no value of a label":         good.over("node_labels", object{"a": "x y"}),
		"is no taint of Kubernetes: a b": taint("key", "a b", "effect", "NoExecute"),
	} {
		b.do(member, http.MethodPost, path, body).want(409).says(says)
	}
	for says, body := range map[string]object{
		"role master cannot be added": good.over("role", "master"),
		"name is mandatory":           good.without("name"),
		"project_id is read-only":     good.over("project_id", "x"),
		"no root disk":                good.over("flavor_id", "diskless"),
		`Flavor \"huge\": not found`:  good.over("flavor_id", "huge"),
		`Image \"huge\": not found`:   good.over("image_id", "huge"),
		`The name \"g1\" cannot`:      good.over("name", "g1"),
		`The name \"1gpu\" cannot`:    good.over("name", "1gpu"),
		"reserved for the control pl": good.over("name", "Control_Plane"),
		"cannot be used: in Kubernet": good.over("name", strings.Repeat("x", 60)),
		"node_count: it must be":      good.over("node_count", -1),
		"node_labels: it must be an":  good.over("node_labels", []string{"x"}),
		"node_taints: it must be a l": good.over("node_taints", object{"x": "y"}),
	} {
		b.do(member, http.MethodPost, path, body).want(400).says(says)
	}
	b.do(reader, http.MethodPost, path, good).want(403)
	b.do(member, http.MethodPost, clusters+"/nothing/nodegroups", good).want(404)
	b.show(uuid).is("status", "CREATE_COMPLETE")
}

// proves: M-N15, M-N16, M-N17, M-N18, M-N19, M-N25
func TestGroupPatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready("node_count", 2)
	path := clusters + "/" + uuid + "/nodegroups/default-worker"
	patch := func(status int, operations ...object) *answer {
		t.Helper()
		return b.do(member, http.MethodPatch, path, operations).want(status)
	}
	patched := patch(202, patchOp("replace", "/min_node_count", 1), patchOp("replace", "/max_node_count", 3)).is("min_node_count", 1).is("max_node_count", 3).is("status", "UPDATE_IN_PROGRESS")
	sameKeys(t, patched.body, groupKeys)
	b.settle(uuid)
	patch(409, patchOp("replace", "/max_node_count", 1))
	patch(409, patchOp("replace", "/min_node_count", 3))
	patch(202, patchOp("remove", "/max_node_count"), patchOp("remove", "/min_node_count")).is("max_node_count", nil).is("min_node_count", 0)
	patch(400, patchOp("replace", "/name", "x")).says("internal attribute")
	patch(400, patchOp("replace", "/node_count", 3)).says("internal attribute")
	patch(202, patchOp("replace", "/node_labels", "{'a': 'b'}"), patchOp("replace", "/node_taints", "[{'key': 'k', 'value': '', 'effect': 'NoExecute'}]")).
		is("node_labels", object{"a": "b"}).is("node_taints", []object{{"effect": "NoExecute", "key": "k", "value": ""}})
	patch(202, patchOp("add", "/node_labels/c", "d")).is("node_labels", object{"a": "b", "c": "d"})
	patch(409, patchOp("replace", "/node_labels", object{"kubernetes.io/x": "y"}))
	patch(202, patchOp("remove", "/node_labels"), patchOp("remove", "/node_taints")).is("node_labels", nil).is("node_taints", nil)
	b.settle(uuid)
	b.do(member, http.MethodPost, clusters+"/"+uuid+"/actions/resize", object{"node_count": 3, "nodegroup": "default-worker"}).want(202)
	b.do(member, http.MethodGet, path, nil).want(200).is("status", "UPDATE_IN_PROGRESS").is("node_count", 3)
	b.do(member, http.MethodPatch, clusters+"/"+uuid+"/nodegroups/default-master", []object{patchOp("add", "/node_labels", object{"a": "b"})}).want(409)
	b.do(reader, http.MethodPatch, path, []object{patchOp("replace", "/min_node_count", 1)}).want(403)
}

// A default group whose resource somebody deletes is shown, and cannot be
// changed before the controllers have written it again: the change would be lost.
func TestGroupDeletedBeneath(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	path := clusters + "/" + uuid
	count := []object{patchOp("replace", "/node_count", 3)}
	refused := func(phase string) {
		t.Helper()
		b.do(member, http.MethodGet, path+"/nodegroups/default-worker", nil).want(200).is("node_count", 1).is("status", phase)
		b.do(member, http.MethodPatch, path, count).want(409).says("UPDATE_IN_PROGRESS")
		b.do(member, http.MethodPatch, path+"/nodegroups/default-worker", []object{patchOp("replace", "/max_node_count", 3)}).want(409).says(phase)
		b.do(member, http.MethodPost, path+"/actions/resize", object{"node_count": 3}).want(409).says("default-worker in status " + phase)
	}
	g := b.view(uuid).Default(false).DeepCopy()
	b.must(b.kube.Delete(t.Context(), g))
	b.await(func() bool { return b.view(uuid).Default(false).DeletionTimestamp != nil })
	refused("DELETE_IN_PROGRESS")
	g = b.view(uuid).Default(false).DeepCopy()
	g.Finalizers = nil
	b.must(b.kube.Update(t.Context(), g))
	b.await(func() bool { return b.view(uuid).Default(false).ResourceVersion == "" })
	refused("CREATE_IN_PROGRESS")
	b.settle(uuid)
	b.do(member, http.MethodPatch, path, count).want(202)
	b.show(uuid).is("node_count", 3)
}

// proves: M-N20, M-N21, M-N22
func TestGroupDelete(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	path := clusters + "/" + uuid + "/nodegroups"
	if n := len(b.do(admin, http.MethodGet, path, nil).want(200).list("nodegroups")); n != 2 {
		t.Errorf("the administrator sees %d groups", n)
	}
	b.do(admin, http.MethodPost, path, object{"name": "by-admin"}).want(202).is("project_id", b.project)
	b.settle(uuid)
	b.do(member, http.MethodDelete, path+"/default-worker", nil).want(400)
	b.do(member, http.MethodDelete, path+"/nothing", nil).want(404)
	b.do(reader, http.MethodDelete, path+"/by-admin", nil).want(403)
	b.do(member, http.MethodDelete, path+"/by-admin", nil).want(204)
	b.do(member, http.MethodGet, path+"/by-admin", nil).want(200).is("status", "DELETE_IN_PROGRESS")
	b.show(uuid).is("status", "UPDATE_IN_PROGRESS")
	b.do(member, http.MethodDelete, path+"/by-admin", nil).want(204)
	for _, g := range b.view(uuid).Groups {
		if g.Title() == "by-admin" {
			g = g.DeepCopy()
			g.Finalizers = nil
			b.must(b.kube.Update(t.Context(), g))
		}
	}
	b.await(func() bool { return b.do(member, http.MethodGet, path+"/by-admin", nil).status == 404 })
}

// A group of the control plane's name that earlier releases took can be changed and deleted; only
// an upgrade, which brings a chart that refuses the name, waits for that.
func TestStandingGroupOfReservedName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	newer := b.template("name", "135", "image_id", "ubuntu-1.35")
	g := v1alpha1.NewNodeGroup(b.view(uuid).Cluster, "control-plane")
	g.Spec.UUID, g.Spec.Role, g.Spec.NodeCount, g.Spec.FlavorID, g.Spec.ImageID = unknown(), v1alpha1.RoleWorker, 1, "m1.large", "ubuntu-1.34"
	b.must(b.kube.Create(t.Context(), g))
	b.await(func() bool { return len(b.view(uuid).Groups) == 3 })
	one := clusters + "/" + uuid
	b.settle(uuid)
	b.do(member, http.MethodPatch, one+"/nodegroups/control-plane", []object{patchOp("replace", "/max_node_count", 5)}).want(202)
	b.settle(uuid)
	b.do(member, http.MethodPost, one+"/actions/resize", object{"node_count": 2, "nodegroup": "control-plane"}).want(202)
	b.settle(uuid)
	b.do(member, http.MethodPost, one+"/actions/upgrade", object{"cluster_template": newer}).want(409).says("delete this one")
	b.do(member, http.MethodDelete, one+"/nodegroups/control-plane", nil).want(204)
	b.settle(uuid)
	b.do(member, http.MethodPost, one+"/actions/upgrade", object{"cluster_template": newer}).want(202)
}
