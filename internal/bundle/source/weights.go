package source

import (
	"cmp"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/component"
)

// weight is what making a result costs.
type weight struct {
	// Seconds are of one processor, from cold caches.
	Seconds float64
	// Packages is how many packages a program compiles then, about; 0 if that does not matter.
	Packages int
}

// weights are what a cold build on two busy processors took (each result was made on about
// four fifths of one): they order a build, tell how far it is, and estimate it. What is not
// listed takes a second. The first program of a group pays for the packages that the others
// share, and the heaviest is the first: its weight has them.
func weights() map[string]weight {
	return map[string]weight{
		// Kubernetes, and what it runs on.
		"kubeadm":                         {389, 635},
		"kubelet":                         {209, 790},
		"kube-apiserver-program":          {121, 518},
		"kube-controller-manager-program": {76, 147},
		"kubectl":                         {37, 133},
		"kube-proxy-program":              {15, 24},
		"kube-scheduler-program":          {14, 0},
		"coredns-program":                 {60, 180},
		"etcdctl-program":                 {19, 98},
		"etcdutl-program":                 {14, 55},
		"etcd-program":                    {11, 64},
		"containerd":                      {41, 196},
		"ctr":                             {40, 200},
		"import-images":                   {2, 0},
		"crictl":                          {25, 90},
		"runc":                            {32, 94},

		// k3s is a whole Kubernetes in versions of its own.
		"k3s-server": {874, 3442},
		"k3s-shim":   {23, 110},
		"k3s-cni":    {2, 0},
		"k3s":        {15, 0},

		"cert-manager-controller-program": {130, 601},
		"cert-manager-cainjector-program": {119, 573},
		"cert-manager-webhook-program":    {16, 43},
		"cert-manager-acmesolver-program": {2, 0},

		"capi-openstack-controller-program":          {250, 822},
		"csi-attacher-program":                       {73, 177},
		"cluster-api-controller-program":             {45, 89},
		"csi-provisioner-program":                    {24, 53},
		"openstack-resource-controller-program":      {22, 43},
		"flannel-program":                            {19, 76},
		"network-policies-program":                   {10, 0},
		"metrics-server-program":                     {16, 50},
		"kubeadm-bootstrap-controller-program":       {12, 48},
		"csi-resizer-program":                        {11, 0},
		"openstack-cloud-controller-manager-program": {11, 51},
		"cinder-csi-plugin-program":                  {10, 0},
		"kubeadm-control-plane-controller-program":   {10, 0},
		"csi-snapshotter-program":                    {9, 0},
		"k8s-keystone-auth-program":                  {10, 0},
		"snapshot-controller-program":                {4, 0},

		"k9s":         {43, 101},
		"helm":        {6, 0},
		"cni-dhcp":    {7, 0},
		"cni-vrf":     {5, 0},
		"cni-plugins": {6, 0},

		// Debian's packages, and machines.
		"debian-machine":      {152, 0},
		"kind-node":           {22, 0},
		"base-storage":        {13, 0},
		"node-system":         {12, 0},
		"base-network":        {9, 0},
		"debian-grub":         {6, 0},
		"seed-system":         {6, 0},
		"debian-certificates": {5, 0},
		"node":                {4, 0},
		"seed":                {4, 0},
		"slipway":             {4, 0},
		// Options, compiled after all others. Their numbers are guesses but for the tests.
		"traefik-program": {250, 1250}, "cilium-agent-program": {300, 2000}, "cilium-operator-program": {60, 0}, "cilium-dbg-program": {30, 0}, "cilium-tree": {40, 0}, "cilium-base": {15, 0},
		"flux-source-program": {300, 2460}, "flux-kustomize-program": {60, 0},
		"conformance-tests": {240, 0}, "agnhost-program": {30, 0}, "agnhost-base": {12, 0},
		"prometheus-program": {150, 0}, "kube-state-metrics-program": {40, 0}, "loki-program": {400, 2150}, "log-collector-program": {150, 870}, "velero-program": {150, 0}, "velero-aws-program": {30, 0},
	}
}

func weightOf(all map[string]weight, name string) weight {
	if w, ok := all[name]; ok {
		return w
	}
	return weight{Seconds: 1}
}

// rank is the place of a recipe among those that could be made next.
type rank struct {
	// group is the weight of all that must be made one after the other.
	group, own float64
	name       string
}

// before tells which of two is made first: the longest row of work decides when a build ends.
func (r rank) before(other rank) bool {
	return cmp.Or(cmp.Compare(other.group, r.group), cmp.Compare(other.own, r.own), cmp.Compare(r.name, other.name)) < 0
}

func ranks(all map[string]recipe) map[string]rank {
	table, groups := weights(), map[string]float64{}
	for name, r := range all {
		groups[turn(r.group())] += weightOf(table, name).Seconds
	}
	of := map[string]rank{}
	for name, r := range all {
		own := weightOf(table, name).Seconds
		of[name] = rank{group: own, own: own, name: name}
		if group := turn(r.group()); group != "" {
			of[name] = rank{group: groups[group], own: own, name: name}
		}
	}
	return of
}

// Duration is how long it takes to build the items that a bundle lacks, from cold caches, in
// whole minutes.
func Duration(missing []string, processors int) time.Duration {
	d := work(missing, func(name string) bool {
		_, item := component.Find(name)
		return item && !slices.Contains(missing, name)
	}) / time.Duration(max(processors, 1))
	return max(d.Round(time.Minute), time.Minute)
}

// work is the processor time that building items takes from cold caches, with what they are
// made of. Inputs that the bundle has are not counted.
func work(items []string, has func(name string) bool) time.Duration {
	all, table := recipes(), weights()
	seconds, seen := 0.0, map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		seconds += weightOf(table, name).Seconds
		r, ok := all[name]
		if !ok {
			return
		}
		for _, need := range r.needs() {
			if !has(need) {
				visit(need)
			}
		}
	}
	for _, item := range items {
		visit(item)
	}
	return time.Duration(seconds * float64(time.Second))
}
