package environment

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/stacks"
)

// System is how to find clouds.yaml, from this process's environment.
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

// UserAgent is the User-Agent header for clouds, with the program's version.
func UserAgent() string {
	return "slipway/" + strings.Trim(component.ThisBuild().Version, "()")
}

// Check takes one snapshot of the cloud and checks the environment against it.
// Findings are in the result; an error means that no snapshot could be taken.
func Check(ctx context.Context, c *cloud.Cloud, loaded *config.Loaded, steps, skip []string) (preflight.Result, error) {
	input, err := Look(ctx, c, loaded, steps, skip)
	if err != nil {
		return preflight.Result{}, err
	}
	return preflight.Run(input), nil
}

// Look is what Check looks at: a snapshot of the cloud, the bundle and this machine.
func Look(ctx context.Context, c *cloud.Cloud, loaded *config.Loaded, steps, skip []string) (preflight.Input, error) {
	if err := preflight.CheckSkips(skip); err != nil {
		return preflight.Input{}, err
	}
	list, err := Images(loaded)
	if err != nil {
		return preflight.Input{}, err
	}
	snapshot, err := c.Snapshot(ctx)
	if err != nil {
		return preflight.Input{}, err
	}
	input := preflight.Input{Environment: loaded.Environment, Snapshot: snapshot, Bundle: lookAtBundle(loaded.Environment),
		Steps: steps, Now: time.Now(), Skip: skip}
	if loaded.Environment.Spec.Seed.IsLocal() {
		input.LocalSeed = lookAtMachine(ctx, loaded.Environment.Metadata.Name, c.Provider.IdentityEndpoint, snapshot.Token.ProjectID)
	}
	for _, listed := range list {
		input.Images = append(input.Images, listed.Manifest.Spec.Images[0])
	}
	return input, nil
}

// Images are the images of spec.images. Mistakes in an image manifest are
// reported like those in the environment file.
func Images(loaded *config.Loaded) ([]stacks.ListedImage, error) {
	list, err := manifest.ReadFiles(loaded.Environment.Spec.Images...)
	if err != nil {
		return nil, err
	}
	return stacks.ListedImages(list, loaded.Environment.Spec.Bundle)
}

// lookAtBundle reports what the seed needs and the bundle lacks.
func lookAtBundle(e *config.Environment) preflight.Bundle {
	facts := preflight.Bundle{Dir: string(e.Spec.Bundle)}
	folder, err := bundle.Open(facts.Dir)
	switch {
	case errors.Is(err, bundle.ErrNone):
		facts.Problem = "there is no bundle here"
		return facts
	case err != nil: // one that is damaged, or may not be read
		facts.Problem = err.Error()
		return facts
	}
	bill := folder.Bill()
	facts.Kubernetes, facts.Architecture = component.VersionsIn(bill).Kubernetes, images.Architecture(strings.TrimPrefix(bill.Platform, "linux/"))
	if node := bill.Item("node"); node != nil {
		facts.NodeImage = node.SHA256
	}
	needed := component.SeedComponents()
	if e.Spec.Seed.IsLocal() {
		needed = component.LocalSeedComponents()
	}
	if m := e.Spec.ManagementCluster; m != nil && m.Image == "" {
		needed = append(needed, component.NodeComponents()...)
	}
	for _, c := range needed {
		ownImage := (c.Name == "seed" || c.Name == component.KindNode) && e.Spec.Seed.Image != ""
		if bill.Item(c.Name) == nil && !ownImage {
			facts.Missing = append(facts.Missing, c.Name)
		}
	}
	slices.Sort(facts.Missing)
	return facts
}
