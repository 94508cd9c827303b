// Package observe reads what Cluster API, its OpenStack provider and the addon
// provider say of one cluster, and makes of it what Magnum shows: how far it
// is, addresses, versions, health, and the first real cause of trouble.
//
// It is pure and asks nobody. Conditions are read in both of Cluster API's
// spellings, so that clusters of either contract are understood.
package observe

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cause"
)

// Labels of the objects of a cluster.
const (
	LabelComponent   = "capi.stackhpc.com/component"
	LabelGroup       = "capi.stackhpc.com/node-group"
	LabelStack       = "capi.stackhpc.com/cluster"
	componentControl = "control-plane"
)

// Objects are what there is of one cluster. Nil and empty are "not there".
type Objects struct {
	// Cluster is Cluster API's, Infrastructure the OpenStackCluster.
	Cluster, Infrastructure, ControlPlane *unstructured.Unstructured
	// Deployments are MachineDeployments.
	Deployments []*unstructured.Unstructured
	Machines    []*unstructured.Unstructured
	// Servers are OpenStackMachines and OpenStackServers.
	Servers []*unstructured.Unstructured
	// ServerGroups are the resource controller's.
	ServerGroups []*unstructured.Unstructured
	// HealthChecks are MachineHealthChecks.
	HealthChecks []*unstructured.Unstructured
	// Addons are HelmReleases and Manifests.
	Addons []*unstructured.Unstructured
	// Cloud is what the cluster's project said lately; nil means it was not asked.
	Cloud *cause.Cloud
	// Now is the time of the look.
	Now time.Time
}

// State is what Magnum shows of a cluster.
type State struct {
	// Exists says that Cluster API has the cluster.
	Exists bool
	// Endpoint is https://<host>:<port>, empty until it is known.
	Endpoint string
	// Version is the control plane's, v1.34.2; Runtime the container runtime's.
	Version, Runtime string
	// The gates of magnum-capi-helm: all are true of a cluster that is ready.
	Infrastructure, ControlPlane, Available, Addons bool
	// Reachable says that the API server answers.
	Reachable bool
	// Master is the control plane, Workers the groups by the name of the
	// node group in the chart.
	Master  Group
	Workers map[string]Group
	// Causes are the troubles there are, the worst first, as a tenant may read them.
	Causes []Cause
	// Findings are the same for operators.
	Findings []cause.Finding
	// WithoutWorkers are the addons, by the names of their releases, that cannot run
	// because the cluster is to have no workers; they are not waited for.
	WithoutWorkers []string
	// Waiting is what Cluster API says it waits for.
	Waiting string
	// Healthy and Health are the health of a running cluster: Health has "api"
	// and "<node>.Ready".
	Healthy bool
	Health  map[string]string
}

// Ready says that nothing is left to wait for but node groups.
func (s *State) Ready() bool {
	return s.Exists && s.Infrastructure && s.ControlPlane && s.Available && s.Addons
}

// Group is what Magnum shows of a node group.
type Group struct {
	// Exists says that there is a MachineDeployment or control plane; Object is
	// its name.
	Exists bool
	Object string
	// Settled says that all machines are as specified and ready, and that
	// Cluster API has seen the present specification.
	Settled bool
	// Seen says the latter alone.
	Seen bool
	// Replicas is the wanted size, Ready how many nodes are ready.
	Replicas, Ready int64
	// Machines are those that there still are.
	Machines int
	// Addresses of the machines.
	Addresses []string
	// Version of Kubernetes, v1.34.2.
	Version string
	// Cause is the worst trouble of its machines.
	Cause *Cause
}

// Cause is why something is not as it should be.
type Cause struct {
	// Object is "OpenStackServer shop-prod-x1".
	Object string
	// Reason is the engine's stable id; Message are words for tenants.
	Reason, Message string
	// Since is when it began; zero where nobody says.
	Since time.Time
	// Final causes are given up on by the provider; Hopeless ones are tried
	// again, but only a change from outside helps: a quota, an image.
	Final, Hopeless bool
	// Renew says that a new credential of the cluster ends it.
	Renew bool

	group string // of the machine
}

// String is the cause in one line.
func (c Cause) String() string {
	text := c.Object
	if c.Message == "" {
		return text + ": " + c.Reason
	}
	return text + ": " + c.Message
}

// Of reads the objects.
func Of(o Objects) *State {
	s := &State{Workers: map[string]Group{}}
	s.Exists = o.Cluster != nil
	s.Infrastructure = isTrue(o.Cluster, "InfrastructureReady")
	s.ControlPlane = isTrue(o.Cluster, "ControlPlaneReady", "ControlPlaneAvailable")
	s.Available = isTrue(o.Cluster, "Ready", "Available")
	s.Endpoint = endpoint(o.Cluster)
	s.causes(o)
	s.addons(o)
	s.Master = s.controlPlane(o)
	s.Version = text(o.ControlPlane, "status", "version")
	if s.Version == "" {
		s.Version = text(o.ControlPlane, "spec", "version")
	}
	for _, deployment := range o.Deployments {
		s.Workers[groupOf(deployment)] = s.worker(deployment, o.Machines)
	}
	s.health(o)
	s.Waiting = waiting(o)
	return s
}

func endpoint(cluster *unstructured.Unstructured) string {
	host, port := text(cluster, "spec", "controlPlaneEndpoint", "host"), number(cluster, "spec", "controlPlaneEndpoint", "port")
	if host == "" || port == 0 {
		return ""
	}
	return "https://" + net.JoinHostPort(host, strconv.FormatInt(port, 10))
}

