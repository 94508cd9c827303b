package workload

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
)

func (s *site) dynamic() *dynamicfake.FakeDynamicClient {
	return s.Kube.Dynamic.(*dynamicfake.FakeDynamicClient)
}

// keeps adds a cluster's object in a namespace with labels.
func (s *site) keeps(key Key, labels map[string]string, change func(*unstructured.Unstructured)) {
	s.Helper()
	_, err := s.typed.CoreV1().Namespaces().Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace, Labels: labels}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		s.Fatal(err)
	}
	s.object(kindOf("clusters"), map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": map[string]any{"name": key.Name, "namespace": key.Namespace}}, change)
}

func (s *site) object(kind schema.GroupVersionResource, text map[string]any, change func(*unstructured.Unstructured)) {
	s.Helper()
	o := &unstructured.Unstructured{Object: text}
	if change != nil {
		change(o)
	}
	if _, err := s.Kube.Dynamic.Resource(kind).Namespace(o.GetNamespace()).Create(s.Context(), o, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// filled is a site with a cluster of each maker: ours, the Magnum API's, another's, and the
// management cluster itself.
func filled(t *testing.T) (s *site, ours, magnums, others Key) {
	t.Helper()
	s = newSite(t)
	ours, magnums, others = Key{Namespace: "shop", Name: "shop"}, Key{Namespace: "magnum-p7", Name: "web-x1"}, Key{Namespace: "other", Name: "other"}
	s.keeps(ours, labels(ours), nil)
	s.keeps(magnums, map[string]string{v1alpha1.LabelProject: "p7"}, nil)
	s.keeps(others, nil, nil)
	s.keeps(Key{Namespace: stacks.ManagementNamespace, Name: "prod"}, nil, nil)
	s.object(v1alpha1.GroupVersion().WithResource("clusters"), map[string]any{"apiVersion": "magnum.slipway.sh/v1alpha1", "kind": "Cluster", "metadata": map[string]any{"name": magnums.Name, "namespace": magnums.Namespace},
		"spec": map[string]any{"uuid": firstUUID, "name": "Web.Front", "projectID": "p7"}}, nil)
	record := &corev1.Secret{Type: RecordType, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: RecordName("shop"), Labels: labels(ours)}}
	if _, err := s.typed.CoreV1().Secrets("shop").Create(t.Context(), record, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return s, ours, magnums, others
}

// fails lets one kind of call fail, of either client.
func (s *site) fails(verb, kind, namespace string) {
	reactor := func(a clienttesting.Action) (bool, runtime.Object, error) {
		if namespace != "" && a.GetNamespace() != namespace {
			return false, nil, nil
		}
		return true, nil, errAway
	}
	s.typed.PrependReactor(verb, kind, reactor)
	s.dynamic().PrependReactor(verb, kind, reactor)
}

// TestListsOfClusters have all but the management cluster, with who made them and their tenants.
func TestListsOfClusters(t *testing.T) {
	t.Parallel()
	s, ours, magnums, others := filled(t)
	list, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]Origin{}
	for _, one := range list {
		made[one.Namespace+"/"+one.Name] = one.MadeBy
		if (one.Tenant != nil) != (one.Name == magnums.Name) || one.Tenant != nil && *one.Tenant != (Tenant{"Web.Front", firstUUID, "p7"}) || one.Ready || one.Project != nil {
			t.Errorf("%+v", one)
		}
	}
	if want := map[string]Origin{ours.String(): Ours, magnums.String(): Magnum, others.String(): Others}; len(made) != 3 || made[ours.String()] != Ours || made[magnums.String()] != Magnum || made[others.String()] != Others {
		t.Errorf("%v, want %v", made, want)
	}
	for key, want := range map[Key]Origin{ours: Ours, magnums: Magnum, others: Others} {
		d, err := s.Describe(t.Context(), key)
		if err != nil || d.MadeBy != want || d.Name != key.Name || (d.Tenant != nil) != (key == magnums) {
			t.Errorf("%s: %+v, %v", key, d, err)
		}
	}
	if _, err := s.Describe(t.Context(), Key{Namespace: "shop", Name: "none"}); fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "it does not exist") {
		t.Errorf("one that is not there: %v", err)
	}
	for ask, want := range map[string]Key{"shop": ours, "Web.Front": magnums, firstUUID: magnums, "new": {Namespace: "new", Name: "new"}} {
		if got, err := s.Find(t.Context(), ask, ""); err != nil || got != want {
			t.Errorf("%s is found as %s, %v", ask, got, err)
		}
	}
}

