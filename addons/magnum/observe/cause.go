package observe

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hopeless are the words of OpenStack that waiting alone does not cure.
var hopeless = regexp.MustCompile(`(?i)quota|exceeded|no valid host|could not find|could not be found|unable to find|no images? (were )?found|` +
	`flavor .*not found|image .*not found|keypair .*not found|invalid key_?name|volume type .*not|authentication failed|status code 40[13]|got 40[13]|` +
	`unauthorized|forbidden|no availability zone|not enough|insufficient`)

// final are reasons after which CAPO does not try again.
func final(reason string) bool {
	return reason == "InstanceStateError" || reason == "InvalidMachineSpec" || reason == "InstanceDeleted"
}

// causes reads the troubles of what is nearest to OpenStack first: a Machine
// that is not ready only repeats its server.
func (s *State) causes(o Objects) {
	told := map[string]bool{}
	for _, server := range o.Servers {
		if c, ok := failure(server); ok {
			c.group = server.GetName()
			s.Causes = append(s.Causes, c)
			told[server.GetName()] = true
		}
	}
	for _, group := range o.ServerGroups {
		if c, ok := refused(group); ok {
			s.Causes = append(s.Causes, c)
		}
	}
	if c, ok := failure(o.Infrastructure); ok {
		s.Causes = append(s.Causes, c)
	}
	if c, ok := failure(o.ControlPlane); ok {
		s.Causes = append(s.Causes, c)
	}
	for _, machine := range o.Machines {
		if told[text(machine, "spec", "infrastructureRef", "name")] || told[machine.GetName()] {
			continue
		}
		if c, ok := failure(machine); ok {
			c.group = machine.GetName()
			s.Causes = append(s.Causes, c)
		}
	}
	s.sort()
}

// failure is what an object says is wrong: a failure for good, or a condition
// of severity Error, which is CAPO's way. The summary Ready only repeats others.
func failure(o *unstructured.Unstructured) (Cause, bool) {
	if o == nil {
		return Cause{}, false
	}
	var worst *state
	for _, c := range conditions(o) {
		if c.status == "True" || c.severity != "Error" {
			continue
		}
		if worst == nil || worst.kind == "Ready" && c.kind != "Ready" && c.message != "" || c.message != "" && worst.message == "" {
			worst = &c
		}
	}
	message := failureMessage(o)
	if worst == nil && message == "" {
		return Cause{}, false
	}
	cause := Cause{Object: describe(o), Message: message, Final: message != ""}
	if worst != nil {
		cause.Reason, cause.Since = worst.reason, worst.since
		cause.Final = cause.Final || final(worst.reason)
		// The condition has OpenStack's words, the failure often only a summary.
		if len(worst.message) > len(message) || hopeless.MatchString(worst.message) {
			cause.Message = worst.message
		}
	}
	cause.Message = oneLine(cause.Message)
	cause.Hopeless = hopeless.MatchString(cause.Message)
	return cause, true
}

// refused is what the cloud said to a server group. The resource controller asks
// again only when the group is another.
func refused(group *unstructured.Unstructured) (Cause, bool) {
	c, _ := condition(group, "Progressing")
	if c.reason != "InvalidConfiguration" && c.reason != "UnrecoverableError" {
		return Cause{}, false
	}
	return Cause{Object: describe(group), Reason: c.reason, Message: oneLine(c.message), Since: c.since, Hopeless: true}, true
}

func failureMessage(o *unstructured.Unstructured) string {
	for _, path := range [][]string{{"status", "failureMessage"}, {"status", "deprecated", "v1beta1", "failureMessage"}} {
		if message := text(o, path...); message != "" {
			return message
		}
	}
	return ""
}

// longest is how much of a message is shown; Magnum's clients print it in a table.
const longest = 1000

func oneLine(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	return message[:min(len(message), longest)]
}

// waiting is what Cluster API itself says is not there yet.
func waiting(o Objects) string {
	if o.Cluster == nil {
		return ""
	}
	if c, ok := condition(o.Cluster, "Available"); ok && c.status != "True" {
		return oneLine(c.message)
	}
	if c, ok := condition(o.Cluster, "Ready"); ok && c.status != "True" {
		return oneLine(c.message)
	}
	for _, addon := range o.Addons {
		if waitsForWorkers(addon) {
			c, _ := condition(addon, "Ready")
			return describe(addon) + ": " + oneLine(c.message)
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
	if c, ok := condition(o.Cluster, "RemoteConnectionProbe"); ok && c.status != "True" {
		s.Reachable, s.Healthy, s.Health["api"] = false, false, oneLine(c.message)
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
