package stacks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/stacks"
)

// proves: F23
func TestAPrivateAuthorityReachesAllThatSpeakToTheCloud(t *testing.T) {
	t.Parallel()
	w, _ := magnumWorld(t)
	const pem = "-----BEGIN CERTIFICATE-----\ncorp\n-----END CERTIFICATE-----\n"
	w.env.Equipment.Authorities, w.env.Equipment.Cloud.Authority = []string{pem}, pem
	w.up(t)
	if text := w.state(t, stacks.StepSeed).Text("userData"); !strings.Contains(text, "ca_certs:\n  trusted:\n  - |\n    -----BEGIN CERTIFICATE-----\n    corp\n") {
		t.Errorf("the seed boots with %s", text)
	}
	for _, step := range []string{stacks.StepClusterAPI, stacks.StepControllers, stacks.StepManagementClusterAPI, stacks.StepManagementControllers, stacks.StepMagnum} {
		if got := w.state(t, step).Text("trustBundle"); got != pem {
			t.Errorf("%s trusts %q", step, got)
		}
	}
	var values struct {
		CloudCACert string
		TrustedCAs  map[string]string
	}
	if err := json.Unmarshal([]byte(w.state(t, stacks.StepManagementCluster).Text("values")), &values); err != nil {
		t.Fatal(err)
	}
	if values.CloudCACert != pem || len(values.TrustedCAs) != 1 || values.TrustedCAs["slipway-0"] != pem {
		t.Errorf("nodes, CAPO, the cloud controller manager and the CSI driver: %+v", values)
	}
}
