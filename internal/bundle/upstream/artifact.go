package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"syscall"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Artifact is a whole bundle in a registry.
type Artifact struct {
	Reference name.Reference
	// Trust says whose signature is accepted.
	Trust artifact.Trust
	// Reuse are other bundles on this machine; what they have is not fetched.
	Reuse []*bundle.Folder
}

// Fetched says what a pull of an artifact cost.
type Fetched struct {
	// Digest is the artifact's.
	Digest string `json:"digest"`
	Items  int    `json:"items"`
	// Blobs and Bytes came over the network; Reused are from other folders.
	Blobs  int   `json:"blobs"`
	Bytes  int64 `json:"bytes"`
	Reused int   `json:"reused"`
}

// artifactPull is one under way.
type artifactPull struct {
	*puller
	Artifact
	locks sync.Map // digest → *sync.Mutex: images share layers
	mu    sync.Mutex
	cost  Fetched
}

// PullArtifact makes the folder, opened for writing, the bundle of a registry.
// The bill comes first, and nothing else before its signature is checked. Then
// only blobs come that the folder does not have, each verified; an interrupted
// pull continues in the middle of a blob. The folder's old bill stays until all is
// there.
func PullArtifact(ctx context.Context, folder *bundle.Folder, a Artifact, o Options) (Fetched, error) {
	p, err := newPuller(o)
	if err != nil {
		return Fetched{}, err
	}
	p.folder = folder
	pull := &artifactPull{puller: p, Artifact: a}
	if err := pull.login(ctx); err != nil {
		return Fetched{}, pull.fault(ctx, a.Reference.Name(), err)
	}
	text, signature, err := pull.bill(ctx)
	if err != nil {
		return Fetched{}, pull.fault(ctx, a.Reference.Name(), err)
	}
	bill, err := bundle.ParseBill(a.Reference.Name(), text)
	if err == nil {
		err = artifact.CheckPlatform(a.Reference.Name(), bill, folder.Bill().Platform)
	}
	if err != nil {
		return Fetched{}, err
	}
	if err := pull.items(ctx, bill.Items); err != nil {
		return Fetched{}, err
	}
	pull.cost.Items = len(bill.Items)
	if err := folder.Become(text, signature); err != nil {
		return Fetched{}, err
	}
	p.sweep()
	return pull.cost, nil
}

// login gives the client a transport that knows the registry's tokens.
func (p *artifactPull) login(ctx context.Context) error {
	registry := p.Reference.Context().Registry
	auth, err := authn.Resolve(ctx, p.Keychain, p.Reference.Context())
	if err != nil {
		return err
	}
	return p.retry(ctx, func(string) {}, func() (int64, error) {
		carrier, err := transport.NewWithContext(ctx, registry, auth, p.carrier, []string{p.Reference.Scope(transport.PullScope)})
		if err == nil {
			p.client = &http.Client{Transport: carrier}
		}
		return 0, registryError(err)
	})
}

// bill fetches manifest, bill and signature, and checks the signature.
func (p *artifactPull) bill(ctx context.Context) (text, signature []byte, err error) {
	step := event.Start(p.Sink, "bill of materials", "fetching from "+p.Reference.Context().RegistryStr())
	defer func() { step.End("fetched and checked", err) }()
	t := &tally{steps: []*event.Step{step}}
	var found *remote.Descriptor
	err = p.retry(ctx, t.wait, func() (int64, error) {
		found, err = remote.Get(p.Reference, remote.WithContext(ctx), remote.WithTransport(p.client.Transport))
		return 0, registryError(err)
	})
	if err != nil {
		return nil, nil, err
	}
	p.cost.Digest = found.Digest.String()
	m, err := artifact.ParseManifest(found.Manifest)
	if err != nil {
		return nil, nil, err
	}
	if text, err = p.small(ctx, m.Config, t); err != nil {
		return nil, nil, fmt.Errorf("bill of materials: %w", err)
	}
	if about := m.Signature(); about != nil {
		if signature, err = p.small(ctx, *about, t); err != nil {
			return nil, nil, fmt.Errorf("signature: %w", err)
		}
	}
	return text, signature, p.Trust.Check(p.Reference.Name(), text, signature)
}

