package janitor

import (
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
)

// proves: F141
func TestServicesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	web, api := s.service("web"), s.service("api")
	loose := s.address("Floating IP for Kubernetes external service default/old from cluster prod", "")
	others := []string{
		s.address("for a colleague", ""),
		s.address("Floating IP for Kubernetes external service default/web from cluster nonprod", ""),
		s.address("Floating IP for Kubernetes external service default/web from cluster prod2", ""),
	}
	group := s.group("Security Group for default/web Service LoadBalancer in cluster another")
	longer := w.balancerNamed("kube_service_prod2_default_web", s.subnet)
	s.delete()
	s.settle()
	for _, one := range []service{web, api} {
		absent(t, "load balancer", w.getBalancer(one.balancer))
		absent(t, "floating IP", w.getAddress(one.address))
		absent(t, "security group", w.getGroup(one.group))
	}
	absent(t, "loose floating IP", w.getAddress(loose))
	for _, one := range others {
		present(t, "another's floating IP", w.getAddress(one))
	}
	present(t, "another's security group", w.getGroup(group))
	present(t, "another's load balancer", w.getBalancer(longer))
	if told := w.told(); !strings.Contains(told, "Normal "+EventSucceeded) {
		t.Errorf("events:\n%s", told)
	}
}

// CAPO can delete the network afterwards: no port is left on it.
//
// proves: F141
func TestTheNetworkCanBeDeletedAfterwards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	s.service("web")
	client := w.cloud.Member.Network(t)
	if _, err := routers.RemoveInterface(t.Context(), client, s.router, routers.RemoveInterfaceOpts{SubnetID: s.subnet}).Extract(); err == nil {
		if err := networks.Delete(t.Context(), client, s.network).ExtractErr(); err == nil {
			t.Fatal("the network could be deleted before")
		}
	}
	s.delete()
	s.settle()
	_, _ = routers.RemoveInterface(t.Context(), client, s.router, routers.RemoveInterfaceOpts{SubnetID: s.subnet}).Extract()
	present(t, "deleting the network", networks.Delete(t.Context(), client, s.network).ExtractErr())
}

// proves: F142, F143, F144
func TestVolumesFollowThePolicy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fallback, annotation string
		deleted              bool
	}{
		"default":                     {"delete", "", true},
		"operator keeps":              {"keep", "", false},
		"annotation wins to keep":     {"delete", "keep", false},
		"annotation wins to delete":   {"keep", "delete", true},
		"any other value keeps":       {"delete", "Delete", false},
		"an empty annotation, keeps":  {"delete", " ", false},
		"the word within another one": {"delete", "delete-all", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *Options) { o.DefaultVolumesPolicy = test.fallback })
			s := w.cluster("default", "prod")
			if test.annotation != "" {
				s.annotate(VolumesPolicyAnnotation, test.annotation)
			}
			volume, keep := s.volume(nil), s.volume(map[string]string{KeepKey: "true"})
			almost := s.volume(map[string]string{KeepKey: "True"})
			snapshot := s.snapshot(volume, s.mark())
			s.delete()
			s.settle()
			present(t, "volume with keep", w.getVolume(keep))
			for what, err := range map[string]error{"volume": w.getVolume(volume), "snapshot": w.getSnapshot(snapshot), "volume with another word": w.getVolume(almost)} {
				if test.deleted {
					absent(t, what, err)
				} else {
					present(t, what, err)
				}
			}
		})
	}
}

// proves: F142
func TestThePolicyCountsWhenItIsChangedWhileDeleting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	volume := s.volume(nil)
	s.snapshot(volume, nil) // by hand: it holds the volume
	s.delete()
	s.held(ReasonDeleting, volume)
	s.annotate(VolumesPolicyAnnotation, "keep")
	s.settle()
	present(t, "volume", w.getVolume(volume))
}

// A snapshot that somebody made by hand is not the cluster's: it stays, holds
// its volume, and is named.
func TestSnapshotsOfOthersHoldTheirVolume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	volume := s.volume(nil)
	foreign, kept := s.snapshot(volume, nil), s.volume(nil)
	s.snapshot(kept, map[string]string{ClusterKey: s.Name, KeepKey: "true"})
	s.delete()
	s.held(ReasonDeleting, foreign)
	present(t, "the snapshot made by hand", w.getSnapshot(foreign))
	if err := w.removeSnapshot(foreign); err != nil {
		t.Fatal(err)
	}
	s.settle()
	absent(t, "volume", w.getVolume(volume))
	present(t, "volume of a kept snapshot", w.getVolume(kept))
}

// proves: F140
func TestLivingClustersGetTheFinalizer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod", finalized(capoFinalizer))
	s.once()
	if got := s.object().GetFinalizers(); !slices.Contains(got, Finalizer) || !slices.Contains(got, capoFinalizer) {
		t.Errorf("finalizers %v", got)
	}
	volume := s.volume(nil)
	s.once()
	present(t, "volume of a living cluster", w.getVolume(volume))
}
