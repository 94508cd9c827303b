package janitor

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

var errAway = errors.New("the API server is away")

// breaks lets the calls of the API server fail that begin with these words: verb, kind, namespace.
func (w *world) breaks(call string, err error) {
	w.Helper()
	fails := func(verb string, object runtime.Object, namespace string) error {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		if kind == "" {
			kind = reflect.TypeOf(object).Elem().Name()
		}
		if strings.HasPrefix(verb+" "+kind+" "+namespace, call) {
			return err
		}
		return nil
	}
	broken := interceptor.NewClient(w.kube.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := fails("get", o, key.Namespace); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			o := client.ListOptions{}
			o.ApplyOptions(opts)
			if err := fails("list", list, o.Namespace); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := fails("delete", o, o.GetNamespace()); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := fails("patch", o, o.GetNamespace()); err != nil {
				return err
			}
			return c.Patch(ctx, o, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, part string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := fails("patch "+part, o, o.GetNamespace()); err != nil {
				return err
			}
			return c.SubResource(part).Patch(ctx, o, patch, opts...)
		},
	})
	w.r.client, w.r.reader = broken, broken
}

// shared is an identity for all namespaces, whose Secret is the cluster's.
func (s *site) shared(exists bool) {
	s.Helper()
	identity := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"secretRef": map[string]any{"name": s.Name + "-cloud-credentials", "namespace": s.Namespace}}}}
	identity.SetGroupVersionKind(identityKind())
	identity.SetName("everybody")
	if exists {
		present(s.T, "identity", s.kube.Create(s.Context(), identity))
	}
	s.edit(func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedMap(o.Object, map[string]any{"type": identityOfCluster, "name": "everybody", "cloudName": "openstack"}, "spec", "identityRef")
	})
}

// TestWhatTheAPIServerDoesNotTell holds a cluster: nobody knows what would be lost.
func TestWhatTheAPIServerDoesNotTell(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare        func(s *site)
		call           string
		reason, inText string // an empty reason: the attempt itself is an error
	}{
		"which clusters have its name":     {nil, "list OpenStackCluster ", ReasonCleanupFailed, "listing OpenStackClusters"},
		"what a cluster of its name has":   {func(s *site) { s.cluster("team-b", s.Name) }, "get OpenStackCluster team-b", ReasonCleanupFailed, "away"},
		"where a cluster of its name is":   {func(s *site) { s.cluster("team-b", s.Name) }, "get Secret team-b", ReasonCleanupFailed, "reading Secret team-b"},
		"whether a rival's Cluster goes":   {rivalOfACluster, "get Cluster team-b", ReasonCleanupFailed, "reading Cluster prod"},
		"that it is reported":              {func(s *site) { s.annotate(DryRunAnnotation, "true") }, "patch OpenStackCluster", ReasonCleanupFailed, "writing the report"},
		"whether its Cluster goes":         {func(s *site) { s.ownedBy(s, func(*unstructured.Unstructured) {}) }, "get Cluster ", "", "reading Cluster prod"},
		"which machines it has":            {(*site).going, "list Machine ", "", "listing Machines of Cluster prod"},
		"that it is noted":                 {nil, "patch status OpenStackCluster", "", "writing the condition"},
		"what its identity is":             {func(s *site) { s.shared(true) }, "get OpenStackClusterIdentity", ReasonCleanupFailed, "reading OpenStackClusterIdentity everybody"},
		"that there is no identity, if so": {func(s *site) { s.shared(false) }, "nothing", ReasonCredentialMissing, "OpenStackClusterIdentity everybody does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.cluster("default", "prod")
			if test.prepare != nil {
				test.prepare(s)
			}
			s.delete()
			w.breaks(test.call, errAway)
			if test.reason != "" {
				s.held(test.reason, test.inText)
				return
			}
			if _, err := s.r.Reconcile(t.Context(), s.request()); !errors.Is(err, errAway) || !strings.Contains(err.Error(), test.inText) {
				t.Errorf("the attempt ended with %v, want %q", err, test.inText)
			}
			if !slices.Contains(s.object().GetFinalizers(), Finalizer) {
				t.Error("it was let go")
			}
		})
	}
}

// rivalOfACluster is another cluster of the name, which is being deleted while its Cluster lives.
func rivalOfACluster(s *site) {
	s.Helper()
	other := s.cluster("team-b", s.Name, finalized(Finalizer, capoFinalizer))
	s.ownedBy(other, func(*unstructured.Unstructured) {})
	other.delete()
}

