package workload

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// site is a cloud, and a management cluster that keeps objects and does nothing by itself. It
// installs no releases: a new cluster ends at that step, when all else is made.
type site struct {
	*testing.T
	*Management
	box   *sandboxtest.Cloud
	cloud Cloud
	typed *fake.Clientset

	mu   sync.Mutex
	fuse *fuse
}

// fuse ends a process before one of its writes: nothing is sent any more.
type fuse struct {
	left int
	kill context.CancelFunc
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, box: sandboxtest.Start(t), typed: fake.NewClientset()}
	s.typed.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if s.dead(a.GetVerb() != "get" && a.GetVerb() != "list") {
			return true, nil, errKilled
		}
		return false, nil, nil
	})
	lists := map[schema.GroupVersionResource]string{}
	for group, names := range map[string]string{"cluster.x-k8s.io/v1beta2": "clusters machines machinedeployments machinehealthchecks", "controlplane.cluster.x-k8s.io/v1beta2": "kubeadmcontrolplanes",
		"infrastructure.cluster.x-k8s.io/v1beta1": "openstackclusters openstackmachines openstackmachinetemplates", "infrastructure.cluster.x-k8s.io/v1alpha1": "openstackservers",
		"bootstrap.cluster.x-k8s.io/v1beta2": "kubeadmconfigtemplates", "addons.stackhpc.com/v1alpha1": "helmreleases manifests", "openstack.k-orc.cloud/v1alpha1": "servergroups",
		"apps/v1": "deployments", "v1": "secrets events pods", "magnum.slipway.sh/v1alpha1": "clusters"} {
		for _, name := range strings.Fields(names) {
			version, _ := schema.ParseGroupVersion(group)
			lists[version.WithResource(name)] = name + "List"
		}
	}
	server := httptest.NewServer(secretsOnly(s.typed))
	t.Cleanup(server.Close)
	s.Management = &Management{Environment: "prod", config: &rest.Config{Host: server.URL}, leaving: &sync.Mutex{},
		Kube: &kube.Cluster{Typed: s.typed, Dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)}}
	s.cloud = s.login("sandbox")
	admin := s.open("sandbox-admin")
	s.cloud.Administrator = func(context.Context) (*gophercloud.ServiceClient, string, error) {
		client, err := admin.Identity()
		return client, "default", err
	}
	return s
}

// dead reports whether the process was killed, by this write or before it.
func (s *site) dead(write bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fuse == nil {
		return false
	}
	if write {
		s.fuse.left--
	}
	if s.fuse.left <= 0 {
		s.fuse.kill()
		return true
	}
	return false
}

// killedBefore does something in a process that is killed before its nth write, and reports
// whether that was reached.
func (s *site) killedBefore(n int, do func(context.Context)) (died bool) {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	s.mu.Lock()
	f := &fuse{n, cancel}
	s.fuse = f
	s.mu.Unlock()
	do(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fuse = nil
	return f.left <= 0
}

func (s *site) open(name string) *cloud.Cloud {
	s.Helper()
	text, err := os.ReadFile(s.box.CloudsYAML())
	if err != nil {
		s.Fatal(err)
	}
	opened, err := cloud.Open(s.Context(), cloud.Options{Cloud: name, CloudsYAML: text, Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if s.dead(r.Method != http.MethodGet) {
				return nil, errKilled
			}
			return next.RoundTrip(r)
		})
	}})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(opened.Close)
	return opened
}

// login is an operator's.
func (s *site) login(name string) Cloud {
	s.Helper()
	opened := s.open(name)
	grant, err := opened.Grant()
	if err != nil {
		s.Fatal(err)
	}
	return Cloud{Clients: opened, UserID: grant.UserID, Roles: []string{"member"}, Operator: opened, Administrator: s.cloud.Administrator,
		Login: stacks.Cloud{AuthURL: opened.Provider.IdentityEndpoint, Region: "RegionOne", Interface: "public", ProjectID: grant.ProjectID}}
}

// make makes a cluster of which no release is there, but for that.
func (s *site) make(ctx context.Context, w Wanted) {
	s.Helper()
	_, _, err := s.Create(ctx, s.cloud, w, func(string) {})
	if ctx.Err() == nil && (err == nil || !strings.Contains(err.Error(), "installing the Helm release: ")) {
		s.Fatalf("making %s: %v", w.Name, err)
	}
}

func (s *site) refused(w Wanted, words ...string) {
	s.Helper()
	_, _, err := s.Create(s.Context(), s.cloud, w, func(string) {})
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			s.Errorf("no %q in the error: %v", word, err)
		}
	}
}

