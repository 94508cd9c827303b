package proposal

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kubeversion"
)

// Release is what a registry has under a tag.
type Release struct {
	// Digest is sha256:….
	Digest string
	// Versions are those of the bundle's parts; an image has none.
	Versions component.Versions
}

// Registry tells what releases there are.
type Registry interface {
	// Tags of a repository that are versions, the newest first.
	Tags(ctx context.Context, repository string) ([]string, error)
	// Bundle of a tag, whose signature was checked.
	Bundle(ctx context.Context, repository, tag string) (Release, error)
	// Image of a tag.
	Image(ctx context.Context, repository, tag string) (Release, error)
}

// Proposal is what should change, and what the reader has to know of it.
type Proposal struct {
	Changes []Change `json:"changes"`
	Notes   []string `json:"notes,omitempty"`
}

// Choose finds the newest versions to which an upgrade may go in one step. Images follow the
// bundle, and so does Kubernetes, which is of the bundle that is pinned then; without a pinned
// bundle both have the newest that is known: the registry's, and this program's.
func Choose(ctx context.Context, pins []Pin, registry Registry) (Proposal, error) {
	c := chooser{Registry: registry, releases: map[string]Release{}, Proposal: Proposal{Changes: []Change{}}}
	for _, pick := range []func(context.Context, Pin) error{c.bundle, c.image, c.kubernetes} {
		for _, pin := range pins {
			if err := pick(ctx, pin); err != nil {
				return Proposal{}, err
			}
		}
	}
	slices.Sort(c.Notes)
	c.Notes = slices.Compact(c.Notes)
	c.Changes = sorted(c.Changes)
	return c.Proposal, nil
}

// chooser is one choice.
type chooser struct {
	Registry
	Proposal
	releases map[string]Release
	// tag and offered are the lowest bundle that is pinned after the change.
	tag     string
	offered component.Versions
}

func (c *chooser) bundle(ctx context.Context, pin Pin) error {
	if pin.Kind != Bundle {
		return nil
	}
	now, err := c.release(ctx, pin.Repository, pin.Version)
	if err != nil {
		return err
	}
	tags, err := c.newer(ctx, pin)
	if err != nil {
		return err
	}
	at, next := pin.Version, now
	for _, tag := range tags {
		release, err := c.release(ctx, pin.Repository, tag)
		if err != nil {
			return err
		}
		refused := component.CheckUpgrade(now.Versions.Upgraded(), release.Versions.Upgraded())
		if refused == nil {
			at, next = tag, release
			break
		}
		for _, one := range fault.All(refused) {
			c.Notes = append(c.Notes, fmt.Sprintf("%s:%s is not next after %s: %v", pin.Repository, tag, pin.Version, one))
		}
	}
	if c.tag == "" || semver.Compare(at, c.tag) < 0 {
		c.tag, c.offered = at, next.Versions
	}
	c.change(pin, at, next.Digest)
	return nil
}

// image pins the program, which must be of the bundle's release.
func (c *chooser) image(ctx context.Context, pin Pin) error {
	if pin.Kind != Image {
		return nil
	}
	tags, err := c.newer(ctx, pin)
	if err != nil || len(tags) == 0 {
		return err
	}
	tag := cmp.Or(c.tag, tags[0])
	if semver.Compare(tag, pin.Version) <= 0 {
		return nil
	}
	if !slices.Contains(tags, tag) {
		c.Notes = append(c.Notes, fmt.Sprintf("%s has no %s, the release of the bundle", pin.Repository, tag))
		return nil
	}
	release, err := c.Image(ctx, pin.Repository, tag)
	if err != nil {
		return err
	}
	c.change(pin, tag, release.Digest)
	return nil
}

func (c *chooser) kubernetes(_ context.Context, pin Pin) error {
	if pin.Kind != Kubernetes {
		return nil
	}
	wanted := component.KubernetesVersion
	if c.tag != "" {
		wanted = c.offered.Kubernetes
	}
	if semver.Compare(wanted, pin.Version) <= 0 {
		return nil
	}
	if err := kubeversion.CheckUpgrade(pin.Version, wanted); err != nil {
		c.Notes = append(c.Notes, fmt.Sprintf("%s:%d: %v", pin.File, pin.Line, err))
		return nil
	}
	c.change(pin, wanted, "")
	return nil
}

// change notes a change, unless it is none.
func (c *chooser) change(pin Pin, to, digest string) {
	if to == pin.Version {
		return
	}
	change := Change{Pin: pin, To: to}
	if pin.Digest != "" {
		change.ToDigest = digest
	}
	c.Changes = append(c.Changes, change)
}

// newer are the tags after a pin's, the newest first. Pre-releases are for those who pin one.
func (c *chooser) newer(ctx context.Context, pin Pin) ([]string, error) {
	tags, err := c.Tags(ctx, pin.Repository)
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool {
		return semver.Compare(tag, pin.Version) <= 0 || semver.Prerelease(tag) != "" && semver.Prerelease(pin.Version) == ""
	}), err
}

func (c *chooser) release(ctx context.Context, repository, tag string) (Release, error) {
	key := repository + ":" + tag
	if known, ok := c.releases[key]; ok {
		return known, nil
	}
	release, err := c.Bundle(ctx, repository, tag)
	c.releases[key] = release
	return release, err
}

// sorted are changes by file and place.
func sorted(changes []Change) []Change {
	changes = slices.Clone(changes)
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.start, b.start)) })
	return changes
}