// small fetches what is kept in memory; its size was checked with the manifest.
func (p *artifactPull) small(ctx context.Context, about v1.Descriptor, t *tally) ([]byte, error) {
	path, err := p.download(ctx, p.blobURL(about.Digest.Hex), about.Digest.Hex, t)
	if err != nil {
		return nil, err
	}
	defer removePartial(path)
	info, err := os.Stat(path)
	if err == nil && info.Size() > artifact.MaxBill {
		return nil, &sizeError{"it", info.Size(), artifact.MaxBill}
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func (p *artifactPull) blobURL(sha string) string {
	repository := p.Reference.Context()
	u := url.URL{Scheme: repository.Scheme(), Host: repository.RegistryStr(), Path: "/v2/" + repository.RepositoryStr() + "/blobs/sha256:" + sha}
	return u.String()
}

// items fetches all of them, some at once. One that fails does not stop the others.
func (p *artifactPull) items(ctx context.Context, items []bundle.Item) error {
	for _, item := range items {
		p.MaxBytes = max(p.MaxBytes, item.Size) // signed
	}
	wrong := make([]error, len(items))
	group := errgroup.Group{}
	group.SetLimit(p.Jobs)
	for i, item := range items {
		group.Go(func() error {
			wrong[i] = p.item(ctx, item)
			return nil
		})
	}
	_ = group.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("pulling the bundle: %w", context.Cause(ctx))
	}
	return errors.Join(wrong...)
}

// item fetches what is missing of one.
func (p *artifactPull) item(ctx context.Context, item bundle.Item) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	step := event.Start(p.Sink, item.Name, "reading the bundle")
	t := &tally{steps: []*event.Step{step}}
	fresh := false
	first := bundle.Digest{SHA256: item.SHA256, Size: item.Size}
	if item.Kind == bundle.Image {
		first.Size = -1 // the bill has the size of all of it
	}
	came, err := p.blob(ctx, first, t)
	fresh = fresh || came
	var blobs []bundle.Digest
	if err == nil {
		blobs, err = p.folder.Blobs(item)
	}
	for i := 1; i < len(blobs) && err == nil; i++ {
		came, err = p.blob(ctx, blobs[i], t)
		fresh = fresh || came
	}
	if err != nil {
		err = p.fault(ctx, item.Name+" from "+p.Reference.Context().Name(), err)
	}
	if err == nil && !fresh {
		step.Skip("in the bundle")
		return nil
	}
	step.End("verified and stored", err)
	return err
}

// blob brings one blob, unless the folder or another has it, and reports whether
// it came over the network. A blob of two items is fetched once.
func (p *artifactPull) blob(ctx context.Context, d bundle.Digest, t *tally) (bool, error) {
	lock, _ := p.locks.LoadOrStore(d.SHA256, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	if whole, err := p.folder.Whole(ctx, d); whole || err != nil {
		return false, err
	}
	if p.reuse(ctx, d) {
		return false, nil
	}
	t.say("downloading from " + p.Reference.Context().RegistryStr())
	path, err := p.download(ctx, p.blobURL(d.SHA256), d.SHA256, t)
	if err != nil {
		return false, err
	}
	stored, err := p.folder.PutFile(ctx, path)
	if err != nil {
		return false, err
	}
	removePartial(path)
	if stored.SHA256 != d.SHA256 { // the partial changed under us
		return false, &digestError{want: d.SHA256, got: stored.SHA256}
	}
	p.mu.Lock()
	p.cost.Blobs++
	p.cost.Bytes += stored.Size
	p.mu.Unlock()
	return true, nil
}

// reuse links or copies a blob of another folder, if it is whole there.
func (p *artifactPull) reuse(ctx context.Context, d bundle.Digest) bool {
	for _, other := range p.Reuse {
		if _, err := os.Stat(other.Blob(d.SHA256)); err != nil {
			continue
		}
		stored, err := p.folder.PutFile(ctx, other.Blob(d.SHA256))
		if err == nil && stored.SHA256 == d.SHA256 {
			p.mu.Lock()
			p.cost.Reused++
			p.mu.Unlock()
			return true
		}
		if err == nil { // damaged there: what came is another blob
			_ = os.Remove(p.folder.Blob(stored.SHA256))
		}
	}
	return false
}

// fault says what to do about an error of a registry's artifact.
func (p *artifactPull) fault(ctx context.Context, object string, err error) error {
	var told *fault.Fault
	var wrong *digestError
	var status *statusError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &told):
		return err
	case errors.As(err, &wrong):
		return fault.New(object, err, "the registry does not have what was signed; it was discarded: ask who publishes the bundle")
	case errors.As(err, &status) && status.code == http.StatusNotFound:
		return fault.New(object, err, "check the registry, the repository and the tag; if the bundle itself was found, push it again")
	case errors.As(err, &status):
		return fault.New(object, err, remedyStatus(status.code))
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.New(object, err, "free space there, or choose another folder with --dir; completed items are kept")
	case errors.Is(err, errPlainHTTP):
		return fault.New(object, err, "give the registry a certificate")
	}
	if network := (*networkError)(nil); errors.As(err, &network) {
		return fault.New(object, err, "check the network and the proxy; run the same command again to resume")
	}
	return fault.New(object, err, "check that this is the address of a bundle; run the same command again to resume")
}
