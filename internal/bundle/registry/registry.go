// Package registry serves the images of bundles as a registry that can only be
// read (https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md,
// the category Pull), and as a mirror of the registries that the images are
// named after. The registry of go-containerregistry takes pushes, and refuses
// the open ranges with which containerd continues with an interrupted layer.
package registry

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Registry has the images of some bundles. It is an http.Handler.
type Registry struct {
	mux *http.ServeMux
	// repositories are manifests by the name with its host, as
	// registry.k8s.io/kube-proxy, then by tag and by digest.
	repositories map[string]map[string]manifest
	// blobs are paths by digest, as sha256:…
	blobs map[string]string
	// texts are bills and their signatures by digest: the files may change while
	// this serves what they were.
	texts map[string][]byte
}

type manifest struct {
	raw       []byte
	mediaType string
	digest    string
}

// New reads the manifests of the bundles' images. A tag that several have is
// that of the first. An image that is not whole is an error, so that machines do
// not find out one by one; digests are verified by those who pull.
func New(folders ...*bundle.Folder) (*Registry, error) {
	r := &Registry{repositories: map[string]map[string]manifest{}, blobs: map[string]string{}, texts: map[string][]byte{}}
	var wrong []error
	for _, folder := range folders {
		for _, item := range folder.Bill().Items {
			if item.Kind != bundle.Image {
				continue
			}
			if err := r.add(folder, item); err != nil {
				wrong = append(wrong, fault.New("image "+item.Name+" of "+folder.Dir(), err, "check the whole bundle with slipway bundle verify --dir "+folder.Dir()))
			}
		}
		if len(wrong) == 0 {
			wrong = append(wrong, r.addBundle(folder))
		}
	}
	r.mux = r.routes()
	return r, errors.Join(wrong...)
}

func (r *Registry) add(folder *bundle.Folder, item bundle.Item) error {
	raw, parsed, err := folder.Manifest(item)
	if err != nil {
		return err
	}
	repository, tag, ok := cutTag(item.Ref)
	if !ok {
		return fmt.Errorf("%q has no tag", item.Ref)
	}
	for _, part := range append([]v1.Descriptor{parsed.Config}, parsed.Layers...) {
		if !folder.Has(bundle.Digest{SHA256: part.Digest.Hex, Size: part.Size}) {
			return fmt.Errorf("%s is missing or has a different size", part.Digest)
		}
		path, err := filepath.Abs(folder.Blob(part.Digest.Hex))
		if err != nil {
			return err
		}
		r.blobs[part.Digest.String()] = path
	}
	if r.repositories[repository] == nil {
		r.repositories[repository] = map[string]manifest{}
	}
	m := manifest{raw, string(parsed.MediaType), "sha256:" + item.SHA256}
	r.repositories[repository][m.digest] = m
	if _, taken := r.repositories[repository][tag]; !taken {
		r.repositories[repository][tag] = m
	}
	return nil
}

// cutTag parts a reference. A colon of the host's port comes before a slash.
func cutTag(reference string) (repository, tag string, ok bool) {
	at := strings.LastIndex(reference, ":")
	if at < 0 || strings.Contains(reference[at:], "/") {
		return "", "", false
	}
	return reference[:at], reference[at+1:], true
}

// Images is how many images there are, by digest.
func (r *Registry) Images() int {
	digests := map[string]bool{}
	for repository, manifests := range r.repositories {
		if repository == BundleRepository {
			continue
		}
		for _, m := range manifests {
			digests[m.digest] = true
		}
	}
	return len(digests)
}

// Hosts are the registries that the images are named after, sorted: those that
// this one can be a mirror of.
func (r *Registry) Hosts() []string {
	var hosts []string
	for repository := range r.repositories {
		if repository == BundleRepository {
			continue
		}
		host, _, _ := strings.Cut(repository, "/")
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// repository finds the manifests of a name. Who asks a mirror leaves the host of
// the registry out of the name; containerd tells it as ns
// (https://github.com/containerd/containerd/blob/main/docs/hosts.md), others do
// not tell it: then the path has to be of one host only.
func (r *Registry) repository(name, ns string) map[string]manifest {
	if found := r.repositories[name]; found != nil {
		return found
	}
	if ns != "" {
		return r.repositories[ns+"/"+name]
	}
	var found []map[string]manifest
	for repository, manifests := range r.repositories {
		if _, path, _ := strings.Cut(repository, "/"); path == name {
			found = append(found, manifests)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}
