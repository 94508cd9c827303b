package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/slipway-sh/slipway/internal/component"
)

// expectCertManager looks at the Deployments of cert-manager on a cluster, and
// that nothing there is for a Prometheus that the cluster has not.
func (p *project) expectCertManager(kubeconfig string) {
	p.t.Helper()
	out, err := p.by(kubeconfig, "", "-n", "cert-manager", "get", "deployments",
		"-o", `jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Available")].status}{"\n"}{end}`)
	for _, want := range []string{"cert-manager True", "cert-manager-cainjector True", "cert-manager-webhook True"} {
		if err != nil || !strings.Contains(out+"\n", want+"\n") {
			p.t.Errorf("%s: no %q: %v\n%s", kubeconfig, want, err, out)
		}
	}
	if out, err := p.by(kubeconfig, "", "api-resources", "--api-group=monitoring.coreos.com", "-o", "name"); err != nil || out != "" {
		p.t.Errorf("%s: kinds of Prometheus: %v\n%s", kubeconfig, err, out)
	}
}

// expectRelease reads the Helm release of the management cluster on the seed:
// its values are what the environment file says.
func (p *project) expectRelease() {
	p.t.Helper()
	out, err := p.by("seed.kubeconfig", "", "-n", "default", "get", "secrets", "-l", "owner=helm,name=demo,status=deployed", "-o", "jsonpath={.items[0].data.release}")
	if err != nil {
		p.t.Fatalf("release: %v\n%s", err, out)
	}
	release := struct {
		Name, Namespace string
		Config          struct {
			ControlPlane struct {
				MachineCount int
				HealthCheck  struct {
					Spec struct{ UnhealthyConditions []any }
				}
			}
			NodeGroups []struct {
				Name         string
				MachineCount int
			}
		}
	}{}
	text, err := base64.StdEncoding.DecodeString(out) // the Secret's
	if err == nil {
		text, err = base64.StdEncoding.DecodeString(string(text)) // Helm's own
	}
	if err == nil {
		var packed *gzip.Reader
		if packed, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			err = json.NewDecoder(packed).Decode(&release)
		}
	}
	c := release.Config
	if err != nil || release.Name != "demo" || release.Namespace != "default" || c.ControlPlane.MachineCount != 3 || len(c.ControlPlane.HealthCheck.Spec.UnhealthyConditions) != 2 ||
		len(c.NodeGroups) != 1 || c.NodeGroups[0].Name != "md-0" || c.NodeGroups[0].MachineCount != 1 {
		p.t.Errorf("release: %v, %+v", err, release)
	}
}

// expectTools runs what people work with on the seed as its user does: from
// PATH, with nothing set.
func (p *project) expectTools() {
	p.t.Helper()
	var kubectl struct{ ClientVersion, ServerVersion struct{ GitVersion string } }
	if err := json.Unmarshal([]byte(p.kubectl("version", "-o", "json")), &kubectl); err != nil {
		p.t.Fatal(err)
	}
	if kubectl.ClientVersion.GitVersion == "" || kubectl.ClientVersion != kubectl.ServerVersion {
		p.t.Errorf("kubectl and its server: %+v", kubectl)
	}
	for command, want := range map[string]string{
		"helm version --short":                         component.HelmVersion,
		"helm list -A":                                 "APP VERSION",
		"kustomize version":                            component.KustomizeVersion,
		"k9s version --short":                          component.K9sVersion,
		"sudo helm list -A":                            "APP VERSION",
		"sudo stat -c %a:%U /etc/rancher/k3s/k3s.yaml": "600:root",
	} {
		if got := p.do(append([]string{"ssh", "--"}, strings.Fields(command)...)...); !strings.Contains(got, want) {
			p.t.Errorf("%s prints no %s:\n%s", command, want, got)
		}
	}
}
