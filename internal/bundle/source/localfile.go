package source

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
)

// programName is the intermediate result that Slipway's own binary is.
const programName = "slipway-program"

// ownProgram is the binary that the build was given, Slipway's own: clusters
// run its controllers. It is known by its content; where it lies does not matter.
type ownProgram struct {
	plain
	// SHA256 is the hex digest of the content.
	SHA256 string
	path   string
}

// newOwnProgram reads the binary at a path once, for its digest.
func newOwnProgram(path string) (ownProgram, error) {
	digest, err := copyHashed(io.Discard, path)
	if err != nil {
		return ownProgram{}, fmt.Errorf("reading slipway's own binary: %w", err)
	}
	return ownProgram{SHA256: digest, path: path}, nil
}

func copyHashed(w io.Writer, path string) (digest string, err error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, hash), in); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func (ownProgram) needs() []string  { return nil }
func (o ownProgram) source() string { return ownSource + o.SHA256 }

// ownSource begins the source of what was made of a binary of Slipway.
const ownSource = "slipway binary sha256:"

// OfAnotherBinary names the items of a bundle that were made of another binary
// than that at a path: Slipway's own image, and the machines that bring it. What
// was pulled has the binary of its release, and is none of them.
func OfAnotherBinary(bill *bundle.Bill, path string) ([]string, error) {
	image := bill.Item(component.SlipwayImage)
	if image == nil || !strings.HasPrefix(image.Source, ownSource) {
		return nil, nil
	}
	program, err := newOwnProgram(path)
	if err != nil || image.Source == program.source() {
		return nil, err
	}
	names := []string{image.Name}
	for _, item := range bill.Items {
		if _, in := item.Contains[image.Name]; in {
			names = append(names, item.Name)
		}
	}
	return names, nil
}

// make copies the binary, which may be replaced while the build runs.
func (o ownProgram) make(_ context.Context, j *job) (output, error) {
	if o.path == "" {
		return output{}, errors.New("the path of slipway's own binary is not set")
	}
	out, err := os.OpenFile(j.path("out"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return output{}, err
	}
	defer out.Close()
	digest, err := copyHashed(out, o.path)
	if err != nil {
		return output{}, err
	}
	if digest != o.SHA256 {
		return output{}, fmt.Errorf("%s was replaced during the build", o.path)
	}
	if err := out.Close(); err != nil {
		return output{}, err
	}
	return output{file: out.Name(), source: o.source()}, static(out.Name())
}

// static refuses a binary that needs a loader and libraries: an image from
// scratch has none.
func static(path string) error {
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("reading slipway's own binary: %w", err)
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return fault.New("slipway's own binary", errors.New("it is linked dynamically, but its image contains no libraries"),
				"build it with `make build`, or set CGO_ENABLED=0")
		}
	}
	return nil
}
