package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// quotaRules are about limits of the project. A quota leaves no trace in the cloud but
// in the answer to a call, which the controller repeats.
func quotaRules() []Rule {
	const fix = "delete what is not needed, or ask the cloud's operator for a larger quota; then delete the Machine that failed so that it is created again: kubectl delete machine NAME"
	return []Rule{
		{ID: "quota-compute", Layer: "Nova", Ending: Outside, Meaning: "The project's quota of servers, cores or RAM is used up.", Fix: fix, kind: "quota",
			words: regexp.MustCompile(`Quota exceeded for (?P<object>cores|instances|ram|server_groups|server_group_members|key_pairs)|Quota exceeded, too many (?P<group>server groups|servers in group)`), of: groupQuota, not: quotaHasRoom},
		{ID: "quota-network", Layer: "Neutron", Ending: Outside, Meaning: "The project's quota of networks, ports, security groups or floating IPs is used up.",
			Fix: "delete what is not needed, or ask the cloud's operator for a larger quota; the controller then continues by itself", kind: "quota",
			words: regexp.MustCompile(`Quota exceeded for resources: \['?(?P<object>\w+)'?`), fault: regexp.MustCompile(`Quota exceeded for resources: \['?(?P<object>\w+)'?|Maximum number of (?P<limit>ports) exceeded|PortLimitExceeded`), not: quotaHasRoom, find: noPortLeft},
		{ID: "quota-volume", Layer: "Cinder", Ending: Outside, Meaning: "The project's quota of volumes or of their size is used up.", Fix: fix, kind: "quota",
			words: regexp.MustCompile(`exceeded for quota '(?P<object>[\w-]+)'|VolumeSizeExceedsAvailableQuota|exceeds allowed (?P<size>gigabytes|volumes) quota`),
			fault: regexp.MustCompile(`.*exceeded for quota '(?P<object>[\w-]+)'|VolumeSizeExceedsAvailableQuota|VolumeLimitExceeded|exceeds allowed \w+ quota`)},
		{ID: "quota-load-balancer", Layer: "Octavia", Ending: Outside, Meaning: "The project's quota of load balancers, listeners, pools or members is used up.",
			Fix: "delete load balancers that are not needed, or ask the cloud's operator for a larger quota; the controller then continues by itself", kind: "quota",
			words: regexp.MustCompile(`(?i)quota has been met for resources?: (?P<object>[\w ]+\w)`)},
	}
}

// groupQuota is the quota of server groups that words are about: Nova does not name it.
func groupQuota(_ *scene, c complaint) string {
	switch {
	case has(c.message, "too many server groups"):
		return "server_groups"
	case has(c.message, "too many servers in group"):
		return "server_group_members"
	}
	return ""
}

// requested are the quotas of Nova that were exceeded, and how much of each a server needs.
var requested = regexp.MustCompile(`Quota exceeded for ([\w, ]+): Requested ([\d, ]+), but`)

// quotaHasRoom takes a complaint back if the cloud says now that the quota has room for what was
// refused, and the controller tries again by itself.
func quotaHasRoom(v *scene, c complaint, object string) bool {
	if c.final {
		return false
	}
	found := requested.FindStringSubmatch(c.message)
	if found == nil {
		return v.Cloud.room(quotaName(object), 1)
	}
	amounts := strings.Split(found[2], ", ")
	for i, name := range strings.Split(found[1], ", ") {
		amount, err := strconv.Atoi(amounts[min(i, len(amounts)-1)])
		if err != nil || !v.Cloud.room(name, amount) {
			return false
		}
	}
	return true
}

// quotaName is the name of a quota: Neutron's errors call them otherwise than its quotas.
func quotaName(object string) string {
	names := map[string]string{"port": "ports", "network": "networks", "subnet": "subnets", "router": "routers", "floatingip": "floating_ips",
		"security_group": "security_groups", "security_group_rule": "security_group_rules", "Load Balancer": "load_balancers"}
	if name := names[object]; name != "" {
		return name
	}
	return object
}

// noPortLeft is a hit if machines wait for a server and the quota of ports is used up:
// CAPO writes no condition of a port that it cannot create.
func noPortLeft(v *scene) []hit {
	waiting := v.waiting()
	if len(waiting) == 0 || !v.Cloud.knows(ListQuotas) || v.Cloud.room("ports", 1) {
		return nil
	}
	i := slices.IndexFunc(v.Cloud.Quotas, func(q Quota) bool { return q.Resource == "ports" })
	if i < 0 {
		return nil
	}
	words := fmt.Sprintf("%d of %d ports are used, and %s needs one", v.Cloud.Quotas[i].Used, v.Cloud.Quotas[i].Limit, refOf(waiting[0]))
	return []hit{{object: v.under(refOf(waiting[0]), Ref{Kind: "quota", Name: "ports"}), cause: words, source: "Neutron", evidence: []string{"Neutron: " + words}}}
}
