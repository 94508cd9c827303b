package csar

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// parse loads a package's definitions as Tacker does, with a deployment flavour.
const parse = `
import sys
from toscaparser.tosca_template import ToscaTemplate
template = ToscaTemplate(sys.argv[1], {"selected_flavour": "default"}, True)
vnf = [n for n in template.nodetemplates if n.name == "VNF"]
assert len(vnf) == 1, template.nodetemplates
flavour = ToscaTemplate(sys.argv[2], {"flavour_id": "default"}, True, None)
units = sorted(n.name for n in flavour.nodetemplates if n.type == "tosca.nodes.nfv.Vdu.Compute")
print(",".join(units), len(flavour.policies))
`

// TestToscaParser has OpenStack's tosca-parser read packages with ETSI's definitions.
// SLIPWAY_TOSCAPARSER is a folder with its modules, SLIPWAY_SOL001 one with the
// definitions; make tosca is given both.
//
// proves: T-04
func TestToscaParser(t *testing.T) {
	t.Parallel()
	modules, folder := os.Getenv("SLIPWAY_TOSCAPARSER"), os.Getenv("SLIPWAY_SOL001")
	if modules == "" || folder == "" {
		t.Skip("set SLIPWAY_TOSCAPARSER and SLIPWAY_SOL001: run make tosca TOSCAPARSER=FOLDER SOL001=FOLDER")
	}
	types, err := ReadTypes(folder)
	if err != nil {
		t.Fatal(err)
	}
	management, err := Management(Spec{Name: "capi-mgmt"}, managementObjects(t), Options{Variant: Helm, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	helm, err := Workload(shop(t), Options{Variant: Helm, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := Workload(shop(t), Options{Variant: Raw, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	for want, packages := range map[string][]*Package{"management 3\n": {management}, "controlPlane,gpu-large,workers 11\n": {helm, raw}} {
		for _, p := range packages {
			dir := t.TempDir()
			for name, text := range p.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "python3", "-c", parse, filepath.Join(dir, definitions+topFile(p.Name)), filepath.Join(dir, definitions+flavourFile(p.Name)))
			cmd.Env = append(os.Environ(), "PYTHONPATH="+modules, "PYTHONWARNINGS=ignore")
			out, err := cmd.Output()
			if err != nil || string(out) != want {
				t.Errorf("%s %s: %q, %v", p.Name, p.Variant, out, err)
				if failed, ok := err.(*exec.ExitError); ok {
					t.Logf("%s", failed.Stderr)
				}
			}
		}
	}
}
