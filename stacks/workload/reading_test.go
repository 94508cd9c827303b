package workload

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

var errAway = errors.New("the API server is away")

// keeping is an API server that keeps these objects, of these kinds, and does nothing by itself.
func keeping(kinds map[schema.GroupVersionResource]string, objects ...string) (*dynamicfake.FakeDynamicClient, error) {
	var all []runtime.Object
	for _, text := range objects {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(text)); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, all...), nil
}

// TestClustersOfTheMagnumAPI are known by their stacks; where there is no such API there are none, and
// where it does not answer nobody says so.
func TestClustersOfTheMagnumAPI(t *testing.T) {
	t.Parallel()
	clusters := v1alpha1.GroupVersion().WithResource("clusters")
	const meta = `{"apiVersion": "magnum.slipway.sh/v1alpha1", "kind": "Cluster", "metadata": {"namespace": "magnum-p", "name": "web-x1"}, "spec": `
	for name, test := range map[string]struct {
		object string
		err    error
		want   map[Key]Tenant
		fails  string
	}{
		"one":               {meta + `{"uuid": "u", "name": "web", "projectID": "p"}}`, nil, map[Key]Tenant{{Namespace: "magnum-p", Name: "web-x1"}: {"web", "u", "p"}}, ""},
		"one that came":     {meta + `{"uuid": "u", "name": "web", "projectID": "p", "stackID": "old"}}`, nil, map[Key]Tenant{{Namespace: "magnum-p", Name: "old"}: {"web", "u", "p"}}, ""},
		"no such API":       {meta + `{}}`, apierrors.NewNotFound(clusters.GroupResource(), ""), nil, ""},
		"no answer":         {meta + `{}}`, errAway, nil, "listing the clusters of the Magnum API: the API server is away"},
		"not to be read":    {meta + `{"name": 7}}`, nil, nil, "reading magnum-p/web-x1 of the Magnum API"},
		"none is not there": {"", nil, map[Key]Tenant{}, ""},
	} {
		var objects []string
		if test.object != "" {
			objects = append(objects, test.object)
		}
		on, err := keeping(map[schema.GroupVersionResource]string{clusters: "ClusterList"}, objects...)
		if err != nil {
			t.Fatal(err)
		}
		if test.err != nil {
			on.PrependReactor("list", "clusters", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
		}
		got, err := Tenants(t.Context(), on, "")
		if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) || len(got) != len(test.want) || (got == nil) != (test.want == nil) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		for key, want := range test.want {
			if one := tenant(got, key); one == nil || *one != want {
				t.Errorf("%s: %s is %v", name, key, one)
			}
			if one := tenant(got, Key{Name: "other"}); one != nil {
				t.Errorf("%s: another is %v", name, one)
			}
		}
	}
}

// TestSummaries have the worst cause, else what is waited for.
func TestSummaries(t *testing.T) {
	t.Parallel()
	waits := clusterapi.Part{Kind: "Cluster", Name: "shop", State: "Provisioning"}
	why := waits
	why.Cause = "no quota"
	finding := cause.Finding{Reason: "Quota"}
	for name, test := range map[string]struct {
		report        clusterapi.Report
		cause, reason string
	}{
		"nothing":          {clusterapi.Report{}, "", ""},
		"a part":           {clusterapi.Report{Exists: true, Parts: []clusterapi.Part{waits}}, "Cluster shop: Provisioning", ""},
		"a part that says": {clusterapi.Report{Exists: true, Parts: []clusterapi.Part{why}}, "Cluster shop: Provisioning: no quota", ""},
		"a finding":        {clusterapi.Report{Exists: true, Parts: []clusterapi.Part{why}, Findings: []cause.Finding{finding}}, finding.Line(), "Quota"},
	} {
		if got := summary(test.report, Ours); got.Cause != test.cause || got.Reason != test.reason || got.MadeBy != Ours {
			t.Errorf("%s: %q %q", name, got.Cause, got.Reason)
		}
	}
}