// TestClustersThatNobodyTellsOf: a list that is not whole is an error, and so are its parts.
func TestClustersThatNobodyTellsOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		verb, kind, namespace  string
		list, describe, finds  bool // what fails
		looks, mayDelete, said bool
	}{
		"namespaces":  {"list", "namespaces", "", true, false, false, false, false, false},
		"a namespace": {"get", "namespaces", "", false, true, false, true, true, false},
		"a record":    {"get", "secrets", "shop", false, true, false, true, true, false},
		"clusters":    {"list", "clusters", "", true, true, true, false, false, true},
		"marks":       {"list", "secrets", "", true, true, true, true, true, false},
		"the Cluster": {"get", "clusters", "", false, true, false, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ours, _, _ := filled(t)
			s.fails(test.verb, test.kind, test.namespace)
			_, list := s.List(t.Context())
			_, describe := s.Describe(t.Context(), ours)
			_, finds := s.Find(t.Context(), "shop", "")
			_, looks := s.look(t.Context(), ours)
			_, mayDelete := s.MayDelete(t.Context(), ours)
			said := s.notDeleting(t.Context(), ours)
			for what, pair := range map[string]struct {
				err   error
				fails bool
			}{"list": {list, test.list}, "describe": {describe, test.describe}, "find": {finds, test.finds}, "look": {looks, test.looks}, "may delete": {mayDelete, test.mayDelete}, "deleting": {said, test.said}} {
				if (pair.err != nil) != pair.fails {
					t.Errorf("%s: %v", what, pair.err)
				}
			}
		})
	}
}

// TestClustersThatAreNotMadeHere are left as they are, each with what to do instead.
func TestClustersThatAreNotMadeHere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	shop := Key{Namespace: "shop", Name: "shop"}
	for name, test := range map[string]struct {
		key   Key
		there known
		want  string
	}{
		"the management cluster": {Key{Namespace: stacks.ManagementNamespace, Name: "prod"}, known{}, "it is the management cluster itself"},
		"one of its name":        {Key{Namespace: "shop", Name: "prod"}, known{}, "the management cluster has this name"},
		"the Magnum API's":       {shop, known{origin: Magnum, exists: true}, "the Magnum API created it"},
		"another's":              {shop, known{origin: Others, exists: true}, "slipway cluster create did not create it"},
		"one without values":     {shop, known{origin: Ours, exists: true, asItIs: true}, "it was adopted as it is"},
		"a new one":              {shop, known{}, ""},
		"what is left of one":    {shop, known{origin: Ours, asItIs: true}, ""},
		"ours":                   {shop, known{origin: Ours, exists: true}, ""},
	} {
		err := s.mayCreate(t.Context(), Wanted{Name: test.key.Name}, test.key, test.there, map[string]any{})
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || fault.Remedy(err) == "") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestClustersThatMayBeDeleted are ours, and what is left of them.
func TestClustersThatMayBeDeleted(t *testing.T) {
	t.Parallel()
	s, ours, magnums, others := filled(t)
	untold := Key{Namespace: magnums.Namespace, Name: "web-x2"}
	s.keeps(untold, nil, nil)
	left := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "x", Labels: map[string]string{LabelCluster: "left"}}}
	if _, err := s.typed.CoreV1().Secrets("other").Create(t.Context(), left, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		key    Key
		want   bool
		fails  string
		remedy string
	}{
		"ours":                   {ours, true, "", ""},
		"the Magnum API's":       {magnums, false, "its controllers would create it again", "openstack coe cluster delete " + firstUUID},
		"one that it forgot":     {untold, false, "its controllers would create it again", "openstack coe cluster list"},
		"another's":              {others, false, "slipway cluster create did not create it", "in which it was created"},
		"a mark of one":          {Key{Namespace: "other", Name: "left"}, true, "", ""},
		"none":                   {Key{Namespace: "other", Name: "none"}, false, "", ""},
		"none, and no namespace": {Key{Namespace: "none", Name: "none"}, false, "", ""},
		"the management cluster": {Key{Namespace: "any", Name: "prod"}, false, "it is the management cluster itself", "slipway down"},
	} {
		got, err := s.MayDelete(t.Context(), test.key)
		if got != test.want || (err == nil) != (test.fails == "") || err != nil && (!strings.Contains(err.Error(), test.fails) || !strings.Contains(fault.Remedy(err), test.remedy)) {
			t.Errorf("%s: %t, %v (%s)", name, got, err, fault.Remedy(err))
		}
	}
}

