package openstack

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// placed are clients of a region.
type placed struct {
	Clients
	region string
	others bool
}

func (p placed) Region() string { return p.region }

func (p placed) OtherRegions() bool { return p.others }

func (p placed) Identity() (*gophercloud.ServiceClient, error) {
	if p.Clients == nil {
		return nil, errors.New("there is no login")
	}
	return p.Clients.Identity()
}

func TestBelongs(t *testing.T) {
	t.Parallel()
	mark := ownership.New("prod", "credential")
	for name, test := range map[string]struct {
		clients   placed
		described string
		want      Belonging
	}{
		"the same region":                    {placed{region: "one", others: true}, mark.DescriptionIn("one"), Here},
		"another region":                     {placed{region: "one", others: true}, mark.DescriptionIn("two"), Away},
		"another, which is in no catalog":    {placed{region: "one"}, mark.DescriptionIn("two"), Away},
		"no region, and the cloud has one":   {placed{region: "one"}, mark.Description(), Here},
		"no region, and the cloud has more":  {placed{region: "one", others: true}, mark.Description(), Unclear},
		"a login without a region":           {placed{others: true}, mark.DescriptionIn("two"), Here},
		"neither has a region":               {placed{others: true}, mark.Description(), Here},
		"a region whose name begins like it": {placed{region: "one", others: true}, mark.DescriptionIn("one-b"), Away},
	} {
		if got := Belongs(test.clients, test.described); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// twoRegions is a cloud with the same services in two regions, and the member's login in both.
func twoRegions(t *testing.T) (first, second *cloud.Cloud) {
	t.Helper()
	box := sandboxtest.Start(t)
	admin := box.Admin.Identity(t)
	pages, err := endpoints.List(admin, endpoints.ListOpts{}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := endpoints.ExtractEndpoints(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if err := endpoints.Create(t.Context(), admin, endpoints.CreateOpts{Availability: e.Availability, Region: "RegionTwo", URL: e.URL, ServiceID: e.ServiceID}).Err; err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	in := func(region string) *cloud.Cloud {
		opened, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text, Region: region})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(opened.Close)
		return opened
	}
	return in("RegionOne"), in("RegionTwo")
}

// credentialsIn are the IDs among what an environment has.
func credentialsIn(things []Resource) (ids []string) {
	for _, thing := range things {
		if thing.Type == TypeCredential {
			ids = append(ids, thing.ID)
		}
	}
	return ids
}

// TestCredentialsOfAnotherRegionStay: one project has environments of the same name in two
// regions. What is made, made anew, listed and revoked in one leaves the credentials of the
// other.
func TestCredentialsOfAnotherRegionStay(t *testing.T) {
	t.Parallel()
	first, second := twoRegions(t)
	grant, err := first.Grant()
	if err != nil {
		t.Fatal(err)
	}
	of := func(clients Clients) ClusterCredential {
		return ClusterCredential{Clients: clients, UserID: grant.UserID, Ownership: Ownership{Environment: "prod", Step: ownership.ClusterStep("default", "web")}}
	}
	kept, _, err := of(first).Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var made string
	for range 2 { // a second time, as after a run that was killed
		if made, _, err = of(second).Make(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for id, clients := range map[string]*cloud.Cloud{kept: first, made: second} {
		i := Inventory{Clients: clients, UserID: grant.UserID}
		things, err := i.List(t.Context(), "prod")
		if got := credentialsIn(things); err != nil || !slices.Equal(got, []string{id}) {
			t.Errorf("%s has the credentials %v (%v), want %s", clients.Region(), got, err, id)
		}
		things, err = i.Everything(t.Context(), grant.ProjectID, "")
		if got := credentialsIn(things); err != nil || !slices.Equal(got, []string{id}) {
			t.Errorf("everything in %s has the credentials %v (%v), want %s", clients.Region(), got, err, id)
		}
	}
	if ids, err := of(second).Revoke(t.Context()); err != nil || !slices.Equal(ids, []string{made}) {
		t.Errorf("revoked %v, %v", ids, err)
	}
	client, err := first.Identity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := applicationcredentials.Get(t.Context(), client, grant.UserID, kept).Extract(); err != nil {
		t.Errorf("the credential of the first region: %v", err)
	}
}

// TestACredentialOfAnUnknownRegionStays, unless its cluster is known to have it: it was made
// before descriptions had regions, perhaps for an environment in the other one.
func TestACredentialOfAnUnknownRegionStays(t *testing.T) {
	t.Parallel()
	first, second := twoRegions(t)
	grant, err := first.Grant()
	if err != nil {
		t.Fatal(err)
	}
	cluster := ClusterCredential{Clients: placed{Clients: second}, UserID: grant.UserID, Ownership: Ownership{Environment: "prod", Step: ownership.ClusterStep("default", "web")}}
	former, _, err := cluster.Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := Inventory{Clients: second, UserID: grant.UserID}
	things, err := i.List(t.Context(), "prod")
	if got := credentialsIn(things); err != nil || len(got) > 0 {
		t.Errorf("the environment has %v, %v", got, err)
	}
	unclear, err := i.UnclearCredentials(t.Context(), "prod")
	if got := credentialsIn(unclear); err != nil || !slices.Equal(got, []string{former}) {
		t.Errorf("unclear are %v (%v), want %s", got, err, former)
	}
	cluster.Clients = second
	if ids, err := cluster.Revoke(t.Context()); err != nil || len(ids) > 0 {
		t.Errorf("revoked %v, %v", ids, err)
	}
	cluster.Known = []string{former}
	if ids, err := cluster.Revoke(t.Context()); err != nil || !slices.Equal(ids, []string{former}) {
		t.Errorf("revoked of those that are known %v, %v", ids, err)
	}
}
