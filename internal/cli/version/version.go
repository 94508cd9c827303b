// Package version is `slipway version`.
package version

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/ui"
)

// Info is what the command prints.
type Info struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	Kubernetes string `json:"kubernetes"`
	K3s        string `json:"k3s"`
	ClusterAPI string `json:"clusterAPI"`
	CAPO       string `json:"capo"`
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of slipway and of what it installs",
		Example: "  slipway version\n  slipway version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info := read()
			return ui.Output(streams.Out, format, info, table(info))
		},
	}
	ui.FormatFlag(cmd.Flags(), &format)
	return cmd
}

// read reads the version and the commit that the linker recorded.
func read() Info {
	build := component.ThisBuild()
	return Info{Version: build.Version, Commit: build.Commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Kubernetes: component.KubernetesVersion, K3s: component.K3sVersion, ClusterAPI: component.ClusterAPIVersion, CAPO: component.CAPOVersion}
}

func table(i Info) ui.Table {
	return ui.Table{
		Header: []string{"PART", "VERSION"},
		Rows: [][]string{
			{"slipway", i.Version}, {"commit", i.Commit}, {"go", i.Go}, {"platform", i.Platform},
			{"kubernetes", i.Kubernetes}, {"k3s", i.K3s}, {"cluster-api", i.ClusterAPI}, {"capo", i.CAPO},
		},
	}
}
