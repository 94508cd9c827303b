package clusterctl

import (
	"strings"
	"testing"
)

const components = `apiVersion: v1
kind: Namespace
metadata:
  name: capi-system
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: capi-controller-manager
  namespace: capi-system
spec:
  replicas: ${REPLICAS:=1}
  template:
    spec:
      containers:
      - args:
        - --leader-elect
        - --feature-gates=MachinePool=${EXP_MACHINE_POOL:=true},ClusterTopology=${CLUSTER_TOPOLOGY:=false}
        - --v=2
        name: manager
`

// proves: F28
func TestOverrideChangesTheArgumentsAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings  Settings
		gone, new []string
	}{
		"a gate": {Settings{FeatureGates: map[string]bool{"ClusterTopology": true}},
			[]string{"--feature-gates=MachinePool=${EXP_MACHINE_POOL:=true},ClusterTopology=${CLUSTER_TOPOLOGY:=false}"},
			[]string{"--feature-gates=MachinePool=${EXP_MACHINE_POOL:=true},ClusterTopology=true"}},
		"a new gate": {Settings{FeatureGates: map[string]bool{"RuntimeSDK": false}},
			[]string{"--feature-gates=MachinePool=${EXP_MACHINE_POOL:=true},ClusterTopology=${CLUSTER_TOPOLOGY:=false}"},
			[]string{"--feature-gates=MachinePool=${EXP_MACHINE_POOL:=true},ClusterTopology=${CLUSTER_TOPOLOGY:=false},RuntimeSDK=false"}},
		"an argument":    {Settings{Args: map[string]string{"v": "4"}}, []string{"--v=2"}, []string{"--v=4"}},
		"a new argument": {Settings{Args: map[string]string{"sync-period": "5m"}}, nil, []string{"--sync-period=5m"}},
		"nothing":        {Settings{}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Override(components, test.settings)
			if err != nil {
				t.Fatal(err)
			}
			was, is := lines(components), lines(got)
			for _, line := range test.gone {
				delete(was, "- "+line)
			}
			for _, line := range test.new {
				if !is["- "+line] {
					t.Errorf("no %q in:\n%s", line, got)
				}
				delete(is, "- "+line)
			}
			for line := range was {
				if !is[line] {
					t.Errorf("lost %q", line)
				}
				delete(is, line)
			}
			for line := range is {
				t.Errorf("added %q", line)
			}
		})
	}
}

func lines(text string) map[string]bool {
	all := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		all[strings.TrimSpace(line)] = true
	}
	delete(all, "")
	return all
}

func TestOverrideRefusesComponentsWithoutAManager(t *testing.T) {
	t.Parallel()
	_, err := Override("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: x\n", Settings{Args: map[string]string{"v": "4"}})
	if err == nil || !strings.Contains(err.Error(), "manager") {
		t.Errorf("got %v", err)
	}
}
