package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// runImage fetches one image. Layers that are stored stay when something
// fails, and the next attempt or run does not fetch them again.
func (p *puller) runImage(ctx context.Context, one *part) {
	t := newTally([]*part{one})
	ref, err := p.reference(one.pin.Image, one.pin.Digest)
	if err != nil {
		one.err = explain(ctx, one, one.pin.Source(), err)
		return
	}
	t.say("fetching from " + ref.Context().RegistryStr())
	var stored bundle.Digest
	err = p.retry(ctx, t.wait, func() (have int64, err error) {
		stored, have, err = p.fetchImage(ctx, ref, t)
		return have, registryError(err)
	})
	if err == nil {
		err = p.record(one, stored)
	}
	if err != nil {
		one.err = explain(ctx, one, ref.String(), err)
	}
}

// reference is where to fetch an image from, mirrors applied: by digest when
// there is one, else by the image's tag.
func (p *puller) reference(image, digest string) (name.Reference, error) {
	tag, err := name.NewTag(image, name.StrictValidation)
	if err != nil {
		return nil, err
	}
	repository := p.mirrors.image(tag.Context().Name())
	if digest == "" {
		return name.NewTag(repository + ":" + tag.TagStr())
	}
	return name.NewDigest(repository + "@" + digest)
}

// fetchImage stores the image of the puller's platform. It returns how many
// bytes of its layers were there at the start.
func (p *puller) fetchImage(ctx context.Context, ref name.Reference, t *tally) (stored bundle.Digest, have int64, err error) {
	_, image, err := p.lookUp(ctx, ref)
	if err != nil {
		return stored, 0, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return stored, 0, err
	}
	total := int64(0)
	for _, layer := range manifest.Layers {
		p.dropDamaged(ctx, layer.Digest.Hex)
		total += layer.Size
		if p.folder.Has(bundle.Digest{SHA256: layer.Digest.Hex, Size: layer.Size}) {
			have += layer.Size
		}
	}
	t.set(have, total)
	if stored, err = p.folder.PutImage(ctx, countedImage{image, t}); err == nil {
		t.set(total, total) // a layer that comes twice is read once
	}
	return stored, have, err
}

// lookUp asks the registry what a reference is, and resolves an index to the
// image of the puller's platform. The descriptor is of the reference itself.
func (p *puller) lookUp(ctx context.Context, ref name.Reference) (*remote.Descriptor, v1.Image, error) {
	auth, err := authn.Resolve(ctx, p.Keychain, ref.Context())
	if err != nil {
		return nil, nil, err
	}
	// A transport that is complete keeps the client from trying again on its
	// own, without regard to Retry-After and to progress.
	carrier, err := transport.NewWithContext(ctx, ref.Context().Registry, auth, p.carrier, []string{ref.Scope(transport.PullScope)})
	if err != nil {
		return nil, nil, err
	}
	found, err := remote.Get(ref, remote.WithContext(ctx), remote.WithTransport(carrier), remote.WithPlatform(*p.platform))
	if err != nil {
		return nil, nil, err
	}
	image, err := found.Image()
	if err != nil {
		return nil, nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, nil, err
	}
	if got := config.OS + "/" + config.Architecture; got != p.platform.String() {
		return nil, nil, &platformError{got: got, want: p.platform.String()}
	}
	return found, image, nil
}

// platformError says that an image is for other machines.
type platformError struct{ got, want string }

func (e *platformError) Error() string {
	return fmt.Sprintf("the image is for %s, not %s", e.got, e.want)
}

// registryError reduces what the registry client returns to what a user needs:
// its own errors repeat URLs and whole pages of text.
func registryError(err error) error {
	var answer *transport.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer):
		return &statusError{code: answer.StatusCode}
	case strings.Contains(err.Error(), "does not match requested digest"),
		strings.Contains(err.Error(), "error verifying sha256"):
		return &digestError{text: err.Error()} // the client has no type for it
	}
	return bare(err)
}

// countedImage counts what is read of its layers.
type countedImage struct {
	v1.Image
	tally *tally
}

// Layers implements v1.Image.
func (i countedImage) Layers() ([]v1.Layer, error) {
	layers, err := i.Image.Layers()
	for n, layer := range layers {
		layers[n] = countedLayer{layer, i.tally}
	}
	return layers, err
}

type countedLayer struct {
	v1.Layer
	tally *tally
}

// Compressed implements v1.Layer.
func (l countedLayer) Compressed() (io.ReadCloser, error) {
	body, err := l.Layer.Compressed()
	if err != nil {
		return nil, err
	}
	return counted{body, l.tally}, nil
}
