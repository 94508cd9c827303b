package janitor

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What the network identifies is deleted; what bears only the name is not, as
// long as another cluster of that name lives in the project.
//
// proves: F151
func TestTwoClustersOfOneNameInOneProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.cluster("team-a", "prod"), w.cluster("team-b", "prod")
	mine, theirs := one.service("web"), two.service("web")
	volume := two.volume(nil)
	one.delete()
	one.held(ReasonNameConflict, "team-b/prod", volume, mine.group)
	absent(t, "its load balancer", w.getBalancer(mine.balancer))
	absent(t, "its floating IP", w.getAddress(mine.address))
	present(t, "the other's load balancer", w.getBalancer(theirs.balancer))
	present(t, "the other's floating IP", w.getAddress(theirs.address))
	present(t, "the other's security group", w.getGroup(theirs.group))
	present(t, "the other's volume", w.getVolume(volume))
	if told := w.told(); !strings.Contains(told, "Warning "+ReasonNameConflict) {
		t.Errorf("events:\n%s", told)
	}
	two.delete() // all of that name is to go now
	two.settle()
	one.settle()
	absent(t, "the volume", w.getVolume(volume))
	absent(t, "its security group", w.getGroup(mine.group))
}

// proves: F151
func TestARivalThatKeepsItsVolumesHoldsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.cluster("team-a", "prod"), w.cluster("team-b", "prod", finalized(Finalizer, capoFinalizer), annotated(VolumesPolicyAnnotation, "keep"))
	volume := two.volume(nil)
	two.delete()
	one.delete()
	one.held(ReasonNameConflict, volume)
	present(t, "the volume that is to be kept", w.getVolume(volume))
}

// TestARivalOnTheSameNetworkWithoutACredential: what is on a network that both name is either's,
// also where nobody can log in to ask for the rival's project.
//
// proves: F151
func TestARivalOnTheSameNetworkWithoutACredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.cluster("team-a", "prod")
	w.cluster("team-b", "prod", func(o *unstructured.Unstructured) { o.Object["status"] = one.object().Object["status"] })
	either := one.service("web")
	lost := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-b", Name: "prod-cloud-credentials"}}
	if err := w.kube.Delete(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	one.delete()
	one.held(ReasonNameConflict, "team-b/prod may be in the same project", either.balancer)
	present(t, "the load balancer of either", w.getBalancer(either.balancer))
	present(t, "the floating IP of either", w.getAddress(either.address))
	present(t, "the security group of either", w.getGroup(either.group))
}

// TestARivalWhoseCloudDoesNotAnswer: what is the cluster's for sure goes, whatever the other is. Only
// what bears no more than the name waits until somebody knows.
//
// proves: F151
func TestARivalWhoseCloudDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.cluster("team-a", "prod")
	w.cluster("team-b", "prod")
	clouds := w.clouds(w.credential(false))
	w.secret("team-b", "prod-cloud-credentials", strings.ReplaceAll(clouds, w.cloud.URL(), "http://127.0.0.1:1"), nil)
	mine, volume := one.service("web"), one.volume(nil)
	one.delete()
	one.held(ReasonNameConflict, "team-b/prod may be in the same project", volume)
	absent(t, "its load balancer", w.getBalancer(mine.balancer))
	absent(t, "its floating IP", w.getAddress(mine.address))
	present(t, "the volume of either", w.getVolume(volume))
	w.secret("team-b", "prod-cloud-credentials", strings.ReplaceAll(clouds, "region_name: RegionOne", "region_name: RegionTwo"), nil)
	one.settle()
	absent(t, "its volume", w.getVolume(volume))
}

