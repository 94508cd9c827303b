package request

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
)

func content(t *testing.T, variant csar.Variant) *csar.Content {
	t.Helper()
	text, err := os.ReadFile("../csar/testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := csar.ParseSpec("shop.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string][]byte{"etsi_nfv_sol001_common_types.yaml": []byte("x"), "etsi_nfv_sol001_vnfd_types.yaml": []byte("x")}
	p, err := csar.Workload(spec, csar.Options{Variant: variant, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	packed, err := p.Zip()
	if err != nil {
		t.Fatal(err)
	}
	c, err := csar.Verify(packed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRequests makes the bodies of both variants and compares them with what Tacker
// wants to have.
//
// proves: T-06
func TestRequests(t *testing.T) {
	t.Parallel()
	o := Options{VimID: "vim", Namespace: "shop", Receiver: "https://r/v1/credentials", ReceiverToken: "secret", ReceiverCA: "PEM"}
	for variant, want := range map[csar.Variant]string{
		csar.Helm: `{"additionalParams":{"credential_receiver_ca":"PEM","credential_receiver_token":"secret","credential_receiver_url":"https://r/v1/credentials",` +
			`"helm_chart_path":"Files/kubernetes/openstack-cluster-1.0.0.tgz","helm_value_names":{"controlPlane":{"replica":"tacker.controlPlane"},"gpu-large":{"replica":"tacker.gpu-large"},"workers":{"replica":"tacker.workers"}},` +
			`"namespace":"shop"},"flavourId":"default","instantiationLevelId":"default","vimConnectionInfo":{"vim1":{"vimId":"vim","vimType":"ETSINFV.HELM.V_3"}}}`,
		csar.Raw: `{"additionalParams":{"credential_receiver_ca":"PEM","credential_receiver_token":"secret","credential_receiver_url":"https://r/v1/credentials",` +
			`"lcm-kubernetes-def-files":["Files/kubernetes/10-cluster.yaml","Files/kubernetes/20-anchors.yaml"],"namespace":"shop"},` +
			`"flavourId":"default","instantiationLevelId":"default","vimConnectionInfo":{"vim1":{"vimId":"vim","vimType":"ETSINFV.KUBERNETES.V_1"}}}`,
	} {
		c := content(t, variant)
		bodies, err := All(c, o)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		var names []string
		for _, b := range bodies {
			text, err := json.Marshal(b.Content)
			if err != nil {
				t.Fatal(err)
			}
			got[b.Name] = string(text)
			names = append(names, b.Name)
		}
		if all := []string{"create", "instantiate", "scale-out-controlPlane", "scale-in-controlPlane", "scale-out-workers", "scale-in-workers", "scale-out-gpu-large", "scale-in-gpu-large", "change", "terminate"}; !slices.Equal(names, all) {
			t.Errorf("%s: %v", variant, names)
		}
		if got["instantiate"] != want {
			t.Errorf("%s: instantiate\n%s\nwant\n%s", variant, got["instantiate"], want)
		}
		for name, part := range map[string]string{"create": `"vnfdId":"` + c.ID + `"`, "change": `"vdu_params":[{"vdu_id":"controlPlane"},{"vdu_id":"workers"},{"vdu_id":"gpu-large"}]`,
			"scale-in-workers": `{"aspectId":"workers_scale","numberOfSteps":1,"type":"SCALE_IN"}`, "terminate": `"credential_receiver_token":"secret"`} {
			if !strings.Contains(got[name], part) {
				t.Errorf("%s: %s is %s", variant, name, got[name])
			}
		}
	}
	bodies, err := All(content(t, csar.Helm), Options{})
	if err != nil || bodies[1].Content["vimConnectionInfo"] != nil {
		t.Errorf("with nothing: %v %v", bodies, err)
	}
	if _, err := All(content(t, csar.Helm), Options{Receiver: "http://plain"}); err == nil {
		t.Error("a receiver without TLS is valid")
	}
}

// TestSchemas: what SOL003 and Tacker refuse is refused.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for operation, bodies := range map[Operation][]string{
		Create:      {`{}`, `{"vnfdId": 1}`, `{"vnfdId": "x", "more": 1}`, `{"vnfdId": "x", "vnfInstanceName": "` + strings.Repeat("n", 256) + `"}`},
		Instantiate: {`{}`, `{"flavourId": "d", "vimConnectionInfo": {"v": {}}}`, `{"flavourId": "d", "additionalParams": {}}`, `{"flavourId": "d", "additionalParams": {"helm_chart_path": "c", "helm_value_names": {}}}`, `{"flavourId": "d", "additionalParams": {"lcm-kubernetes-def-files": []}}`},
		Scale:       {`{}`, `{"type": "UP", "aspectId": "a"}`, `{"type": "SCALE_OUT", "aspectId": "a", "numberOfSteps": 0}`},
		Change:      {`{"vnfdId": "x"}`, `{"vnfdId": "x", "additionalParams": {"upgrade_type": "BlueGreen", "vdu_params": []}}`},
		Terminate:   {`{}`, `{"terminationType": "KILL"}`, `{"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 0}`},
		Modify:      {`{}`, `{"vimConnectionInfo": {}}`, `{"vimConnectionInfo": {"v": {"accessInfo": {"bearer_token": "t", "password": "p"}}}}`, `{"vimConnectionInfo": {"v": {"vimType": "kubernetes", "accessInfo": {"bearer_token": "t"}}}}`},
		"other":     {`{}`},
	} {
		for _, body := range bodies {
			if err := Validate(operation, []byte(body)); err == nil {
				t.Errorf("%s: %s is valid", operation, body)
			}
		}
	}
	if err := Validate(Modify, []byte(`{"vimConnectionInfo": {"v": {"accessInfo": {"bearer_token": "t"}}}}`)); err != nil {
		t.Errorf("another token: %v", err)
	}
}
