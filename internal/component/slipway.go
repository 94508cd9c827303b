package component

import (
	"runtime/debug"
	"strings"
)

// SlipwayImage is the name of the image of Slipway's own controllers.
const SlipwayImage = "slipway"

// KindNode is the name of the node image of local seeds.
const KindNode = "kind-node"

// releaseVersion and releaseCommit are what a release is built from. The linker sets them
// (release/build.go); in other builds Go's own record of the module has both.
var releaseVersion, releaseCommit string

// Build says which Slipway this binary is.
type Build struct {
	// Version is the module's, or "(devel)" when it was built without one.
	Version string
	Commit  string
}

// ThisBuild reads what the linker recorded.
func ThisBuild() Build {
	build := Build{Version: "(devel)", Commit: releaseCommit}
	if releaseVersion != "" {
		build.Version = releaseVersion
		return build
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build
	}
	if info.Main.Version != "" {
		build.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			build.Commit = setting.Value
		}
	}
	return build
}

// SlipwayVersion is the version of this binary as a tag of an image may be
// written: that of the module, with its commit, or "devel" when it was built
// without one.
func SlipwayVersion() string { return imageTag(ThisBuild().Version) }

// imageTag writes a version of the Go linker as a tag, which has neither
// parentheses nor plus signs.
func imageTag(version string) string {
	version = strings.NewReplacer("+", "-", "(", "", ")", "").Replace(version)
	if version == "" {
		return "devel"
	}
	return version
}
