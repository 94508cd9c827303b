package api

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
)

// tofu is OpenTofu in a folder with testdata/opentofu, with a state.
type tofu struct {
	*bench
	program, dir string
}

// newTofu is given the programs by the folder that SLIPWAY_OPENTOFU names.
func newTofu(t *testing.T, b *bench) tofu {
	t.Helper()
	builds := os.Getenv("SLIPWAY_OPENTOFU")
	if builds == "" {
		t.Skip("set SLIPWAY_OPENTOFU to the folder of OpenTofu and its provider, as make opentofu-acceptance does")
	}
	o := tofu{b, filepath.Join(builds, "tofu"), t.TempDir()}
	b.must(os.CopyFS(o.dir, os.DirFS("testdata/opentofu")))
	b.must(os.WriteFile(filepath.Join(o.dir, "tofurc"), fmt.Appendf(nil,
		"provider_installation {\n  dev_overrides { \"terraform-provider-openstack/openstack\" = %q }\n  direct {}\n}\n", builds), 0o600))
	return o
}

// run does a command as a user, while the controllers' work is done.
func (o tofu) run(who string, args ...string) (string, error) {
	o.t.Helper()
	cmd := exec.CommandContext(o.t.Context(), o.program, append(args, "-no-color")...)
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(o.dir, "tofurc"), "CHECKPOINT_DISABLE=1", "HOME="+o.dir,
		"OS_AUTH_URL="+o.cloud.URL()+"/identity", "OS_USERNAME="+who, "OS_PASSWORD=secret", "OS_PROJECT_NAME=shop",
		"OS_USER_DOMAIN_ID=default", "OS_PROJECT_DOMAIN_ID=default", "OS_REGION_NAME=RegionOne")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	o.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for made := map[string]bool{}; ; {
		select {
		case err := <-ended:
			return out.String(), err
		case <-time.After(100 * time.Millisecond):
			o.work(made)
		}
	}
}

// apply must work, and leave nothing to do.
func (o tofu) apply(vars ...string) {
	o.t.Helper()
	if out, err := o.run(member, append([]string{"apply", "-auto-approve"}, vars...)...); err != nil {
		o.t.Fatalf("apply %s: %v\n%s", vars, err, out)
	}
	o.unchanged(member, vars...)
}

// unchanged is a plan that has nothing to do.
func (o tofu) unchanged(who string, vars ...string) {
	o.t.Helper()
	if out, err := o.run(who, append([]string{"plan", "-detailed-exitcode"}, vars...)...); err != nil {
		o.t.Errorf("the plan of %s after apply: %v\n%s", who, err, out)
	}
}

// work does the controllers' part for every cluster that waits for it: made
// are those that have their certificates.
func (o tofu) work(made map[string]bool) {
	for _, v := range o.server.o.Inventory.Clusters("") {
		c := v.Cluster
		switch {
		case c.DeletionTimestamp != nil:
			o.end(v)
		case strings.HasSuffix(string(v.Phase()), "_IN_PROGRESS"):
			if !made[string(c.UID)] && c.Status.APIAddress == "" {
				made[string(c.UID)] = true
				o.authorities(c.UUID())
			}
			o.settle(c.UUID())
		}
	}
}

// end lets a cluster and its groups go.
func (o tofu) end(v *inventory.View) {
	for _, g := range v.Groups {
		o.release(g.DeepCopy())
	}
	o.release(v.Cluster.DeepCopy())
}

func (o tofu) release(object client.Object) {
	if object.GetDeletionTimestamp() == nil {
		o.must(client.IgnoreNotFound(o.kube.Delete(o.t.Context(), object)))
	}
	object.SetFinalizers(nil)
	if err := o.kube.Update(o.t.Context(), object); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		o.t.Fatal(err)
	}
}

// named is the uuid of the only cluster with a name.
func (o tofu) named(name string) string {
	o.t.Helper()
	views := o.server.o.Inventory.FindClusters("", name)
	if len(views) != 1 {
		o.t.Fatalf("%d clusters with name %s", len(views), name)
	}
	return views[0].Cluster.UUID()
}

// sizes are the node counts of a cluster's groups by name.
func (o tofu) sizes(uuid string) map[string]int32 {
	sizes := map[string]int32{}
	for _, g := range o.view(uuid).Groups {
		sizes[g.Title()] = g.Spec.NodeCount
	}
	return sizes
}

// TestOpenTofu applies, changes and destroys templates, clusters and a node
// group with OpenTofu and its provider. It takes minutes: the provider looks
// only every 20 s.
//
// proves: M-F9, M-F10, M-F11, M-F12
func TestOpenTofu(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := newTofu(t, b)
	b.infra(member, "/v1", "")
	o.apply()
	o.unchanged(other)
	shop := o.named("shop")
	if groups := o.sizes(shop); groups["default-worker"] != 2 || groups["gpu"] != 2 {
		t.Errorf("node groups %v", groups)
	}
	o.apply("-var=nodes=3")
	if groups := o.sizes(shop); groups["default-worker"] != 3 || groups["gpu"] != 3 {
		t.Errorf("node groups %v", groups)
	}
	o.apply("-var=nodes=3", "-var=template=k8s-v1-35")
	if uuid := o.named("shop"); uuid != shop {
		t.Errorf("the cluster was made anew: %s, %s", shop, uuid)
	}
	b.show(shop).is("coe_version", "v1.35.1")
	b.show(o.named("merged")).is("labels", object{"auto_healing_enabled": "false", "availability_zone": "nova", "kube_tag": "v1.34.2"})
	if out, err := o.run(member, "destroy", "-auto-approve"); err != nil {
		t.Fatalf("destroy: %v\n%s", err, out)
	}
	if left := b.server.o.Inventory.Clusters(""); len(left) != 0 {
		t.Errorf("%d clusters left", len(left))
	}
	if left := b.server.o.Inventory.Templates(); len(left) != 0 {
		t.Errorf("%d templates left", len(left))
	}
}