// TestSecretsOfUsers must be there, and nobody else's command makes the namespace in between.
func TestSecretsOfUsers(t *testing.T) {
	t.Parallel()
	s, ours, _, _ := filled(t)
	for name, want := range map[any]string{nil: "", SecretName("shop"): "", RecordName("shop"): "", "mine": "there is no Secret shop/mine"} {
		err := s.userSecret(t.Context(), ours, map[string]any{valueSecretName: name})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", name, err, want)
		}
	}
	s.fails("get", "secrets", "shop")
	if err := s.userSecret(t.Context(), ours, map[string]any{valueSecretName: "mine"}); !errors.Is(err, errAway) {
		t.Errorf("one that is not told: %v", err)
	}
	if made, err := s.ensureNamespace(t.Context(), ours, known{}); err == nil || made {
		t.Errorf("a namespace that came in between: %t, %v", made, err)
	}
	if made, err := s.ensureNamespace(t.Context(), ours, known{namespace: &corev1.Namespace{}}); err != nil || made {
		t.Errorf("one that is there: %t, %v", made, err)
	}
	if made, err := s.ensureNamespace(t.Context(), Key{Namespace: "new", Name: "new"}, known{}); err != nil || !made {
		t.Errorf("a new one: %t, %v", made, err)
	}
}

// TestWhatHelmKeepsIsDeleted where nobody else does, of the cluster alone, before its credential goes.
func TestWhatHelmKeepsIsDeleted(t *testing.T) {
	t.Parallel()
	s, ours, _, _ := filled(t)
	for _, cluster := range []string{"shop", "other"} {
		s.object(kindOf("openstackclusters"), map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackCluster",
			"metadata": map[string]any{"name": cluster, "namespace": "shop", "labels": map[string]any{labelStack: cluster}}}, nil)
	}
	var said []string
	if err := s.deleteKept(t.Context(), ours, func(text string) { said = append(said, text) }); err != nil {
		t.Fatal(err)
	}
	list, err := s.Kube.Dynamic.Resource(kindOf("openstackclusters")).Namespace("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetName() != "other" || len(said) != 1 {
		t.Errorf("left %v, %v; said %q", list, err, said)
	}
	s.fails("list", "kubeadmconfigtemplates", "")
	if err := s.deleteKept(t.Context(), ours, func(string) {}); !errors.Is(err, errAway) || !strings.Contains(err.Error(), "deleting kubeadmconfigtemplates") {
		t.Errorf("what cannot be listed: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errKilled)
	if err := orCause(ctx, errAway); !errors.Is(err, errKilled) {
		t.Errorf("the end of a wait: %v", err)
	}
	if err := orCause(t.Context(), errAway); !errors.Is(err, errAway) {
		t.Errorf("an error in a wait: %v", err)
	}
}

// TestClustersThatGoGetNoCredential: their deletion sees to it.
func TestClustersThatGoGetNoCredential(t *testing.T) {
	t.Parallel()
	s, ours, _, others := filled(t)
	now := metav1.Now()
	going := Key{Namespace: "shop", Name: "going"}
	s.keeps(going, nil, func(o *unstructured.Unstructured) {
		o.SetDeletionTimestamp(&now)
		o.SetFinalizers([]string{"cluster.cluster.x-k8s.io"})
	})
	for key, want := range map[Key]bool{ours: false, others: false, going: true} {
		if err := s.notDeleting(t.Context(), key); (err != nil) != want {
			t.Errorf("%s: %v", key, err)
		}
	}
	reports, err := clusterapi.Read(t.Context(), s.Kube.Dynamic, "shop")
	if names := len(slices.DeleteFunc(reports, func(r clusterapi.Report) bool { return r.State() == clusterapi.StateDeleting })); err != nil || names != 1 {
		t.Errorf("%d of the namespace stay, %v", names, err)
	}
}
