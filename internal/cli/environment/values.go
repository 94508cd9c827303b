package environment

import (
	"errors"
	"strings"

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
			err = fault.Usage(loaded.Near(decoded(known.Object)).String()+": "+known.Object, known.Err, known.Remedy)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
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
