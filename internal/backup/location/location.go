// Package location is where backups are kept, as the environment file says it.
package location

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The schemes of locations.
const (
	Folder = "file"
	Swift  = "swift"
	S3     = "s3"
)

// Location is where a target is.
type Location struct {
	Scheme string
	// Folder is of a file location, Container and Prefix of the others.
	Folder, Container, Prefix string
	// Endpoint and Region are of an S3 server that is not Amazon's. PathStyle puts
	// the bucket into the path instead of the host name.
	Endpoint, Region string
	PathStyle        bool
}

var (
	containerPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$`)
	prefixPattern    = regexp.MustCompile(`^[A-Za-z0-9._/-]*$`)
)

// Parse reads a location: `file://` with a folder, `swift://container/prefix`, or
// `s3://bucket/prefix` with the query parameters endpoint=, region= and pathStyle=.
func Parse(text string) (Location, error) {
	scheme, rest, found := strings.Cut(text, "://")
	l := Location{Scheme: scheme}
	switch {
	case !found || !slices.Contains([]string{Folder, Swift, S3}, scheme):
		return l, errors.New("this is not a URL that begins with file://, swift:// or s3://")
	case scheme == Folder && rest == "":
		return l, errors.New("the folder is missing")
	case scheme == Folder:
		l.Folder = filepath.Clean(rest)
		return l, nil
	}
	rest, query, _ := strings.Cut(rest, "?")
	l.Container, l.Prefix, _ = strings.Cut(rest, "/")
	l.Prefix = strings.Trim(l.Prefix, "/")
	if !containerPattern.MatchString(l.Container) {
		return l, fmt.Errorf("%q is not a name of a container or bucket", l.Container)
	}
	if !prefixPattern.MatchString(l.Prefix) || slices.Contains(strings.Split(l.Prefix, "/"), "..") {
		return l, fmt.Errorf("%q is not a prefix of letters, digits, dots, dashes and slashes", l.Prefix)
	}
	return l, l.parameters(query)
}

func (l *Location) parameters(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("the query parameters cannot be read: %w", err)
	}
	for name := range values {
		value := values.Get(name)
		switch {
		case l.Scheme == S3 && name == "endpoint":
			at, err := url.Parse(value)
			if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.User != nil {
				return fmt.Errorf("the endpoint %q is not an http or https URL without a login", value)
			}
			l.Endpoint = value
		case l.Scheme == S3 && name == "region":
			l.Region = value
		case l.Scheme == S3 && name == "pathStyle":
			if l.PathStyle, err = strconv.ParseBool(value); err != nil {
				return fmt.Errorf("pathStyle is %q, not true or false", value)
			}
		default:
			return fmt.Errorf("there is no query parameter %q for %s://", name, l.Scheme)
		}
	}
	return nil
}

// Seed is the folder in a target that has the backups of the seed.
const Seed = "seed"

// Below returns the location of a folder in this one.
func (l Location) Below(folder string) Location {
	if l.Scheme == Folder {
		l.Folder = filepath.Join(l.Folder, folder)
		return l
	}
	l.Prefix = l.Key(folder)
	return l
}

// In returns the location with a relative folder joined to dir.
func (l Location) In(dir string) Location {
	if l.Scheme == Folder && !filepath.IsAbs(l.Folder) {
		l.Folder = filepath.Join(dir, l.Folder)
	}
	return l
}

// String is the location without its query.
func (l Location) String() string {
	if l.Scheme == Folder {
		return "file://" + l.Folder
	}
	return strings.TrimSuffix(l.Scheme+"://"+l.Container+"/"+l.Prefix, "/")
}

// Key is the full name of an object in the container.
func (l Location) Key(name string) string {
	if l.Prefix == "" {
		return name
	}
	return l.Prefix + "/" + name
}

// Name is the name of the object with a full name.
func (l Location) Name(key string) string {
	if l.Prefix == "" {
		return key
	}
	return strings.TrimPrefix(key, l.Prefix+"/")
}
