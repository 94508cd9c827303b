package stacks_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	installed "github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

const withMagnum = plain + `
spec:
  managementCluster:
    controlPlane: {count: 1}
  magnum:
    serviceProject: services
    labels: {boot_volume_size: "20"}
`

// magnumWorld is a world with an administrator and the Magnum API.
func magnumWorld(t *testing.T, more ...string) (*world, *gophercloud.ServiceClient) {
	t.Helper()
	box := sandboxtest.Start(t)
	w := newWorld(t, box, withMagnum+strings.Join(more, ""))
	w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
	w.env.NodeImage = w.env.Image
	w.env.Equipment.Cloud = stacks.Cloud{AuthURL: box.URL() + "/identity", Region: "RegionOne"}
	identity := must[*gophercloud.ServiceClient](t)(administrator(t.Context(), box))
	w.administrator = func(context.Context) (*gophercloud.ServiceClient, string, error) { return identity, "default", nil }
	return w, identity
}

func administrator(ctx context.Context, box *sandboxtest.Cloud) (*gophercloud.ServiceClient, error) {
	login := sandboxtest.User("admin", box.Passwords().Admin, "admin")
	login.IdentityEndpoint = box.URL() + "/identity"
	provider, err := openstack.AuthenticatedClient(ctx, login)
	if err != nil {
		return nil, err
	}
	return openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: "RegionOne"})
}

