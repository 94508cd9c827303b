package cause

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// young is how long a pod may take until the scheduler has placed it, and a webhook until
// a pod answers for it.
const young = 2 * time.Minute

// The words with which kubelets, containerd, the scheduler and CSI drivers tell what they
// lack, and the names of pods of network plugins.
var (
	noRegistry = regexp.MustCompile(`(?i)dial tcp[^"]*(no such host|connection refused|i/o timeout|no route to host|network is unreachable)|TLS handshake timeout|(?:x509|tls): .*(certificate|verify)|context deadline exceeded|Client\.Timeout exceeded|server misbehaving|connection reset by peer|toomanyrequests|429 Too Many Requests|50[234] (Bad Gateway|Service Unavailable|Gateway)`)
	noImage    = regexp.MustCompile(`ErrImagePull|ImagePullBackOff|ErrImageNeverPull|InvalidImageName|RegistryUnavailable`)
	noSpace    = regexp.MustCompile(`(?i)no space left on device|ephemeral-storage|DiskPressure`)
	fullNode   = regexp.MustCompile(`(?i)exceed max volume count|maximum number of (volumes|attachments|disk devices)|maximum allowed number of disk devices|too many (disk devices|volumes)|attach(ment)? limit`)
	notYet     = regexp.MustCompile(`no nodes available|node\.kubernetes\.io/(not-ready|unreachable)|node\.cloudprovider\.kubernetes\.io/uninitialized`)
	network    = regexp.MustCompile(`^(\S+/)?(calico|cilium|kube-flannel|tigera|canal|typha)`)
)

// podRules are about the pods of a cluster's system and addons, as its API server tells.
func podRules() []Rule {
	const k = "Kubernetes"
	return []Rule{
		{ID: "pod-crash", Layer: k, Ending: Outside, Meaning: "A pod of the cluster's system or addons ends again and again.",
			Fix: "read its last lines in the evidence, and the whole log with kubectl logs --previous; correct the addon's values, or give it more memory if it was OOMKilled", find: crashing},
		{ID: "pod-not-started", Layer: k, Ending: Outside, Meaning: "A kubelet cannot start a pod of the cluster's system or addons.",
			Fix: "create what the words name (a ConfigMap, a Secret, a volume), or correct the addon's values", find: notStarted},
		{ID: "pod-unschedulable", Layer: k, Ending: Outside, Meaning: "The scheduler finds no node for a pod of the cluster's system or addons.",
			Fix: "add machines to a node group, choose a larger flavor, or correct the pod's node selector and tolerations", find: unplaced},
		{ID: "pods-refused", Layer: k, Ending: Outside, Meaning: "The cluster's API server refuses the pods of its system or addons: a quota, or a rule of pod security.",
			Fix: "read the words: raise the ResourceQuota of the namespace, or label the namespace with the pod security level that the addon needs", find: refusedPods},
		{ID: "volume-attach-limit", Layer: "Cinder CSI", Ending: Outside, Meaning: "A node has as many volumes as it can have, and another is to be attached.",
			Fix: "add machines to the node group, or spread the pods with volumes over more nodes; the limit of a node is in kubectl get csinode NODE -o yaml", find: attachLimit},
		{ID: "volume-attach-failed", Layer: "Cinder CSI", Ending: Outside, Meaning: "A volume cannot be attached to a node.",
			Fix: "see openstack volume show VOLUME: if it is attached to a server that is gone, detach it; if it is in an error state, ask the cloud's operator about storage", find: attachFailed},
	}
}

// crowd is what is wrong in the same way with several pods.
type crowd struct {
	hit  hit
	pods []Pod
}

// crowds puts pods with the same object at fault together. told returns the object and the
// cause for a container, or no object.
func (v *scene) crowds(told func(Pod, Container) (Ref, string)) []hit {
	if !v.Inside.knows(ListPods) || v.cluster == nil {
		return nil
	}
	var all []*crowd
	for _, p := range v.Inside.Pods {
		for _, c := range append(slices.Clone(p.Containers), Container{}) {
			object, words := told(p, c)
			if object == (Ref{}) {
				continue
			}
			at := slices.IndexFunc(all, func(x *crowd) bool { return x.hit.object == object })
			if at < 0 {
				at = len(all)
				all = append(all, &crowd{hit: hit{object: object, cause: oneLine(words), source: "Kubernetes"}})
			}
			all[at].add(p, c, words)
		}
	}
	var hits []hit
	for _, one := range all {
		v.under(v.release(one.pods), one.hit.object)
		hits = append(hits, one.hit)
	}
	return hits
}

// most evidence and consequences of one cause.
const mostPods = 5

func (x *crowd) add(p Pod, c Container, words string) {
	h := &x.hit
	if !slices.ContainsFunc(x.pods, func(o Pod) bool { return o.ref() == p.ref() }) {
		x.pods = append(x.pods, p)
		h.nodes, h.owners = append(h.nodes, p.Node), append(h.owners, p.object().Name)
		if p.ref() != h.object && len(x.pods) <= mostPods {
			h.consequences = append(h.consequences, p.ref().String()+": is not well on node "+cmp.Or(p.Node, "none"))
		}
	}
	if h.since.IsZero() || p.Created.Before(h.since) {
		h.since = p.Created
	}
	line := p.ref().String() + ": " + oneLine(words)
	if c.Name != "" {
		line = p.ref().String() + ", container " + c.Name + ": " + oneLine(words)
	}
	if len(h.evidence) < mostPods {
		h.evidence = append(h.evidence, line)
	}
	if c.Words != "" && len(h.evidence) < mostPods {
		h.evidence = append(h.evidence, "its last lines: "+oneLine(c.Words))
	}
}

