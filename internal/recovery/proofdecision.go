package recovery

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
)

// Decision is what the controllers would do to the cloud first if an object were
// unpaused.
type Decision struct {
	// Object is what they would act on, Cluster its "namespace/name".
	Object, Cluster string
	// Creations and Deletions are of servers and load balancers.
	Creations, Deletions int
	Cause                string
}

// decision: a dry run of the controllers' decisions shows nothing to create and
// nothing to delete.
func (e Evidence) decision() Check {
	c := Check{ID: "decision", Claim: "the controllers would create and delete nothing in the cloud"}
	c.Checked = len(e.index.ours)
	for _, d := range e.Decide() {
		c.Findings = append(c.Findings, Finding{Object: d.Object, Cluster: d.Cluster, Cause: fmt.Sprintf("%s: %d to create, %d to delete", d.Cause, d.Creations, d.Deletions),
			Remedy: "use a backup in which the cluster was settled, or leave it paused with --leave " + d.Cluster})
	}
	return c.settled(Refuted)
}

// Decide lists what the controllers would do. It follows Cluster API 1.12: the
// control plane and MachineSets compare replicas with their Machines, a
// MachineDeployment rolls out when no MachineSet has its template, a Machine that is
// not up to date or unhealthy is replaced, one without a server gets one, and what is
// being deleted is deleted. CAPO makes a load balancer that its status does not know,
// unless one has the name.
func (e Evidence) Decide() []Decision {
	if e.index == nil {
		e.index = newIndex(e)
	}
	var all []Decision
	add := func(o *unstructured.Unstructured, creations, deletions int, format string, args ...any) {
		all = append(all, Decision{Describe(o), clusterOf(o), creations, deletions, fmt.Sprintf(format, args...)})
	}
	for _, o := range e.index.ours {
		if o.GetDeletionTimestamp() != nil && (group(o) == groupOpenStack || group(o) == groupClusterAPI || group(o) == groupControlPlane) {
			add(o, 0, 1, "it is being deleted")
			continue
		}
		switch {
		case is(o, groupControlPlane, "KubeadmControlPlane"):
			e.controlPlane(o, add)
		case is(o, groupClusterAPI, "MachineDeployment"):
			e.deployment(o, add)
		case is(o, groupClusterAPI, "MachineSet"):
			count(o, e.owned(o, "Machine"), add)
		case is(o, groupClusterAPI, "Machine"):
			e.machine(o, add)
		case is(o, groupOpenStack, "OpenStackMachine"):
			if len(e.owned(o, "OpenStackServer")) == 0 && !e.server(o) {
				add(o, 1, 0, "it has no server")
			}
		case is(o, groupOpenStack, "OpenStackServer"):
			if str(o, "status", "instanceID") == "" && !e.server(o) {
				add(o, 1, 0, "it has no server")
			}
		case is(o, groupOpenStack, "OpenStackCluster"):
			e.balancer(o, add)
		}
	}
	return all
}

type decide func(o *unstructured.Unstructured, creations, deletions int, format string, args ...any)

// count compares wanted replicas with the Machines that are there.
func count(o *unstructured.Unstructured, machines []*unstructured.Unstructured, add decide) {
	wanted, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !found {
		wanted = 1
	}
	if there := int64(len(machines)); there != wanted {
		add(o, int(max(wanted-there, 0)), int(max(there-wanted, 0)), "it wants %d machines and has %d", wanted, there)
	}
}

func (e Evidence) controlPlane(o *unstructured.Unstructured, add decide) {
	machines := e.owned(o, "Machine")
	count(o, machines, add)
	template := str(o, "spec", "machineTemplate", "spec", "infrastructureRef", "name")
	if template == "" { // v1beta1
		template = str(o, "spec", "machineTemplate", "infrastructureRef", "name")
	}
	for _, m := range machines {
		if version := str(o, "spec", "version"); str(m, "spec", "version") != version {
			add(m, 1, 1, "it has version %s, the control plane wants %s", str(m, "spec", "version"), version)
		}
		infra := e.index.byName[Reference{groupOpenStack, str(m, "spec", "infrastructureRef", "kind"), m.GetNamespace(), str(m, "spec", "infrastructureRef", "name")}]
		if infra == nil {
			continue // the check of references tells of it
		}
		if from := infra.GetAnnotations()["cluster.x-k8s.io/cloned-from-name"]; from != "" && from != template {
			add(m, 1, 1, "it was made from template %s, the control plane has %s", from, template)
		}
	}
}

