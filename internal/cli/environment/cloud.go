package environment

import (
	"context"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/addons"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/preflight"
)

// System is what this process's environment says about clouds.
func System() cloud.Env {
	home, _ := os.UserHomeDir() // without one its folder is not searched
	dir, _ := os.Getwd()
	return cloud.Env{
		ConfigFile: os.Getenv("OS_CLIENT_CONFIG_FILE"), SecureFile: os.Getenv("OS_CLIENT_SECURE_FILE"), Cloud: os.Getenv("OS_CLOUD"),
		Region: os.Getenv("OS_REGION_NAME"), Interface: os.Getenv("OS_INTERFACE"), ConfigHome: os.Getenv("XDG_CONFIG_HOME"), WorkDir: dir, Home: home,
	}
}

// CloudOptions say how to open the environment's cloud.
func CloudOptions(loaded *config.Loaded) cloud.Options {
	spec := loaded.Environment.Spec
	return cloud.Options{Cloud: spec.Cloud, Region: spec.Region, Env: System(), CABundle: loaded.TrustBundle, UserAgent: UserAgent()}
}

// UserAgent is how clouds see this program, with its version.
func UserAgent() string {
	version := "devel"
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" && build.Main.Version != "(devel)" {
		version = build.Main.Version
	}
	return "slipway/" + version
}

// Check looks at the cloud once and checks the environment against it.
// Findings are in the result; an error says that nothing could be looked at.
func Check(ctx context.Context, c *cloud.Cloud, loaded *config.Loaded, steps, skip []string) (preflight.Result, error) {
	if err := preflight.CheckSkips(skip); err != nil {
		return preflight.Result{}, err
	}
	snapshot, err := c.Snapshot(ctx)
	if err != nil {
		return preflight.Result{}, err
	}
	return preflight.Run(preflight.Input{Environment: loaded.Environment, Snapshot: snapshot, Bundle: lookAtBundle(loaded.Environment),
		Steps: steps, Now: time.Now(), Skip: skip}), nil
}

// lookAtBundle says what the seed needs and the bundle has not.
func lookAtBundle(e *config.Environment) preflight.Bundle {
	facts := preflight.Bundle{Dir: string(e.Spec.Bundle)}
	folder, err := bundle.Open(facts.Dir)
	if err != nil {
		facts.Problem = "there is no bundle here"
		return facts
	}
	bill := folder.Bill()
	for _, c := range addons.SeedComponents() {
		ownImage := c.Kind == bundle.Machine && e.Spec.Seed.Image != ""
		if bill.Item(c.Name) == nil && !ownImage {
			facts.Missing = append(facts.Missing, c.Name)
		}
	}
	slices.Sort(facts.Missing)
	return facts
}