// proves: F151
func TestTheSameNameInAnotherProjectIsNoRival(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.cluster("team-a", "prod"), w.cluster("team-b", "prod")
	w.secret("team-b", "prod-cloud-credentials", fmt.Sprintf(`clouds: {openstack: {region_name: RegionOne, auth: {auth_url: "%s/identity",
  username: admin, password: "%s", project_name: admin, user_domain_name: Default, project_domain_name: Default}}}`, w.cloud.URL(), w.cloud.Passwords().Admin), nil)
	volume := one.volume(nil)
	other, err := volumes.Create(t.Context(), w.cloud.Admin.BlockStorage(t), volumes.CreateOpts{Size: 1, Metadata: two.mark()}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	one.delete()
	one.settle()
	absent(t, "its volume", w.getVolume(volume))
	present(t, "the other project's volume", volumes.Get(t.Context(), w.cloud.Admin.BlockStorage(t), other.ID).Err)
}

// TestTheSameNameInAnotherRegionIsNoRival: Keystone knows the project in all regions, and
// what is in one of them is in no other.
//
// proves: F151
func TestTheSameNameInAnotherRegionIsNoRival(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		region string
		rival  bool
	}{
		"another":             {"region_name: RegionTwo", false},
		"the same":            {"region_name: RegionOne", true},
		"one that is unknown": {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			one := w.cluster("team-a", "prod")
			w.cluster("team-b", "prod")
			w.secret("team-b", "prod-cloud-credentials", strings.ReplaceAll(w.clouds(w.credential(false)), "region_name: RegionOne", test.region), nil)
			volume := one.volume(nil)
			one.delete()
			if test.rival {
				one.held(ReasonNameConflict, "team-b/prod", volume)
				return
			}
			one.settle()
			absent(t, "its volume", w.getVolume(volume))
		})
	}
}

// TestADeletedRivalThatIsHeldKeepsWhatItHas: deleted is not yet given up.
//
// proves: F151
func TestADeletedRivalThatIsHeldKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(*world, *site){
		"moved to another management cluster": func(_ *world, s *site) { s.annotate(movedAnnotation, "") },
		"paused":                              func(_ *world, s *site) { s.annotate(pausedAnnotation, "true") },
		"paused by a rebuild": func(w *world, s *site) {
			w.ownedBy(s, func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, true, "spec", "paused") })
		},
		"while its Cluster lives":   func(w *world, s *site) { w.ownedBy(s, func(*unstructured.Unstructured) {}) },
		"released without clean-up": func(_ *world, s *site) { s.annotate(ReleaseAnnotation, "true") },
		"a dry run":                 func(_ *world, s *site) { s.annotate(DryRunAnnotation, "true") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			one, two := w.cluster("team-a", "prod"), w.cluster("team-b", "prod", finalized(Finalizer, capoFinalizer))
			hold(w, two)
			volume := two.volume(nil)
			two.delete()
			one.delete()
			one.held(ReasonNameConflict, "team-b/prod", volume)
			present(t, "the volume of either", w.getVolume(volume))
		})
	}
}

// A rival of another management cluster shows itself in the cloud: by a load
// balancer of the name on a network that is not the cluster's.
//
// proves: F151
func TestARivalOfAnotherManagementCluster(t *testing.T) {
	t.Parallel()
	for what, mark := range map[string]func(s *site, other *site) (theirs func() error){
		"load balancer on its network": func(_, other *site) func() error {
			web := other.service("web")
			return func() error { return errors.Join(other.getAddress(web.address), other.getBalancer(web.balancer)) }
		},
		"volume of a server elsewhere": func(s, other *site) func() error {
			volume := s.volume(nil)
			server := "5d9cdd4c-6d1b-4f1a-9e56-0f4d1f8a7f11"
			client := s.cloud.Member.BlockStorage(s.T)
			err := volumes.WaitForStatus(s.Context(), client, volume, "available")
			present(s.T, "volume", err)
			err = volumes.Attach(s.Context(), client, volume, volumes.AttachOpts{InstanceUUID: server, MountPoint: "/dev/vdb", Mode: volumes.ReadWrite}).ExtractErr()
			present(s.T, "attaching", err)
			_, err = ports.Create(s.Context(), s.cloud.Member.Network(s.T), ports.CreateOpts{NetworkID: other.network, DeviceID: server}).Extract()
			present(s.T, "port of the server", err)
			return func() error { return s.getVolume(volume) }
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.cluster("default", "prod")
			other := &site{world: w, NamespacedName: s.NamespacedName}
			other.connect()
			theirs := mark(s, other)
			mine, volume := s.service("api"), s.volume(nil)
			s.delete()
			s.held(ReasonNameConflict, volume)
			absent(t, "its load balancer", w.getBalancer(mine.balancer))
			present(t, "the other's "+what, theirs())
			present(t, "a volume of either", w.getVolume(volume))
		})
	}
}

// A load balancer whose address a Service put elsewhere is the cluster's if its
// members are.
func TestALoadBalancerElsewhereIsKnownByItsMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	other := &site{world: w, NamespacedName: s.NamespacedName}
	other.connect()
	mine := s.balancerWithMember(other.subnet, s.subnet)
	theirs := s.balancerWithMember(other.subnet, other.subnet)
	s.delete()
	s.settle()
	absent(t, "with members on its network", w.getBalancer(mine))
	present(t, "with members elsewhere", w.getBalancer(theirs))
}