func (e Evidence) deployment(o *unstructured.Unstructured, add decide) {
	sets := e.owned(o, "MachineSet")
	wanted, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !found {
		wanted = 1
	}
	var there int64
	newest := 0
	for _, s := range sets {
		n, _, _ := unstructured.NestedInt64(s.Object, "spec", "replicas")
		there += n
		if sameTemplate(o, s) {
			newest++
		} else if n > 0 {
			add(s, int(n), int(n), "its template is not that of %s", Describe(o))
		}
	}
	switch {
	case newest == 0 && wanted > 0 && there == 0:
		add(o, int(wanted), 0, "no MachineSet has its template")
	case there != wanted:
		add(o, int(max(wanted-there, 0)), int(max(there-wanted, 0)), "it wants %d machines, its MachineSets %d", wanted, there)
	}
}

// sameTemplate compares what makes Cluster API roll machines out; labels,
// annotations and times of deletion change in place.
func sameTemplate(a, b *unstructured.Unstructured) bool {
	for _, path := range [][]string{{"version"}, {"failureDomain"}, {"infrastructureRef", "kind"}, {"infrastructureRef", "name"},
		{"bootstrap", "configRef", "kind"}, {"bootstrap", "configRef", "name"}, {"bootstrap", "dataSecretName"}} {
		full := append([]string{"spec", "template", "spec"}, path...)
		if str(a, full...) != str(b, full...) {
			return false
		}
	}
	return true
}

// remediations are the conditions by which a Machine is replaced when they are False.
func remediations() []string { return []string{"UpToDate", "HealthCheckSucceeded", "OwnerRemediated"} }

func (e Evidence) machine(o *unstructured.Unstructured, add decide) {
	for _, kind := range remediations() {
		if condition, _ := Condition(o, kind); text(condition, "status") == "False" {
			add(o, 1, 1, "condition %s is False: %s", kind, text(condition, "message"))
		}
	}
	if str(o, "spec", "providerID") == "" && !e.server(o) {
		add(o, 1, 0, "it has no server yet")
	}
}

// server reports whether the cloud has a server of a machine's name in its project,
// which CAPO would take.
func (e Evidence) server(o *unstructured.Unstructured) bool {
	name := o.GetName()
	if infra := str(o, "spec", "infrastructureRef", "name"); infra != "" {
		name = infra
	}
	return has(e.Cloud.Servers, name, e.Cloud.Projects[clusterOf(o)])
}

func (e Evidence) balancer(o *unstructured.Unstructured, add decide) {
	if !flag(o, "spec", "apiServerLoadBalancer", "enabled") || str(o, "status", "apiServerLoadBalancer", "id") != "" {
		return
	}
	name := balancerPrefix + o.GetNamespace() + "-" + o.GetName() + balancerSuffix
	if !has(e.Cloud.LoadBalancers, name, e.Cloud.Projects[clusterOf(o)]) {
		add(o, 1, 0, "it has no load balancer")
	}
}

func has(list []snapshot.Resource, name, project string) bool {
	for _, r := range list {
		if r.Name == name && r.Project == project {
			return true
		}
	}
	return false
}

// deletions: what was being deleted when the backup was made is there again, and stays.
func (e Evidence) deletions() Check {
	c := Check{ID: "deletions", Claim: "nothing was being deleted when the backup was made"}
	for _, step := range e.Plan.Steps {
		for _, o := range step {
			c.Checked++
			if at := o.GetDeletionTimestamp(); at != nil {
				c.at(o, "delete it again when all is unpaused", "it was being deleted since %s; it is restored as one that is not", at.UTC().Format(time.RFC3339))
			}
		}
	}
	return c.settled(Warned)
}
