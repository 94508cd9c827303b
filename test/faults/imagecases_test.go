package faults

import (
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

func imageCases() []planted {
	return []planted{
		{fault: "image missing", reason: "image-missing", object: "image ubuntu-kube-1.34",
			run: func(*world) string { // CAPO only logs it, so Glance has to be asked
				return waitingWorker + "kind: OpenStackMachine\nmetadata: {name: shop-w1}\nspec: {image: {filter: {name: ubuntu-kube-1.34}}}\n"
			}},
		{fault: "image deleted after it was chosen", reason: "image-missing", object: "image 0c9d3d1e-0000-4000-8000-000000000001",
			run: func(w *world) string {
				return waitingWorker + "kind: OpenStackMachine\nmetadata: {name: shop-w1}\nspec: {image: {id: 0c9d3d1e-0000-4000-8000-000000000001}}\n"
			}},
		{fault: "image deactivated", reason: "image-inactive", object: "image node",
			run: func(w *world) string {
				id, client := w.image("node", 0), w.box.Admin.Image(w.T)
				if _, err := client.Post(w.Context(), client.ServiceURL("images", id, "actions", "deactivate"), nil, nil, &gophercloud.RequestOpts{OkCodes: []int{204}}); err != nil {
					w.Fatal(err)
				}
				return waitingWorker + "kind: OpenStackMachine\nmetadata: {name: shop-w1}\nspec: {image: {id: " + id + "}}\n"
			}},
		{fault: "flavor missing", reason: "flavor-missing", object: "flavor m9.huge",
			run: func(*world) string { // CAPO only logs it, so Nova has to be asked
				return waitingWorker + "kind: OpenStackMachine\nmetadata: {name: shop-w1}\nspec: {flavor: m9.huge}\n"
			}},
		{fault: "flavor too small", reason: "flavor-too-small", object: "OpenStackServer shop-w1",
			run: func(w *world) string {
				big := w.image("big", 100)
				_, err := w.create(func(o *servers.CreateOpts) { o.FlavorRef, o.ImageRef = "1", big })
				return refused(w.wrong(err))
			}},
		{fault: "key pair gone", reason: "key-pair-missing", object: "OpenStackServer shop-w1",
			run: func(w *world) string {
				o := keypairs.CreateOptsExt{KeyName: "gone", CreateOptsBuilder: servers.CreateOpts{Name: "shop-w1", FlavorRef: "3", ImageRef: w.image("node", 0), Networks: "none"}}
				client := w.box.Member.Compute(w.T)
				client.Microversion = "2.52"
				_, err := servers.Create(w.Context(), client, o, nil).Extract()
				return refused(w.wrong(err))
			}},
		{fault: "server group refused", reason: "server-group-refused", object: "ServerGroup shop-workers", objects: `
kind: ServerGroup
metadata: {name: shop-workers}
status: {conditions: [{type: Available, status: "False", reason: InvalidConfiguration, message: sum},
  {type: Progressing, status: "False", reason: InvalidConfiguration, message: "invalid configuration creating resource: no server group with name shop-workers could be found"}]}
`},
	}
}
