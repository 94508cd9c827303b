package component

import (
	"runtime/debug"
	"strings"
)

// SlipwayImage is the name of the image of Slipway's own controllers.
const SlipwayImage = "slipway"

// KindNode is the name of the node image of local seeds.
const KindNode = "kind-node"

// SlipwayVersion is the version of this binary as a tag of an image may be
// written: that of the module, with its commit, or "devel" when it was built
// without one.
func SlipwayVersion() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return imageTag(build.Main.Version)
}

// imageTag writes a version of the Go linker as a tag, which has neither
// parentheses nor plus signs.
func imageTag(version string) string {
	version = strings.NewReplacer("+", "-", "(", "", ")", "").Replace(version)
	if version == "" {
		return "devel"
	}
	return version
}