// TestObjectsThatKeepANamespace: not those that every namespace has, and of kinds that are served.
func TestObjectsThatKeepANamespace(t *testing.T) {
	t.Parallel()
	maps, accounts, events, gone := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"},
		schema.GroupVersionResource{Version: "v1", Resource: "events"}, schema.GroupVersionResource{Version: "v1", Resource: "gone"}
	object := func(kind, name string) string {
		return `{"apiVersion": "v1", "kind": "` + kind + `", "metadata": {"namespace": "shop", "name": "` + name + `"}}`
	}
	for name, test := range map[string]struct {
		objects []string
		want    string
	}{
		"what each has": {[]string{object("ConfigMap", "kube-root-ca.crt"), object("ServiceAccount", "default"), object("Event", "e")}, ""},
		"a map":         {[]string{object("ConfigMap", "settings")}, "settings"},
		"an account":    {[]string{object("ServiceAccount", "deployer")}, "deployer"},
	} {
		on, err := keeping(map[schema.GroupVersionResource]string{maps: "ConfigMapList", accounts: "ServiceAccountList", events: "EventList", gone: "GoneList"}, test.objects...)
		if err != nil {
			t.Fatal(err)
		}
		on.PrependReactor("list", "gone", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewMethodNotSupported(gone.GroupResource(), "list")
		})
		m := &Management{Kube: &kube.Cluster{Dynamic: on}}
		left, err := m.first(t.Context(), "shop", []schema.GroupVersionResource{gone, events, maps, accounts})
		if err != nil || (left == nil) != (test.want == "") || left != nil && left.GetName() != test.want {
			t.Errorf("%s: %v, %v", name, left, err)
		}
		on.PrependReactor("list", "events", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errAway })
		if left, err := m.first(t.Context(), "shop", []schema.GroupVersionResource{events}); !errors.Is(err, errAway) || left != nil {
			t.Errorf("%s: a list that fails: %v, %v", name, left, err)
		}
	}
	typed := fake.NewClientset()
	typed.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Namespaced: true, Kind: "ConfigMap", Verbs: metav1.Verbs{"list", "create"}},
		{Name: "bindings", Namespaced: true, Kind: "Binding", Verbs: metav1.Verbs{"create"}}, {Name: "metrics", Namespaced: true, Kind: "Metric", Verbs: metav1.Verbs{"list"}}}}}
	m := &Management{Kube: &kube.Cluster{Typed: typed}}
	if kinds, err := m.listable(); err != nil || len(kinds) > 1 || len(kinds) == 1 && kinds[0] != maps {
		t.Errorf("kinds %v, %v", kinds, err)
	}
}

// TestNamespacesThatAClusterCannotHave are refused before anything is made in them.
func TestNamespacesThatAClusterCannotHave(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	now := metav1.Now()
	namespace := func(labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: labels}}
	}
	going := namespace(nil)
	going.DeletionTimestamp = &now
	own := namespace(map[string]string{LabelCluster: "shop"})
	for name, test := range map[string]struct {
		wanted string
		there  known
		want   string
	}{
		"none yet":             {"", known{}, ""},
		"one that goes":        {"shop", known{namespace: going}, "it is being deleted"},
		"a project's":          {"shop", known{namespace: namespace(map[string]string{v1alpha1.LabelProject: "p"})}, "belongs to a project of the Magnum API"},
		"another's":            {"", known{namespace: namespace(nil)}, "does not belong to this cluster"},
		"another's, by name":   {"shop", known{namespace: namespace(nil)}, ""},
		"its own":              {"", known{namespace: own}, ""},
		"another's, with ours": {"", known{namespace: namespace(nil), origin: Ours, exists: true}, ""},
	} {
		err := s.mayUse(t.Context(), Wanted{Namespace: test.wanted}, Key{Namespace: "shop", Name: "shop"}, test.there)
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || fault.Remedy(err) == "") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestNamespacesOfOthersStay, and calls that fail end nothing.
func TestNamespacesOfOthersStay(t *testing.T) {
	t.Parallel()
	key := Key{Namespace: "shop", Name: "shop"}
	for name, test := range map[string]struct {
		labels map[string]string
		verb   string
		want   string
	}{"another's": {map[string]string{LabelCluster: "other"}, "", ""}, "nobody's": {nil, "", ""}, "not to be read": {nil, "get", "reading namespace shop"}, "not to be deleted": {map[string]string{LabelCluster: "shop"}, "delete", "deleting namespace shop"}} {
		client := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: test.labels}})
		if test.verb != "" {
			client.PrependReactor(test.verb, "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errAway })
		}
		note, err := (&Management{Kube: &kube.Cluster{Typed: client}}).deleteNamespace(t.Context(), key, func(string) {})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || note != "" {
			t.Errorf("%s: %q, %v", name, note, err)
		}
		if _, err := client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("namespaces"), "", "shop"); err != nil {
			t.Errorf("%s: the namespace is gone: %v", name, err)
		}
	}
}

// TestRecordsOfAdoption are Secrets of their type and of the cluster.
func TestRecordsOfAdoption(t *testing.T) {
	t.Parallel()
	key := Key{Namespace: "shop", Name: "shop"}
	for name, test := range map[string]struct {
		kind  corev1.SecretType
		label string
		want  bool
	}{"its record": {RecordType, "shop", true}, "another type": {corev1.SecretTypeOpaque, "shop", false}, "another's": {RecordType, "other", false}} {
		client := fake.NewClientset(&corev1.Secret{Type: test.kind, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: RecordName("shop"), Labels: map[string]string{LabelCluster: test.label}}})
		m := &Management{Kube: &kube.Cluster{Typed: client}}
		if got, err := m.recorded(t.Context(), key); err != nil || got != test.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
		if got, err := m.recorded(t.Context(), Key{Namespace: "shop", Name: "none"}); err != nil || got {
			t.Errorf("%s: one without a record: %t, %v", name, got, err)
		}
		client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errAway })
		if got, err := m.recorded(t.Context(), key); !errors.Is(err, errAway) || got {
			t.Errorf("%s: one that is not told: %t, %v", name, got, err)
		}
		if _, known, err := m.remembered(t.Context(), key, known{}); !errors.Is(err, errAway) || known {
			t.Errorf("%s: a home that is not told: %t, %v", name, known, err)
		}
	}
}

