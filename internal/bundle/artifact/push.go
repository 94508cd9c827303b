package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// PushOptions of Push.
type PushOptions struct {
	// Jobs is how many uploads are under way at once; 0 means 4.
	Jobs int
	// Transport carries every request; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Keychain has the credentials of registries; nil means none.
	Keychain authn.Keychain
	// Sink takes a step for each blob; nil drops the events.
	Sink event.Sink
}

// Push uploads the bundle of a folder. Blobs that the repository has are not
// sent again, so a push that was interrupted continues, and a new bundle costs what
// is new in it. The manifest comes last: nobody pulls half a bundle. It returns
// the manifest's digest.
func Push(ctx context.Context, folder *bundle.Folder, ref name.Reference, o PushOptions) (string, error) {
	m, raw, err := Describe(folder)
	if err != nil {
		return "", err
	}
	bill, signature, err := folder.BillText()
	if err != nil {
		return "", err
	}
	if o.Jobs < 1 {
		o.Jobs = 4
	}
	if o.Sink == nil {
		o.Sink = event.Discard{}
	}
	layers := []v1.Layer{static.NewLayer(bill, BillType)}
	for _, one := range m.Layers {
		if one.MediaType == SignatureType {
			layers = append(layers, static.NewLayer(signature, SignatureType))
			continue
		}
		layer, err := partial.CompressedToLayer(blobLayer{folder, one})
		if err != nil {
			return "", err
		}
		layers = append(layers, layer)
	}
	options := o.remote(ctx)
	if err := upload(ctx, ref, layers, o, options); err != nil {
		return "", err
	}
	if err := remote.Put(ref, manifest(raw), options...); err != nil {
		return "", pushFault(ctx, ref.Name(), err)
	}
	return descriptor(m.MediaType, raw).Digest.String(), nil
}

func (o PushOptions) remote(ctx context.Context) []remote.Option {
	all := []remote.Option{remote.WithContext(ctx)}
	if o.Transport != nil {
		all = append(all, remote.WithTransport(o.Transport))
	}
	if o.Keychain != nil {
		all = append(all, remote.WithAuthFromKeychain(o.Keychain))
	}
	return all
}

func upload(ctx context.Context, ref name.Reference, layers []v1.Layer, o PushOptions, options []remote.Option) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.Jobs)
	options = append(options, remote.WithContext(ctx))
	for _, layer := range layers {
		group.Go(func() error {
			digest, err := layer.Digest()
			if err != nil {
				return err
			}
			step := event.Start(o.Sink, digest.Hex[:12], "uploading")
			err = remote.WriteLayer(ref.Context(), layer, options...)
			if err != nil {
				err = pushFault(ctx, digest.String()+" to "+ref.Context().Name(), err)
			}
			step.End("stored", err)
			return err
		})
	}
	return group.Wait()
}

// pushFault says what to do. The client's own text repeats URLs and pages.
func pushFault(ctx context.Context, object string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var address *url.Error
	if errors.As(err, &address) { // that of an upload has a token in it
		err = address.Err
	}
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return fault.New(object, err, "check the network and the registry, and run the same command again: what it has is not sent again")
	}
	err = fmt.Errorf("the registry answered %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	for _, one := range answer.Errors {
		err = fmt.Errorf("%w: %s", err, one.Message)
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fault.New(object, err, "log in to the registry with docker login or podman login, as somebody who may write there")
	case http.StatusRequestEntityTooLarge, http.StatusInsufficientStorage:
		return fault.New(object, err, "raise the limit of the registry, or of the proxy before it")
	}
	return fault.New(object, err, "check the registry, and run the same command again: what it has is not sent again")
}

// blobLayer is a stored blob as a layer.
type blobLayer struct {
	folder *bundle.Folder
	about  v1.Descriptor
}

// Digest implements partial.CompressedLayer.
func (l blobLayer) Digest() (v1.Hash, error) { return l.about.Digest, nil }

// Size implements partial.CompressedLayer.
func (l blobLayer) Size() (int64, error) { return l.about.Size, nil }

// MediaType implements partial.CompressedLayer.
func (l blobLayer) MediaType() (types.MediaType, error) { return l.about.MediaType, nil }

// Compressed implements partial.CompressedLayer.
func (l blobLayer) Compressed() (io.ReadCloser, error) {
	return os.Open(l.folder.Blob(l.about.Digest.Hex))
}

// manifest are the bytes of one.
type manifest []byte

// RawManifest implements remote.Taggable.
func (m manifest) RawManifest() ([]byte, error) { return m, nil }

// MediaType implements partial.WithMediaType; without it, the client would call
// the manifest Docker's.
func (m manifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
