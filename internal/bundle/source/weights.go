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

// weights are what a build from cold caches takes on processors of some years: they order a build,
// tell how far it is, and estimate it. New ones take two thirds of it, and half where `make build`
// was before. What is not listed takes a second. The first program of a group pays for the packages
// that the others share, and the heaviest is the first: its weight has them.
func weights() map[string]weight {
	return map[string]weight{
		// Kubernetes, and what it runs on.
		"kubeadm":                         {272, 635},
		"kubelet":                         {170, 790},
		"kube-apiserver-program":          {85, 518},
		"kube-controller-manager-program": {53, 147},
		"kubectl":                         {26, 133},
		"kube-proxy-program":              {10, 24},
		"kube-scheduler-program":          {10, 0},
		"coredns-program":                 {42, 180},
		"etcdctl-program":                 {13, 98},
		"etcdutl-program":                 {10, 55},
		"etcd-program":                    {8, 64},
		"containerd":                      {29, 196},
		"ctr":                             {28, 200},
		"import-images":                   {1, 0},
		"crictl":                          {18, 90},
		"runc":                            {22, 94},

		// k3s is a whole Kubernetes in versions of its own.
		"k3s-server": {612, 3442},
		"k3s-shim":   {16, 110},
		"k3s-cni":    {1, 0},
		"k3s":        {10, 0},

		"cert-manager-controller-program": {91, 601},
		"cert-manager-cainjector-program": {83, 573},
		"cert-manager-webhook-program":    {11, 43},
		"cert-manager-acmesolver-program": {1, 0},

		"capi-openstack-controller-program":          {175, 822},
		"csi-attacher-program":                       {51, 177},
		"cluster-api-controller-program":             {31, 89},
		"csi-provisioner-program":                    {17, 53},
		"openstack-resource-controller-program":      {15, 43},
		"flannel-program":                            {13, 76},
		"network-policies-program":                   {7, 0},
		"metrics-server-program":                     {11, 50},
		"kubeadm-bootstrap-controller-program":       {8, 48},
		"csi-resizer-program":                        {8, 0},
		"openstack-cloud-controller-manager-program": {8, 51},
		"cinder-csi-plugin-program":                  {7, 0},
		"kubeadm-control-plane-controller-program":   {7, 0},
		"csi-snapshotter-program":                    {6, 0},
		"k8s-keystone-auth-program":                  {7, 0},
		"snapshot-controller-program":                {3, 0},

		"k9s":         {30, 101},
		"helm":        {4, 0},
		"cni-dhcp":    {5, 0},
		"cni-vrf":     {4, 0},
		"cni-plugins": {4, 0},

		// Debian's packages, and machines.
		"debian-machine":      {106, 0},
		"kind-node":           {15, 0},
		"base-storage":        {9, 0},
		"node-system":         {8, 0},
		"base-network":        {6, 0},
		"debian-grub":         {4, 0},
		"seed-system":         {4, 0},
		"debian-certificates": {4, 0},
		"node":                {3, 0},
		"seed":                {3, 0},
		"slipway":             {3, 0},
		// Options, compiled after all others. Their numbers are guesses but for the tests.
		"traefik-program": {175, 1250}, "cilium-agent-program": {210, 2000}, "cilium-operator-program": {42, 0}, "cilium-dbg-program": {21, 0}, "cilium-tree": {28, 0}, "cilium-base": {10, 0},
		"flux-source-program": {210, 2460}, "flux-kustomize-program": {42, 0},
		"conformance-tests": {168, 0}, "agnhost-program": {21, 0}, "agnhost-base": {8, 0},
		"prometheus-program": {105, 0}, "kube-state-metrics-program": {28, 0}, "loki-program": {280, 2150}, "log-collector-program": {105, 870}, "velero-program": {105, 0}, "velero-aws-program": {21, 0},
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
