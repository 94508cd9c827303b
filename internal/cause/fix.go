package cause

import "strings"

// blanks are the words in capitals that fixes name objects by, with the kind of object
// in a finding's chain that fills them.
func blanks() [][2]string {
	return [][2]string{{"machine NAME", "Machine"}, {"why MACHINE", "Machine"}, {"cluster NAME", "Cluster"}, {"kubeadmcontrolplane/NAME", "KubeadmControlPlane"},
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
		if strings.HasPrefix(words, "machine") || strings.HasPrefix(words, "cluster") {
			if namespace != "" {
				filled += " --namespace " + namespace
			}
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
