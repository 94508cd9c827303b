package source

import (
	"strings"

	"github.com/slipway-sh/slipway/internal/component"
)

// toolRecipes make what people work with on a seed, beside the kubectl of k3s.
// Their group selects what Slipway's own go.mod does, so that nearly all they
// are made of is compiled already when Slipway is.
func toolRecipes() map[string]recipe {
	const helm, k9s = "helm.sh/helm/v3", "github.com/derailed/k9s"
	variables := []string{helm + "/internal/version.version=" + component.HelmVersion, helm + "/internal/version.gitTreeState=clean"}
	// Which Kubernetes charts are checked against when there is no cluster.
	for _, pkg := range []string{helm + "/pkg/chartutil", helm + "/pkg/lint/rules"} {
		variables = append(variables, pkg+".k8sVersionMajor=1", pkg+".k8sVersionMinor="+strings.Split(component.KubernetesVersion, ".")[1])
	}
	return map[string]recipe{
		"helm": program{Module: "tools", Package: helm + "/cmd/helm", Variables: variables},
		// It tells its version by the module that it was compiled from.
		"kustomize": program{Module: "tools", Package: "sigs.k8s.io/kustomize/kustomize/v5"},
		"k9s": program{Module: "tools", Package: k9s, Variables: []string{k9s + "/cmd.version=" + component.K9sVersion,
			k9s + "/cmd.commit=" + component.K9sVersion}},
	}
}

// k9sPatch leaves out the scanner of images (grype and syft), which is off by
// default, wants a database from the internet, and doubles the modules. The
// setting that asks for it is not read, so that nothing claims that images were
// scanned.
func k9sPatch() patch {
	return patch{
		Module: "github.com/derailed/k9s",
		Remove: []string{"internal/vul/*.go"},
		Write: map[string]string{
			"internal/vul/absent.go": absentScanner,
			// Most of what it asks for is the scanner's. The rest is selected by the
			// group: else Kubernetes' libraries would be of the next minor version,
			// and nothing would be compiled already.
			"go.mod": "module github.com/derailed/k9s\n\ngo 1.25.1\n",
		},
		Replace: []replacement{
			{"internal/config/k9s.go", "\tk.ImageScans = k1.ImageScans\n", ""},
			// Seeds may have no way to GitHub, and each look there is waited for.
			{"internal/config/k9s.go", "\tk.SkipLatestRevCheck = k1.SkipLatestRevCheck\n", "\tk.SkipLatestRevCheck = true\n"},
		},
	}
}

// absentScanner is what the other packages of k9s name of the scanner. Nobody
// makes one, so none of it is called.
const absentScanner = `package vul

import (
	"context"
	"log/slog"

	"github.com/derailed/k9s/internal/config"
)

const (
	Sev1 = "SEV-1"
	Sev2 = "SEV-2"
	Sev3 = "SEV-3"
	Sev4 = "SEV-4"
	Sev5 = "SEV-5"
)

var ImgScanner *imageScanner

type imageScanner struct{}

type Scan struct{ Table struct{ Rows []Row } }

type Row []string

func (Row) Name() string          { return "" }
func (Row) Version() string       { return "" }
func (Row) Fix() string           { return "" }
func (Row) Type() string          { return "" }
func (Row) Vulnerability() string { return "" }
func (Row) Severity() string      { return "" }

func NewImageScanner(config.ImageScans, *slog.Logger) *imageScanner { return nil }

func (*imageScanner) Init(string, string)                           {}
func (*imageScanner) Stop()                                         {}
func (*imageScanner) ShouldExcludes(string, map[string]string) bool { return true }
func (*imageScanner) Enqueue(context.Context, ...string)            {}
func (*imageScanner) Score(...string) string                        { return "" }
func (*imageScanner) IsInitialized() bool                           { return false }
func (*imageScanner) GetScan(string) (*Scan, bool)                  { return nil, false }
`
