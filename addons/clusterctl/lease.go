package clusterctl

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withoutLeases starts the controllers of all Deployments without an election. On the one node of
// a seed nobody stands by, and a slow API server makes all controllers end at once, because
// each loses its lease. They all start again and make the API server slower still: an emulated
// seed did not get out of that in an hour. A new pod comes when the old one has been told to end,
// because nothing else keeps two from working at a time. An operator's own value stays.
func withoutLeases(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		if err := withoutLease(object); err != nil {
			return fmt.Errorf("election of Deployment %s: %w", object.GetName(), err)
		}
	}
	return nil
}

func withoutLease(deployment *unstructured.Unstructured) error {
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return err
	}
	changed := false
	for _, one := range containers {
		container, _ := one.(map[string]any)
		given, _, err := unstructured.NestedStringSlice(container, "args")
		if err != nil {
			return err
		}
		args, elects := notElected(given)
		if !elects {
			continue
		}
		if err := unstructured.SetNestedStringSlice(container, args, "args"); err != nil {
			return err
		}
		changed = true
	}
	if !changed {
		return nil
	}
	strategy := map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(1)}}
	if err := unstructured.SetNestedMap(deployment.Object, strategy, "spec", "strategy"); err != nil {
		return err
	}
	return unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
}

// notElected are the arguments with the election off, and whether they had it on: managers by a
// flag, cert-manager's programs unless they are told otherwise.
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
