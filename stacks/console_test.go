package stacks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	installed "github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// TestTheConsoleComesAndGoes with an address of its own, and trusts the Magnum API beside it.
func TestTheConsoleComesAndGoes(t *testing.T) {
	t.Parallel()
	w, _ := magnumWorld(t)
	without := w.env.Config
	with := *without
	with.Spec.Console = consoleConfig(t)
	w.env.Config = &with
	w.env.Equipment.Cloud.Authority = "the cloud's authority"
	w.up(t)
	address := w.only(t, stacks.StepConsoleAddress)
	if got := w.output(t, stacks.OutputConsoleURL); got != "https://clusters.example" {
		t.Errorf("URL %v", got)
	}
	found := must[[]engine.Resource](t)(w.run(t).Resources(t.Context()))
	at := slices.IndexFunc(found, func(r engine.Resource) bool { return r.Name == stacks.StepConsole })
	c := installed.Console{}
	if err := json.Unmarshal([]byte(found[at].Text("settings")), &c); err != nil {
		t.Fatal(err)
	}
	magnum := "https://" + w.only(t, stacks.StepMagnumAddress).Name + ":9511/v1"
	if c.Magnum != magnum || c.Address != address.Name || c.PublicEndpoint != "https://clusters.example" || !slices.Equal(c.Hostnames, []string{"clusters.example"}) || c.Replicas != 2 ||
		!slices.Equal(c.WebSSO, []string{"Company=openid", "Partner=acme/saml2"}) || !strings.Contains(c.CloudCA, "the cloud's authority") || !strings.Contains(c.CloudCA, "an authority") {
		t.Errorf("settings %+v", c)
	}
	if strings.Contains(found[at].Text("settings"), "password") {
		t.Error("the console has a login")
	}
	if report := w.up(t); len(report.Changes) != 0 {
		t.Errorf("second up changed %v", report.Changes)
	}
	w.env.Config = without
	w.up(t)
	for _, r := range must[[]engine.Resource](t)(w.run(t).Resources(t.Context())) {
		if r.Name == stacks.StepConsole || r.Name == stacks.StepConsoleAddress {
			t.Errorf("%s is left", r.Name)
		}
	}
}

// consoleConfig is spec.console as a user writes it.
func consoleConfig(t *testing.T) *config.Console {
	t.Helper()
	const console = "  console:\n    hostname: clusters.example\n    webSSO: [{name: Company, protocol: openid}, {name: Partner, identityProvider: acme, protocol: saml2}]\n"
	loaded := must[*config.Loaded](t)(config.Parse(config.Source{Name: "slipway.yaml", Text: []byte("apiVersion: slipway.sh/v1alpha1\nkind: Environment\n" + withMagnum + console)}))
	return loaded.Environment.Spec.Console
}
