package recovery

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
)

// cloudRead: the projects of all clusters could be listed with the clusters' own
// credentials. Without that, nothing else about the cloud is proved.
func (e Evidence) cloudRead() Check {
	c := Check{ID: "cloud", Claim: "every cluster's credential works and its project can be listed"}
	for _, name := range e.Plan.Clusters() {
		c.Checked++
		if cause, unread := e.Cloud.Unread[name]; unread {
			c.ofCluster(name, "see that the cloud answers and that the credential in the cluster's Secret exists, then run the same command again", "%s", cause)
		} else if e.Cloud.Projects[name] == "" {
			c.ofCluster(name, rerun, "its project is not known")
		}
	}
	return c.settled(Refuted)
}

// machines: every Machine's provider ID is a live server of its name in the project
// of its cluster.
func (e Evidence) machines() Check {
	c := Check{ID: "machines", Claim: "every Machine's provider ID is a live server of its name and project"}
	servers := byID(e.Cloud.Servers)
	named := map[string]snapshot.Resource{}
	for _, s := range e.Cloud.Servers {
		named[s.Project+"/"+s.Name] = s
	}
	for _, m := range e.of(groupClusterAPI, "Machine") {
		c.Checked++
		id, name, project := ServerID(str(m, "spec", "providerID")), str(m, "spec", "infrastructureRef", "name"), e.Cloud.Projects[clusterOf(m)]
		server, there := servers[id]
		other, taken := named[project+"/"+name]
		switch {
		case id == "":
			c.at(m, "wait for a later backup, or delete the Machine when all is unpaused", "it had no server when the backup was made")
		case !there && taken:
			c.at(m, "the server was made after the backup: use a later backup, or delete the server if it is not in use", "its server %s is gone; another server %s has the name %s", id, other.ID, name)
		case !there:
			c.at(m, "if the server is gone for good, restore without the Machine: it would be replaced when the cluster is unpaused", "its server %s is gone", id)
		case server.Project != project:
			c.at(m, "compare the credential in the cluster's Secret with the server's project", "its server %s is in project %s, the cluster is in %s", id, server.Project, project)
		case server.Name != name:
			c.at(m, "find out who renamed the server", "its server %s has the name %s, not %s", id, server.Name, name)
		case slices.Contains([]string{"ERROR", "DELETED", "SOFT_DELETED"}, server.Status):
			c.at(m, "repair the server first, or accept that it is replaced", "its server %s is %s", id, server.Status)
		}
	}
	return c.settled(Refuted)
}

// ServerID is the server of a provider ID: openstack:///<id> or openstack://<region>/<id>.
func ServerID(providerID string) string {
	rest, ok := strings.CutPrefix(providerID, "openstack://")
	if !ok {
		return ""
	}
	return rest[strings.LastIndex(rest, "/")+1:]
}

// resources: what CAPO's statuses say of the cloud is there.
func (e Evidence) resources() Check {
	c := Check{ID: "resources", Claim: "servers, ports, load balancers, networks and addresses that statuses name exist"}
	lists := map[string]map[string]snapshot.Resource{"server": byID(e.Cloud.Servers), "port": byID(e.Cloud.Ports), "load balancer": byID(e.Cloud.LoadBalancers),
		"network": byID(e.Cloud.Networks), "router": byID(e.Cloud.Routers), "security group": byID(e.Cloud.SecurityGroups), "floating IP": byAddress(e.Cloud.FloatingIPs)}
	for _, o := range e.index.ours {
		if group(o) != groupOpenStack || e.Cloud.Projects[clusterOf(o)] == "" {
			continue
		}
		for _, u := range uses(o) {
			c.Checked++
			if _, there := lists[u.kind][u.id]; !there {
				c.at(o, "if it is gone for good, the controllers make a new one when the cluster is unpaused: use a later backup, or restore it in the cloud first", "its %s %s is gone", u.kind, u.id)
			}
		}
	}
	return c.settled(Refuted)
}

func byAddress(list []snapshot.Resource) map[string]snapshot.Resource {
	all := make(map[string]snapshot.Resource, len(list))
	for _, r := range list {
		all[r.Address] = r
	}
	return all
}

