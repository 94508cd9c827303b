package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/fault"
)

var errSignature = errors.New("the signature is not valid")

// verifier takes all bytes of what is signed and says in the end whether the
// signature is right.
type verifier interface {
	io.Writer
	check() error
}

// unsigned is the verifier of what has no signature.
type unsigned struct{}

func (unsigned) Write(p []byte) (int, error) { return len(p), nil }
func (unsigned) check() error                { return nil }

// signature returns the verifier of an image. A signed list of digests is
// checked at once, and what it says of the image becomes the image's digest.
func (s *Syncer) signature(ctx context.Context, i *manifest.Image) (verifier, error) {
	if i.Signature == nil {
		return unsigned{}, nil
	}
	object := "signature of image " + i.Name
	of, err := s.newVerifier(ctx, *i.Signature)
	if err == nil && i.Signature.Checksums != "" {
		return unsigned{}, s.signedList(ctx, i, of)
	}
	if err != nil {
		return nil, asFault(object, err, "check the URLs and the key in the manifest")
	}
	return of, nil
}

// signedList checks the signature of a list of digests and takes the image's.
func (s *Syncer) signedList(ctx context.Context, i *manifest.Image, of verifier) error {
	text, err := s.Source.ReadText(ctx, i.Signature.Checksums)
	if err != nil {
		return err
	}
	_, err = of.Write(text)
	if err == nil {
		err = of.check()
	}
	object := "digests " + i.Signature.Checksums
	if err != nil {
		return asFault(object, err, "do not use the image: its publisher did not sign these checksums")
	}
	name := path.Base(redacted(i.URL + string(i.File)))
	digest, err := digestIn(string(text), name)
	if err != nil {
		return asFault(object, err, "check that the checksums are those of this build")
	}
	field := &i.SHA256
	if len(digest) == 128 {
		field = &i.SHA512
	}
	if *field != "" && !strings.EqualFold(*field, digest) {
		return fault.New(object, fmt.Errorf("%w: the signed checksums have %s for %s, but the manifest has %s", errDigest, abbreviated(digest), name, abbreviated(*field)), "find out which one is right, then correct the manifest")
	}
	*field = strings.ToLower(digest)
	return nil
}

// digestIn finds a file in a list in the form of sha256sum, or of BSD's
// "SHA256 (file) = digest".
func digestIn(list, name string) (string, error) {
	for _, line := range strings.Split(list, "\n") {
		fields := strings.Fields(line)
		digest := ""
		switch {
		case len(fields) == 2 && path.Base(strings.TrimPrefix(fields[1], "*")) == name:
			digest = fields[0]
		case len(fields) == 4 && fields[2] == "=" && strings.Trim(fields[1], "()") == name:
			digest = fields[3]
		}
		if len(digest) == 64 || len(digest) == 128 {
			return digest, nil
		}
	}
	return "", fmt.Errorf("the checksums contain no SHA-256 or SHA-512 of %s", name)
}

// newVerifier reads key and signature.
func (s *Syncer) newVerifier(ctx context.Context, in manifest.Signature) (verifier, error) {
	key := []byte(in.PublicKey)
	if in.PublicKeyFile != "" {
		var err error
		if key, err = os.ReadFile(string(in.PublicKeyFile)); err != nil {
			return nil, fmt.Errorf("reading the public key: %w", err)
		}
	}
	signature, err := s.Source.ReadText(ctx, in.From)
	if err != nil {
		return nil, err
	}
	if in.Method == manifest.Minisign {
		return newMinisignature(string(key), string(signature))
	}
	return newOpenPGP(key, signature)
}

// pgp runs the check of an OpenPGP signature beside the stream.
type pgp struct {
	*io.PipeWriter
	result chan error
}

func newOpenPGP(key, signature []byte) (verifier, error) {
	read := openpgp.ReadKeyRing
	if armoured(key) {
		read = openpgp.ReadArmoredKeyRing
	}
	ring, err := read(bytes.NewReader(key))
	if err != nil {
		return nil, fmt.Errorf("reading the public key: %w", err)
	}
	check := openpgp.CheckDetachedSignature
	if armoured(signature) {
		check = openpgp.CheckArmoredDetachedSignature
	}
	reader, writer := io.Pipe()
	v := &pgp{writer, make(chan error, 1)}
	go func() {
		_, err := check(ring, reader, bytes.NewReader(signature), nil)
		reader.CloseWithError(errSignature) // what was not read is refused, not waited for
		v.result <- err
	}()
	return v, nil
}

func armoured(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----BEGIN "))
}

// Write hands bytes to the check. When it has failed already, they go nowhere.
func (v *pgp) Write(p []byte) (int, error) {
	if _, err := v.PipeWriter.Write(p); err != nil && !errors.Is(err, errSignature) {
		return 0, err
	}
	return len(p), nil
}

func (v *pgp) check() error {
	v.PipeWriter.Close()
	if err := <-v.result; err != nil {
		return fmt.Errorf("%w: %v", errSignature, err)
	}
	return nil
}

// asFault makes a fault of what is none yet.
func asFault(object string, err error, remedy string) error {
	var known *fault.Fault
	if errors.As(err, &known) {
		return err
	}
	return fault.New(object, err, remedy)
}
