package workload

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/ec2credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/objects"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
)

// containersOf are the containers whose names begin so.
func (w *world) containersOf(prefix string) []string {
	w.Helper()
	page, err := containers.List(w.box.Member.ObjectStorage(w), containers.ListOpts{Prefix: prefix}).AllPages(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	names, err := containers.ExtractNames(page)
	if err != nil {
		w.Fatal(err)
	}
	return names
}

// pairs are the EC2 credentials of the user.
func (w *world) pairs() map[string]string {
	w.Helper()
	page, err := ec2credentials.List(w.box.Member.Identity(w), w.cloud.UserID).AllPages(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	list, err := ec2credentials.ExtractCredentials(page)
	if err != nil {
		w.Fatal(err)
	}
	all := map[string]string{}
	for _, one := range list {
		if one.TenantID != w.cloud.Login.ProjectID {
			w.Errorf("EC2 credential %s is for project %s", one.Access, one.TenantID)
		}
		all[one.Access] = one.Secret
	}
	return all
}

// put writes an object into a container, which is made if it is not there.
func (w *world) put(container, name string) {
	w.Helper()
	if err := containers.Create(w.Context(), w.box.Member.ObjectStorage(w), container, nil).Err; err != nil {
		w.Fatal(err)
	}
	if err := objects.Create(w.Context(), w.box.Member.ObjectStorage(w), container, name, objects.CreateOpts{Content: strings.NewReader("data")}).Err; err != nil {
		w.Fatal(err)
	}
}

// onCluster is the Secret that the chart puts on the cluster for an object store.
func (w *world) onCluster(key Key, store string) corev1.Secret {
	w.Helper()
	spec := w.get("manifests", Key{Namespace: key.Namespace, Name: key.Name + "-object-store-" + store}).Object["spec"].(map[string]any)
	sources, _, _ := unstructured.NestedSlice(spec, "manifestSources")
	if len(sources) != 1 {
		w.Fatalf("the sources of object store %s are %v", store, sources)
	}
	name, _, _ := unstructured.NestedString(sources[0].(map[string]any), "secret", "name")
	keys, _, _ := unstructured.NestedStringSlice(sources[0].(map[string]any), "secret", "keys")
	source, err := w.Kube.Typed.CoreV1().Secrets(key.Namespace).Get(w.Context(), name, metav1.GetOptions{})
	if err != nil || len(keys) != 1 {
		w.Fatalf("the source of object store %s: keys %q, %v", store, keys, err)
	}
	if source.Labels[labelMove] != "true" {
		w.Errorf("the Secret with object stores does not move with the cluster: %v", source.Labels)
	}
	var secret corev1.Secret
	if err := yaml.UnmarshalStrict(source.Data[keys[0]], &secret); err != nil {
		w.Fatal(err)
	}
	secret.Namespace, _, _ = unstructured.NestedString(spec, "targetNamespace")
	return secret
}

const twoStores = small + `
addons: {objectStores: {backups: {namespace: velero, secretName: s3}, registry: {}}}`

// objectStores makes a container and an EC2 credential for each, hands them out, takes one away,
// and deletes them with the cluster.
//
// proves: S-48
func objectStores(w *world) {
	box, own := openCloud(w.T)
	w.box, w.cloud = box, own
	c := wanted(w.T, "stores", twoStores)
	key, _ := w.create(c)
	both := []string{"prod-stores-backups", "prod-stores-registry"}
	if got := w.containersOf(""); !slices.Equal(got, both) {
		w.Errorf("containers %q", got)
	}
	pairs := w.pairs()
	if len(pairs) != 2 {
		w.Errorf("EC2 credentials %v", pairs)
	}
	for store, want := range map[string][3]string{"backups": {"velero", "s3", both[0]}, "registry": {"registry", "object-store-registry", both[1]}} {
		secret := w.onCluster(key, store)
		access := string(secret.Data["AWS_ACCESS_KEY_ID"])
		if got := [3]string{secret.Namespace, secret.Name, string(secret.Data["BUCKET_NAME"])}; got != want || access == "" || pairs[access] != string(secret.Data["AWS_SECRET_ACCESS_KEY"]) {
			w.Errorf("%s: %q with access key %q", store, got, access)
		}
		if endpoint := string(secret.Data["AWS_ENDPOINT_URL_S3"]); !strings.HasPrefix(endpoint, "http") || strings.Count(endpoint, "/") != 2 || string(secret.Data["AWS_REGION"]) != "us-east-1" {
			w.Errorf("%s: endpoint %q, region %q", store, endpoint, secret.Data["AWS_REGION"])
		}
	}
	if _, change := w.create(c); change != Unchanged || !maps.Equal(pairs, w.pairs()) {
		w.Errorf("again: %s", change)
	}
	if names, err := w.ObjectStores(w.Context(), key); err != nil || !slices.Equal(names, []string{"backups", "registry"}) {
		w.Errorf("they are called %q, %v", names, err)
	}

	w.put(both[0], "a")
	c.Values = parse(w.T, small+"\naddons: {objectStores: {backups: {bucket: other, namespace: velero, secretName: s3}}}")
	w.refused(c, "addons.objectStores.backups.bucket", "it is prod-stores-backups, and cannot change to other")
	c.Values = parse(w.T, small+"\naddons: {objectStores: {registry: {}}}")
	w.refused(c, "addons.objectStores.backups", "its container prod-stores-backups has objects: 1")
	if !maps.Equal(pairs, w.pairs()) || !slices.Equal(w.containersOf(""), both) {
		w.Error("a refusal changed something")
	}
	c.Values = parse(w.T, small+"\naddons: {objectStores: {backups: {namespace: velero, secretName: s3}}}")
	if _, change := w.create(c); change != Changed || len(w.pairs()) != 1 || !slices.Equal(w.containersOf(""), both[:1]) {
		w.Errorf("without one that is empty: %s, containers %q, EC2 credentials %v", change, w.containersOf(""), w.pairs())
	}
	if _, change := w.create(c); change != Unchanged {
		w.Errorf("without one, again: %s", change)
	}
	w.put(both[0]+"+segments", "part") // as Swift's API of S3 does with large objects
	w.expectDeleted(key, Retention{"delete", "keep"}, "container prod-stores-backups stays: it has objects (1)")
	if !slices.Contains(w.containersOf(""), both[0]) {
		w.Errorf("containers %q", w.containersOf(""))
	}
}

// refused wants one mistake, and nothing done.
func (w *world) refused(c Wanted, object, cause string) {
	w.Helper()
	_, _, err := w.Create(w.Context(), w.cloud, c, func(string) {})
	if err == nil || fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), object+": ") || !strings.Contains(err.Error(), cause) || fault.Remedy(err) == "" {
		w.Errorf("it said %v (remedy: %s)", err, fault.Remedy(err))
	}
}