// use is a resource in the cloud that a status names.
type use struct{ kind, id string }

// uses are the resources that the status of an object of CAPO names.
func uses(o *unstructured.Unstructured) []use {
	var all []use
	add := func(kind, id string) {
		if id != "" {
			all = append(all, use{kind, id})
		}
	}
	switch o.GetKind() {
	case "OpenStackCluster":
		add("network", str(o, "status", "network", "id"))
		add("router", str(o, "status", "router", "id"))
		add("load balancer", str(o, "status", "apiServerLoadBalancer", "id"))
		for _, group := range []string{"controlPlaneSecurityGroup", "workerSecurityGroup", "bastionSecurityGroup"} {
			add("security group", str(o, "status", group, "id"))
		}
		add("server", str(o, "status", "bastion", "id"))
		add("floating IP", str(o, "status", "bastion", "floatingIP"))
		if !flag(o, "spec", "disableAPIServerFloatingIP") && str(o, "status", "apiServerLoadBalancer", "id") != "" {
			add("floating IP", str(o, "status", "apiServerLoadBalancer", "ip"))
		}
	case "OpenStackServer", "OpenStackMachine":
		add("server", str(o, "status", "instanceID"))
		resources, _, _ := unstructured.NestedMap(o.Object, "status", "resources")
		for _, port := range list(resources["ports"]) {
			add("port", text(port, "id"))
		}
	}
	return all
}

// balancerPrefix is how CAPO names a cluster's load balancer:
// k8s-clusterapi-cluster-<namespace>-<name>-kubeapi.
const balancerPrefix, balancerSuffix = "k8s-clusterapi-cluster-", "-kubeapi"

// strangers: what happened between backup and disaster. It never fails.
func (e Evidence) strangers() Check {
	c := Check{ID: "strangers", Claim: "no cluster and no machine in the cloud is unknown to the backup"}
	balancers, machines, clusters := map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, o := range e.Live { // not only what is restored: one cluster comes back among others
		switch {
		case is(o, groupClusterAPI, "Cluster"):
			balancers[balancerPrefix+o.GetNamespace()+"-"+o.GetName()+balancerSuffix] = true
			clusters[clusterOf(o)] = o.GetName() + "-"
		case is(o, groupClusterAPI, "Machine"):
			machines[ServerID(str(o, "spec", "providerID"))] = true
		case group(o) == groupOpenStack:
			for _, u := range uses(o) {
				machines[u.id] = machines[u.id] || u.kind == "server"
			}
		}
	}
	for _, b := range e.Cloud.LoadBalancers {
		if !strings.HasPrefix(b.Name, balancerPrefix) || !strings.HasSuffix(b.Name, balancerSuffix) {
			continue
		}
		c.Checked++
		if !balancers[b.Name] && !e.own(b.Name) {
			c.find("load balancer "+b.Name, "the cluster was made after the backup: use a later backup, if one has it (slipway backup list); else nothing can manage it any more: delete its servers and load balancer in the cloud", "it is of a cluster that the backup does not know (project %s)", b.Project)
		}
	}
	for _, s := range e.Cloud.Servers {
		for _, cluster := range slices.Sorted(maps.Keys(clusters)) {
			if machines[s.ID] || s.Project != e.Cloud.Projects[cluster] || !strings.HasPrefix(s.Name, clusters[cluster]) || longer(clusters, cluster, s.Name) {
				continue
			}
			c.Checked++
			c.find("server "+s.Name, "delete it in the cloud when you know that it is not needed: the cluster makes its own again", "cluster %s has it (%s), but the backup has no Machine for it: it was made after the backup", cluster, s.ID)
		}
	}
	return c.settled(Warned)
}

// longer reports whether another cluster's name fits a server's name better.
func longer(clusters map[string]string, than, server string) bool {
	for name, prefix := range clusters {
		if name != than && len(prefix) > len(clusters[than]) && strings.HasPrefix(server, prefix) {
			return true
		}
	}
	return false
}

// own reports whether a load balancer is of the management cluster itself.
func (e Evidence) own(balancer string) bool {
	return strings.HasSuffix(balancer, "-"+e.Snapshot.Environment+balancerSuffix)
}
