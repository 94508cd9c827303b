package upstream

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/mod/semver"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Release is the bill of a bundle in a registry, without the bundle.
type Release struct {
	// Digest is the artifact's, as sha256:….
	Digest string
	Bill   *bundle.Bill
}

// Bill fetches the bill of materials of a bundle in a registry, and checks its signature.
func Bill(ctx context.Context, a Artifact, o Options) (Release, error) {
	p, err := newPuller(o)
	if err != nil {
		return Release{}, err
	}
	dir, err := os.MkdirTemp("", "slipway-bill-")
	if err != nil {
		return Release{}, fault.New(os.TempDir(), err, "make room there, or set TMPDIR to another folder")
	}
	defer os.RemoveAll(dir)
	folder, err := bundle.Create(dir, p.platform.String())
	if err != nil {
		return Release{}, err
	}
	defer folder.Close()
	p.folder = folder
	pull := &artifactPull{puller: p, Artifact: a}
	if err := pull.login(ctx); err != nil {
		return Release{}, pull.fault(ctx, a.Reference.Name(), err)
	}
	text, _, err := pull.bill(ctx)
	if err != nil {
		return Release{}, pull.fault(ctx, a.Reference.Name(), err)
	}
	bill, err := bundle.ParseBill(a.Reference.Name(), text)
	return Release{Digest: pull.cost.Digest, Bill: bill}, err
}

// Tags lists the tags of a repository that are versions (v1.2.3), the newest first.
func Tags(ctx context.Context, repository name.Repository, o Options) ([]string, error) {
	p, err := newPuller(o)
	if err != nil {
		return nil, err
	}
	pull := &artifactPull{puller: p, Artifact: Artifact{Reference: repository.Tag("latest")}}
	if err := pull.login(ctx); err != nil {
		return nil, pull.fault(ctx, repository.Name(), err)
	}
	var tags []string
	err = p.retry(ctx, func(string) {}, func() (int64, error) {
		tags, err = remote.List(repository, remote.WithContext(ctx), remote.WithTransport(p.client.Transport))
		return 0, registryError(err)
	})
	if err != nil {
		return nil, pull.fault(ctx, repository.Name(), err)
	}
	tags = slices.DeleteFunc(tags, func(tag string) bool { return !semver.IsValid(tag) || semver.Canonical(tag) != tag })
	slices.SortFunc(tags, func(a, b string) int { return semver.Compare(b, a) })
	if len(tags) == 0 {
		return nil, fault.New(repository.Name(), errors.New("it has no tag that is a version, such as v1.2.3"), "check that this is the repository of the releases")
	}
	return tags, nil
}

// Digest asks a registry for the digest of an image, as sha256:….
func Digest(ctx context.Context, ref name.Reference, o Options) (string, error) {
	p, err := newPuller(o)
	if err != nil {
		return "", err
	}
	pull := &artifactPull{puller: p, Artifact: Artifact{Reference: ref}}
	if err := pull.login(ctx); err != nil {
		return "", pull.fault(ctx, ref.Name(), err)
	}
	var found *v1.Descriptor
	err = p.retry(ctx, func(string) {}, func() (int64, error) {
		found, err = remote.Head(ref, remote.WithContext(ctx), remote.WithTransport(p.client.Transport))
		return 0, registryError(err)
	})
	if err != nil {
		return "", pull.fault(ctx, ref.Name(), err)
	}
	return found.Digest.String(), nil
}
