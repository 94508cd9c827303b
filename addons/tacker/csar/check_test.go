package csar

import (
	"strings"
	"testing"
)

// TestContradictions breaks a package's definitions one after the other; each mistake is
// found and named.
//
// proves: T-03
func TestContradictions(t *testing.T) {
	t.Parallel()
	_, good := workload(t, Helm)
	flavour, top, meta := definitions+flavourFile("shop"), definitions+topFile("shop"), metaFile
	for want, edit := range map[string]struct{ file, old, new string }{
		"there is no VDU":                                      {flavour, "type: " + vduType, "type: tosca.nodes.Root"},
		"its target nobody is no VDU":                          {flavour, "      targets:\n      - workers", "      targets:\n      - nobody"},
		"there is no aspect other_scale":                       {flavour, "aspect: workers_scale", "aspect: other_scale"},
		"no VduScalingAspectDeltas is about it":                {flavour, "aspect: workers_scale", "aspect: gpu-large_scale"},
		"delta delta_2 is missing or below 1":                  {flavour, "- delta_1", "- delta_2"},
		"so nothing scales":                                    {flavour, "max_scale_level: 4", "max_scale_level: 0"},
		"it scales from 1 to 9, and vdu_profile allows 1 to 8": {flavour, "max_number_of_instances: 9", "max_number_of_instances: 8"},
		"it scales from 1 to 9, and vdu_profile allows 2 to 9": {flavour, "min_number_of_instances: 1", "min_number_of_instances: 2"},
		`default_level "none" is none of the levels`:           {flavour, "default_level: default", "default_level: none"},
		"is not between 0 and 4":                               {flavour, "scale_level: 2", "scale_level: 5"},
		"and its scale level makes 3":                          {flavour, "number_of_instances: 3\n      targets:\n      - workers", "number_of_instances: 4\n      targets:\n      - workers"},
		"properties.name group-workers is also that of":        {flavour, "name: group-gpu-large", "name: group-workers"},
		"there is no artifact other":                           {flavour, "implementation: " + scriptName, "implementation: other"},
		"is not in the package":                                {flavour, "../Scripts/" + scriptFile, "../Scripts/other.py"},
		"there is no InstantiationLevels":                      {flavour, policyType + "InstantiationLevels", policyType + "Other"},
		"it has no VduInitialDelta":                            {flavour, policyType + "VduInitialDelta", policyType + "Other"},
		"no VduInstantiationLevels says its number":            {flavour, policyType + "VduInstantiationLevels", policyType + "Other"},
		"there is no deployment flavour":                       {flavour, "substitution_mappings", "other"},
		"of node VNF":                                          {top, "descriptor_id: ", "descriptor_id: x"},
		"it is imported, and not in the package":               {top, "- shop_types.yaml", "- other_types.yaml"},
		`CSAR-Version is "1.0", not 1.1`:                       {meta, "CSAR-Version: 1.1", "CSAR-Version: 1.0"},
		"Entry-Definitions names":                              {meta, topFile("shop"), "other.yaml"},
		`algorithm "MD5" is none of`:                           {meta, "SHA-256", "MD5"},
		"TOSCA.meta does not list it":                          {meta, "Name: Scripts/slipway_kube.py", "Other: x"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			text := repacked(t, good, func(files map[string][]byte) {
				before := string(files[edit.file])
				after := strings.ReplaceAll(before, edit.old, edit.new)
				if before == after {
					t.Fatalf("%q is not in\n%s", edit.old, before)
				}
				files[edit.file] = []byte(after)
			})
			if _, err := Verify(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := Verify([]byte("no zip")); err == nil {
		t.Error("no archive at all is verified")
	}
	if _, err := Verify(repacked(t, good, func(files map[string][]byte) { files["../outside"] = []byte("x") })); err == nil {
		t.Error("a path that leads out is verified")
	}
	if _, err := Verify(repacked(t, good, func(files map[string][]byte) { delete(files, metaFile) })); err == nil {
		t.Error("a package without TOSCA.meta is verified")
	}
}
