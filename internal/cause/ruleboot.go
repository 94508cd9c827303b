package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// boots is how long a machine may take from the server to the node.
const boots = 10 * time.Minute

// bootRules are about what happens inside a server until it is a node. Only its console
// tells, so they are silent where the console was not read.
func bootRules() []Rule {
	return []Rule{
		{ID: "kernel-panic", Layer: "machine", Ending: Outside, Meaning: "The kernel of the machine panicked.", Fix: "try another image or flavor; see all with openstack console log show SERVER" + again,
			console: lines(`Kernel panic - not syncing.*|No bootable device.*`)},
		{ID: "boot-failed", Layer: "machine", Ending: Outside, Meaning: "The system of the machine does not start: its root disk or a file system is not there, or damaged.",
			Fix:     "see the whole console with openstack console log show SERVER; try another image" + again,
			console: lines(`.*[Yy]ou are in emergency mode.*|.*Entering emergency mode.*|.*Reached target.*Emergency Mode.*|grub rescue>.*|.*Gave up waiting for root.*|.*dracut.*Could not boot.*|.*ALERT!.*does not exist.*`)},
		{ID: NoMetadata, Layer: "machine", Ending: Outside, Meaning: "The machine cannot reach the cloud's metadata service, so it has no configuration.",
			Fix:     "ask the cloud's operator about the metadata agent of the network, or give machines a config drive (spec.configDrive: true in the environment file, machineConfigDrive in the values of a cluster)" + again,
			console: lines(`.*169\.254\.169\.254.*(?:failed|refused|timed out|unreachable|giving up|No route).*|.*No (?:instance )?datasource found.*|.*Used fallback datasource.*`),
			// The service may be later than a machine that boots, which asks again. What kubeadm and
			// the script say that runs it came from there.
			over: lines(`\[(?:preflight|init|certs|kubelet-start)\]|\[(?:ERROR|WARNING) [\w-]+\]: |error execution phase|scripts-user`)},
		{ID: "disk-full", Layer: "machine", Ending: Outside, Meaning: "The disk of the machine is full.",
			Fix: "choose a flavor or root volume with more disk, or free space on the node", find: fullDisks, console: lines(`.*No space left on device.*`), words: regexp.MustCompile(`(?i)no space left on device|Node\.DiskPressure: .*|kubelet has disk pressure`)},
		{ID: "machine-dns", Layer: "machine", Ending: Outside, Meaning: "The machine cannot resolve the name of a registry that kubeadm needs.",
			Fix:     "give the subnet name servers that answer: openstack subnet set --dns-nameserver ADDRESS SUBNET, and the same in the cluster's settings" + again,
			console: lines(`\[ERROR ImagePull\]: .*lookup \S+.*(?:no such host|server misbehaving|i/o timeout|Temporary failure).*`)},
		{ID: "join-unreachable", Layer: "machine", Ending: Outside, Meaning: "The machine does not reach the Kubernetes API of the cluster, so it cannot join.",
			Fix:     "see the load balancer, the router and the security groups in this answer; the address is in the line" + again,
			console: lines(`.*couldn't validate the identity of the API Server: .*(?:dial tcp|deadline exceeded|Client\.Timeout|connection refused|no route to host).*|.*failed to request the cluster-info ConfigMap: .*(?:dial tcp|deadline exceeded|Client\.Timeout).*`)},
		{ID: "kubeadm-preflight", Layer: "machine", Ending: Outside, Meaning: "kubeadm refuses to set up the node: the machine does not meet a requirement.",
			Fix: "correct what the line names (flavor, image or Kubernetes version)" + again, console: lines(`\[ERROR [\w-]+\]: .*`)},
		{ID: "kubeadm-failed", Layer: "machine", Ending: Outside, Meaning: "kubeadm failed on the machine.",
			Fix: "read the lines; see the whole console with openstack console log show SERVER" + again, console: lines(`error execution phase .*`)},
		{ID: "cloud-init-failed", Layer: "machine", Ending: Outside, Meaning: "cloud-init could not run the machine's configuration.",
			Fix: "read the lines; see the whole console with openstack console log show SERVER" + again, console: lines(`Failed to run module scripts-user.*|.*Failed loading yaml blob.*|.*cloud-init.*Unhandled non-multipart.*`)},
		{ID: "machine-no-node", Layer: "machine", Ending: Passing, Meaning: "The server runs, but has not become a node, and nobody says why.",
			Fix:  "see its console with openstack console log show SERVER: cloud-init, kubeadm and the kubelet write there",
			find: silent},
	}
}

func lines(pattern string) *regexp.Regexp { return regexp.MustCompile("(?m)" + pattern) }

// prints are the first lines of a console that the rule knows; none if later ones show that it
// is over.
func (r Rule) prints(console string) []string {
	all := r.console.FindAllStringIndex(console, -1)
	if len(all) == 0 || r.over != nil && r.over.MatchString(console[all[len(all)-1][1]:]) {
		return nil
	}
	var found []string
	for _, at := range all[:min(len(all), 3)] {
		found = append(found, strings.TrimSpace(console[at[0]:at[1]]))
	}
	return found
}

// printed is a hit for each server that is no node yet, whose console has lines of a rule.
func printed(v *scene, r Rule) []hit {
	var hits []hit
	for _, m := range v.members {
		if m.nova == nil || m.node() || m.leaving() {
			continue
		}
		if found := r.prints(m.nova.Console); len(found) > 0 {
			hits = append(hits, hit{object: m.ref(), cause: oneLine(strings.Join(found, "; ")), since: m.nova.Created, source: "its console", evidence: found})
		}
	}
	return hits
}

// NoMetadata is the reason of a machine without the cloud's metadata service: it has no keys.
const NoMetadata = "metadata-unreachable"

// Boot returns what the console of a server says went wrong while it became a node, and the
// reason that it is; both are "" if it says nothing of the kind.
func Boot(console string) (reason, words string) {
	v := &scene{members: []member{{own: Ref{Kind: "server"}, nova: &Server{Console: console}}}}
	for _, r := range rules() {
		if r.console == nil {
			continue
		}
		for _, h := range printed(v, r) {
			return r.ID, h.cause
		}
	}
	return "", ""
}

// silent are machines that run for long and are no node, about which nobody complains.
func silent(v *scene) []hit {
	var hits []hit
	for _, m := range v.members {
		if m.machine == nil || m.nova == nil || m.nova.Status != "ACTIVE" || m.node() || m.leaving() || v.Now.Sub(m.nova.Created) < boots || v.givenUpOn(m) {
			continue
		}
		if slices.ContainsFunc(v.rules, func(r Rule) bool { return r.console != nil && len(r.prints(m.nova.Console)) > 0 }) {
			continue
		}
		hits = append(hits, hit{object: m.ref(), cause: fmt.Sprintf("it runs for more than %s and is not a node", boots), since: m.nova.Created, source: "Nova and Cluster API",
			evidence: []string{"Nova: server " + m.nova.Name + " is ACTIVE"}})
	}
	return hits
}

func (v *scene) givenUpOn(m member) bool {
	return m.infra != nil && v.givenUp(m.infra) || m.server != nil && v.givenUp(m.server)
}
