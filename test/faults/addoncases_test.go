package faults

import "github.com/slipway-sh/slipway/internal/cause"

const release = "HelmRelease shop-cni-calico"

// noKind is what Helm says before another addon has defined a kind.
const noKind = `unable to build kubernetes objects from release manifest: resource mapping not found for name: "x" namespace: "" from "": no matches for kind "VolumeSnapshotClass" in version "snapshot.storage.k8s.io/v1"; ensure CRDs are installed first`

func addonCases() []planted {
	return []planted{
		{fault: "container image not found", reason: "image-pull", object: release,
			objects: addon(`DaemonSet kube-system/calico-node: container calico-node: ErrImagePull: failed to resolve reference "quay.io/calico/node:v9": quay.io/calico/node:v9: not found`)},
		{fault: "registry unreachable", reason: "registry-unreachable", object: release,
			objects: addon(`Deployment kube-system/typha: Head "https://quay.io/v2/calico/typha/manifests/v3": dial tcp: lookup quay.io: no such host`)},
		{fault: "chart with wrong values", reason: "chart-failed", object: release, objects: addon(`unable to build kubernetes objects from release manifest: resource mapping not found for name: "x"`)},
		{fault: "addon before the one that defines its kind", reason: "kind-missing", object: release, ending: cause.Passing, objects: `
kind: HelmRelease
metadata: {name: shop-cni-calico}
status: {phase: Pending, failureMessage: '` + noKind + `', conditions: [{type: Ready, status: "False", reason: KindMissing, message: '` + noKind + `'}]}
`},
		{fault: "addon whose kind nobody defines", reason: "kind-missing", object: release, ending: cause.Final, objects: addon(noKind)},
		{fault: "addon that fails without known words", reason: "addon-failed", object: release, objects: addon("context deadline exceeded")},
		{fault: "error of a controller that no rule knows", reason: "controller-says", object: "OpenStackCluster shop",
			objects: infrastructure("NetworkReady", "NetworkCreateFailed", "Failed to reconcile network: got 503 instead: the moon is in the way")},
	}
}
