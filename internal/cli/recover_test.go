package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// TestRecoverAsksTheCloud: as one thing after the other goes, the diagnosis of the same
// environment changes; it never changes anything itself.
func TestRecoverAsksTheCloud(t *testing.T) {
	t.Parallel()
	cloud, file := project(t)
	compute := cloud.Member.Compute(t)
	upToTheSeed(t, file)
	diagnosed := func(when string, code fault.Exit, words ...string) {
		t.Helper()
		before := len(listed(t, compute))
		got, stdout, stderr := run(t.Context(), "recover", "--dry-run", "-f", file)
		if got != code {
			t.Fatalf("%s: exit code %d\n%s%s", when, got, stdout, stderr)
		}
		for _, word := range words {
			if !strings.Contains(stdout+stderr, word) {
				t.Errorf("%s: no %q in\n%s%s", when, word, stdout, stderr)
			}
		}
		if after := len(listed(t, compute)); after != before {
			t.Errorf("%s: %d servers became %d", when, before, after)
		}
	}
	diagnosed("never ready", fault.ExitUsage, "the state knows no management cluster", "--identity")

	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(text, "  managementCluster: {controlPlane: {count: 3}}\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	withManagement(t, file, []byte("none"))
	shelve(t, compute, data[statusData](t, "status", "-f", file, "-o", "json"))
	diagnosed("shelved", fault.ExitUsage, "prod-seed is SHELVED_OFFLOADED", "slipway seed wake", "the seed's data volume is there")

	seed, plane := "", machine(t, compute, cloud.Member.Image(t), ownership.New("prod", "management-cluster").Metadata())
	for _, s := range listed(t, compute) {
		if s.Name == "prod-seed" {
			seed = s.ID
		}
	}
	if _, err := servers.Update(t.Context(), compute, plane, servers.UpdateOpts{Name: "prod-control-plane-a"}).Extract(); err != nil {
		t.Fatal(err)
	}
	deleted(t, compute, seed)
	diagnosed("without a seed and a quorum", fault.ExitUsage, "the seed's server is gone", "prod-control-plane-a ACTIVE", "only 1 of 3 control plane servers run")

	deleted(t, compute, plane)
	diagnosed("without servers", fault.ExitUsage, "control plane servers: 0 of 3", "only a full rebuild", "openstack volume delete ")

	storage := cloud.Member.BlockStorage(t)
	for _, v := range volumesOf(t, storage) {
		if err := volumes.Delete(t.Context(), storage, v.ID, nil).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	diagnosed("without anything", fault.ExitUsage, "the seed's data volume is gone", "--identity: no private age key is named")
}

func listed(t *testing.T, compute *gophercloud.ServiceClient) []servers.Server {
	t.Helper()
	pages, err := servers.List(compute, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := servers.ExtractServers(pages)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func volumesOf(t *testing.T, storage *gophercloud.ServiceClient) []volumes.Volume {
	t.Helper()
	pages, err := volumes.List(storage, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := volumes.ExtractVolumes(pages)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func deleted(t *testing.T, compute *gophercloud.ServiceClient, id string) {
	t.Helper()
	if err := servers.Delete(t.Context(), compute, id).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := servers.Get(t.Context(), compute, id).Extract(); gophercloud.ResponseCodeIs(err, 404) {
			return
		}
	}
	t.Fatalf("server %s is there", id)
}
