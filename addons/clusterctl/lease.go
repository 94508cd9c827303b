package clusterctl

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withoutLeases starts the controllers of all Deployments without leader election. On the one node
// of a seed there is no standby, and a slow API server makes all controllers end at once, because
// each loses its lease. They all start again and make the API server slower still: an emulated seed
// did not recover from that in an hour. A new pod starts only once the old one has been told to
// end, because nothing else keeps two from working at the same time. A value that an operator set
// is kept.
func withoutLeases(objects []*unstructured.Unstructured) error {
	return eachContainer(objects, func(deployment *unstructured.Unstructured, container map[string]any) error {
		given, _, err := unstructured.NestedStringSlice(container, "args")
		if err != nil {
			return err
		}
		args, elects := notElected(given)
		if !elects {
			return nil
		}
		strategy := map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(1)}}
		return errors.Join(unstructured.SetNestedStringSlice(container, args, "args"), unstructured.SetNestedMap(deployment.Object, strategy, "spec", "strategy"))
	})
}

// notElected returns the arguments with leader election off, and whether they had it on: managers
// have it on by a flag, cert-manager's programs unless told otherwise.
func notElected(args []string) ([]string, bool) {
	const flag = "--leader-elect"
	if i := slices.Index(args, flag); i >= 0 {
		args = slices.Clone(args)
		args[i] = flag + "=false"
		return args, true
	}
	set := func(name string) bool {
		return slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, name+"=") })
	}
	if set("--leader-election-namespace") && !set(flag) {
		return append(slices.Clone(args), flag+"=false"), true
	}
	return args, false
}
