package lifecycle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/api"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// tackerclient is Debian's openstack command with python3-tackerclient, whose folder
// SLIPWAY_TACKERCLIENT names.
type tackerclient struct {
	*door
	cloud *sandboxtest.Cloud
	dir   string
}

// person makes a project with a member in a sandbox's Keystone, and returns the project.
func person(t *testing.T, identity *gophercloud.ServiceClient) string {
	t.Helper()
	ctx := t.Context()
	p, err := projects.Create(ctx, identity, projects.CreateOpts{Name: "nfv", DomainID: "default"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	u, err := users.Create(ctx, identity, users.CreateOpts{Name: "nfvo", Password: "secret", DomainID: "default"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := roles.List(identity, roles.ListOpts{Name: "member"}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found, err := roles.ExtractRoles(pages)
	if err != nil || len(found) != 1 {
		t.Fatalf("roles %v: %v", found, err)
	}
	if err := roles.Assign(ctx, identity, found[0].ID, roles.AssignOpts{UserID: u.ID, ProjectID: p.ID}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	return p.ID
}

func newClient(t *testing.T, w *world) *tackerclient {
	t.Helper()
	cloud := sandboxtest.Start(t)
	identity := cloud.Admin.Identity(t)
	project := person(t, identity)
	d := w.open(t, project, func(_ *worker.Options, a *api.Options) {
		a.Tokens = keystone.NewValidator(keystone.Options{Identity: func(context.Context) (*gophercloud.ServiceClient, error) { return identity, nil }})
	})
	service, err := services.Create(t.Context(), identity, services.CreateOpts{Type: "nfv-orchestration", Extra: map[string]any{"name": "tacker"}}).Extract()
	if err == nil {
		_, err = endpoints.Create(t.Context(), identity, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Name: "tacker", Region: "RegionOne", URL: d.http.URL, ServiceID: service.ID}).Extract()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &tackerclient{d, cloud, t.TempDir()}
}

func (c *tackerclient) try(args ...string) (string, error) {
	cmd := exec.CommandContext(c.t.Context(), "openstack", append([]string{"--os-tacker-api-version", "2"}, args...)...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "OS_AUTH_URL="+c.cloud.URL()+"/identity", "OS_IDENTITY_API_VERSION=3", "OS_USERNAME=nfvo", "OS_PASSWORD=secret", "OS_PROJECT_NAME=nfv",
		"OS_USER_DOMAIN_ID=default", "OS_PROJECT_DOMAIN_ID=default", "OS_REGION_NAME=RegionOne", "PYTHONWARNINGS=ignore", "HOME="+c.dir, "PYTHONPATH="+os.Getenv("SLIPWAY_TACKERCLIENT"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", errors.New(strings.Join(args, " ") + ": " + err.Error() + "\n" + out.String() + errs.String())
	}
	return out.String(), nil
}

// run ends the test when a command fails, and reads what it prints as JSON.
func (c *tackerclient) run(into any, args ...string) string {
	c.t.Helper()
	if into != nil {
		args = append(args, "-f", "json")
	}
	out, err := c.try(args...)
	if err == nil && into != nil {
		err = json.Unmarshal([]byte(out), into)
	}
	if err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func (c *tackerclient) file(name string, content any) string {
	c.t.Helper()
	text, err := json.Marshal(content)
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, name), text, 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return name
}

// last waits until the newest operation of a type is in a state, and returns its id.
func (c *tackerclient) last(kind string, state v1alpha1.OperationState) string {
	c.t.Helper()
	id := ""
	eventually(c.t, kind+" does not become "+string(state), func() (bool, string) {
		// The client takes seconds of a processor for each look.
		var operations v1alpha1.VNFOperationList
		if err := c.w.client.List(c.t.Context(), &operations, client.InNamespace(c.namespace)); err != nil {
			return false, err.Error()
		}
		if !slices.ContainsFunc(operations.Items, func(o v1alpha1.VNFOperation) bool {
			return string(o.Spec.Operation) == kind && o.Status.State == state
		}) {
			return false, fmt.Sprint(operations.Items)
		}
		var rows []object
		out := c.run(&rows, "vnflcm", "op", "list")
		for _, row := range rows {
			if row["Operation"] == kind && row["Operation State"] == string(state) {
				id, _ = row["ID"].(string)
				return true, out
			}
		}
		return false, out
	})
	return id
}

// TestTackerClient drives a cluster's life with OpenStack's client and tokens of a Keystone.
//
// proves: T-17
func TestTackerClient(t *testing.T) {
	t.Parallel()
	if os.Getenv("SLIPWAY_TACKERCLIENT") == "" {
		t.Skip("set SLIPWAY_TACKERCLIENT to the folder of the modules, as make e2e does")
	}
	w := newWorld(t)
	c := newClient(t, w)
	old, next := w.onboard(t, build(t, "client", "1.34.4")), w.onboard(t, build(t, "client", "1.35.0"))
	var made, shown object
	c.run(&made, "vnflcm", "create", old.ID, "--name", "shop")
	id, _ := made["ID"].(string)
	w.set(w.held, c.namespace, true)
	c.run(nil, "vnflcm", "instantiate", id, c.file("instantiate.json", c.instantiation(old.Deploy)))
	c.last("INSTANTIATE", v1alpha1.Processing)
	if out, err := c.try("vnflcm", "scale", "--type", "SCALE_OUT", "--aspect-id", "workers_scale", id); err == nil || !strings.Contains(err.Error(), "NOT_INSTANTIATED") && !strings.Contains(err.Error(), "in progress") {
		t.Errorf("a second operation: %s, %v", out, err)
	}
	op := c.last("INSTANTIATE", v1alpha1.Processing)
	c.clock.SetTime(c.clock.Now().Add(2 * time.Hour)) // it takes too long
	c.last("INSTANTIATE", v1alpha1.FailedTemp)
	w.set(w.held, c.namespace, false)
	c.run(nil, "vnflcm", "op", "retry", op)
	c.last("INSTANTIATE", v1alpha1.Completed)
	c.run(nil, "vnflcm", "scale", "--type", "SCALE_OUT", "--aspect-id", "workers_scale", "--number-of-steps", "1", id)
	c.last("SCALE", v1alpha1.Completed)
	if n, _ := c.replicas(deployments, "client-workers"); n != 5 {
		t.Errorf("scaled to %d", n)
	}
	c.run(nil, "vnflcm", "change-vnfpkg", id, c.file("change.json", object{"vnfdId": next.ID, "additionalParams": object{"upgrade_type": "RollingUpdate", "vdu_params": []any{}, "lcm-kubernetes-def-files": next.Deploy}}))
	c.last("CHANGE_VNFPKG", v1alpha1.Completed)
	c.run(nil, "vnflcm", "heal", id, "--cause", "test")
	c.last("HEAL", v1alpha1.Completed)
	c.run(nil, "vnflcm", "update", id, "--I", c.file("update.json", object{"vnfInstanceName": "renamed"}))
	c.last("MODIFY_INFO", v1alpha1.Completed)
	c.run(&shown, "vnflcm", "show", id)
	if shown["VNF Instance Name"] != "renamed" || shown["Instantiation State"] != "INSTANTIATED" || shown["VNFD ID"] != next.ID {
		t.Errorf("shown %v", shown)
	}
	var rows []object
	if c.run(&rows, "vnflcm", "list"); len(rows) != 1 || rows[0]["ID"] != id {
		t.Errorf("listed %v", rows)
	}
	c.run(nil, "vnflcm", "terminate", id)
	c.last("TERMINATE", v1alpha1.Completed)
	c.run(nil, "vnflcm", "delete", id)
	if c.run(&rows, "vnflcm", "list"); len(rows) != 0 {
		t.Errorf("deleted, and listed %v", rows)
	}
}
