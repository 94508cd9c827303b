package cli

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// machine is a server with metadata.
func machine(t *testing.T, compute, image *gophercloud.ServiceClient, metadata map[string]string) string {
	t.Helper()
	sizes, err := flavors.ListDetail(compute, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	size, _ := flavors.ExtractFlavors(sizes)
	systems, err := images.List(image, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	system, _ := images.ExtractImages(systems)
	s, err := servers.Create(t.Context(), compute, servers.CreateOpts{Name: "node", FlavorRef: size[0].ID, ImageRef: system[0].ID, Metadata: metadata}, nil).Extract()
	if err == nil {
		err = servers.WaitForStatus(t.Context(), compute, s.ID, "ACTIVE")
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// claim is a volume that Cinder CSI made on a cluster.
func claim(t *testing.T, storage, compute *gophercloud.ServiceClient, name, cluster, on string, metadata map[string]string) {
	t.Helper()
	marks := map[string]string{janitor.ClusterKey: cluster}
	maps.Copy(marks, metadata)
	v, err := volumes.Create(t.Context(), storage, volumes.CreateOpts{Name: name, Size: 1, Metadata: marks}, nil).Extract()
	if err == nil {
		err = volumes.WaitForStatus(t.Context(), storage, v.ID, "available")
	}
	if err == nil && on != "" {
		_, err = volumeattach.Create(t.Context(), compute, on, volumeattach.CreateOpts{VolumeID: v.ID}).Extract()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// volumesData is what down says of volumes.
type volumesData struct {
	Left    []struct{ Name string }
	Volumes []struct {
		ID, Name, Reason string
		Stays            bool
	}
}

// staying are the names of the volumes that are told to stay.
func (d volumesData) staying() (names []string) {
	for _, v := range d.Volumes {
		if v.Stays && v.Reason != "" && v.ID != "" {
			names = append(names, v.Name)
		}
	}
	return slices.Sorted(slices.Values(names))
}

// proves: F05
func TestVolumesOfWorkloadsStayOrGoByPolicy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		policy  string
		cluster bool // servers of the environment's cluster are there
		twin    bool // a server that is not ours has a volume of the name
		want    string
	}{
		"keep":                {policy: "keep", cluster: true, want: "attached kept loose"},
		"delete":              {policy: "delete", cluster: true, want: "kept"},
		"delete, with a twin": {policy: "delete", cluster: true, twin: true, want: "kept loose theirs"},
		"delete, later":       {policy: "delete", want: "kept loose"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, file := project(t)
			text, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, append(text, "  volumesPolicy: "+test.policy+"\n"...), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			compute, storage := cloud.Member.Compute(t), cloud.Member.BlockStorage(t)
			if test.cluster {
				claim(t, storage, compute, "attached", "prod", machine(t, compute, cloud.Member.Image(t), ownership.New("prod", "management-cluster").Metadata()), nil)
			}
			if test.twin {
				claim(t, storage, compute, "theirs", "prod", machine(t, compute, cloud.Member.Image(t), nil), nil)
			}
			claim(t, storage, compute, "loose", "prod", "", nil)
			claim(t, storage, compute, "kept", "prod", "", map[string]string{janitor.KeepKey: "true"})
			claim(t, storage, compute, "another", "stage", "", nil)

			dry := data[volumesData](t, "down", "--dry-run", "-f", file, "-o", "json")
			down := data[volumesData](t, "down", "--yes", "-f", file, "-o", "json")
			if !slices.Equal(dry.Volumes, down.Volumes) || len(down.Left) > 0 {
				t.Errorf("dry run %+v, down %+v", dry, down)
			}
			if got := strings.Join(down.staying(), " "); got != test.want {
				t.Errorf("told as staying: %s, want %s", got, test.want)
			}
			pages, err := volumes.List(storage, nil).AllPages(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			list, _ := volumes.ExtractVolumes(pages)
			var left []string
			for _, v := range list {
				left = append(left, v.Name)
			}
			slices.Sort(left)
			if got := strings.Join(left, " "); got != "another "+test.want {
				t.Errorf("left %s, want another %s", got, test.want)
			}
			if code, said, _ := run(t.Context(), "down", "--yes", "-f", file); code != fault.ExitOK || !strings.Contains(said, "volume kept of a workload (") {
				t.Errorf("again, for people: exit code %d\n%s", code, said)
			}
		})
	}
}
