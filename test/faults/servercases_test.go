package faults

import (
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

// nova is a cloud whose worker's server is in ERROR with a fault.
func nova(fault string) *cause.Cloud {
	return &cause.Cloud{Servers: []cause.Server{{ID: "w1", Name: "shop-w1", Status: "ERROR", Fault: fault, FaultAt: asked.Add(-time.Hour), Created: asked.Add(-2 * time.Hour)}}}
}

func serverCases() []planted {
	return []planted{
		{fault: "no valid host for a worker", reason: "no-valid-host", object: "server shop-w1",
			run: func(w *world) string {
				w.rule(faultinject.Rule{Kind: faultinject.NoValidHost, Service: "compute", Resource: "shop-w1"})
				return server("ERROR", w.server("ERROR", nil), "InstanceStateError", "")
			}},
		{fault: "no valid host before Cluster API knows the server", reason: "no-valid-host", object: "server shop-w1",
			run: func(w *world) string {
				w.rule(faultinject.Rule{Kind: faultinject.NoValidHost, Service: "compute", Resource: "shop-w1"})
				w.server("ERROR", nil)
				return waitingWorker
			}},
		{fault: "server deleted behind Cluster API's back", reason: "server-deleted", object: "server shop-w1",
			run: func(w *world) string {
				id := w.server("ACTIVE", nil)
				if err := servers.Delete(w.Context(), w.box.Member.Compute(w.T), id).ExtractErr(); err != nil {
					w.Fatal(err)
				}
				w.eventually("it is gone", func() bool {
					_, err := servers.Get(w.Context(), w.box.Member.Compute(w.T), id).Extract()
					return err != nil
				})
				return server("ACTIVE", id, "InstanceNotFound", "The server was unexpectedly deleted")
			}},
		{fault: "server stopped", reason: "server-stopped", object: "server shop-w1",
			run: func(w *world) string {
				id := w.server("ACTIVE", nil)
				if err := servers.Stop(w.Context(), w.box.Member.Compute(w.T), id).ExtractErr(); err != nil {
					w.Fatal(err)
				}
				w.eventually("it is stopped", func() bool {
					return must(servers.Get(w.Context(), w.box.Member.Compute(w.T), id).Extract())(w).Status == "SHUTOFF"
				})
				return node("shop-w1", "NodeReady", "* Node.Ready: Kubelet stopped posting node status.") + "spec: {providerID: \"openstack:///" + id + "\"}\n"
			}},
		{fault: "volume of a server in error", reason: "volume-error", object: "volume shop-w1-root",
			run: func(w *world) string {
				client := w.box.Member.BlockStorage(w.T)
				v := must(volumes.Create(w.Context(), client, volumes.CreateOpts{Name: "shop-w1-root", Size: 1}, nil).Extract())(w)
				w.eventually("volume", func() bool {
					return must(volumes.Get(w.Context(), client, v.ID).Extract())(w).Status == "available"
				})
				if err := volumes.ResetStatus(w.Context(), w.box.Admin.BlockStorage(w.T), v.ID, volumes.ResetStatusOpts{Status: "error"}).ExtractErr(); err != nil {
					w.Fatal(err)
				}
				return waitingWorker
			}},
		{fault: "port binding failed", reason: "port-binding-failed", object: "server shop-w1", objects: server("ERROR", "w1", "InstanceStateError", ""),
			said: nova("Build of instance w1 aborted: Failed to allocate the network(s), not rescheduling.")},
		{fault: "image damaged", reason: "image-unusable", object: "server shop-w1", objects: server("ERROR", "w1", "InstanceStateError", ""),
			said: nova("Image 5a1f is unacceptable: Converted to raw, but format is now qcow2")},
		{fault: "fault of Nova that no rule knows", reason: "server-error", object: "server shop-w1", objects: server("ERROR", "w1", "InstanceStateError", ""),
			said: nova("internal error: process exited while connecting to monitor")},
		{fault: "server in ERROR and the cloud is not asked", reason: "server-error", object: "OpenStackServer shop-w1", objects: server("ERROR", "w1", "InstanceStateError", "")},
		{fault: "server that builds for an hour", reason: "server-slow", object: "server shop-w1", objects: waitingWorker,
			said: &cause.Cloud{Servers: []cause.Server{{ID: "w1", Name: "shop-w1", Status: "BUILD", Task: "spawning", Created: asked.Add(-time.Hour)}}}},
		{fault: "given up on a server that runs now", reason: "machine-given-up", object: "OpenStackMachine shop-w1",
			objects: server("ERROR", "w1", "InstanceStateError", "") + `---
kind: OpenStackMachine
metadata: {name: shop-w1}
status: {failureReason: UpdateError, failureMessage: "instance state 0xc000a1b2c0 is unexpected", conditions: [{type: InstanceReady, status: "False", severity: Error, reason: InstanceStateError, lastTransitionTime: "2026-01-02T08:03:00Z"}]}
`,
			said: &cause.Cloud{Servers: []cause.Server{{ID: "w1", Name: "shop-w1", Status: "ACTIVE", Created: asked.Add(-time.Hour)}}}},
		{fault: "root volume not created", reason: "volume-not-created", object: "server shop-w1", objects: server("ERROR", "w1", "InstanceStateError", ""),
			said: nova("Build of instance w1 aborted: Volume 5a1f did not finish being created even after we waited 187 seconds or 61 attempts. And its status is error.")},
		{fault: "volume not attached as its server is made", reason: "volume-not-created", object: "server shop-w1", objects: server("ERROR", "w1", "InstanceStateError", ""),
			said: nova("Build of instance w1 aborted: Unable to update the attachment. (HTTP 500) (Request-ID: req-a58343e0-90cc-458b-800e-e0ecef031756)")}, // Nova 31, cinder-volume stopped
	}
}
