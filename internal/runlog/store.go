package runlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // driver for azblob://
	_ "gocloud.dev/blob/gcsblob"   // driver for gs://
	_ "gocloud.dev/blob/s3blob"    // driver for s3://
)

// Open returns the store beside a state: in the same folder or bucket, with the same login.
// close ends it.
func Open(ctx context.Context, stateURL string) (store Store, close func() error, err error) {
	if dir, local := strings.CutPrefix(stateURL, "file://"); local {
		dir, _, _ = strings.Cut(dir, "?")
		return Folder(dir), func() error { return nil }, nil
	}
	address, prefix, err := bucketOf(stateURL)
	if err != nil {
		return nil, nil, err
	}
	b, err := blob.OpenBucket(ctx, address)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the bucket of the state: %w", err)
	}
	if prefix != "" {
		b = blob.PrefixedBucket(b, prefix)
	}
	return Bucket{b}, b.Close, nil
}

// bucketOf splits the URL of a state into that of the bucket and the prefix in it, and
// writes old names of parameters as the driver wants them, as the engine does
// (pulumi/pkg/backend/diy, translateLegacyS3Params).
func bucketOf(stateURL string) (address, prefix string, err error) {
	u, err := url.Parse(stateURL)
	if err != nil {
		return "", "", errors.New("the URL of the state cannot be read")
	}
	if prefix = strings.Trim(u.Path, "/"); prefix != "" {
		prefix += "/"
	}
	u.Path = ""
	query := u.Query()
	plain := query.Get("disableSSL") == "true"
	if query.Has("disableSSL") {
		query.Set("disable_https", query.Get("disableSSL"))
		query.Del("disableSSL")
	}
	if endpoint := query.Get("endpoint"); endpoint != "" && !strings.Contains(endpoint, "://") {
		query.Set("endpoint", map[bool]string{true: "http://", false: "https://"}[plain]+endpoint)
	}
	u.RawQuery = query.Encode()
	return u.String(), prefix, nil
}

// Folder is a Store in a folder. Files have mode 0600 and are replaced whole.
type Folder string

// Put writes a file.
func (f Folder) Put(_ context.Context, name string, text []byte) error {
	to := filepath.Join(string(f), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(to), ".new-") // mode 0600
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), to)
	}
	if err != nil {
		os.Remove(temporary.Name())
	}
	return err
}

// Get reads a file.
func (f Folder) Get(_ context.Context, name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), filepath.FromSlash(name)))
}

// List lists a folder; none if it does not exist.
func (f Folder) List(_ context.Context, folder string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(string(f), filepath.FromSlash(folder)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, path.Join(folder, e.Name()))
		}
	}
	return names, err
}

// Delete deletes a file.
func (f Folder) Delete(_ context.Context, name string) error {
	return os.Remove(filepath.Join(string(f), filepath.FromSlash(name)))
}

// Bucket is a Store in a bucket of an object store.
type Bucket struct{ *blob.Bucket }

// Put writes an object.
func (b Bucket) Put(ctx context.Context, name string, text []byte) error {
	return b.WriteAll(ctx, name, text, nil)
}

// Get reads an object.
func (b Bucket) Get(ctx context.Context, name string) ([]byte, error) { return b.ReadAll(ctx, name) }

// List lists the objects below a folder.
func (b Bucket) List(ctx context.Context, folder string) ([]string, error) {
	var names []string
	all := b.Bucket.List(&blob.ListOptions{Prefix: folder + "/"})
	for {
		o, err := all.Next(ctx)
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return names, err
		}
		names = append(names, o.Key)
	}
}