// groups are how many security groups the project has.
func (s *site) groups() int {
	s.Helper()
	pages, err := groups.List(s.cloud.Member.Network(s.T), groups.ListOpts{}).AllPages(s.Context())
	found := must(s.T, pages, err)
	all, err := groups.ExtractGroups(found)
	return len(must(s.T, all, err))
}

// attached is a volume of the cluster in use by a server.
func (s *site) attached() {
	s.Helper()
	volume, client := s.volume(nil), s.cloud.Member.BlockStorage(s.T)
	present(s.T, "volume", volumes.WaitForStatus(s.Context(), client, volume, "available"))
	o := volumes.AttachOpts{InstanceUUID: "5d9cdd4c-6d1b-4f1a-9e56-0f4d1f8a7f11", MountPoint: "/dev/vdb", Mode: volumes.ReadWrite}
	present(s.T, "attaching", volumes.Attach(s.Context(), client, volume, o).ExtractErr())
}

// going gives the cluster a Cluster that is being deleted.
func (s *site) going() {
	s.Helper()
	present(s.T, "the deletion of its Cluster", s.kube.Delete(s.Context(), s.ownedBy(s, func(*unstructured.Unstructured) {})))
}

// TestKindsThatAreNotServed have no objects: a management cluster may lack them.
func TestKindsThatAreNotServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	s.going()
	s.delete()
	w.breaks("list Machine ", &meta.NoKindMatchError{})
	s.settle()
}

// TestWhatTheCloudDoesNotTell holds a cluster too: what may be another's is not deleted.
func TestWhatTheCloudDoesNotTell(t *testing.T) {
	t.Parallel()
	elsewhere := func(s *site) {
		other := &site{world: s.world, NamespacedName: s.NamespacedName}
		other.connect()
		other.service("web")
	}
	for name, test := range map[string]struct {
		prepare               func(s *site)
		service, method, path string
		want                  string
	}{
		"pools":             {elsewhere, "load-balancer", http.MethodGet, "/**/pools", "listing load balancers"},
		"a network":         {elsewhere, "network", http.MethodGet, "/v2.0/networks/*", "listing load balancers"},
		"ports of a group":  {func(s *site) { s.service("web") }, "network", http.MethodGet, "/v2.0/ports", "listing security groups"},
		"ports of a server": {func(s *site) { s.attached() }, "network", http.MethodGet, "/v2.0/ports", "listing volumes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.cluster("default", "prod")
			test.prepare(s)
			before := s.groups()
			w.fault(faultinject.Rule{Service: test.service, Method: test.method, Path: test.path, Status: http.StatusNotImplemented})
			s.delete()
			s.held(ReasonCleanupFailed, test.want)
			if after := s.groups(); after != before {
				t.Errorf("%d of %d security groups are left", after, before)
			}
			w.heal()
		})
	}
}

// TestACredentialThatCannotBeEnded: that nothing else is left stays noted, so that the cluster goes
// even if the credential is gone and its Secret is not.
func TestACredentialThatCannotBeEnded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call, want string
		gone       bool // the credential in the cloud
	}{
		"who else has it is not told":  {"list OpenStackCluster default", "listing OpenStackClusters", false},
		"Keystone does not delete it":  {"", "deleting application credential", false},
		"its Secret cannot be deleted": {"delete Secret", "deleting Secret default/prod-cloud-credentials", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.cluster("default", "prod")
			c := s.asked(true)
			s.delete()
			if w.breaks(test.call, errAway); test.call == "" {
				w.breaks("nothing", nil)
				w.fault(faultinject.Rule{Service: "identity", Method: http.MethodDelete, Path: "/**/application_credentials/*", Status: http.StatusNotImplemented})
			}
			if result := s.once(); result.RequeueAfter != firstDelay || !cleaned(target{object: s.object()}) {
				t.Errorf("again in %s, with %v", result.RequeueAfter, conditionOf(s.object()))
			}
			if told := w.told(); !strings.Contains(told, "Warning "+ReasonCleanupFailed+" "+test.want) {
				t.Errorf("events:\n%s", told)
			}
			if failures := w.count("capi_janitor_cleanups_total", "failure"); failures != 1 {
				t.Errorf("%v failures counted", failures)
			}
			if err := w.getCredential(c.ID); (err != nil) != test.gone {
				t.Errorf("the credential: %v", err)
			}
			w.heal()
			w.breaks("nothing", nil)
			s.settle()
			absent(t, "the credential", w.getCredential(c.ID))
		})
	}
}