// installed stores a release and its Cluster, as Helm and the API server would.
func (s *site) installed(w Wanted) Key {
	s.Helper()
	key := Key{Namespace: w.Name, Name: w.Name}
	values, _, err := w.values(key)
	if err != nil {
		s.Fatal(err)
	}
	h, _, err := s.remembered(s.Context(), key, known{})
	if err != nil {
		s.Fatal(err)
	}
	chart, err := openstackcluster.Chart()
	if err != nil {
		s.Fatal(err)
	}
	stored := &release.Release{Name: key.Name, Namespace: key.Namespace, Version: 1, Config: values, Chart: chart, Labels: h.labels(key), Info: &release.Info{Status: release.StatusDeployed}}
	if err := driver.NewSecrets(s.typed.CoreV1().Secrets(key.Namespace)).Create("sh.helm.release.v1."+key.Name+".v1", stored); err != nil {
		s.Fatal(err)
	}
	cluster := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": map[string]any{"name": key.Name, "namespace": key.Namespace}}}
	if _, err := s.Kube.Dynamic.Resource(kindOf("clusters")).Namespace(key.Namespace).Create(s.Context(), cluster, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	return key
}

// remove deletes a cluster and returns the notes.
func (s *site) remove(name string) []string {
	s.Helper()
	d, err := s.Delete(s.Context(), s.cloud, Key{Namespace: name, Name: name}, Retention{"delete", "delete"}, func(string) {})
	if err != nil {
		s.Fatalf("deleting %s: %v", name, err)
	}
	return d.Notes
}

func (s *site) secret(name string) *corev1.Secret {
	s.Helper()
	secret, err := s.typed.CoreV1().Secrets(name).Get(s.Context(), SecretName(name), metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return secret
}

// secretsOnly serves the Secrets of a client over HTTP, for what makes clients of its own.
func secretsOnly(typed *fake.Clientset) http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, body any, err error) {
		var status apierrors.APIStatus
		w.Header().Set("Content-Type", "application/json")
		switch {
		case errors.As(err, &status):
			full := status.Status()
			full.APIVersion, full.Kind = "v1", "Status"
			w.WriteHeader(int(full.Code))
			body = full
		case err != nil:
			w.WriteHeader(http.StatusInternalServerError)
		}
		_ = json.NewEncoder(w).Encode(body)
	}
	list := func(w http.ResponseWriter, r *http.Request) {
		all, err := typed.CoreV1().Secrets(r.PathValue("ns")).List(r.Context(), metav1.ListOptions{LabelSelector: r.URL.Query().Get("labelSelector")})
		if err == nil {
			all.APIVersion, all.Kind = "v1", "SecretList"
			if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
				all.APIVersion, all.Kind = "meta.k8s.io/v1", "PartialObjectMetadataList"
			}
		}
		answer(w, all, err)
	}
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"major": "1", "minor": "34", "gitVersion": "v1.34.4"}, nil)
	})
	for path, kind := range map[string]string{"/api": "APIVersions", "/api/v1": "APIResourceList", "/apis": "APIGroupList"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, map[string]any{"kind": kind, "apiVersion": "v1", "versions": []string{"v1"}, "groupVersion": "v1"}, nil)
		})
	}
	mux.HandleFunc("GET /api/v1/secrets", list)
	mux.HandleFunc("GET /api/v1/namespaces/{ns}/secrets", list)
	mux.HandleFunc("DELETE /api/v1/namespaces/{ns}/secrets/{name}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, metav1.Status{Status: metav1.StatusSuccess}, typed.CoreV1().Secrets(r.PathValue("ns")).Delete(r.Context(), r.PathValue("name"), metav1.DeleteOptions{}))
	})
	mux.HandleFunc("GET /api/v1/namespaces/{ns}/secrets/{name}", func(w http.ResponseWriter, r *http.Request) {
		one, err := typed.CoreV1().Secrets(r.PathValue("ns")).Get(r.Context(), r.PathValue("name"), metav1.GetOptions{})
		answer(w, one, err)
	})
	mux.HandleFunc("PUT /api/v1/namespaces/{ns}/secrets/{name}", func(w http.ResponseWriter, r *http.Request) {
		var one corev1.Secret
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			answer(w, nil, err)
			return
		}
		changed, err := typed.CoreV1().Secrets(r.PathValue("ns")).Update(r.Context(), &one, metav1.UpdateOptions{})
		answer(w, changed, err)
	})
	return mux
}
