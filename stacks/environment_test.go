package stacks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	resources "github.com/slipway-sh/slipway/stacks/openstack"
)

const plain = "metadata:\n  name: prod\n"

func TestStepsMakeNamesThatNeverCollide(t *testing.T) {
	t.Parallel()
	if err := ownership.CheckSteps(stacks.Steps()...); err != nil {
		t.Error(err)
	}
}

// proves: F02
// proves: F04
// proves: F64
// proves: S-03
func TestFromNothingToASeedAndBack(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	e := w.run(t)

	plan, err := e.Preview(t.Context(), w.env.Program)
	const things = 14 + 3 // in OpenStack, and on the seed
	if err != nil || plan.Counts[engine.Create] != things {
		t.Fatalf("plan: %+v, %v", plan.Counts, err)
	}
	if sent := w.clients.calls.writing(); len(sent) > 0 {
		t.Fatalf("the plan sent %v", sent)
	}
	w.up(t)
	first := w.things(t)
	if len(first) != 11 { // the router's interface and the SSH key are no things of their own
		t.Errorf("%d things: %+v", len(first), first)
	}
	for _, thing := range first {
		if thing.Type != resources.TypeFloatingIP && !strings.HasPrefix(thing.Name, "prod-"+thing.Step) {
			t.Errorf("name %q of step %s", thing.Name, thing.Step)
		}
	}
	w.clients.calls.reset()
	if report := w.up(t); len(report.Changes) != 0 {
		t.Errorf("second up changed %v", report.Changes)
	}
	if sent := w.clients.calls.writing(); len(sent) > 0 {
		t.Errorf("second up sent %v", sent)
	}
	if second := w.things(t); !slices.Equal(first, second) {
		t.Errorf("second up left\n%+v\nnot\n%+v", second, first)
	}
	if drift, err := e.Refresh(t.Context(), false); err != nil || !drift.Empty() {
		t.Errorf("drift of an untouched environment: %+v, %v", drift.Changes, err)
	}
	if _, err := e.Destroy(t.Context()); err != nil {
		t.Fatalf("down: %v", err)
	}
	if left := w.things(t); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

// proves: F46
// proves: S-16
// proves: S-90
func TestSecretsAreInNoFileButTheKeys(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	w.env.Config.Spec.Proxy = &config.Proxy{HTTPSProxy: "http://user:secret-of-the-proxy@p:2"}
	w.up(t)
	key, err := os.ReadFile(filepath.Join(w.folder, ".slipway", "keys", "prod-ssh-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.folder, ".slipway", "keys")); err != nil {
		t.Fatal(err)
	}
	w.up(t) // the state has the key, too
	again, err := os.ReadFile(filepath.Join(w.folder, ".slipway", "keys", "prod-ssh-key.pem"))
	if err != nil || string(again) != string(key) {
		t.Errorf("the key was not written again: %v", err)
	}
	var made struct {
		Credential struct{ Secret string } `json:"application_credential"`
	}
	if err := json.Unmarshal(w.clients.calls.credential, &made); err != nil || made.Credential.Secret == "" {
		t.Fatalf("no secret in %s", w.clients.calls.credential)
	}
	secrets := []string{made.Credential.Secret, strings.Split(string(key), "\n")[2], cloud.Passwords().Demo, "secret-kubeconfig", "secret-of-the-proxy"}
	err = filepath.WalkDir(filepath.Join(w.folder, ".slipway"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		text, err := os.ReadFile(path)
		for n, secret := range secrets {
			if strings.Contains(string(text), secret) && !strings.HasSuffix(path, ".pem") {
				t.Errorf("%s holds secret %d", path, n)
			}
		}
		if strings.HasSuffix(path, "prod.json") && !strings.Contains(string(text), "4dabf18193072939515e22adb298388d") {
			t.Errorf("%s has no secret at all", path) // the signature of secrets in Pulumi's state
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// proves: F14
// proves: S-12
func TestRulesAreEqualToTheList(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	w.up(t)
	group := w.only(t, stacks.StepAccess)
	network, _ := w.clients.Network()
	// Somebody opens a port by hand, which refresh must see.
	_, err := rules.Create(t.Context(), network, rules.CreateOpts{Direction: "ingress", EtherType: "IPv4", SecGroupID: group.ID,
		Protocol: "tcp", PortRangeMin: 8080, PortRangeMax: 8080}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	drift, err := w.run(t).Refresh(t.Context(), true)
	if err != nil || len(drift.Changes) != 1 || drift.Changes[0].Name != stacks.StepAccess {
		t.Fatalf("drift: %+v, %v", drift.Changes, err)
	}
	closed := newWorld(t, cloud, plain+"spec:\n  seed:\n    access:\n      sshCIDRs: [192.0.2.0/24]\n      apiCIDRs: [198.51.100.0/24, 2001:db8::/32]\n"+
		"      rules: [{protocol: udp, port: 60000, endPort: 61000, cidrs: [192.0.2.0/25]}]\n")
	w.env = closed.env
	plan, err := w.run(t).Preview(t.Context(), w.env.Program)
	if err != nil || len(plan.Changes) != 1 || plan.Changes[0].Operation != engine.Update {
		t.Fatalf("plan: %+v, %v", plan.Changes, err)
	}
	w.up(t)
	if again := w.only(t, stacks.StepAccess); again.ID != group.ID {
		t.Error("the group was replaced")
	}
	found, err := groups.Get(t.Context(), network, group.ID).Extract()
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, r := range found.Rules {
		if r.Direction == "ingress" {
			open = append(open, fmt.Sprintf("%s %d-%d %s", r.Protocol, r.PortRangeMin, r.PortRangeMax, r.RemoteIPPrefix))
		}
	}
	slices.Sort(open)
	if want := []string{"tcp 22-22 192.0.2.0/24", "tcp 6443-6443 198.51.100.0/24", "tcp 6443-6443 2001:db8::/32", "udp 60000-61000 192.0.2.0/25"}; !slices.Equal(open, want) {
		t.Errorf("open to %v, want %v", open, want)
	}
}

func TestAForeignResourceWithOurNameIsRefused(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	network, _ := w.clients.Network()
	theirs, err := networks.Create(t.Context(), network, networks.CreateOpts{Name: "prod-network"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.run(t).Up(t.Context(), w.env.Program)
	if err == nil || !strings.Contains(err.Error(), "network prod-network") || !strings.Contains(err.Error(), theirs.ID) {
		t.Fatalf("up: %v", err)
	}
	if _, err := w.run(t).Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.inventory.Sweep(t.Context(), w.things(t), w.events); err != nil {
		t.Fatal(err)
	}
	if _, err := networks.Get(t.Context(), network, theirs.ID).Extract(); err != nil {
		t.Errorf("the foreign network: %v", err)
	}
}

// proves: S-75
func TestLostStateIsFoundAgain(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	w.up(t)
	first := w.things(t)
	if err := os.RemoveAll(filepath.Join(w.folder, ".slipway", "state")); err != nil {
		t.Fatal(err)
	}
	w.up(t)
	for n, thing := range w.things(t) {
		if thing.Type == resources.TypeCredential { // its secret is lost: another one
			continue
		}
		if n >= len(first) || thing.ID != first[n].ID {
			t.Errorf("%+v is not as before", thing)
		}
	}
	seed, data := w.only(t, stacks.StepSeed), w.only(t, stacks.StepData)
	if err := os.RemoveAll(filepath.Join(w.folder, ".slipway")); err != nil {
		t.Fatal(err)
	}
	w.up(t) // the key is lost, too: nobody could log in to the old seed
	if now := w.only(t, stacks.StepSeed); now.ID == seed.ID {
		t.Error("the seed has a key that nobody has")
	}
	if now := w.only(t, stacks.StepData); now.ID != data.ID {
		t.Error("the data is gone")
	}
	if err := os.RemoveAll(filepath.Join(w.folder, ".slipway")); err != nil {
		t.Fatal(err)
	}
	compute, _ := w.clients.Compute()
	if err := servers.Delete(t.Context(), compute, w.only(t, stacks.StepSeed).ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := w.inventory.Sweep(t.Context(), w.things(t), w.events); err != nil {
		t.Fatalf("sweep: %v", err)
	}
	if left := w.things(t); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

// proves: F08
// proves: S-07
func TestTwoEnvironmentsDoNotMix(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	prod, stage := newWorld(t, cloud, plain), newWorld(t, cloud, "metadata:\n  name: stage\nspec:\n  seed:\n    network:\n      cidr: 10.9.0.0/24\n")
	stage.folder = prod.folder // side by side
	prod.up(t)
	stage.up(t)
	before := stage.things(t)
	if _, err := prod.run(t).Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := prod.things(t); len(left) > 0 {
		t.Errorf("left of prod: %+v", left)
	}
	if after := stage.things(t); !slices.Equal(before, after) {
		t.Errorf("stage was touched: %+v", after)
	}
}

func TestAVolumeCannotShrink(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	w.up(t)
	volume := w.only(t, stacks.StepData)
	w.env.Config.Spec.Seed.DataVolume.SizeGiB = 60
	w.up(t)
	if again := w.only(t, stacks.StepData); again.ID != volume.ID {
		t.Error("growing replaced the volume")
	}
	w.env.Config.Spec.Seed.DataVolume.SizeGiB = 20
	_, err := w.run(t).Preview(t.Context(), w.env.Program)
	if err == nil || !strings.Contains(err.Error(), "cannot be reduced") || fault.Remedy(err) == "" {
		t.Errorf("plan of shrinking: %v", err)
	}
}
