package component

// OptionVelero names the option of a bundle that adds Velero.
const OptionVelero = "velero"

// The items of the option OptionVelero.
const (
	VeleroImage       = "velero"
	VeleroPluginImage = "velero-plugin-for-aws"
	VeleroDefinitions = "velero-crds"
)

// Option is what a bundle has only if it is asked for, by name.
type Option struct {
	Name  string
	Items []Component
}

// Options are all of them, in the versions that were tested together.
func Options() []Option { return OptionsOf(DefaultVersions()) }

// OptionsOf are the options in other versions.
func OptionsOf(v Versions) []Option {
	const registry = "docker.io/velero/"
	return []Option{{OptionVelero, []Component{
		image(VeleroImage, v.Velero, registry+"velero", apache),
		image(VeleroPluginImage, v.VeleroPlugin, registry+"velero-plugin-for-aws", apache),
		manifest(VeleroDefinitions, v.Velero, "manifests/velero-crds.yaml"),
	}}}
}

// Known is the catalogue with the items of all options.
func Known(v Versions) []Component {
	all := AllOf(v)
	for _, option := range OptionsOf(v) {
		all = append(all, option.Items...)
	}
	return all
}
