package target

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// TestUsersOfAKilledRunGo: one that names our project is deleted without an address of the Magnum
// API, and one that names none is told.
func TestUsersOfAKilledRunGo(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	text, err := os.ReadFile(box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	opened, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	project, err := ProjectID(opened)
	if err != nil {
		t.Fatal(err)
	}
	keystone := box.Admin.Identity(t)
	made := map[string]string{}
	for step, home := range map[string]string{stacks.StepMagnumAdministrator: project, stacks.StepMagnumUser: ""} {
		mark := ownership.New("prod", step)
		user, err := users.Create(t.Context(), keystone, users.CreateOpts{Name: mark.Name(), DomainID: "default", Description: mark.DescriptionOf(opened.Region(), home)}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		made[step] = user.ID
	}
	conf := &config.Environment{Metadata: config.Metadata{Name: "prod"}}
	conf.Spec.Magnum = &config.Magnum{ServiceProject: "services"}
	at := &Target{Loaded: &config.Loaded{Environment: conf}, Cloud: opened,
		administrator: func(context.Context) (*gophercloud.ServiceClient, string, error) { return keystone, "default", nil }}
	said := &event.Recorder{}
	if err := at.Unregister(t.Context(), nil, said); err != nil {
		t.Fatal(err)
	}
	if err := users.Get(t.Context(), keystone, made[stacks.StepMagnumAdministrator]).Err; !gophercloud.ResponseCodeIs(err, 404) {
		t.Errorf("the administrator is left: %v", err)
	}
	if err := users.Get(t.Context(), keystone, made[stacks.StepMagnumUser]).Err; err != nil {
		t.Errorf("the user that names no project: %v", err)
	}
	if list := said.Events(); len(list) == 0 || !strings.Contains(list[len(list)-1].Message, made[stacks.StepMagnumUser]) {
		t.Errorf("told %+v", list)
	}
}
