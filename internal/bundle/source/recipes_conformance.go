package source

import "github.com/slipway-sh/slipway/internal/component"

// conformanceRecipes make Kubernetes' own tests, an option: the image that runs them, as upstream
// lays it out, and the one that most pods of the tests run. Their module selects the versions
// of Kubernetes' own, so that most packages are there.
func conformanceRecipes() map[string]recipe {
	const kubernetes, folder, module = "k8s.io/kubernetes/test/", "/usr/local/bin/", "conformance"
	return map[string]recipe{
		"conformance-tests":  program{Module: module, Package: kubernetes + "e2e", Test: true, Variables: versionVariables(component.KubernetesVersion)},
		"conformance-runner": program{Module: module, Package: kubernetes + "conformance/image/go-runner"},
		"conformance-ginkgo": program{Module: module, Package: "github.com/onsi/ginkgo/v2/ginkgo"},
		component.ConformanceImage: container{Base: baseStatic, Entrypoint: []string{folder + "kubeconformance"},
			Files: map[string]string{folder + "kubeconformance": "conformance-runner", folder + "e2e.test": "conformance-tests", folder + "ginkgo": "conformance-ginkgo", folder + "kubectl": "kubectl"}},
		"agnhost-program": program{Module: module, Package: kubernetes + "images/agnhost"},
		// Tests run shells, and look at networks and files, in its pods.
		"agnhost-base": debianTree{Variant: "extract", Links: map[string]string{"bin/nc": "nc.openbsd", "usr/bin/awk": "mawk"},
			Packages: []string{"dash", "coreutils", "sed", "grep", "mawk", "mount", "iproute2", "iptables", "curl", "bind9-dnsutils", "netcat-openbsd", "ca-certificates"}},
		component.TestPodImage: container{Base: "agnhost-base", Files: map[string]string{"/agnhost": "agnhost-program"}, Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}},
	}
}
