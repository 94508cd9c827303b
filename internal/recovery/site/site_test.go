package site_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/site"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func logins(t *testing.T, box *sandboxtest.Cloud) []recovery.Login {
	t.Helper()
	text, err := os.ReadFile(box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	wrong := []byte(strings.ReplaceAll(string(text), "password: ", "password: x"))
	return []recovery.Login{{Cluster: "a/a", Entry: "sandbox", CloudsYAML: text}, {Cluster: "b/b", Entry: "sandbox", CloudsYAML: text}, {Cluster: "admin/admin", Entry: "sandbox-admin", CloudsYAML: text},
		{Cluster: "wrong/wrong", Entry: "sandbox", CloudsYAML: wrong}, {Cluster: "none/none", Err: errors.New("its Secret is not there")}}
}

func open(t *testing.T, box *sandboxtest.Cloud) *site.Site {
	t.Helper()
	told := 0
	s, err := site.Open(t.Context(), logins(t, box), "slipway/test", func(n, total int) { told = n })
	if err != nil {
		t.Fatal(err)
	}
	if told != 5 {
		t.Errorf("told of %d", told)
	}
	t.Cleanup(s.Close)
	return s
}

func TestEveryProjectIsReadOnceByItsClustersLogins(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	n, err := networks.Create(t.Context(), box.Member.Network(t), networks.CreateOpts{Name: "mine"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, box)
	seen := s.Cloud()
	if seen.Projects["a/a"] != n.ProjectID || seen.Projects["b/b"] != n.ProjectID || seen.Projects["admin/admin"] == n.ProjectID || len(seen.Projects) != 3 {
		t.Errorf("projects %v", seen.Projects)
	}
	if len(seen.Unread) != 2 || !strings.Contains(seen.Unread["none/none"], "Secret") || seen.Unread["wrong/wrong"] == "" {
		t.Errorf("unread %v", seen.Unread)
	}
	found := 0
	for _, one := range seen.Networks {
		if one.ID == n.ID && one.Project == n.ProjectID && one.Name == "mine" {
			found++
		}
	}
	if found != 1 {
		t.Errorf("the network is there %d times", found)
	}
	if _, err := s.Running(t.Context()); err != nil {
		t.Errorf("looking again: %v", err)
	}
}

// TestAProjectIsReadInEachRegion that a cluster is in: what is listed in one says nothing of
// the other.
func TestAProjectIsReadInEachRegion(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	regionWithoutCompute(t, box)
	one := logins(t, box)[0]
	two, three := one, one
	two.Cluster, two.Region, three.Cluster = "b/b", "RegionTwo", "c/c"
	for _, all := range [][]recovery.Login{{one, two, three}, {two, three, one}} {
		s, err := site.Open(t.Context(), all, "slipway/test", func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		seen := s.Cloud()
		if len(seen.Projects) != 3 || len(seen.Unread) != 1 || seen.Unread["b/b"] == "" {
			t.Errorf("projects %v, unread %v", seen.Projects, seen.Unread)
		}
	}
}

// regionWithoutCompute adds a region to the catalog, in which the cloud lacks Nova.
func regionWithoutCompute(t *testing.T, box *sandboxtest.Cloud) {
	t.Helper()
	admin := box.Admin.Identity(t)
	pages, err := services.List(admin, services.ListOpts{ServiceType: "compute"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compute, err := services.ExtractServices(pages)
	if err != nil || len(compute) != 1 {
		t.Fatalf("%d services, %v", len(compute), err)
	}
	if pages, err = endpoints.List(admin, endpoints.ListOpts{}).AllPages(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := endpoints.ExtractEndpoints(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.ServiceID == compute[0].ID {
			continue
		}
		if err := endpoints.Create(t.Context(), admin, endpoints.CreateOpts{Availability: e.Availability, Region: "RegionTwo", URL: e.URL, ServiceID: e.ServiceID}).Err; err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatCannotBeListedProvesNothing: an empty list of a service that fails must not
// look like a cloud without servers.
func TestWhatCannotBeListedProvesNothing(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	s := open(t, box)
	if _, err := box.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: "compute", Method: "GET", Path: "/v2.1/servers/detail", Status: 403}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Running(t.Context()); err == nil || !strings.Contains(err.Error(), "servers") {
		t.Errorf("looking again: %v", err)
	}
	seen := open(t, box).Cloud()
	for _, cluster := range []string{"a/a", "b/b", "admin/admin"} {
		if !strings.Contains(seen.Unread[cluster], "servers") {
			t.Errorf("%s: %q", cluster, seen.Unread[cluster])
		}
	}
}
