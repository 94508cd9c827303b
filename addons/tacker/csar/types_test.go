package csar

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNoDefinitionIsFetched: ETSI's own file imports the common definitions from ETSI's server,
// and Tacker refuses a package when it does not get there. Other imports and comments stay.
func TestNoDefinitionIsFetched(t *testing.T) {
	t.Parallel()
	const local = "tosca_definitions_version: tosca_simple_yaml_1_2\nimports:\n  - etsi_nfv_sol001_common_types.yaml\n\n  # - https://forge.etsi.org/x/etsi_nfv_sol001_common_types.yaml\n  - https://example.org/other.yaml\n"
	for _, from := range []string{"https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/etsi_nfv_sol001_common_types.yaml", "\"http://example.org/etsi_nfv_sol001_common_types.yaml\"\r", "etsi_nfv_sol001_common_types.yaml"} {
		folder := t.TempDir()
		text := "tosca_definitions_version: tosca_simple_yaml_1_2\nimports:\n  - " + from + local[len("tosca_definitions_version: tosca_simple_yaml_1_2\nimports:\n  - etsi_nfv_sol001_common_types.yaml"):]
		for name, text := range map[string]string{commonTypes: "description: common\n", vnfdTypes: text} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		types, err := ReadTypes(folder)
		if err != nil || string(types[vnfdTypes]) != local || string(types[commonTypes]) != "description: common\n" {
			t.Errorf("import of %s: %v\n%s", from, err, types[vnfdTypes])
		}
	}
}
