package source

import (
	"maps"
	"strings"

	"github.com/slipway-sh/slipway/internal/component"
)

const (
	ciliumModule = "github.com/cilium/cilium"
	// ciliumTags are upstream's for both programs, so that they share what is compiled; the second
	// makes the operator the generic one.
	ciliumTags = "osusergo ipam_provider_operator"
)

// ciliumRecipes make Cilium's agent and its generic operator, an option, and its chart, which
// every bundle has. Envoy, which does its policies by HTTP, is in C++ and in no module.
func ciliumRecipes() map[string]recipe {
	files := map[string]string{"/cni/loopback": "cni-loopback"}
	all := map[string]recipe{
		"cilium-tree":                 debianTree{Variant: "extract", Packages: ciliumPackages()},
		"cilium-base":                 ciliumBase(),
		"cilium-bpf":                  moduleFolder{moduleFile: ciliumFile("bpf"), To: "var/lib/cilium/bpf", Without: []string{"tests/", "complexity-tests/", "test-progs/"}},
		component.CiliumImage:         container{Base: "cilium-base", Layers: []string{"cilium-bpf"}, Files: files},
		component.CiliumOperatorImage: container{Base: baseStatic, Files: map[string]string{"/usr/bin/cilium-operator-generic": "cilium-operator-program"}},
		"cilium-chart":                chartArchive{moduleFile: moduleFile{Module: "charts", From: ciliumModule, Path: "install/kubernetes/cilium"}, Patch: ciliumChartPatch()},
	}
	for path, pkg := range map[string]string{
		"/usr/bin/cilium-agent":            "daemon",
		"/usr/bin/cilium-dbg":              "cilium-dbg",
		"/usr/bin/cilium-health-responder": "cilium-health/responder",
		"/usr/bin/cilium-mount":            "tools/mount",
		"/usr/bin/cilium-sysctlfix":        "tools/sysctlfix",
		"/opt/cni/bin/cilium-cni":          "plugins/cilium-cni",
	} {
		name := path[strings.LastIndex(path, "/")+1:] + "-program"
		files[path], all[name] = name, ciliumProgram(pkg)
	}
	all["cilium-operator-program"] = ciliumProgram("operator")
	for path, file := range map[string]string{
		"/init-container.sh": "images/cilium/init-container.sh",
		"/install-plugin.sh": "plugins/cilium-cni/install-plugin.sh",
		"/cni-uninstall.sh":  "plugins/cilium-cni/cni-uninstall.sh",
	} {
		name := "cilium-" + path[1:]
		files[path], all[name] = name, ciliumFile(file)
	}
	return all
}

func ciliumFile(path string) moduleFile {
	return moduleFile{Module: "cilium", From: ciliumModule, Path: path}
}

func ciliumProgram(pkg string) program {
	return program{Module: "cilium", Package: ciliumModule + "/" + pkg, Tags: ciliumTags,
		// Upstream's are number, commit and the commit's date, of which two are not in the module.
		Variables: []string{"'" + ciliumModule + "/pkg/version.ciliumVersion=" + component.CiliumVersion[1:] + " module -'"}}
}

// ciliumPackages are what the agent runs, and the shell of the init containers. It compiles its
// programs for the kernel on each node, by the clang that upstream's image has.
func ciliumPackages() []string {
	return []string{"bash", "coreutils", "mount", "util-linux", "grep", "findutils", "iptables", "ipset", "kmod", "iproute2", "ca-certificates", "clang-19", "bpftool"}
}

// ciliumBase leaves out what clang has for other targets than eBPF: libraries, headers, linkers.
func ciliumBase() staticBase {
	target := strings.TrimPrefix(hostProcessor().Libraries, "lib/")
	libraries := "usr/lib/" + target + "/"
	links := map[string]string{"usr/bin/clang": "../lib/llvm-19/bin/clang", "bin/sh": "bash", "usr/bin/cilium": "cilium-dbg"}
	maps.Copy(links, iptablesLinks())
	return staticBase{Tree: "debian-certificates", With: "cilium-tree", Links: links,
		Paths: []string{"bin/", "lib/", "lib64/", "sbin/", "usr/"},
		Without: []string{"lib/systemd/", "lib/udev/", "usr/include/", "usr/lib/gcc/", "usr/lib/systemd/", "usr/lib/python3", "usr/lib/compat-ld/", "usr/lib/gold-ld/", "usr/libexec/",
			"usr/lib/llvm-19/build/", "usr/lib/llvm-19/include/", "usr/lib/llvm-19/lib/clang/", "usr/lib/llvm-19/share/", "usr/bin/" + target + "-",
			libraries + "libclang-19", libraries + "libasan", libraries + "libtsan", libraries + "liblsan", libraries + "libubsan", libraries + "libgprofng", libraries + "gprofng/", libraries + "gconv/",
			libraries + "libc.a", libraries + "libm-", libraries + "perl"}}
}

// ciliumChartPatch has the chart install no Envoy unless it is told to.
func ciliumChartPatch() patch {
	return patch{Replace: []replacement{{"values.yaml", "\nl7Proxy: true\n", "\nl7Proxy: false\n"}}}
}

// ciliumPatches are for what no module proxy serves.
func ciliumPatches() []patch {
	// A constant, of a module with nothing else that is needed.
	const of, name, value = "\tmcsapicontrollers \"sigs.k8s.io/mcs-api/controllers\"\n", "mcsapicontrollers.DerivedServiceAnnotation", `"multicluster.kubernetes.io/derived-service"`
	p := patch{Module: ciliumModule}
	for _, file := range []string{"operator/pkg/gateway-api/helpers/serviceimport.go", "pkg/clustermesh/mcsapi/serviceimport_controller.go", "pkg/clustermesh/mcsapi/service_controller.go"} {
		p.Replace = append(p.Replace, replacement{file, of, ""}, replacement{file, name, value})
	}
	return []patch{p}
}