// release is the addon that pods are of: the one whose Helm release they are labelled with,
// or that complains of their workload; the Cluster if none is known.
func (v *scene) release(pods []Pod) Ref {
	for _, kind := range []string{"HelmRelease", "Manifests"} {
		for _, o := range v.Objects[kind] {
			for _, p := range pods {
				if p.Instance != "" && (text(o, "spec", "releaseName") == p.Instance || o.GetName() == p.Instance) || p.Owner.Name != "" && strings.Contains(failureMessage(o)+v.said(refOf(o)), p.object().Name) {
					return refOf(o)
				}
			}
		}
	}
	return v.top()
}

// said are the words of an object's complaints.
func (v *scene) said(object Ref) string {
	var all []string
	for _, c := range v.spoken {
		if c.object == object {
			all = append(all, c.text())
		}
	}
	return strings.Join(all, "\n")
}

// pulls are the words of a kubelet that cannot pull a container's image; "" if it can. Its
// event tells more than the status of a container that backs off.
func (v *scene) pulls(p Pod, c Container) string {
	if !noImage.MatchString(c.Reason) {
		return ""
	}
	words := c.Reason + ": " + c.Message
	for _, w := range v.Inside.Warnings {
		if w.About == p.ref() && strings.Contains(w.Message, c.Image) && strings.Contains(w.Message, "pull") {
			words += "; " + w.Message
		}
	}
	return words
}

// unpulled are images that a registry does not have, or does not give.
func unpulled(v *scene) []hit {
	return v.crowds(func(p Pod, c Container) (Ref, string) {
		words := v.pulls(p, c)
		if words == "" || noRegistry.MatchString(words) || noSpace.MatchString(words) {
			return Ref{}, ""
		}
		return Ref{Kind: "container image", Name: c.Image}, words
	})
}

// unreached are registries that do not answer.
func unreached(v *scene) []hit {
	return v.crowds(func(p Pod, c Container) (Ref, string) {
		words := v.pulls(p, c)
		if words == "" || !noRegistry.MatchString(words) {
			return Ref{}, ""
		}
		return Ref{Kind: "registry", Name: registry(c.Image)}, words
	})
}

// registry is the host of an image reference.
func registry(image string) string {
	host, _, found := strings.Cut(image, "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return "docker.io"
	}
	return host
}

// crashing are containers that end again and again.
func crashing(v *scene) []hit {
	return v.crowds(func(p Pod, c Container) (Ref, string) {
		if c.Reason != "CrashLoopBackOff" {
			return Ref{}, ""
		}
		words := fmt.Sprintf("its container %s ended %d times", c.Name, c.Restarts)
		if c.Exit != "" {
			words += ", last with " + c.Exit
		}
		if last := telling(c.Words); last != "" {
			words += ": " + last
		}
		return p.object(), words
	})
}

// loudest are lines that tell why a program ends.
var loudest = regexp.MustCompile(`(?i)\b(fatal|panic|error|failed|cannot|could not|unable|refused|denied|invalid|unauthorized|expired)\b`)

// telling is the line of a program's last ones that tells most: the last that names an error,
// else the last.
func telling(words string) (last string) {
	loud := ""
	for line := range strings.Lines(words) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if last = line; loudest.MatchString(line) {
			loud = line
		}
	}
	return cmp.Or(loud, last)
}

// notStarted are containers that a kubelet cannot start, and pods whose volumes or network
// it cannot set up.
func notStarted(v *scene) []hit {
	return v.crowds(func(p Pod, c Container) (Ref, string) {
		if slices.Contains([]string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PostStartHookError"}, c.Reason) && !noSpace.MatchString(c.Message) {
			return p.object(), c.Reason + ": " + c.Message
		}
		if c.Name != "" || v.Now.Sub(p.Created) < starts {
			return Ref{}, ""
		}
		for _, w := range v.Inside.Warnings {
			if w.About == p.ref() && slices.Contains([]string{"FailedMount", "FailedCreatePodSandBox"}, w.Reason) && v.Now.Sub(w.Last) < young && !noSpace.MatchString(w.Message) {
				return p.object(), w.Reason + ": " + w.Message
			}
		}
		return Ref{}, ""
	})
}

// unplaced are pods that no node is found for. While nodes are not ready, that is why.
func unplaced(v *scene) []hit {
	return v.crowds(func(p Pod, c Container) (Ref, string) {
		if c.Name != "" || p.Waits == "" || v.Now.Sub(p.Created) < young || fullNode.MatchString(p.Waits) ||
			notYet.MatchString(p.Waits) {
			return Ref{}, ""
		}
		return p.object(), p.Waits
	})
}

// fullDisks are nodes on which pods say that there is no space.
func fullDisks(v *scene) []hit {
	hits := v.crowds(func(p Pod, c Container) (Ref, string) {
		words := v.pulls(p, c) + " " + c.Message + " " + c.Words
		if c.Name == "" {
			words = p.Ended
		}
		if p.Node == "" || !noSpace.MatchString(words) {
			return Ref{}, ""
		}
		return v.under(v.nodeParent(p.Node), Ref{Kind: "Node", Name: p.Node}), strings.TrimSpace(words)
	})
	return slices.DeleteFunc(hits, func(h hit) bool { // an eviction stays on the list of pods when there is space again
		n := v.Inside.node(h.object.Name)
		return n != nil && n.condition("DiskPressure").Status == "False" && !strings.Contains(strings.ToLower(strings.Join(h.evidence, " ")), "no space left")
	})
}