// inCatalog are the endpoints of the service, as "interface url enabled".
func inCatalog(t *testing.T, identity *gophercloud.ServiceClient) (service string, list []string) {
	t.Helper()
	pages, err := services.List(identity, services.ListOpts{ServiceType: "container-infra"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := services.ExtractServices(pages)
	if err != nil || len(found) > 1 {
		t.Fatalf("services %+v, %v", found, err)
	}
	if len(found) == 0 {
		return "", nil
	}
	all, err := endpoints.List(identity, endpoints.ListOpts{ServiceID: found[0].ID}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known, err := endpoints.ExtractEndpoints(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range known {
		list = append(list, strings.Join([]string{string(e.Availability), e.URL, map[bool]string{true: "on", false: "off"}[e.Enabled]}, " "))
	}
	slices.Sort(list)
	return found[0].ID, list
}

// made are users of ours, and the project that they are in.
func made(t *testing.T, identity *gophercloud.ServiceClient) []string {
	t.Helper()
	var names []string
	pages, err := users.List(identity, users.ListOpts{}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range must[[]users.User](t)(users.ExtractUsers(pages)) {
		if strings.HasPrefix(u.Name, "prod-") {
			names = append(names, u.Name)
		}
	}
	pages, err = projects.List(identity, projects.ListOpts{Name: "services"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range must[[]projects.Project](t)(projects.ExtractProjects(pages)) {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

func TestTheMagnumAPIIsInTheCatalogAndGoes(t *testing.T) {
	t.Parallel()
	w, identity := magnumWorld(t)
	w.up(t)
	if got := made(t, identity); !slices.Equal(got, []string{"prod-magnum-administrator", "prod-magnum-user", "services"}) {
		t.Errorf("made %v", got)
	}
	address := w.only(t, stacks.StepMagnumAddress)
	url := "https://" + address.Name + ":9511/v1"
	want := []string{"admin " + url + " on", "internal " + url + " on", "public " + url + " on"}
	if _, got := inCatalog(t, identity); !slices.Equal(got, want) || w.output(t, stacks.OutputMagnumURL) != url || w.output(t, stacks.OutputMagnumAuthority) != "an authority" {
		t.Errorf("catalog %v, want %v; output %v", got, want, w.output(t, stacks.OutputMagnumURL))
	}
	if report := w.up(t); len(report.Changes) != 0 {
		t.Errorf("second up changed %v", report.Changes)
	}
	w.canLogIn(t)
	if _, err := w.run(t).Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if service, _ := inCatalog(t, identity); service != "" || len(made(t, identity)) > 0 {
		t.Errorf("left: service %q, %v", service, made(t, identity))
	}
}

// TestAnAPIBehindAnotherOneIsInNoCatalog: its users, its address and its templates are as ever, and
// what others have in the catalog stays.
func TestAnAPIBehindAnotherOneIsInNoCatalog(t *testing.T) {
	t.Parallel()
	w, identity := magnumWorld(t, "    catalog: false\n")
	service := must[*services.Service](t)(services.Create(t.Context(), identity, services.CreateOpts{Type: "container-infra", Name: "magnum"}).Extract())
	must[*endpoints.Endpoint](t)(endpoints.Create(t.Context(), identity, endpoints.CreateOpts{Availability: "public", Region: "RegionOne", URL: "http://east:9511/v1", ServiceID: service.ID}).Extract())
	w.up(t)
	w.canLogIn(t)
	url := "https://" + w.only(t, stacks.StepMagnumAddress).Name + ":9511/v1"
	if _, got := inCatalog(t, identity); !slices.Equal(got, []string{"public http://east:9511/v1 on"}) || w.output(t, stacks.OutputMagnumURL) != url {
		t.Errorf("catalog %v; output %v", got, w.output(t, stacks.OutputMagnumURL))
	}
	if _, err := w.run(t).Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, got := inCatalog(t, identity); len(got) != 1 || len(made(t, identity)) > 0 {
		t.Errorf("left: catalog %v, %v", got, made(t, identity))
	}
}

// canLogIn logs in as the API and its controllers do.
func (w *world) canLogIn(t *testing.T) {
	t.Helper()
	found := must[[]engine.Resource](t)(w.run(t).Resources(t.Context()))
	at := slices.IndexFunc(found, func(r engine.Resource) bool { return r.Name == stacks.StepMagnum })
	settings := installed.Magnum{}
	if err := json.Unmarshal([]byte(found[at].Text("settings")), &settings); err != nil {
		t.Fatal(err)
	}
	if settings.Labels["boot_volume_size"] != "20" || settings.NetworkDriver != "flannel" || !slices.Contains(settings.NetworkDrivers, "calico") {
		t.Errorf("settings %+v", settings)
	}
	for _, clouds := range []string{settings.Clouds, settings.Administrator} {
		if _, err := cloud.Open(t.Context(), cloud.Options{Cloud: "magnum", CloudsYAML: []byte(clouds)}); err != nil {
			t.Error(err)
		}
	}
}

func TestOthersInTheCatalogComeBack(t *testing.T) {
	t.Parallel()
	w, identity := magnumWorld(t)
	service := must[*services.Service](t)(services.Create(t.Context(), identity, services.CreateOpts{Type: "container-infra", Name: "magnum"}).Extract())
	must[*endpoints.Endpoint](t)(endpoints.Create(t.Context(), identity, endpoints.CreateOpts{Availability: "public", Region: "RegionOne", URL: "http://old:9511/v1",
		ServiceID: service.ID, Description: "ours for ages"}).Extract())
	w.up(t)
	id, list := inCatalog(t, identity)
	if id != service.ID || len(list) != 4 || !slices.Contains(list, "public http://old:9511/v1 off") {
		t.Errorf("service %s, endpoints %v", id, list)
	}
	if _, err := w.run(t).Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id, list := inCatalog(t, identity); id != service.ID || !slices.Equal(list, []string{"public http://old:9511/v1 on"}) {
		t.Errorf("afterwards service %s, endpoints %v", id, list)
	}
}

func TestAForeignUserIsNotTaken(t *testing.T) {
	t.Parallel()
	w, identity := magnumWorld(t)
	must[*users.User](t)(users.Create(t.Context(), identity, users.CreateOpts{Name: "prod-magnum-user", DomainID: "default"}).Extract())
	_, err := w.run(t).Up(t.Context(), w.env.Program)
	if text := report(err); err == nil || !strings.Contains(text, "user prod-magnum-user") || !strings.Contains(text, "does not belong to this environment") {
		t.Error(text)
	}
}
