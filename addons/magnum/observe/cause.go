package observe

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/cause"
)

// causes asks the engine of causes, and tells what a tenant may know.
func (s *State) causes(o Objects) {
	all := cause.Objects{}
	add := func(list ...*unstructured.Unstructured) {
		for _, one := range list {
			if one != nil {
				all[one.GetKind()] = append(all[one.GetKind()], one)
			}
		}
	}
	add(o.Cluster, o.Infrastructure, o.ControlPlane)
	for _, list := range [][]*unstructured.Unstructured{o.Deployments, o.Machines, o.Servers, o.ServerGroups, o.HealthChecks, o.Addons} {
		add(list...)
	}
	s.Findings = cause.Explain(cause.Snapshot{Objects: all, Cloud: o.Cloud, Now: o.Now}).Findings
	for _, f := range s.Findings {
		object, words := f.ForTenant(o.Cloud)
		s.Causes = append(s.Causes, Cause{Object: object, Reason: f.Reason, Message: words, Since: f.Since, Final: f.Ending == cause.Final,
			Hopeless: f.NeedsHelp(), Renew: f.Renews(), group: machineOf(f)})
	}
}

// machineOf is the name of the machine that a cause keeps from being ready.
func machineOf(f cause.Finding) string {
	for _, kind := range []string{"Machine", "OpenStackMachine", "OpenStackServer"} {
		if ref := f.Of(kind); ref.Name != "" {
			return ref.Name
		}
	}
	return ""
}

func oneLine(message string) string { return cause.Text(message) }

// waiting is what Cluster API itself says is not there yet.
func waiting(o Objects) string {
	if o.Cluster == nil {
		return ""
	}
	if c, ok := condition(o.Cluster, "Available"); ok && c.Status != "True" {
		return oneLine(c.Message)
	}
	if c, ok := condition(o.Cluster, "Ready"); ok && c.Status != "True" {
		return oneLine(c.Message)
	}
	for _, addon := range o.Addons {
		if waitsForWorkers(addon) {
			c, _ := condition(addon, "Ready")
			return describe(addon) + ": " + oneLine(c.Message)
		}
		if phase := text(addon, "status", "phase"); phase != "Deployed" {
			if phase == "" {
				phase = "not checked yet"
			}
			return describe(addon) + ": " + phase
		}
	}
	return ""
}

// health is the health of a cluster whose API server has once been there.
func (s *State) health(o Objects) {
	if o.Cluster == nil || !isTrue(o.Cluster, "ControlPlaneInitialized") {
		return
	}
	s.Health = map[string]string{"api": "ok"}
	s.Reachable, s.Healthy = true, true
	if c, ok := condition(o.Cluster, "RemoteConnectionProbe"); ok && c.Status != "True" {
		s.Reachable, s.Healthy, s.Health["api"] = false, false, oneLine(c.Message)
	} else if !s.ControlPlane {
		s.Healthy = false
		s.Health["api"] = oneLine(conditionMessage(o.Cluster, "ControlPlaneAvailable", "ControlPlaneReady"))
	}
	if s.Health["api"] == "" {
		s.Health["api"] = "nok"
	}
	for _, machine := range o.Machines {
		if machine.GetDeletionTimestamp() != nil {
			continue
		}
		name := text(machine, "status", "nodeRef", "name")
		if name == "" {
			name = machine.GetName()
		}
		ready := isTrue(machine, "NodeReady", "NodeHealthy")
		s.Health[name+".Ready"] = map[bool]string{true: "True", false: "False"}[ready]
		s.Healthy = s.Healthy && ready
		if runtime := text(machine, "status", "nodeInfo", "containerRuntimeVersion"); runtime != "" && isControlPlane(machine) {
			_, s.Runtime, _ = strings.Cut(runtime, "://")
		}
	}
}
