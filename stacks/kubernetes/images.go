package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// importTime bounds the import of one archive of images: seconds on a usual cloud, minutes on
// emulated machines, and k3s tells nothing while it is at it.
const importTime = 30 * time.Minute

// indexes prints the index of each archive that k3s imports. The index is among the first
// members, so tar reads no further. An archive of another kind has none, and is not waited for.
const indexes = `for archive in ` + seed.DataDir + `/agent/images/*.tar; do tar --occurrence=1 -xOf "$archive" index.json 2>/dev/null; done; true`

// imported waits until containerd has the images of all archives that k3s imports when it starts. The
// bundle's k3s starts no pods before; an import that failed is a line in its log, and nothing else.
// A seed whose image was replaced has the former images on its data volume, and looks ready.
func (h host) imported(ctx context.Context) error {
	text, err := h.look(ctx, "sh", "-c", indexes)
	if err != nil {
		return fmt.Errorf("reading the archives of images: %w", err)
	}
	wanted, err := imageNames(text)
	if err != nil {
		return fmt.Errorf("reading the archives of images: %w", err)
	}
	ctx, tell, stop := patient(ctx, importTime, "importing the images of the seed")
	defer stop()
	for pause := lookSoon; len(wanted) > 0; pause = min(pause*3/2, lookSlowly) {
		there, err := h.images(ctx)
		if ctx.Err() != nil { // in the middle of the question
			return unimported(context.Cause(ctx), wanted[0])
		}
		if err != nil {
			return err
		}
		missing := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(there, name) })
		if len(missing) == 0 {
			return nil
		}
		tell(fmt.Sprintf("importing images: %d of %d are there; next is %s", len(wanted)-len(missing), len(wanted), missing[0]))
		select {
		case <-ctx.Done():
			return unimported(context.Cause(ctx), missing[0])
		case <-time.After(pause):
		}
	}
	return nil
}

// unimported explains the end of the wait; a k3s that crashes explains itself.
func unimported(cause error, image string) error {
	if known := (*fault.Fault)(nil); errors.As(cause, &known) {
		return cause
	}
	return fault.New("images of the seed", fmt.Errorf("%w; %s is not there", cause, image),
		"see what k3s says of it with slipway ssh -- sudo journalctl -u k3s --grep import; then run the same command again")
}

// images are the names that containerd has. While it is starting it cannot be asked, and has none.
func (h host) images(ctx context.Context) ([]string, error) {
	out, err := h.look(ctx, "/usr/local/bin/k3s", "ctr", "--namespace", "k8s.io", "images", "ls", "--quiet")
	if failure := (*remote.Failure)(nil); errors.As(err, &failure) {
		return nil, nil
	}
	return strings.Fields(out), err
}

// imageNames are those in indexes of OCI layouts, one after the other, by the annotation with which
// containerd names an image.
func imageNames(text string) ([]string, error) {
	var names []string
	for decoder := json.NewDecoder(strings.NewReader(text)); decoder.More(); {
		var index struct {
			Manifests []struct{ Annotations map[string]string }
		}
		if err := decoder.Decode(&index); err != nil {
			return nil, err
		}
		for _, m := range index.Manifests {
			if name := m.Annotations["io.containerd.image.name"]; name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
