package support

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/slipway-sh/slipway/internal/fault"
)

const (
	// largest is how many bytes one file of an archive may have when it is read.
	largest = 1 << 30
	// window bounds the memory of decompression.
	window = 64 << 20
)

// errSealed is the error for an encrypted archive without an identity.
var errSealed = errors.New("it is encrypted")

// Read returns the snapshots in an archive. identityFile holds the age identity if the
// archive is encrypted; it may be empty.
func Read(path, identityFile string) (Snapshots, error) {
	archive, err := os.Open(path)
	if err != nil {
		return Snapshots{}, fault.Usage(path, err, "give an archive of slipway support")
	}
	defer archive.Close()
	var found *Snapshots
	err = visit(archive, identityFile, func(name string, text io.Reader) error {
		if _, below, _ := strings.Cut(name, "/"); below != snapshotFile {
			return nil
		}
		found = &Snapshots{}
		return json.NewDecoder(text).Decode(found)
	})
	var known *fault.Fault
	switch {
	case errors.Is(err, errSealed):
		return Snapshots{}, fault.Usage(path, err, "give the file with the age identity of a recipient with --identity")
	case errors.As(err, &known):
		return Snapshots{}, err
	case err != nil:
		return Snapshots{}, fault.Usage(path, fmt.Errorf("reading the archive: %w", err), "give an archive of slipway support, whole and unchanged")
	case found == nil:
		return Snapshots{}, fault.Usage(path, errors.New("the archive has no "+snapshotFile), "see in its missing.json why, and make another one")
	}
	return *found, nil
}

// Files returns the files of an archive by name, without the folder that they are in. It
// holds all of them in memory.
func Files(path, identityFile string) (map[string]string, error) {
	archive, err := os.Open(path)
	if err != nil {
		return nil, fault.Usage(path, err, "give an archive of slipway support")
	}
	defer archive.Close()
	files := map[string]string{}
	return files, visit(archive, identityFile, func(name string, text io.Reader) error {
		all, err := io.ReadAll(text)
		_, below, _ := strings.Cut(name, "/")
		files[below] = string(all)
		return err
	})
}

// visit calls each with every file of an archive.
func visit(archive io.Reader, identityFile string, each func(name string, text io.Reader) error) error {
	plain, err := opened(archive, identityFile)
	if err != nil {
		return err
	}
	unpacked, err := zstd.NewReader(plain, zstd.WithDecoderMaxMemory(largest), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	files := tar.NewReader(unpacked)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Size > largest {
			return fmt.Errorf("%s has %d bytes", header.Name, header.Size)
		}
		if err := each(header.Name, files); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

// opened decrypts an archive that is encrypted.
func opened(archive io.Reader, identityFile string) (io.Reader, error) {
	buffered := bufio.NewReader(archive)
	const header = "age-encryption.org/"
	if start, _ := buffered.Peek(len(header)); string(start) != header {
		return buffered, nil
	}
	if identityFile == "" {
		return nil, errSealed
	}
	file, err := os.Open(identityFile)
	if err != nil {
		return nil, fault.Usage("--identity "+identityFile, err, "give the file that age-keygen wrote")
	}
	defer file.Close()
	identities, err := age.ParseIdentities(file)
	if err != nil {
		return nil, fault.Usage("--identity "+identityFile, err, "give the file that age-keygen wrote")
	}
	plain, err := age.Decrypt(buffered, identities...)
	if err != nil {
		return nil, fault.Usage("--identity "+identityFile, err, "give the identity of a recipient of the archive")
	}
	return plain, nil
}