// expectDeleted deletes a cluster, and wants no EC2 credential left.
func (w *world) expectDeleted(key Key, data Retention, notes ...string) {
	w.Helper()
	d, err := w.Delete(w.Context(), w.cloud, key, data, func(string) {})
	if err != nil || !slices.Equal(d.Notes, notes) {
		w.Errorf("deleted: %+v, %v", d, err)
	}
	if left := w.pairs(); len(left) > 0 {
		w.Errorf("EC2 credentials are left: %v", left)
	}
	if _, err := w.Kube.Typed.CoreV1().Namespaces().Get(w.Context(), key.Namespace, metav1.GetOptions{}); err == nil {
		w.Errorf("namespace %s is left", key.Namespace)
	}
}

// registry is Harbor's object store: made without being named, in its namespace, with passwords
// that nobody knows and that stay.
func registry(w *world) {
	box, own := openCloud(w.T)
	w.box, w.cloud = box, own
	c := wanted(w.T, "harbored", small+"\naddons: {harbor: {enabled: true}}")
	w.refused(c, "values of cluster harbored/harbored", "addons.harbor.domainName is required")
	c.Values = parse(w.T, small+"\naddons: {harbor: {enabled: true, domainName: registry.example.org}}")
	key, _ := w.create(c)
	if secret := w.onCluster(key, "registry"); secret.Namespace != "harbor" || len(secret.Data["REGISTRY_STORAGE_S3_SECRETKEY"]) == 0 {
		w.Errorf("Secret %s/%s", secret.Namespace, secret.Name)
	}
	passwords := func() []byte {
		w.Helper()
		secret, err := w.storesSecret(w.Context(), key)
		if err != nil || secret == nil {
			w.Fatal(secret, err)
		}
		return secret.Data[keyHarbor]
	}
	first := passwords()
	var values struct {
		HarborAdminPassword, SecretKey string
		Database                       struct{ Internal struct{ Password string } }
		Registry                       struct {
			Credentials struct{ Password, HtpasswdString string }
		}
	}
	if err := yaml.Unmarshal(first, &values); err != nil {
		w.Fatal(err)
	}
	if len(values.HarborAdminPassword) < 20 || len(values.SecretKey) != 16 || len(values.Database.Internal.Password) < 20 || len(values.Registry.Credentials.Password) < 20 || !strings.HasPrefix(values.Registry.Credentials.HtpasswdString, "harbor_registry_user:$2") {
		w.Errorf("values of Harbor: %d, %d characters", len(values.HarborAdminPassword), len(values.SecretKey))
	}
	if _, change := w.create(c); change != Unchanged || !bytes.Equal(first, passwords()) {
		w.Errorf("again: %s", change)
	}
	w.put("prod-harbored-registry", "blob")
	w.put("prod-harbored-registry+segments", "part")
	w.expectDeleted(key, Retention{"delete", "delete"})
	if left := w.containersOf(""); len(left) > 0 {
		w.Errorf("containers are left: %q", left)
	}
}

