package cause

import (
	"regexp"
	"strings"
)

// serviceRules are about what workloads ask of the cloud through the cluster: volumes, and
// load balancers of Services. The cloud refuses them to the cluster, whoever's they are.
func serviceRules() []Rule {
	return []Rule{
		{ID: "volume-not-provisioned", Layer: "Cinder CSI", Ending: Outside, Meaning: "The cloud does not give the cluster a volume that a workload asks for.",
			Fix: "read Cinder's words: ask for more quota, or correct the volume type of the StorageClass", find: warned("volume claim", "ProvisioningFailed", refusals)},
		{ID: "service-load-balancer-failed", Layer: "Octavia", Ending: Outside, Meaning: "The cloud does not give a Service of the cluster its load balancer.",
			Fix: "read Octavia's words: ask for more quota, delete a load balancer in ERROR with openstack loadbalancer delete --cascade, or correct the Service's annotations", find: warned("Service", "SyncLoadBalancerFailed", nil)},
	}
}

// lastRules are about words that nobody else knows.
func lastRules() []Rule {
	return []Rule{
		{ID: "cloud-service-missing", Layer: layerIdentity, Ending: Outside, Meaning: "Keystone's catalog has no such service in the region of the cluster's credential.",
			Fix:   "correct region_name in the clouds.yaml of the cluster's credential (openstack catalog list shows the regions), or ask the cloud's operator for the service",
			words: regexp.MustCompile(`(?i)no suitable endpoint could be found in the service catalog`)},
		{ID: "cloud-service-error", Layer: "cloud", Ending: Passing, Operator: true, Meaning: "A service of the cloud answers Cluster API with an error of its own, or not at all.", kind: "cloud service",
			Fix:   "ask the cloud's operator about the service; Cluster API continues by itself when it answers again",
			kinds: []string{"OpenStackCluster", "OpenStackMachine", "OpenStackServer", "ServerGroup"},
			find:  failingServices,
			words: regexp.MustCompile(`(?:accessing \[\w+ |(?:Get|Post|Put|Delete|Patch|Head) ")https?://(?P<object>[^/"\]\s]+)[^"\]\s]*(?:\], but got (?:50[0234]|429) instead|": (?:dial tcp|context deadline exceeded|EOF|net/http))`)},
	}
}

// refusals are what the cloud says, not the sidecar that only waits for a pod to be placed.
var refusals = regexp.MustCompile(`(?i)rpc error|quota|\b4\d\d\b|\b5\d\d\b|not found`)

// refusedPods are workloads of which the API server takes no pod. What a webhook keeps is told
// of the webhook.
func refusedPods(v *scene) []hit {
	if v.Inside == nil || v.cluster == nil {
		return nil
	}
	var hits []hit
	at := map[Ref]bool{}
	for _, w := range v.Inside.Warnings {
		if w.Reason != "FailedCreate" || at[w.About] || !System(w.Namespace) || v.Now.Sub(w.Last) > recent || !strings.Contains(w.Message, "forbidden") {
			continue
		}
		at[w.About] = true
		hits = append(hits, hit{object: v.under(v.top(), w.About), cause: oneLine(w.Message), since: w.First, source: "Kubernetes", owners: []string{w.About.Name}, evidence: []string{w.About.String() + ": " + w.Reason + ": " + oneLine(w.Message)}})
	}
	return hits
}

// warned is a hit for each object of which the cluster warned lately, for a reason and in
// certain words; nil is any.
func warned(kind, reason string, words *regexp.Regexp) func(*scene) []hit {
	return func(v *scene) []hit {
		if v.Inside == nil || v.cluster == nil {
			return nil
		}
		var hits []hit
		at := map[string]bool{}
		for _, w := range v.Inside.Warnings {
			if w.Reason != reason || at[w.About.Name] || v.Now.Sub(w.Last) > recent || words != nil && !words.MatchString(w.Message) {
				continue
			}
			at[w.About.Name] = true
			object := v.under(v.top(), Ref{Kind: kind, Name: w.About.Name})
			hits = append(hits, hit{object: object, cause: oneLine(w.Message), since: w.First, source: "Kubernetes", evidence: []string{w.About.String() + ": " + w.Reason + ": " + oneLine(w.Message)}})
		}
		return hits
	}
}

// failingServices are the services of the cloud that did not answer when they were asked, or
// only with an error of their own.
func failingServices(v *scene) []hit {
	if v.Cloud == nil {
		return nil
	}
	var hits []hit
	for _, f := range v.Cloud.Failing {
		words := requestID.ReplaceAllString(oneLine(f.Words), "")
		hits = append(hits, hit{object: v.under(v.infra(), Ref{Kind: "cloud service", Name: f.Service}), cause: words, source: f.Service, evidence: []string{f.Service + ": " + words}})
	}
	return hits
}