// addons is the gate of addons. The driver takes any other phase than Deployed
// and Failed as one to wait for; so is Unknown here, which the addon provider
// shows only before it has looked. What needs workers is waited for where the
// cluster is to have some.
func (s *State) addons(o Objects) {
	s.Addons = true
	workers := int64(0)
	for _, deployment := range o.Deployments {
		workers += number(deployment, "spec", "replicas")
	}
	for _, addon := range o.Addons {
		if waitsForWorkers(addon) {
			if workers == 0 {
				s.WithoutWorkers = append(s.WithoutWorkers, releaseOf(addon))
			}
			s.Addons = s.Addons && workers == 0
			continue
		}
		if text(addon, "status", "phase") == "Deployed" {
			continue
		}
		s.Addons = false
	}
}

// waitsForWorkers says that an addon's release cannot run without workers, as
// far as it can be installed at all.
func waitsForWorkers(addon *unstructured.Unstructured) bool {
	c, ok := condition(addon, "Ready")
	return ok && c.Status != "True" && c.Reason == addons.ReasonWaitingForWorkers
}

func releaseOf(addon *unstructured.Unstructured) string {
	return cmp.Or(text(addon, "spec", "releaseName"), addon.GetName())
}

// sort puts the worst cause first, then the oldest: what came later often comes
// of it.
func (s *State) sort() {
	weight := func(c Cause) int {
		switch {
		case c.Final:
			return 0
		case c.Hopeless:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(s.Causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(weight(a), weight(b)), a.Since.Compare(b.Since), cmp.Compare(a.Object, b.Object))
	})
}

// controlPlane is the group of control planes: magnum-capi-helm's conditions,
// and all counts equal.
func (s *State) controlPlane(o Objects) Group {
	plane := o.ControlPlane
	g := Group{Exists: plane != nil, Object: name(plane), Replicas: number(plane, "spec", "replicas"), Version: text(plane, "spec", "version")}
	s.machines(&g, o.Machines, func(m *unstructured.Unstructured) bool {
		return m.GetLabels()[LabelComponent] == componentControl || isControlPlane(m)
	})
	if plane == nil {
		return g
	}
	g.Ready, g.Seen = number(plane, "status", "readyReplicas"), seen(plane)
	g.Settled = g.Seen && number(plane, "status", "replicas") == g.Replicas && upToDate(plane) == g.Replicas && g.Ready == g.Replicas
	for _, gate := range [][]string{{"MachinesReady"}, {"Ready", "Available"}, {"EtcdClusterHealthy"}, {"ControlPlaneComponentsHealthy"}} {
		g.Settled = g.Settled && isTrue(plane, gate...)
	}
	if version := text(plane, "status", "version"); version != "" && version != g.Version {
		g.Settled = false
	}
	return g
}

func isControlPlane(machine *unstructured.Unstructured) bool {
	_, ok := machine.GetLabels()["cluster.x-k8s.io/control-plane"]
	return ok
}

// groupOf is the name of the node group that a MachineDeployment is of.
func groupOf(deployment *unstructured.Unstructured) string {
	if group := deployment.GetLabels()[LabelGroup]; group != "" {
		return group
	}
	return strings.TrimPrefix(deployment.GetName(), text(deployment, "spec", "clusterName")+"-")
}

// worker is a group of workers.
func (s *State) worker(deployment *unstructured.Unstructured, machines []*unstructured.Unstructured) Group {
	g := Group{Exists: true, Object: deployment.GetName(), Replicas: number(deployment, "spec", "replicas"), Ready: number(deployment, "status", "readyReplicas"),
		Version: text(deployment, "spec", "template", "spec", "version"), Seen: seen(deployment)}
	name := groupOf(deployment)
	s.machines(&g, machines, func(m *unstructured.Unstructured) bool {
		return m.GetLabels()["cluster.x-k8s.io/deployment-name"] == deployment.GetName() || m.GetLabels()[LabelGroup] == name
	})
	phase := text(deployment, "status", "phase")
	// magnum-capi-helm goes by the phase alone. In Cluster API 1.12 that is
	// Running as soon as there are as many Machines as wanted, before they are nodes.
	g.Settled = phase == "Running" && g.Seen && number(deployment, "status", "replicas") == g.Replicas && upToDate(deployment) == g.Replicas &&
		g.Ready == g.Replicas
	if phase == "Failed" && g.Cause == nil {
		g.Cause = &Cause{Object: describe(deployment), Reason: "Failed", Message: conditionMessage(deployment, "Available", "Ready"), Final: true}
		s.Causes = append(s.Causes, *g.Cause)
		s.sort()
	}
	return g
}

// machines reads what a group's machines have to tell.
func (s *State) machines(g *Group, all []*unstructured.Unstructured, belongs func(*unstructured.Unstructured) bool) {
	names := map[string]bool{}
	for _, machine := range all {
		if !belongs(machine) {
			continue
		}
		g.Machines++
		names[machine.GetName()] = true
		if address := address(machine); address != "" && machine.GetDeletionTimestamp() == nil {
			g.Addresses = append(g.Addresses, address)
		}
	}
	slices.Sort(g.Addresses)
	for _, c := range s.Causes {
		if names[c.group] {
			g.Cause = &c
			break
		}
	}
}

// address is a machine's own address in the cluster's network.
func address(machine *unstructured.Unstructured) string {
	addresses, _, _ := unstructured.NestedSlice(machine.Object, "status", "addresses")
	var other string
	for _, entry := range addresses {
		a, _ := entry.(map[string]any)
		value, _ := a["address"].(string)
		switch a["type"] {
		case "InternalIP":
			return value
		case "ExternalIP":
			other = value
		}
	}
	return other
}