// storesOfOthers are refused before anything is made.
func storesOfOthers(w *world) {
	box, own := openCloud(w.T)
	w.box, w.cloud = box, own
	if err := containers.Create(w.Context(), w.box.Member.ObjectStorage(w), "taken", nil).Err; err != nil {
		w.Fatal(err)
	}
	c := wanted(w.T, "others", small+"\naddons: {objectStores: {one: {bucket: taken}}}")
	w.refused(c, "container taken", "one with this name exists already, but does not belong to this cluster")
	c.Values = parse(w.T, small+"\naddons: {objectStores: {one: {bucket: Wrong_Name}, two: {bucket: x}}}")
	w.refused(c, "addons.objectStores.one.bucket", "Wrong_Name is not the name of a bucket")
	w.refused(c, "addons.objectStores.two.bucket", "x is not the name of a bucket")
	c.Values = parse(w.T, small+"\ncloudCredentialsSecretName: mine\naddons: {objectStores: {one: {}}}")
	c.Namespace = "default"
	if _, err := w.Kube.Typed.CoreV1().Secrets("default").Create(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.refused(c, "addons.objectStores", "the cluster does not get a credential of its own")
}

// storesKilled ends runs before one of their writes to the cloud each: the next run goes on with
// the keys and the container that are there, and a deletion finds what a run left.
func storesKilled(w *world) {
	box, own := openCloud(w.T)
	w.box, w.cloud = box, own
	for n := 1; ; n++ {
		name := fmt.Sprintf("cut-%d", n)
		c := wanted(w.T, name, small+"\naddons: {objectStores: {one: {}}}")
		dying, died := w.dyingCloud(n)
		_, _, err := w.Create(w.Context(), dying, c, func(string) {})
		if err != nil && !died() {
			w.Fatalf("before write %d: %v", n, err)
		}
		key := Key{Namespace: name, Name: name}
		if n%2 == 0 || !died() { // every other is continued, the rest are deleted as they are
			key, _ = w.create(c)
			if got, pairs := w.containersOf("prod-"+name), w.pairs(); len(got) != 1 || len(pairs) != 1 {
				w.Errorf("before write %d: containers %q, EC2 credentials %v", n, got, pairs)
			}
		}
		if d, err := w.Delete(w.Context(), w.cloud, key, Retention{"delete", "delete"}, func(string) {}); err != nil || len(d.Notes) > 0 {
			w.Errorf("before write %d: deleted: %+v, %v", n, d, err)
		}
		if got, pairs := w.containersOf(""), w.pairs(); len(got) > 0 || len(pairs) > 0 {
			w.Errorf("before write %d: left are containers %q and EC2 credentials %v", n, got, pairs)
		}
		if !died() {
			if n < 4 {
				w.Errorf("the cloud got %d writes only", n-1)
			}
			return
		}
	}
}

// dyingCloud is the operator's login of a process that is killed before its nth request that
// changes the cloud.
func (w *world) dyingCloud(n int) (c Cloud, died func() bool) {
	w.Helper()
	text, err := os.ReadFile(w.box.CloudsYAML())
	if err != nil {
		w.Fatal(err)
	}
	count, dead := 0, false
	opened, err := cloud.Open(w.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text, Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.HasSuffix(r.URL.Path, "/auth/tokens") {
				count++
			}
			if dead = dead || count >= n; dead {
				return nil, errKilled
			}
			return next.RoundTrip(r)
		})
	}})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(opened.Close)
	c = w.cloud
	c.Clients = opened
	return c, func() bool { return dead }
}

func TestStoresOfValuesAreSettled(t *testing.T) {
	t.Parallel()
	values := parse(t, "addons: {harbor: {enabled: true, objectStore: images, release: {namespace: reg}}, objectStores: {images: {bucket: mine}, more: {}, none: null}}")
	stores := wantedStores(values["addons"].(map[string]any))
	if images, _ := stores["images"].(map[string]any); images["namespace"] != "reg" || images["bucket"] != "mine" || len(stores) != 2 {
		t.Errorf("stores %v", stores)
	}
}
