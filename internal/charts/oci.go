package charts

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// chartLayer is the media type of a chart's archive in a registry
// (https://helm.sh/docs/topics/registries).
const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// fetchOCI downloads a chart from a registry; the address is without oci://.
func fetchOCI(ctx context.Context, client *http.Client, address string, reference Reference) ([]byte, error) {
	repository := strings.TrimRight(address, "/") + "/" + reference.Name
	// Tags cannot have a plus, so that Helm writes an underscore.
	tag := strings.ReplaceAll(reference.Version, "+", "_")
	ref, err := name.NewTag(repository + ":" + tag)
	if err != nil {
		return nil, fmt.Errorf("address of chart: %w", err)
	}
	image, err := remote.Image(ref, remote.WithContext(ctx), remote.WithTransport(client.Transport))
	if err != nil {
		return nil, fmt.Errorf("downloading %s: %w", ref, err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		return nil, fmt.Errorf("downloading %s: %w", ref, err)
	}
	for _, descriptor := range manifest.Layers {
		if string(descriptor.MediaType) != chartLayer {
			continue
		}
		layer, err := image.LayerByDigest(descriptor.Digest)
		if err != nil {
			return nil, fmt.Errorf("downloading %s: %w", ref, err)
		}
		content, err := layer.Compressed() // verifies the digest while it is read
		if err != nil {
			return nil, fmt.Errorf("downloading %s: %w", ref, err)
		}
		defer content.Close()
		archive, err := readAll(content, maxArchive)
		if err != nil {
			return nil, fmt.Errorf("downloading %s: %w", ref, err)
		}
		return archive, nil
	}
	return nil, fmt.Errorf("%w: %s has no layer of a chart", ErrInvalid, ref)
}
