package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
)

// rotation replaces a credential that everybody uses all the time, and nobody notices.
func rotation(w *world) {
	t := w.tenancy("rotated")
	before := t.credentials("rotated")
	stop := t.run()
	w.eventually("the pods", func() bool { t.mu.Lock(); defer t.mu.Unlock(); return len(t.pods) == 2 })
	r, err := t.RotateCredential(w.Context(), t.cloud, t.key, time.Second, func(string) {})
	if err != nil {
		w.Fatal(err)
	}
	after := t.credentials("rotated")
	if len(after) != 1 || after[0] != r.Credential || !slices.Equal(r.Revoked, before) || slices.Equal(after, before) || len(r.Notes) > 0 {
		w.Errorf("credentials %v, were %v: %+v", after, before, r)
	}
	if !slices.Equal(r.Restarted, []string{"Deployment ccm", "Deployment csi", "DaemonSet node"}) {
		w.Errorf("restarted %v", r.Restarted)
	}
	time.Sleep(time.Second) // who still used the former one would be refused
	if refused := stop(); len(refused) > 0 {
		w.Errorf("refused: %v", refused)
	}
	secret, err := t.credentialSecret(w.Context(), t.key)
	if err != nil || secret.Annotations[annotationFormer] != "" || secret.Annotations[annotationUser] == "" {
		w.Errorf("the Secret has %v, %v", secret.Annotations, err)
	}
	if _, change := t.create(wanted(w.T, "rotated", small+"\naddons: {openstack: {targetNamespace: "+t.inside+"}}")); change != Unchanged {
		w.Errorf("afterwards: %s", change)
	}
}

// rotationsKilled ends rotations before one of their writes each, and goes on with the next.
func rotationsKilled(w *world) {
	t := w.tenancy("stopped")
	stop := t.run()
	for n := 1; ; n += 2 {
		config, died := killed(w.server.Config, n)
		dying, err := New("prod", config)
		if err != nil {
			w.Fatal(err)
		}
		dying.Way = func(context.Context, string, string) (*rest.Config, string, error) { return config, "here", nil }
		before := t.credentials("stopped")
		ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
		_, err = dying.RotateCredential(ctx, t.cloud, t.key, 0, func(string) {
			if died() {
				cancel()
			}
		})
		cancel()
		if err != nil && !died() {
			w.Fatalf("before write %d: %v", n, err)
		}
		if !died() {
			break
		}
		r, err := t.RotateCredential(w.Context(), t.cloud, t.key, 0, func(string) {})
		if err != nil {
			w.Fatalf("after a run that ended before write %d: %v", n, err)
		}
		if after := t.credentials("stopped"); len(after) != 1 || after[0] != r.Credential || slices.Contains(before, after[0]) {
			w.Errorf("after write %d: credentials %v, were %v", n, after, before)
		}
	}
	if refused := stop(); len(refused) > 0 {
		w.Errorf("refused: %v", refused)
	}
}

// rotationRefused leaves credentials of others alone, and those that a cluster still uses.
func rotationRefused(w *world) {
	none := func(string) {}
	if _, err := w.RotateCredential(w.Context(), w.cloud, Key{Namespace: "nobody", Name: "nobody"}, 0, none); fault.ExitCode(err) != fault.ExitUsage {
		w.Errorf("of no cluster: %v", err)
	}
	// The cluster never gets the new one: the former stays valid.
	t := w.tenancy("deaf")
	before := t.credentials("deaf")
	addon := `{apiVersion: addons.stackhpc.com/v1alpha1, kind: Manifests, metadata: {name: deaf-cloud-config, namespace: deaf, labels: {capi.stackhpc.com/cluster: deaf}}, spec: {clusterName: deaf, bootstrap: true, targetNamespace: x, releaseName: cloud-config, manifestSources: []}}`
	if _, err := w.Kube.Dynamic.Resource(kindOf("manifests")).Namespace("deaf").Get(w.Context(), "deaf-cloud-config", metav1.GetOptions{}); err != nil {
		if err := w.Kube.Apply(w.Context(), []byte(addon)); err != nil {
			w.Fatal(err)
		}
	}
	w.say("manifests", Key{Namespace: "deaf", Name: "deaf-cloud-config"}, "{phase: Failed, failureMessage: no template}")
	_, err := t.RotateCredential(w.Context(), t.cloud, t.key, 0, none)
	if err == nil || !strings.Contains(err.Error(), "the former one is still valid") || !strings.Contains(err.Error(), "Manifests deaf/deaf-cloud-config: no template") {
		w.Errorf("told %v", err)
	}
	if after := t.credentials("deaf"); len(after) != 2 || !slices.Contains(after, before[0]) {
		w.Errorf("credentials %v, were %v", after, before)
	}
	// One of another user cannot be revoked, and is named.
	secret, err := t.credentialSecret(w.Context(), t.key)
	if err != nil {
		w.Fatal(err)
	}
	text, _ := json.Marshal(former{Since: time.Now(), IDs: []string{"theirs"}, UserID: "another"})
	secret.Annotations[annotationFormer] = string(text)
	if _, err := w.Kube.Typed.CoreV1().Secrets("deaf").Update(w.Context(), secret, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
	stop := t.run()
	defer stop()
	r, err := t.RotateCredential(w.Context(), t.cloud, t.key, 0, none)
	if err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "application credential theirs stays: only user another") {
		w.Errorf("told %+v, %v", r, err)
	}
}

