package cause

import (
	"cmp"
	"slices"
	"strings"
)

// blanks are the words in capitals that fixes name objects by, with the kind of object
// in a finding's chain that fills them.
func blanks() [][2]string {
	return [][2]string{{"machine NAME", "Machine"}, {"why MACHINE", "Machine"}, {"cluster NAME", "Cluster"}, {"certs renew CLUSTER", "Cluster"},
		{" SERVER", "server"}, {" LOAD-BALANCER", "load balancer"}, {" ROUTER", "router"}, {" GROUP", "security group"}, {" ADDRESS", "floating IP"},
		{" SUBNET", "subnet"}, {" NETWORK", "network"}, {" PORT", "port"}, {" VOLUME", "volume"}}
}

// fill puts the names of the finding's objects into its fix, so that its commands can be
// run as they are; namespace is that of the cluster. What the chain does not have stays a word in capitals.
func (f Finding) fill(namespace string) string {
	fix := f.Fix
	for _, blank := range blanks() {
		words, kind := blank[0], blank[1]
		name := f.Of(kind).Name
		if name == "" || strings.ContainsAny(name, " \t\n;&|$`'\"<>()") {
			continue
		}
		at := strings.LastIndexAny(words, " /")
		filled := words[:at+1] + name
		if namespace != "" && slices.Contains([]string{"machine NAME", "cluster NAME", "certs renew CLUSTER"}, words) {
			filled += " --namespace " + namespace
		}
		fix = replaceWord(fix, words, filled)
	}
	return fix
}

// replaceWord replaces words where no letter follows.
func replaceWord(text, words, with string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, words)
		b.WriteString(before)
		switch {
		case !found:
			return b.String()
		case after != "" && (after[0] >= 'A' && after[0] <= 'Z' || after[0] == '-'):
			b.WriteString(words)
		default:
			b.WriteString(with)
		}
		text = after
	}
}

// space is the namespace of the cluster.
func (v *scene) space() string {
	if v.cluster == nil {
		return ""
	}
	return v.cluster.GetNamespace()
}

// Names by which a cluster's objects tell who made it: the Secret of slipway cluster create,
// and the namespaces of the Magnum API.
const (
	ownSecret       = "-application-credential"
	tenantNamespace = "magnum-"
)

// renewal is the command that gives this cluster a new credential. One that is being deleted
// gets it from the command that deletes it.
func (v *scene) renewal() string {
	if v.cluster == nil {
		return renewal
	}
	name, secret := v.cluster.GetName(), text(v.infrastructure, "spec", "identityRef", "name")
	switch {
	case v.Magnum != "" || strings.HasPrefix(v.space(), tenantNamespace):
		command := "openstack coe credential rotate " + cmp.Or(v.Magnum, "CLUSTER")
		if v.ending() {
			command = "openstack coe cluster delete " + cmp.Or(v.Magnum, "CLUSTER") + " again, which makes a new credential"
		}
		return command + ", as its owner"
	case text(v.infrastructure, "spec", "identityRef", "type") == "ClusterIdentity":
		return "kubectl edit openstackclusteridentity " + secret + ", which names the Secret and the namespaces that may use it"
	case secret == name+ownSecret && v.ending():
		return "slipway cluster delete " + name + " --namespace " + v.space() + " again, which makes a new credential"
	case secret == name+ownSecret:
		return "slipway cluster rotate-credential " + name + " --namespace " + v.space()
	case secret != "" && v.space() != "":
		return "slipway up if it is the management cluster; else write a clouds.yaml that works into Secret " + v.space() + "/" + secret
	}
	return renewal
}
