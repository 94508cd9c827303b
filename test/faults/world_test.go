package faults

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// world is a cloud without machines: the sandbox's OpenStack API. The test does there
// what CAPO would.
type world struct {
	*testing.T
	box *sandboxtest.Cloud
	// yaml is the clouds.yaml that the cluster's credential is in; entry its entry.
	yaml  []byte
	entry string
	// before is the clouds.yaml of the member.
	before []byte
	// later is how long after the fault the question is asked.
	later time.Duration
}

func newWorld(t *testing.T) *world {
	box := sandboxtest.Start(t)
	text, err := os.ReadFile(box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	return &world{T: t, box: box, yaml: text, before: text, entry: "sandbox"}
}

// must ends the test on an error, and returns the value.
func must[V any](value V, err error) func(*world) V {
	return func(w *world) V {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
		return value
	}
}

// wrong is an error that a call has to return.
func (w *world) wrong(err error) error {
	w.Helper()
	if err == nil {
		w.Fatal("the cloud took a call that it should refuse")
	}
	return err
}

func (w *world) rule(r faultinject.Rule) {
	w.Helper()
	must(w.box.Faults.Add(r))(w)
}

// image uploads an image and returns its id.
func (w *world) image(name string, minDisk int) string {
	w.Helper()
	client := w.box.Member.Image(w.T)
	img := must(images.Create(w.Context(), client, images.CreateOpts{Name: name, ContainerFormat: "bare", DiskFormat: "raw", MinDisk: minDisk}).Extract())(w)
	if err := imagedata.Upload(w.Context(), client, img.ID, strings.NewReader("boot me")).ExtractErr(); err != nil {
		w.Fatal(err)
	}
	return img.ID
}

// create asks Nova for the worker's server.
func (w *world) create(change func(*servers.CreateOpts)) (*servers.Server, error) {
	w.Helper()
	o := servers.CreateOpts{Name: "shop-w1", FlavorRef: "3", ImageRef: w.image("node", 0), Networks: "none"}
	if change != nil {
		change(&o)
	}
	client := w.box.Member.Compute(w.T)
	client.Microversion = "2.52"
	return servers.Create(w.Context(), client, o, nil).Extract()
}

// server creates the worker's server and waits until it has a status.
func (w *world) server(status string, change func(*servers.CreateOpts)) string {
	w.Helper()
	id := must(w.create(change))(w).ID
	client := w.box.Member.Compute(w.T)
	w.eventually("server "+status, func() bool {
		s, err := servers.Get(w.Context(), client, id).Extract()
		return err == nil && s.Status == status && s.TaskState == ""
	})
	return id
}

func (w *world) eventually(what string, done func() bool) {
	w.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("%s: not in time", what)
		}
	}
}

// subnet makes a network with a subnet.
func (w *world) subnet(cidr string) *subnets.Subnet {
	w.Helper()
	client := w.box.Member.Network(w.T)
	n := must(networks.Create(w.Context(), client, networks.CreateOpts{Name: "nodes"}).Extract())(w)
	return must(subnets.Create(w.Context(), client, subnets.CreateOpts{NetworkID: n.ID, IPVersion: 4, CIDR: cidr, Name: "nodes"}).Extract())(w)
}

// balancer is the name that CAPO gives the API's load balancer.
const balancer = "k8s-clusterapi-cluster-prod-shop-kubeapi"

func (w *world) balancer() (*loadbalancers.LoadBalancer, error) {
	w.Helper()
	return loadbalancers.Create(w.Context(), w.box.Member.LoadBalancer(w.T), loadbalancers.CreateOpts{Name: balancer, VipSubnetID: w.subnet("10.7.0.0/24").ID}).Extract()
}

// project is the id of the member's project.
func (w *world) project() string {
	w.Helper()
	c := must(cloud.Open(w.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: w.before}))(w)
	defer c.Close()
	return must(c.Token())(w).ProjectID
}

// ask asks the cloud as `slipway why` does: with the cluster's credential.
func (w *world) ask(objects cause.Objects) *cause.Cloud {
	w.Helper()
	return look.NewCache(time.Now).Ask(context.WithoutCancel(w.Context()), cloud.Options{Cloud: w.entry, CloudsYAML: w.yaml}, func(c *cause.Cloud) cause.Details {
		return cause.Closer(cause.Snapshot{Objects: objects, Cloud: c, Now: time.Now()})
	})
}
