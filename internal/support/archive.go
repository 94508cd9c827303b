package support

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/redact"
)

// The files at the top of an archive.
const (
	manifestFile = "manifest.json"
	missingFile  = "missing.json"
	// SnapshotName is what the engine of causes judges, in the part "why".
	SnapshotName = "snapshot.json"
	snapshotFile = "why/" + SnapshotName
)

// Manifest is what an archive says of itself.
type Manifest struct {
	// Format is the version of the archive's layout.
	Format      int       `json:"format"`
	Environment string    `json:"environment"`
	Created     time.Time `json:"created"`
	// By is the version of the program that made it.
	By    string  `json:"by"`
	Parts []Taken `json:"parts"`
	// Secrets is how many secret values were known and looked for.
	Secrets int `json:"secretsLookedFor"`
}

const format = 1

// Target is where an archive goes.
type Target struct {
	// Path is the file; it must not exist.
	Path string
	// Recipients encrypt it; none means no encryption.
	Recipients []age.Recipient
}

// Written is what was written.
type Written struct {
	Path string `json:"path"`
	// Bytes is the size of the file, Files the number of files in it.
	Bytes     int64     `json:"bytes"`
	Files     int       `json:"files"`
	Encrypted bool      `json:"encrypted"`
	Missing   []Missing `json:"missing"`
}

// Write writes an archive with mode 0600. Every byte of it is looked through for known
// secrets and for what has the form of one.
func Write(to Target, m Manifest, c Collected, known *redact.Known, limits Limits) (Written, error) {
	if _, err := os.Lstat(to.Path); err == nil {
		return Written{}, exists(to.Path)
	}
	temporary, err := os.CreateTemp(filepath.Dir(to.Path), ".slipway-support-") // mode 0600
	if err != nil {
		return Written{}, fault.Usage(to.Path, err, "choose a folder that exists and can be written with --out")
	}
	defer os.Remove(temporary.Name())
	w := &writer{known: known, left: limits.Size, missing: c.Missing, folder: fmt.Sprintf("slipway-support-%s-%s", m.Environment, m.Created.UTC().Format("20060102T150405Z"))}
	m.Format, m.Parts, m.Secrets = format, c.Taken, known.Count()
	err = errors.Join(w.all(temporary, to.Recipients, m, c.files), temporary.Sync(), temporary.Close())
	if err != nil {
		return Written{}, fault.New(to.Path, fmt.Errorf("writing the archive: %w", err), "free space, or choose another folder with --out")
	}
	if err := place(temporary.Name(), to.Path); err != nil {
		return Written{}, err
	}
	info, err := os.Stat(to.Path)
	if err != nil {
		return Written{}, fmt.Errorf("reading %s: %w", to.Path, err)
	}
	return Written{Path: to.Path, Bytes: info.Size(), Files: w.files, Encrypted: len(to.Recipients) > 0, Missing: w.missing}, nil
}

func exists(path string) error {
	return fault.Usage(path, errors.New("it exists"), "choose another name with --out")
}

// place gives a file its name. It never replaces one that came in the meantime.
func place(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrExist) { // a file system without links: take the name first
		var name *os.File
		if name, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			if err = errors.Join(name.Close(), os.Rename(from, to)); err != nil {
				_ = os.Remove(to)
			}
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return exists(to)
	case err != nil:
		return fault.New(to, fmt.Errorf("writing the archive: %w", err), "choose another name with --out")
	}
	return nil
}

// writer writes the files, without secrets.
type writer struct {
	known   *redact.Known
	folder  string
	left    int64
	files   int
	missing []Missing
	tar     *tar.Writer
	at      time.Time
}

func (w *writer) all(to io.Writer, recipients []age.Recipient, m Manifest, files []file) error {
	var closers []io.Closer
	if len(recipients) > 0 {
		sealed, err := age.Encrypt(to, recipients...)
		if err != nil {
			return fmt.Errorf("encrypting: %w", err)
		}
		to, closers = sealed, append(closers, sealed)
	}
	packed, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("compressing: %w", err)
	}
	w.tar, w.at = tar.NewWriter(packed), m.Created
	for _, f := range files {
		if err = w.add(f); err != nil {
			break
		}
	}
	// The size is for what was collected; what was not is always told.
	w.left = 1 << 40
	if err == nil {
		err = errors.Join(w.json(missingFile, orEmpty(w.missing)), w.json(manifestFile, m))
	}
	err = errors.Join(err, w.tar.Close(), packed.Close())
	for _, c := range closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

func orEmpty(list []Missing) []Missing {
	if list == nil {
		return []Missing{}
	}
	return list
}

func (w *writer) json(name string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	return w.add(file{name, append(text, '\n')})
}

// add writes a file, unless it does not fit or a secret is left in it.
func (w *writer) add(f file) error {
	text, name := w.known.Scrub(f.text), string(w.known.Scrub([]byte(f.name)))
	switch {
	case w.known.Left(text):
		w.missing = append(w.missing, Missing{path.Dir(name), path.Base(name), "a secret was left in it"})
		return nil
	case int64(len(text)) > w.left:
		w.missing = append(w.missing, Missing{path.Dir(name), path.Base(name), fmt.Sprintf("its %d bytes do not fit into --max-size", len(text))})
		return nil
	}
	w.left -= int64(len(text))
	w.files++
	if err := w.tar.WriteHeader(&tar.Header{Name: w.folder + "/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: w.at, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := w.tar.Write(text)
	return err
}

// Recipients reads age recipients (age1…).
func Recipients(list []string) ([]age.Recipient, error) {
	var all []age.Recipient
	var wrong []error
	for _, text := range list {
		r, err := age.ParseX25519Recipient(text)
		if err != nil {
			wrong = append(wrong, fault.Usage("--recipient "+text, err, "give the public key that age-keygen printed, which begins with age1"))
			continue
		}
		all = append(all, r)
	}
	return all, errors.Join(wrong...)
}