// TestRulesOfTwoCredentials are the environment's where it has some, else those that suffice.
func TestRulesOfTwoCredentials(t *testing.T) {
	t.Parallel()
	mine := []openstack.AccessRule{{Service: "compute", Method: http.MethodGet, Path: "/mine"}}
	for name, test := range map[string]struct{ infrastructure, provider, wantInfrastructure, wantProvider []openstack.AccessRule }{
		"none":          {nil, nil, InfrastructureRules(), CloudProviderRules()},
		"both":          {mine, mine, mine, mine},
		"one of either": {mine, nil, mine, CloudProviderRules()},
	} {
		c := Cloud{AccessRules: test.infrastructure}
		if c.Separate(test.provider); !slices.Equal(c.AccessRules, test.wantInfrastructure) || !slices.Equal(c.CloudProvider, test.wantProvider) {
			t.Errorf("%s: %v and %v", name, c.AccessRules, c.CloudProvider)
		}
	}
}

// TestRulesAreTried before a cluster would do nothing: each service that refuses is named, and
// another answer is no matter of rules.
func TestRulesAreTried(t *testing.T) {
	t.Parallel()
	box, c := openCloud(t)
	data, err := (&Management{Environment: "prod"}).issue(t.Context(), c, Key{Namespace: "c1", Name: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	try := func(key string) error { return uses()[key].tryRules(t.Context(), data[keyClouds], data[keyAuthority]) }
	for name, test := range map[string]struct {
		rules []faultinject.Rule
		key   string
		want  []string
		usage bool
	}{
		"all are allowed": {nil, keyClouds, nil, false},
		"two are not": {[]faultinject.Rule{{Service: "compute", Path: "/**/servers", Status: 401}, {Service: "identity", Method: http.MethodGet, Path: "/**/auth/tokens", Status: 403}}, keyClouds,
			[]string{"the compute API refuses GET /", "servers with these rules, which Cluster API needs", "the identity API refuses GET"}, true},
		"none for the cluster": {[]faultinject.Rule{{Service: "network", Path: "/**/ports", Status: 403}}, keyCloudProvider, []string{"/ports with these rules, which the cloud controller manager needs"}, true},
		"no answer":            {[]faultinject.Rule{{Service: "image", Path: "/**/images", Status: 404}}, keyClouds, []string{"application credential for Cluster API"}, false},
	} {
		for _, rule := range test.rules {
			rule.Kind = faultinject.API
			if _, err := box.Faults.Add(rule); err != nil {
				t.Fatal(err)
			}
		}
		err := try(test.key)
		if (err == nil) != (test.want == nil) || err != nil && (fault.ExitCode(err) == fault.ExitUsage) != test.usage {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if err := box.Faults.Clear(); err != nil {
			t.Fatal(err)
		}
	}
	if err := uses()[keyClouds].tryRules(t.Context(), []byte("clouds: {}"), nil); err == nil {
		t.Error("a credential of no cloud is tried")
	}
}

// TestWhoseCredentialAClusterUses: that of its release, or the one that has its name.
func TestWhoseCredentialAClusterUses(t *testing.T) {
	t.Parallel()
	key := Key{Namespace: "shop", Name: "shop"}
	of := func(name any) *release.Release {
		return &release.Release{Config: map[string]any{valueSecretName: name}}
	}
	for name, test := range map[string]struct {
		there known
		want  bool
	}{
		"ours": {known{origin: Ours, release: of(SecretName("shop"))}, true}, "another Secret": {known{origin: Ours, release: of("mine")}, false}, "none is said": {known{origin: Ours, release: of(nil)}, false},
		"no release": {known{origin: Ours}, true}, "adopted as it is": {known{origin: Ours, asItIs: true}, false}, "of others": {known{origin: Others, release: of(SecretName("shop"))}, false},
	} {
		if got := test.there.usesOwn(key); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for _, test := range []struct {
		a, b Project
		want bool
	}{{Project{"1", "a"}, Project{"1", "b"}, true}, {Project{"1", "a"}, Project{"2", "a"}, false}, {Project{"", "a"}, Project{"", "a"}, true}, {Project{"", "a"}, Project{"1", "a"}, true}, {Project{"", "a"}, Project{"", "b"}, false}, {Project{}, Project{}, true}, {Project{}, Project{"1", ""}, false}} {
		if got := (home{Project: test.a}).same(home{Project: test.b}); got != test.want {
			t.Errorf("%+v and %+v: %t", test.a, test.b, got)
		}
	}
}
