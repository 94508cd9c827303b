package image

import (
	"path/filepath"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/images/source"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/ui"
)

func newUpload(streams ui.Streams) *cobra.Command {
	o, f := newOptions(), &syncFlags{}
	i := manifest.Image{Format: manifest.FormatQcow2, OS: manifest.OS{Type: "linux"}}
	cmd := &cobra.Command{
		Use:   "upload FILE|URL",
		Short: "Upload one image to Glance, as sync does",
		Example: `  slipway image upload ubuntu-kube-v1.34.2.qcow2 --name ubuntu-kube-v1.34.2 --kubernetes-version v1.34.2 --os-distro ubuntu
  slipway image upload https://example.org/node.raw.zst --name node --format raw --sha512 …`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if source.IsAddress(args[0]) {
				i.URL = args[0]
			} else {
				path, err := filepath.Abs(args[0])
				if err != nil {
					return err
				}
				i.File = config.File(path)
			}
			m, err := single(i)
			if err != nil {
				return err
			}
			return o.sync(cmd.Context(), streams, m, f)
		},
	}
	imageFlags(cmd, &i)
	o.cloudFlags(cmd.Flags())
	f.add(cmd.Flags())
	ui.FormatFlag(cmd.Flags(), &o.format)
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

// imageFlags are the fields of one image of an image manifest.
func imageFlags(cmd *cobra.Command, i *manifest.Image) {
	flags := cmd.Flags()
	flags.StringVar(&i.Name, "name", "", "name in Glance")
	flags.StringVar(&i.Format, "format", i.Format, "format of the unpacked image: qcow2 or raw")
	flags.StringVar(&i.Convert, "convert", "", "raw to convert a qcow2 image")
	flags.StringVar(&i.SHA256, "sha256", "", "SHA-256 digest of the file as published")
	flags.StringVar(&i.SHA512, "sha512", "", "SHA-512 digest of the file as published")
	flags.StringVar(&i.KubernetesVersion, "kubernetes-version", "", "Kubernetes version of a node image, such as v1.34.2")
	flags.StringVar(&i.OS.Distro, "os-distro", "", "distribution, such as ubuntu")
	flags.StringVar(&i.OS.Version, "os-version", "", "version of the distribution")
	flags.StringVar(&i.OS.AdminUser, "os-admin-user", "", "user to log in as")
	flags.StringVar(&i.Architecture, "architecture", "", "processor architecture, such as x86_64")
	flags.StringVar(&i.BuildDate, "build-date", "", "when the image was built, YYYY-MM-DD")
	flags.IntVar(&i.MinDisk, "min-disk", 0, "disk that the image needs, in GiB (default: its unpacked size)")
	flags.IntVar(&i.MinRAM, "min-ram", 0, "memory that the image needs, in MiB")
	flags.StringToStringVar(&i.Properties, "property", nil, "additional properties")
	flags.StringVar(&i.Visibility, "visibility", "private", "private, shared, community or public")
	flags.StringVar(&i.Method, "method", manifest.MethodUpload, "upload, glance-direct or web-download")
	flags.StringSliceVar(&i.Tags, "tag", nil, "tags")
	flags.BoolVar(&i.Protected, "protected", false, "protect the image from deletion in Glance")
	_ = cmd.MarkFlagRequired("name") // the flag is there
}

// single is a manifest of one image, checked as a file is.
func single(i manifest.Image) (*manifest.Manifest, error) {
	text, err := yaml.Marshal(map[string]any{"apiVersion": manifest.APIVersion, "kind": manifest.Kind, "spec": map[string]any{"images": []manifest.Image{i}}})
	if err != nil {
		return nil, err
	}
	return manifest.Parse(config.Source{Text: text})
}
