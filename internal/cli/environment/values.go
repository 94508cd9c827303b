package environment

import (
	"errors"
	"strings"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/stacks"
)

// CheckValues holds the values that the file has for the chart of the management cluster against
// the chart's schema, without a cloud. It tells every mistake with its file and line.
func CheckValues(loaded *config.Loaded) error {
	const later = "chosen-later"
	chosen := &preflight.ManagementChoices{ControlPlaneFlavor: later, NodeGroupFlavors: map[string]string{}}
	if m := loaded.Environment.Spec.ManagementCluster; m != nil {
		for _, group := range m.NodeGroups {
			chosen.NodeGroupFlavors[group.Name] = later
		}
	}
	program := stacks.Environment{Config: loaded.Environment, Choices: preflight.Choices{ExternalNetworkID: later, Management: chosen},
		Equipment: stacks.Equipment{Versions: component.DefaultVersions()}}
	var errs []error
	for _, err := range fault.All(program.CheckValues()) {
		if known := (*fault.Fault)(nil); errors.As(err, &known) {
			err = located(loaded, known)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkGiven is CheckValues for a file with other mistakes, which nothing can be made of: it holds
// only what the file itself gives against the schema.
func checkGiven(loaded *config.Loaded) error {
	if loaded == nil || loaded.Environment.Spec.ManagementCluster == nil || loaded.Environment.Spec.ManagementCluster.Chart != nil {
		return nil
	}
	var errs []error
	for _, err := range fault.All(openstackcluster.Check(loaded.Environment.Spec.ManagementCluster.Values)) {
		known := (*fault.Fault)(nil)
		if !errors.As(err, &known) {
			continue
		}
		known = &fault.Fault{Object: stacks.ValuesPath + "." + known.Object, Err: known.Err, Remedy: known.Remedy}
		if loaded.Given(decoded(known.Object)) {
			errs = append(errs, located(loaded, known))
		}
	}
	return errors.Join(errs...)
}

// located is a mistake of a value with its file and line.
func located(loaded *config.Loaded, mistake *fault.Fault) error {
	return fault.Usage(loaded.Near(decoded(mistake.Object)).String()+": "+mistake.Object, mistake.Err, mistake.Remedy)
}

// decoded writes the path of a value as package config does, to which values are a map with any
// keys: values[nodeGroups][0][machineFlavor].
func decoded(path string) string {
	below, isValue := strings.CutPrefix(path, stacks.ValuesPath+".")
	if !isValue {
		return path
	}
	var text strings.Builder
	text.WriteString(stacks.ValuesPath)
	for key := range strings.SplitSeq(below, ".") {
		name, index, inList := strings.Cut(key, "[")
		text.WriteString("[" + name + "]")
		if inList {
			text.WriteString("[" + index)
		}
	}
	return text.String()
}
