// Package charts finds Helm charts: in a folder that a bundle brings, in
// repositories over HTTP and OCI, and in a cache of what was fetched.
package charts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// IndexFile is the name of the index in a folder of charts.
const IndexFile = "index.json"

// Reference names a chart as a HelmRelease does.
type Reference struct {
	// Repository is an address with http, https or oci.
	Repository string
	Name       string
	// Version is exact, with or without a leading v.
	Version string
	// Digest is what the archive must have (sha256:<hex>), or empty.
	Digest string
}

// String is repository/name version.
func (r Reference) String() string {
	return strings.TrimSuffix(r.Repository, "/") + "/" + r.Name + " " + r.Version
}

// Index says which file of a folder is which chart. A chart that several
// repositories publish has an entry for each.
type Index struct {
	Charts []Entry `json:"charts"`
}

// Entry is one chart of one repository.
type Entry struct {
	Repository string `json:"repository"`
	Name       string `json:"name"`
	Version    string `json:"version"`
	// File is the archive's name in the folder, <name>-<version>.tgz.
	File string `json:"file"`
	// Digest is the archive's, sha256:<hex>.
	Digest string `json:"digest"`
}

// ReadIndex reads the index of a folder. A folder without one has no charts.
func ReadIndex(dir string) (*Index, error) {
	data, err := os.ReadFile(filepath.Join(dir, IndexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return &Index{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading index of charts: %w", err)
	}
	index := &Index{}
	if err := json.Unmarshal(data, index); err != nil {
		return nil, fmt.Errorf("reading index of charts: %w", err)
	}
	for _, entry := range index.Charts {
		if entry.File != filepath.Base(entry.File) || !strings.HasPrefix(entry.Digest, digestPrefix) {
			return nil, fmt.Errorf("reading index of charts: entry %s %s: invalid file %q or digest %q",
				entry.Name, entry.Version, entry.File, entry.Digest)
		}
	}
	return index, nil
}

// Find returns the entry of a chart. Addresses are compared without a slash at
// the end and with hosts in lower case, versions without a leading v.
func (i *Index) Find(reference Reference) (Entry, bool) {
	repository, version := canonicalRepository(reference.Repository), canonicalVersion(reference.Version)
	for _, entry := range i.Charts {
		if entry.Name == reference.Name && canonicalVersion(entry.Version) == version &&
			canonicalRepository(entry.Repository) == repository {
			return entry, true
		}
	}
	return Entry{}, false
}

const digestPrefix = "sha256:"

func canonicalVersion(version string) string { return strings.TrimPrefix(version, "v") }

func canonicalRepository(address string) string {
	address = strings.TrimRight(address, "/")
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	parsed.Scheme, parsed.Host = strings.ToLower(parsed.Scheme), strings.ToLower(parsed.Host)
	return parsed.String()
}
