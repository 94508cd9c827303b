package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
)

// TestManagement is on one API server: each test has clusters of its own.
func TestManagement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]func(*world){
		"a cluster's life":            life,
		"levels of waiting":           levels,
		"a machine that cannot be":    hopeless,
		"causes that the cloud knows": causes,
		"killed anywhere":             killedAnywhere,
		"interrupted releases":        interrupted,
		"what is others'":             foreign,
		"a name in another namespace": twins,
		"what tenants call theirs":    titled,
		"what the user brings":        brought,
		"a namespace with more in it": shared,
		"credentials that are gone":   revoked,
		"a credential that is lost":   lostCredential,
		"a rotation":                  rotation,
		"rotations killed anywhere":   rotationsKilled,
		"whose is not rotated":        rotationRefused,
		"a credential for each":       separate,
		"rules that do not suffice":   rulesRefused,
		"object stores":               objectStores,
		"Harbor's object store":       registry,
		"object stores of others":     storesOfOthers,
		"object stores cut anywhere":  storesKilled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(w.in(t))
		})
	}
}

const small = "controlPlane: {machineCount: 1}\nnodeGroups: [{name: md-0, machineCount: 2}]"

// life makes, changes, shows and deletes a cluster.
//
// proves: S-27, S-38, S-40
func life(w *world) {
	c := wanted(w.T, "life", small)
	key, change := w.create(c)
	if key != (Key{Namespace: "life", Name: "life"}) || change != Created {
		w.Errorf("%s: %s", key, change)
	}
	namespace, err := w.Kube.Typed.CoreV1().Namespaces().Get(w.Context(), "life", metav1.GetOptions{})
	if err != nil || namespace.Labels[LabelCluster] != "life" {
		w.Errorf("namespace %v, %v", namespace.Labels, err)
	}
	secret, err := w.Kube.Typed.CoreV1().Secrets("life").Get(w.Context(), SecretName("life"), metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	ids := w.credentials("life")
	if len(ids) != 1 || idIn(secret.Data[keyClouds]) != ids[0] {
		w.Errorf("the Secret has credential %q, Keystone %v", idIn(secret.Data[keyClouds]), ids)
	}
	w.nowhereElse(key, secret)
	cluster := w.get("clusters", key)
	if used, _, _ := unstructured.NestedString(w.get("openstackclusters", key).Object, "spec", "identityRef", "name"); used != secret.Name {
		w.Errorf("the cluster logs in with %q", used)
	}

	if _, change := w.create(c); change != Unchanged {
		w.Errorf("again: %s", change)
	}
	if again := w.get("clusters", key); again.GetResourceVersion() != cluster.GetResourceVersion() || !slices.Equal(w.credentials("life"), ids) {
		w.Error("the second run changed something")
	}
	w.addonsOf(key, c)
	c.Values = parse(w.T, strings.ReplaceAll(small, "machineCount: 2", "machineCount: 3"))
	if _, change := w.create(c); change != Changed {
		w.Errorf("with other values: %s", change)
	}
	if n, _, _ := unstructured.NestedInt64(w.get("machinedeployments", Key{Namespace: "life", Name: "life-md-0"}).Object, "spec", "replicas"); n != 3 {
		w.Errorf("it has %d workers", n)
	}
	w.shown(key)
	w.deleted(key)
}

// addonsOf takes an addon away, and is refused another network plugin.
func (w *world) addonsOf(key Key, c Wanted) {
	w.Helper()
	has := func() bool {
		_, err := w.Kube.Dynamic.Resource(kindOf("helmreleases")).Namespace(key.Namespace).Get(w.Context(), key.Name+"-metrics-server", metav1.GetOptions{})
		return err == nil
	}
	before := has()
	c.Values = parse(w.T, small+"\naddons: {metricsServer: {enabled: false}}")
	if _, change := w.create(c); change != Changed || !before || has() {
		w.Errorf("an addon that is taken away: %s; was there %t, is there %t", change, before, has())
	}
	c.Values = parse(w.T, small+"\naddons: {cni: {type: cilium}}")
	_, _, err := w.Create(w.Context(), w.cloud, c, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "the cluster has flannel; a running cluster cannot change to cilium") || fault.ExitCode(err) != fault.ExitUsage {
		w.Errorf("another network plugin: %v", err)
	}
}

// nowhereElse wants the credential's secret in no other object of the namespace.
func (w *world) nowhereElse(key Key, secret *corev1.Secret) {
	w.Helper()
	var clouds struct {
		Clouds map[string]struct {
			Auth struct {
				Secret string `json:"application_credential_secret"`
			}
		}
	}
	text, err := json.Marshal(parse(w.T, string(secret.Data[keyClouds])))
	if err == nil {
		err = json.Unmarshal(text, &clouds)
	}
	word := clouds.Clouds["openstack"].Auth.Secret
	if err != nil || word == "" {
		w.Fatalf("no secret in clouds.yaml: %v", err)
	}
	client, err := w.helm(key.Namespace)
	if err != nil {
		w.Fatal(err)
	}
	last, err := client.Last(key.Name)
	if err != nil {
		w.Fatal(err)
	}
	record, err := json.Marshal(last)
	if err != nil || strings.Contains(string(record), word) {
		w.Errorf("Helm's record has the secret (%v)", err)
	}
}

// shown lists and describes a cluster whose workers wait for quota.
//
// proves: S-83
func (w *world) shown(key Key) {
	w.Helper()
	w.controlPlaneUp(key, "1")
	machine := `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: life-w1, namespace: life, labels: {cluster.x-k8s.io/cluster-name: life, cluster.x-k8s.io/deployment-name: life-md-0}},
  spec: {clusterName: life, bootstrap: {dataSecretName: x}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachine, name: life-w1}}}`
	if err := w.Kube.Apply(w.Context(), []byte(machine)); err != nil {
		w.Fatal(err)
	}
	w.say("machines", Key{Namespace: "life", Name: "life-w1"}, "{phase: Provisioning, conditions: [{type: Ready, status: \"False\", reason: NotReady, lastTransitionTime: \"2026-01-02T03:04:05Z\", message: \"Quota exceeded for cores: Requested 4, but already used 38 of 40 cores\"}]}")
	list, err := w.List(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(list, func(s Summary) bool { return s.Name == "life" })
	if i < 0 {
		w.Fatalf("it is not in the list: %+v", list)
	}
	s := list[i]
	if s.MadeBy != Ours || s.Version != "v1.34.4" || s.ControlPlane.String() != "1/1" || s.Workers.String() != "0/3" || s.Ready || time.Since(s.Created) > time.Hour ||
		!strings.Contains(s.Cause, "Machine life-w1: Provisioning: Quota exceeded for cores") {
		w.Errorf("listed as %+v", s)
	}
	d, err := w.Describe(w.Context(), key)
	if err != nil || d.MadeBy != Ours || !strings.Contains(d.Details, "Ready False: NotReady: Quota exceeded for cores: Requested 4, but already used 38 of 40 cores") {
		w.Errorf("described as %+v, %v", d, err)
	}
	if _, err := w.Describe(w.Context(), Key{Namespace: "nowhere", Name: "life"}); fault.ExitCode(err) != fault.ExitUsage {
		w.Errorf("described what is not there: %v", err)
	}
	if err := w.Kube.Dynamic.Resource(kindOf("machines")).Namespace("life").Delete(w.Context(), "life-w1", metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// deleted deletes a cluster that Cluster API holds by a finalizer: what becomes of
// volumes is said before, and all that it was made of stays until it is gone, also
// when the time for it ends before.
//
// proves: S-72
func (w *world) deleted(key Key) {
	w.Helper()
	const hold = "cluster.cluster.x-k8s.io"
	clusters := w.Kube.Dynamic.Resource(kindOf("clusters")).Namespace(key.Namespace)
	held := func(list string) {
		if _, err := clusters.Patch(w.Context(), key.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+list+`}}`), metav1.PatchOptions{}); err != nil {
			w.Error(err)
		}
	}
	held(`["` + hold + `"]`)
	short, cancel := context.WithTimeoutCause(w.Context(), 3*time.Second, errors.New("not in time"))
	defer cancel()
	if _, err := w.Delete(short, w.cloud, key, Retention{"delete", "delete"}, func(string) {}); err == nil || !strings.Contains(err.Error(), "not in time") {
		w.Errorf("a deletion that is held: %v", err)
	}
	w.settings(key)
	ended := make(chan error, 1)
	go func() {
		d, err := w.Delete(w.Context(), w.cloud, key, Retention{"keep", "keep"}, func(string) {})
		if err == nil && (!d.Deleted || len(d.Notes) > 0) {
			err = errors.New("it left something: " + strings.Join(d.Notes, ", "))
		}
		ended <- err
	}()
	w.eventually("the deletion with another policy", func() bool {
		return w.get("openstackclusters", key).GetAnnotations()[janitor.VolumesPolicyAnnotation] == "keep"
	})
	if w.get("clusters", key).GetDeletionTimestamp() == nil {
		w.Error("the Cluster is not being deleted")
	}
	w.settings(key)
	if _, _, err := w.Create(w.Context(), w.cloud, wanted(w.T, key.Name, small), func(string) {}); err == nil || !strings.Contains(err.Error(), "it is being deleted") {
		w.Errorf("creating what is being deleted: %v", err)
	}
	held(`[]`)
	select {
	case err := <-ended:
		if err != nil {
			w.Fatal(err)
		}
	case <-time.After(patience):
		w.Fatal("it is not deleted")
	}
	if left := w.credentials(key.Name); len(left) > 0 {
		w.Errorf("credentials are left: %v", left)
	}
	if _, err := w.Kube.Typed.CoreV1().Namespaces().Get(w.Context(), key.Namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.Errorf("the namespace: %v", err)
	}
	if d, err := w.Delete(w.Context(), w.cloud, key, Retention{"keep", "keep"}, func(string) {}); err != nil || d.Deleted {
		w.Errorf("again: %+v, %v", d, err)
	}
}

// settings wants what a cluster is made of to be there: its release with the
// values, its namespace, and the credential with its Secret.
func (w *world) settings(key Key) {
	w.Helper()
	client, err := w.helm(key.Namespace)
	if err != nil {
		w.Fatal(err)
	}
	if last, err := client.Last(key.Name); err != nil || last == nil || last.Info.Status != release.StatusDeployed || len(last.Config) == 0 {
		w.Errorf("the release is gone before the cluster (%v)", err)
	}
	if _, err := w.Kube.Typed.CoreV1().Secrets(key.Namespace).Get(w.Context(), SecretName(key.Name), metav1.GetOptions{}); err != nil || len(w.credentials(key.Name)) != 1 {
		w.Errorf("the credential is gone before the cluster (%v)", err)
	}
}

// levels ends waiting when what is waited for is there.
//
// proves: S-27
func levels(w *world) {
	c := wanted(w.T, "levels", small)
	c.Wait = WaitControlPlane
	plane := w.start(w.Context(), c)
	key := Key{Namespace: "levels", Name: "levels"}
	w.eventually("the wait", func() bool { return strings.Contains(plane.saying(), " machines") })
	c.Wait = WaitReady
	select {
	case err := <-plane.done:
		w.Fatalf("it did not wait for the control plane: %v", err)
	default:
	}
	w.controlPlaneUp(key, "1")
	if err := plane.end(w.T); err != nil {
		w.Fatal(err)
	}
	ready := w.start(w.Context(), c)
	w.eventually("the wait", func() bool { return strings.Contains(ready.saying(), "MachineDeployment levels-md-0") })
	w.workersUp(key, "2")
	if err := ready.end(w.T); err != nil {
		w.Fatal(err)
	}
	text, err := clusterapi.Kubeconfig(w.Context(), w.Kube.Typed, key.Namespace, key.Name)
	if err != nil || text != "kubeconfig of levels/levels" {
		w.Errorf("kubeconfig %q, %v", text, err)
	}
}

// hopeless ends early, with the cause; a control plane does not wait for workers.
func hopeless(w *world) {
	c := wanted(w.T, "hopeless", small)
	c.Wait = WaitReady
	key, _ := w.create(wanted(w.T, "hopeless", small))
	machine := `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: hopeless-w1, namespace: hopeless, labels: {cluster.x-k8s.io/cluster-name: hopeless}},
  spec: {clusterName: hopeless, bootstrap: {dataSecretName: x}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachine, name: hopeless-w1}}}`
	if err := w.Kube.Apply(w.Context(), []byte(machine)); err != nil {
		w.Fatal(err)
	}
	w.say("machines", Key{Namespace: "hopeless", Name: "hopeless-w1"}, "phase: Provisioning")
	server := `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackMachine, metadata: {name: hopeless-w1, namespace: hopeless}, spec: {flavor: m1.large, image: {id: 5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1}}}`
	if err := w.Kube.Apply(w.Context(), []byte(server)); err != nil {
		w.Fatal(err)
	}
	w.say("openstackmachines", Key{Namespace: "hopeless", Name: "hopeless-w1"},
		"{conditions: [{type: InstanceReady, status: \"False\", severity: Error, reason: InstanceCreateFailed, lastTransitionTime: \""+time.Now().UTC().Format(time.RFC3339)+"\", message: \"No valid host was found.\"}]}")
	if err := w.start(w.Context(), c).end(w.T); err == nil || !strings.Contains(err.Error(), "Machine hopeless-w1: No valid host was found.") || fault.Remedy(err) == "" {
		w.Errorf("told %v", err)
	}
	w.controlPlaneUp(key, "1")
	c.Wait = WaitControlPlane
	if err := w.start(w.Context(), c).end(w.T); err != nil {
		w.Errorf("the control plane is ready: %v", err)
	}
	c.Wait = WaitReady
	ctx, cancel := fault.WithDeadline(w.Context(), 2*time.Second)
	defer cancel()
	if err := fault.Overdue(ctx, w.start(ctx, c).end(w.T)); fault.ExitCode(err) != fault.ExitDeadline || !strings.Contains(err.Error(), "No valid host") {
		w.Errorf("at the end of the time: %v", err)
	}
}

// killedAnywhere ends runs before one of their writes each, and goes on with the
// next.
//
// proves: S-27
func killedAnywhere(w *world) {
	for n := 1; ; n += 3 {
		c := wanted(w.T, fmt.Sprintf("killed-%d", n), small)
		config, died := killed(w.server.Config, n)
		dying, err := New("prod", config)
		if err != nil {
			w.Fatal(err)
		}
		_, _, err = dying.Create(w.Context(), w.cloud, c, func(string) {})
		if err != nil && !died() {
			w.Fatalf("before write %d: %v", n, err)
		}
		if !died() {
			return
		}
		key, _ := w.create(c)
		w.get("clusters", key)
		if ids := w.credentials(c.Name); len(ids) != 1 {
			w.Errorf("before write %d: credentials %v", n, ids)
		}
		if _, again := w.create(c); again != Unchanged {
			w.Errorf("before write %d: %s", n, again)
		}
	}
}

// interrupted repairs what a killed Helm left, and makes nothing anew.
func interrupted(w *world) {
	c := wanted(w.T, "interrupted", small)
	key, _ := w.create(c)
	before := w.get("clusters", key).GetUID()
	for _, status := range []release.Status{release.StatusPendingInstall, release.StatusPendingUpgrade, release.StatusUninstalling, release.StatusFailed} {
		w.interrupt(key, status)
		if _, change := w.create(c); change != Changed {
			w.Errorf("%s: %s", status, change)
		}
		if after := w.get("clusters", key).GetUID(); after != before {
			w.Errorf("%s: the cluster was made anew", status)
		}
		if _, change := w.create(c); change != Unchanged {
			w.Errorf("%s, again: %s", status, change)
		}
	}
	// Somebody deleted the Cluster behind Helm's back.
	clusters := w.Kube.Dynamic.Resource(kindOf("clusters")).Namespace(key.Namespace)
	if err := clusters.Delete(w.Context(), key.Name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	if _, change := w.create(c); change != Changed || w.get("clusters", key).GetUID() == before {
		w.Errorf("of a cluster that is gone: %s", change)
	}
}

// interrupt writes the last revision of a release as a killed process leaves it.
func (w *world) interrupt(key Key, status release.Status) {
	w.Helper()
	records := storage.Init(driver.NewSecrets(w.Kube.Typed.CoreV1().Secrets(key.Namespace)))
	last, err := records.Last(key.Name)
	if err != nil {
		w.Fatal(err)
	}
	last.Info.Status = status
	if err := records.Update(last); err != nil {
		w.Fatal(err)
	}
}

// foreign refuses what others made, before anything is made.
func foreign(w *world) {
	objects := `
{apiVersion: v1, kind: Namespace, metadata: {name: theirs}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: magnum-p1, labels: {magnum.openstack.org/project-id: p1}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: shop-x1, namespace: magnum-p1}, spec: {infrastructureRef: {apiGroup: a.b, kind: C, name: c}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: byhand, namespace: theirs}, spec: {infrastructureRef: {apiGroup: a.b, kind: C, name: c}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: prod, namespace: default}, spec: {infrastructureRef: {apiGroup: a.b, kind: C, name: c}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: taken-application-credential, namespace: theirs}}
`
	if err := w.Kube.Apply(w.Context(), []byte(objects)); err != nil {
		w.Fatal(err)
	}
	for name, test := range map[string]struct{ cluster, namespace, create, delete string }{
		"Magnum's":               {"shop-x1", "magnum-p1", "the Magnum API created it", "openstack coe cluster delete"},
		"in Magnum's namespace":  {"guesting", "magnum-p1", "it belongs to a project of the Magnum API", ""},
		"made by hand":           {"byhand", "theirs", "slipway cluster create did not create it", "slipway cluster create did not create it"},
		"the management cluster": {"prod", "default", "it is the management cluster itself", "slipway down"},
		"its name":               {"prod", "elsewhere", "the management cluster has this name", "slipway down"},
		"a namespace of others":  {"theirs", "", "it exists already, but does not belong to this cluster", ""},
		"a Secret of others":     {"taken", "theirs", "it exists already, but does not belong to this cluster", ""},
	} {
		c := wanted(w.T, test.cluster, small)
		c.Namespace = test.namespace
		_, _, err := w.Create(w.Context(), w.cloud, c, func(string) {})
		if err == nil || !strings.Contains(err.Error(), test.create) || fault.Remedy(err) == "" {
			w.Errorf("%s: creating: %v", name, err)
		}
		key := Key{Namespace: c.Namespace, Name: c.Name}
		if key.Namespace == "" {
			key.Namespace = key.Name
		}
		d, err := w.Delete(w.Context(), w.cloud, key, Retention{"delete", "delete"}, func(string) {})
		told := ""
		if err != nil {
			told = err.Error() + fault.Remedy(err)
		}
		if d.Deleted || (err == nil) != (test.delete == "") || !strings.Contains(told, test.delete) {
			w.Errorf("%s: deleting: %+v, %v", name, d, err)
		}
		if left := w.credentials(test.cluster); len(left) > 0 {
			w.Errorf("%s: there is a credential", name)
		}
	}
	list, err := w.List(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	by := map[string]Origin{}
	for _, s := range list {
		by[s.Namespace+"/"+s.Name] = s.MadeBy
	}
	if by["magnum-p1/shop-x1"] != Magnum || by["theirs/byhand"] != Others || by["default/prod"] != None {
		w.Errorf("listed are %v", by)
	}
	for name, want := range map[string]Key{"shop-x1": {Namespace: "magnum-p1", Name: "shop-x1"}, "nothing": {Namespace: "nothing", Name: "nothing"}} {
		if key, err := w.Find(w.Context(), name, ""); err != nil || key != want {
			w.Errorf("%s is found as %s (%v)", name, key, err)
		}
	}
}

// brought uses the user's credential and makes none.
func brought(w *world) {
	c := wanted(w.T, "brought", "cloudCredentialsSecretName: mine")
	_, _, err := w.Create(w.Context(), w.cloud, c, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "there is no Secret brought/mine") {
		w.Errorf("a Secret that is not there: %v", err)
	}
	if _, err := w.Kube.Typed.CoreV1().Namespaces().Get(w.Context(), "brought", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.Errorf("something was made: %v", err)
	}
	c = wanted(w.T, "brought", "clouds: {openstack: {auth: {auth_url: 'https://c', username: u, password: p}}}")
	key, _ := w.create(c)
	if len(w.credentials("brought")) > 0 {
		w.Error("it got a credential of its own")
	}
	if used, _, _ := unstructured.NestedString(w.get("openstackclusters", key).Object, "spec", "identityRef", "name"); used != "brought-cloud-credentials" {
		w.Errorf("the cluster logs in with %q", used)
	}
	if d, err := w.Delete(w.Context(), w.cloud, key, Retention{"delete", "delete"}, func(string) {}); err != nil || len(d.Notes) > 0 {
		w.Errorf("deleted: %+v, %v", d, err)
	}
}

// shared leaves a namespace that others use, and says for what.
//
// proves: S-38
func shared(w *world) {
	first, second := wanted(w.T, "shared", small), wanted(w.T, "guest", small)
	second.Namespace = "shared"
	key, _ := w.create(first)
	guest, _ := w.create(second)
	if _, err := w.Kube.Typed.CoreV1().ConfigMaps("shared").Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "notes"}}, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	if found, err := w.Find(w.Context(), "guest", ""); err != nil || found != guest {
		w.Errorf("the guest is found as %s (%v)", found, err)
	}
	if d, err := w.Delete(w.Context(), w.cloud, guest, Retention{"delete", "delete"}, func(string) {}); err != nil || !d.Deleted || len(d.Notes) > 0 {
		w.Errorf("the guest: %+v, %v", d, err)
	}
	w.get("clusters", key) // is there
	d, err := w.Delete(w.Context(), w.cloud, key, Retention{"delete", "delete"}, func(string) {})
	if err != nil || len(d.Notes) != 1 || d.Notes[0] != "namespace shared stays: it contains ConfigMap shared/notes" {
		w.Errorf("deleted: %+v, %v", d, err)
	}
	if err := w.Kube.Typed.CoreV1().ConfigMaps("shared").Delete(w.Context(), "notes", metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	if d, err := w.Delete(w.Context(), w.cloud, key, Retention{"delete", "delete"}, func(string) {}); err != nil || !d.Deleted || len(d.Notes) > 0 {
		w.Errorf("once it is empty: %+v, %v", d, err)
	}
}

// revoked makes a new credential when the one in the Secret does not log in.
func revoked(w *world) {
	c := wanted(w.T, "revoked", small)
	key, _ := w.create(c)
	before := w.credentials("revoked")
	if _, err := w.credential(w.cloud, key).Revoke(w.Context()); err != nil {
		w.Fatal(err)
	}
	if _, change := w.create(c); change != Changed {
		w.Errorf("after it was revoked: %s", change)
	}
	if after := w.credentials("revoked"); len(after) != 1 || slices.Equal(after, before) {
		w.Errorf("credentials %v, before %v", after, before)
	}
	secret, err := w.Kube.Typed.CoreV1().Secrets(key.Namespace).Get(w.Context(), SecretName(key.Name), metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	if works, err := w.cloud.works(context.Background(), secret); err != nil || !works {
		w.Errorf("the new one logs in: %t, %v", works, err)
	}
	// Whoever rotates it then need not care that it is gone.
	if _, err := w.credential(w.cloud, key).Revoke(w.Context()); err != nil {
		w.Fatal(err)
	}
	r, err := w.RotateCredential(w.Context(), w.cloud, key, 0, func(string) {})
	if err != nil || !slices.Equal(w.credentials("revoked"), []string{r.Credential}) {
		w.Errorf("rotated: %+v, %v; there are %v", r, err, w.credentials("revoked"))
	}
	if secret, err = w.Kube.Typed.CoreV1().Secrets(key.Namespace).Get(w.Context(), SecretName(key.Name), metav1.GetOptions{}); err != nil {
		w.Fatal(err)
	}
	// One of another operator is adopted; the end names it.
	other := w.cloud
	other.UserID = "another"
	secret.Annotations[annotationUser] = "another"
	if _, err := w.Kube.Typed.CoreV1().Secrets(key.Namespace).Update(w.Context(), secret, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
	if _, change := w.create(c); change != Unchanged {
		w.Errorf("of another operator: %s", change)
	}
	d, err := w.Delete(w.Context(), w.cloud, key, Retention{"delete", "delete"}, func(string) {})
	if err != nil || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "only user another, who created it, can delete it") {
		w.Errorf("deleted: %+v, %v", d, err)
	}
}