// separate has two credentials: the one on the cluster creates no servers, and that of
// Cluster API is not there.
//
// proves: S-19
func separate(w *world) {
	t := w.tenancy("divided")
	t.cloud.Separate(nil)
	stop := t.run()
	r, err := t.RotateCredential(w.Context(), t.cloud, t.key, 0, func(string) {})
	if err != nil || r.CloudProvider == "" || r.CloudProvider == r.Credential || len(t.credentials("divided")) != 2 {
		w.Fatalf("%+v, %v", r, err)
	}
	secret, err := t.credentialSecret(w.Context(), t.key)
	if err != nil {
		w.Fatal(err)
	}
	may(w.T, secret.Data[keyClouds], map[string]bool{"ask about itself": true, "list servers": true, "create a network": true, "create a volume": true})
	may(w.T, secret.Data[keyCloudProvider], map[string]bool{"ask about itself": true, "list servers": true, "create a network": false, "create a volume": true})
	if given, err := w.Kube.Typed.CoreV1().Secrets(t.inside).Get(w.Context(), cloudConfig, metav1.GetOptions{}); err != nil || idIn(given.Data[keyClouds]) != r.CloudProvider {
		w.Errorf("on the cluster is %s, %v", idIn(given.Data[keyClouds]), err)
	}
	if refused := stop(); len(refused) > 0 {
		w.Errorf("refused: %v", refused)
	}
	stop = t.run()
	defer stop()
	// Both are remade when one is gone, and both go with the cluster.
	if _, err := w.credential(w.cloud, t.key).Revoke(w.Context(), r.Credential); err != nil {
		w.Fatal(err)
	}
	values := wanted(w.T, "divided", small+"\naddons: {openstack: {targetNamespace: "+t.inside+"}}")
	if _, change := t.create(values); change != Changed {
		w.Errorf("without the second: %s", change)
	}
	if _, err := t.RotateCredential(w.Context(), t.cloud, t.key, 0, func(string) {}); err != nil { // goes on with what create began
		w.Fatal(err)
	}
	if ids := t.credentials("divided"); len(ids) != 2 || slices.Contains(ids, r.Credential) {
		w.Errorf("credentials %v", ids)
	}
	if d, err := t.Delete(w.Context(), t.cloud, t.key, Retention{"delete", "delete"}, func(string) {}); err != nil || len(d.Notes) > 0 || len(t.credentials("divided")) > 0 {
		w.Errorf("deleted: %+v, %v; left %v", d, err, t.credentials("divided"))
	}
}

// rulesRefused: what the rules keep from the controllers is told before they have the
// credentials, all of it at once, and the credentials do not stay.
func rulesRefused(w *world) {
	t := w.tenancy("narrow")
	before := t.credentials("narrow")
	c := t.cloud
	c.AccessRules, c.CloudProvider = allow("compute", "/**", "GET"), allow("network", "/**", "GET")
	_, err := w.RotateCredential(w.Context(), c, t.key, 0, func(string) {})
	if fault.ExitCode(err) != fault.ExitUsage {
		w.Errorf("told %v", err)
	}
	text := fmt.Sprint(err)
	for _, want := range []string{"spec.credential.accessRules", "the identity API refuses GET /identity/v3/auth/tokens", "the network API refuses GET /networking/v2.0/networks", "the image API refuses GET /image/v2/images",
		"which Cluster API needs", "spec.credential.cloudProviderAccessRules", "the compute API refuses GET"} {
		if !strings.Contains(text, want) {
			w.Errorf("no %q in %s", want, text)
		}
	}
	if n := strings.Count(text, "refuses"); n != 4 {
		w.Errorf("%d refusals: %s", n, text)
	}
	if after := t.credentials("narrow"); !slices.Equal(after, before) {
		w.Errorf("credentials were %v, are %v", before, after)
	}
}

// may tries what a credential allows.
func may(t *testing.T, clouds []byte, want map[string]bool) {
	t.Helper()
	opened, err := cloud.Open(t.Context(), cloud.Options{Cloud: "openstack", CloudsYAML: clouds})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	network, err := opened.Network()
	if err != nil {
		t.Fatal(err)
	}
	volume, err := opened.Volume()
	if err != nil {
		t.Fatal(err)
	}
	identity, err := opened.Identity()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]error{"list servers": listServers(t.Context(), clouds)}
	got["ask about itself"] = tokens.Get(t.Context(), identity, identity.TokenID).Err
	_, got["create a network"] = networks.Create(t.Context(), network, networks.CreateOpts{Name: "n"}).Extract()
	_, got["create a volume"] = volumes.Create(t.Context(), volume, volumes.CreateOpts{Size: 1, Name: "v"}, nil).Extract()
	for what, allowed := range want {
		if (got[what] == nil) != allowed {
			t.Errorf("%s: %v, allowed is %t", what, got[what], allowed)
		}
	}
}

// TestOverlap: what is left of one is not more than all of it, whatever the clock was.
func TestOverlap(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for since, want := range map[time.Time]time.Duration{now: time.Minute, now.Add(-40 * time.Second): 20 * time.Second, now.Add(24 * time.Hour): time.Minute} {
		if got := remaining(since, time.Minute, now); got != want {
			t.Errorf("begun at %s: %s, want %s", since, got, want)
		}
	}
	if got := remaining(time.Time{}, time.Minute, now); got > 0 {
		t.Errorf("of none: %s", got)
	}
}
