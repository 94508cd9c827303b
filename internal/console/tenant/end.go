package tenant

import (
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"
)

// The two things that can be rotated.
const (
	rotateCredential = "credential"
	rotateCA         = "ca"
)

func rotateForm(q *request) *form {
	return &form{Title: "Rotate secrets of " + q.name(), Button: "Rotate", LossTitle: "What happens", Loss: []string{
		"The cluster's credential: the cluster gets a new application credential of yours, with the rights that you have. The former one is revoked when the new one is in use. No machine is replaced.",
		"The certificate authority: a Magnum API that can do it replaces all machines, and kubeconfigs of before do not work any more. Slipway's says that it cannot, and changes nothing.",
	}, Fields: []field{{Name: "what", Label: "What to rotate", Kind: "select", Required: true, Options: []option{
		{"", "Choose one"}, {rotateCredential, "The cluster's credential at the cloud"}, {rotateCA, "The certificate authority of Kubernetes"}}}}}
}

func checkRotate(_ *request, f *form) {
	if what := f.value("what"); what != rotateCredential && what != rotateCA {
		f.wrong("what", "Choose one of the two.")
	}
}

func rotate(q *request, f *form) (string, error) {
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
	return "/clusters/" + q.id, q.failed("the Magnum API", err)
}

func deleteForm(q *request) *form {
	d := q.now
	loss := []string{
		fmt.Sprintf("All %s of the cluster, and what is on their own disks.", machines(d.MasterCount+d.NodeCount)),
		"All of Kubernetes: workloads, Secrets, and kubeconfigs for it.",
		"Load balancers and floating IPs that Services of the cluster have made.",
		"Volumes that PersistentVolumeClaims have made, unless your cloud keeps them. Back up what you need.",
	}
	if d.APIAddress != "" {
		loss = append(loss, "The address "+d.APIAddress+".")
	}
	name := q.name()
	return &form{Title: "Delete " + name, Button: "Delete the cluster", Danger: true, LossTitle: "What will be lost", Loss: loss,
		Fields: []field{{Name: "confirm", Label: "Type the name of the cluster to delete it", Kind: "text", Required: true, Hint: "The name is " + name + "."}}}
}

func checkDelete(q *request, f *form) {
	if f.value("confirm") != q.name() {
		f.wrong("confirm", "This is not the name of the cluster.")
	}
}

func remove(q *request, _ *form) (string, error) {
	c, err := q.api()
	if err != nil {
		return "", err
	}
	return "/clusters", q.failed("the Magnum API", clusters.Delete(q.ctx, c, q.id).ExtractErr())
}
