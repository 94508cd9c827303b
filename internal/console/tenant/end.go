package tenant

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// The two things that can be rotated.
const (
	rotateCredential = "credential"
	rotateCA         = "ca"
)

func rotateForm(q *request) *form {
	return &form{Title: words.T("Rotate secrets of %s", q.name()), Button: words.T("Rotate"), LossTitle: words.T("What happens"), Loss: []words.Text{
		words.T("The cluster's credential: the cluster gets a new application credential of yours, with the rights that you have. The former one is revoked when the new one is in use. No machine is replaced."),
		words.T("The certificate authority: a Magnum API that can do it replaces all machines, and kubeconfigs of before do not work any more. Slipway's says that it cannot, and changes nothing."),
	}, Fields: []field{{Name: "seen", Kind: "hidden", Value: q.state()}, {Name: "what", Label: words.T("What to rotate"), Kind: "select", Required: true, Options: []option{
		{"", words.T("Choose one")}, {rotateCredential, words.T("The cluster's credential at the cloud")}, {rotateCA, words.T("The certificate authority of Kubernetes")}}}}}
}

func checkRotate(_ *request, f *form) {
	if what := f.value("what"); what != rotateCredential && what != rotateCA {
		f.wrong("what", words.T("Choose one of the two."))
	}
}

// state tells one state of the cluster from the next: each change moves the time or the status.
func (q *request) state() string {
	return q.now.Status + " " + q.now.UpdatedAt.UTC().Format(time.RFC3339)
}

// rotate rotates in the state that was seen: two who rotate want one new credential.
func rotate(q *request, f *form) (string, error) {
	if now := q.state(); q.now.UUID != "" && f.value("seen") != now {
		f.get("seen").Value = now
		return "", elsewhere{words.T("This cluster has changed since you opened this page, or somebody else has rotated: it is in the state %q now. Look at it, and send the form again if you still want to rotate.", word(q.now.Status, ""))}
	}
	c, err := q.api()
	if err != nil {
		return "", err
	}
	newest := *c
	newest.Microversion = "latest" // credentials are younger than the rest
	path, body := "credentials", map[string]any{}
	if f.value("what") == rotateCA {
		path = "certificates"
	}
	// Slipway's own Magnum API rotates credentials; gophercloud does not know it.
	response, err := newest.Patch(q.ctx, newest.ServiceURL(path, q.id), body, nil, &gophercloud.RequestOpts{OkCodes: []int{200, 202}}) //nolint:bodyclose // ParseResponse reads it
	_, _, err = gophercloud.ParseResponse(response, err)
	return "/clusters/" + q.id, q.failed(words.T("the Magnum API"), err)
}

func deleteForm(q *request) *form {
	d := q.now
	loss := []words.Text{
		words.T("All %s of the cluster, and what is on their own disks.", machines(d.MasterCount+d.NodeCount)),
		words.T("All of Kubernetes: workloads, Secrets, and kubeconfigs for it."),
		words.T("Load balancers and floating IPs that Services of the cluster have made."),
		words.T("Volumes that PersistentVolumeClaims have made, unless your cloud keeps them. Back up what you need."),
	}
	if d.APIAddress != "" {
		loss = append(loss, words.T("The address %s.", d.APIAddress))
	}
	name := q.name()
	return &form{Title: words.T("Delete %s", name), Button: words.T("Delete the cluster"), Danger: true, LossTitle: words.T("What will be lost"), Loss: loss,
		Fields: []field{{Name: "confirm", Label: words.T("Type the name of the cluster to delete it"), Kind: "text", Required: true, Hint: words.T("The name is %s.", name)}, {Name: "seen", Kind: "hidden", Value: d.sizes().Encode()}}}
}

// sizes are the machines of each node group.
func (d description) sizes() url.Values {
	sizes := url.Values{}
	for _, g := range d.Groups {
		sizes.Set(g.Name, strconv.Itoa(g.NodeCount))
	}
	return sizes
}

// since is what is different from the sizes that a form has shown; empty if nothing is.
func (d description) since(seen string) (changed []words.Text) {
	before, _ := url.ParseQuery(seen) // what is no list of sizes has none
	now := d.sizes()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		switch {
		case !before.Has(name):
			changed = append(changed, words.T("the node group %s is new", frame.Name(name)))
		case before.Get(name) != now.Get(name):
			changed = append(changed, words.T("%s has the size %s, and had %s", frame.Name(name), now.Get(name), before.Get(name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if !now.Has(name) {
			changed = append(changed, words.T("the node group %s is gone", frame.Name(name)))
		}
	}
	return changed
}

func checkDelete(q *request, f *form) {
	if f.value("confirm") != q.name() {
		f.wrong("confirm", words.T("This is not the name of the cluster."))
	}
}

// remove deletes the cluster that was seen: what will be lost is what the form has said.
func remove(q *request, f *form) (string, error) {
	if changed := q.now.since(f.value("seen")); q.now.UUID != "" && len(changed) > 0 {
		f.get("seen").Value = q.now.sizes().Encode()
		return "", elsewhere{words.T("Somebody else has changed this cluster since you opened this page: %s. Look at what will be lost now, and send the form again if you still want to delete it.", words.List("; ", changed...))}
	}
	c, err := q.api()
	if err != nil {
		return "", err
	}
	return "/clusters", q.failed(words.T("the Magnum API"), clusters.Delete(q.ctx, c, q.id).ExtractErr())
}