// proves: F153
func TestDryRun(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]func(*Options, *site){
		"annotation": func(_ *Options, s *site) { s.annotate(DryRunAnnotation, "true") },
		"option":     func(o *Options, _ *site) { o.DryRun = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.cluster("default", "prod")
			by(&w.r.options, s)
			web, volume, keep := s.service("web"), s.volume(nil), s.volume(map[string]string{KeepKey: "true"})
			s.delete()
			s.held(ReasonDryRun, "4 resources")
			for what, err := range map[string]error{"load balancer": w.getBalancer(web.balancer), "floating IP": w.getAddress(web.address),
				"security group": w.getGroup(web.group), "volume": w.getVolume(volume)} {
				present(t, what, err)
			}
			report := s.object().GetAnnotations()[ReportAnnotation]
			for _, want := range []string{web.balancer, web.address, web.group, volume, keep, `"delete":4`, `"keep":1`} {
				if !strings.Contains(report, want) {
					t.Errorf("report has no %s: %s", want, report)
				}
			}
			w.r.options.DryRun = false
			s.annotate(DryRunAnnotation, "false")
			s.settle()
			absent(t, "volume", w.getVolume(volume))
			present(t, "kept volume", w.getVolume(keep))
		})
	}
}

// proves: F153
func TestDryRunOfALivingCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod", annotated(DryRunAnnotation, "true"))
	volume := s.volume(nil)
	s.once()
	if report := s.object().GetAnnotations()[ReportAnnotation]; !strings.Contains(report, volume) {
		t.Errorf("report %q", report)
	}
	present(t, "volume", w.getVolume(volume))
}

// TestADryRunThatHasEnded: a cache that still has the annotation makes no real run of it.
func TestADryRunThatHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	volume := s.volume(nil)
	stale := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name,
		Annotations: map[string]string{DryRunAnnotation: yes}, Finalizers: []string{Finalizer}}}
	if _, err := w.r.living(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	present(t, "volume", w.getVolume(volume))
	if report := s.object().GetAnnotations()[ReportAnnotation]; report != "" {
		t.Errorf("report %q", report)
	}
}

// ownedBy makes the Cluster that an OpenStackCluster belongs to.
func (w *world) ownedBy(s *site, edit func(*unstructured.Unstructured)) *unstructured.Unstructured {
	w.Helper()
	owner := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "spec": map[string]any{}}}
	owner.SetNamespace(s.Namespace)
	owner.SetName(s.Name)
	owner.SetUID("u1")
	owner.SetFinalizers([]string{"cluster.cluster.x-k8s.io"})
	edit(owner)
	if err := w.kube.Create(w.Context(), owner); err != nil {
		w.Fatal(err)
	}
	s.edit(func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": s.Name, "uid": "u1"}}, "metadata", "ownerReferences")
	})
	return owner
}

// While the Cluster lives, its machines use what would be deleted.
func TestALivingClusterLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	owner := w.ownedBy(s, func(*unstructured.Unstructured) {})
	volume := s.volume(nil)
	s.delete()
	s.held(ReasonClusterNotDeleted, "Cluster prod is not being deleted")
	present(t, "volume", w.getVolume(volume))
	if err := w.kube.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	s.settle()
	absent(t, "volume", w.getVolume(volume))
}

// `clusterctl move` deletes objects whose cluster lives on elsewhere, with an
// annotation, and pauses the Cluster while it works.
func TestMovedAndPausedClustersLoseNothing(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*world, *site){
		"moved": func(_ *world, s *site) { s.annotate(movedAnnotation, "") },
		"paused by annotation": func(_ *world, s *site) {
			s.annotate(pausedAnnotation, "true")
		},
		"paused Cluster": func(w *world, s *site) {
			owner := w.ownedBy(s, func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, true, "spec", "paused") })
			if err := w.kube.Delete(w.Context(), owner); err != nil {
				w.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.cluster("default", "prod")
			web, volume := s.service("web"), s.volume(nil)
			prepare(w, s)
			s.delete()
			for range 3 {
				s.once()
			}
			present(t, "volume", w.getVolume(volume))
			present(t, "load balancer", w.getBalancer(web.balancer))
			if s.object() == nil {
				t.Error("the janitor let go what others still hold")
			}
		})
	}
}
