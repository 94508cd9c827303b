package httpstate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

// scheme is that of the engine's URL for a state on a server: the engine takes https:// for
// Pulumi's own service.
const scheme = "slipway-http"

// EngineURL is the URL by which the engine's process opens a state.
func EngineURL(stateURL string) string {
	return scheme + "://state?" + url.Values{"address": {stateURL}}.Encode()
}

// Register lets this process open states on servers. environ has the login.
func Register(mux *blob.URLMux, environ []string) { mux.RegisterBucket(scheme, opener(environ)) }

type opener []string

// OpenBucketURL opens a state.
func (o opener) OpenBucketURL(_ context.Context, u *url.URL) (*blob.Bucket, error) {
	client, err := New(u.Query().Get("address"), o)
	if err != nil {
		return nil, err
	}
	return blob.NewBucket(newBucket(client)), nil
}

// What the engine calls its files (pkg/backend/diy).
const (
	metaFile    = ".pulumi/meta.yaml"
	locksFolder = ".pulumi/locks/"
	stateFolder = ".pulumi/stacks/"
)

// bucket is what the engine sees: a store of files. Its checkpoint is the document on the
// server, its lock file the server's lock. All else, such as the engine's own history, stays in
// memory: a server like GitLab keeps versions itself.
type bucket struct {
	client *Client

	mu    sync.Mutex
	files map[string][]byte
	// loaded says that environment and checkpoint are as on the server.
	loaded      bool
	environment string
	checkpoint  []byte
	// lockFile is the engine's name of the lock that is held, lock its ID on the server.
	lockFile, lock string
	deleted        bool
}

func newBucket(client *Client) *bucket {
	return &bucket{client: client, files: map[string][]byte{metaFile: []byte("version: 1\n")}}
}

var errNotFound = errors.New("there is no such file")

// stack is the environment whose checkpoint a file is.
func stack(key string) (name string, checkpoint bool) {
	name, is := strings.CutSuffix(key, ".json")
	name = name[strings.LastIndex(name, "/")+1:]
	return name, is && strings.HasPrefix(key, stateFolder)
}

// load reads the document; b.mu is held.
func (b *bucket) load(ctx context.Context) (err error) {
	if b.loaded {
		return nil
	}
	b.environment, b.checkpoint, err = b.client.Read(ctx)
	b.loaded = err == nil
	return err
}

// content is a file's; b.mu is held.
func (b *bucket) content(ctx context.Context, key string) ([]byte, error) {
	name, checkpoint := stack(key)
	if !checkpoint {
		if text, there := b.files[key]; there {
			return text, nil
		}
		return nil, errNotFound
	}
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	if err := b.same(name); err != nil {
		return nil, err
	}
	if b.checkpoint == nil {
		return nil, errNotFound
	}
	return b.checkpoint, nil
}

// same refuses a document of another environment.
func (b *bucket) same(name string) error {
	if b.environment == "" || b.environment == name {
		return nil
	}
	return b.client.fault("reading it", fmt.Errorf("it is the state of environment %q", b.environment), "give each environment an address of its own in spec.state.backend")
}

// put writes a file.
func (b *bucket) put(ctx context.Context, key string, text []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if strings.HasPrefix(key, locksFolder) {
		return b.take(ctx, key, text)
	}
	name, checkpoint := stack(key)
	if !checkpoint {
		b.files[key] = text
		return nil
	}
	if b.lock == "" { // a new state: the engine writes it without a lock
		lock, err := b.client.Lock(ctx, ThisProcess())
		if err != nil {
			return err
		}
		b.loaded = false
		return errors.Join(b.write(ctx, lock, name, text), b.client.Unlock(context.WithoutCancel(ctx), lock))
	}
	return b.write(ctx, b.lock, name, text)
}

func (b *bucket) write(ctx context.Context, lock, name string, text []byte) error {
	if err := b.load(ctx); err != nil {
		return err
	}
	if err := b.same(name); err != nil {
		return err
	}
	if err := b.client.Write(ctx, lock, name, text); err != nil {
		return err
	}
	b.environment, b.checkpoint = name, text
	return nil
}

// take takes the lock for the holder in the engine's lock file.
func (b *bucket) take(ctx context.Context, key string, text []byte) error {
	var file struct {
		PID       int       `json:"pid"`
		Username  string    `json:"username"`
		Hostname  string    `json:"hostname"`
		Timestamp time.Time `json:"timestamp"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("reading the engine's lock: %w", err)
	}
	lock, err := b.client.Lock(ctx, Holder{file.Username, file.Hostname, file.PID, file.Timestamp})
	if err != nil {
		return err
	}
	b.lockFile, b.lock, b.files[key] = key, lock, text
	b.loaded = false // what was read before the lock may have changed
	return nil
}

// Delete deletes a file: the document, or the lock.
func (b *bucket) Delete(ctx context.Context, key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.content(ctx, key); err != nil {
		return err
	}
	if _, checkpoint := stack(key); checkpoint {
		if err := b.client.Delete(ctx, b.lock); err != nil {
			return err
		}
		b.environment, b.checkpoint, b.deleted = "", nil, true
		return nil
	}
	if key == b.lockFile {
		// GitLab deletes the lock with the state, and knows neither from then on.
		if err := b.client.Unlock(ctx, b.lock); err != nil && !b.deleted {
			return err
		}
		b.lockFile, b.lock = "", ""
	}
	delete(b.files, key)
	return nil
}

// Copy copies a file in memory.
func (b *bucket) Copy(ctx context.Context, to, from string, _ *driver.CopyOptions) error {
	b.mu.Lock()
	text, err := b.content(ctx, from)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return b.put(ctx, to, text)
}

// Attributes has the size of a file.
func (b *bucket) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, err := b.content(ctx, key)
	if err != nil {
		return nil, err
	}
	return &driver.Attributes{ContentType: "application/octet-stream", Size: int64(len(text))}, nil
}

// ListPaged lists all files of a folder in one page.
func (b *bucket) ListPaged(ctx context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sizes := map[string]int{}
	for key, text := range b.files {
		sizes[key] = len(text)
	}
	if strings.HasPrefix(o.Prefix, stateFolder) || strings.HasPrefix(stateFolder, o.Prefix) {
		if err := b.load(ctx); err != nil {
			return nil, err
		}
		if b.checkpoint != nil {
			sizes[stateFolder+project+"/"+b.environment+".json"] = len(b.checkpoint)
		}
	}
	page, folders := &driver.ListPage{}, map[string]bool{}
	for key, size := range sizes {
		rest, in := strings.CutPrefix(key, o.Prefix)
		if !in {
			continue
		}
		folder, _, deeper := strings.Cut(rest, o.Delimiter)
		if folder = o.Prefix + folder + o.Delimiter; o.Delimiter == "" || !deeper {
			page.Objects = append(page.Objects, &driver.ListObject{Key: key, Size: int64(size)})
		} else if !folders[folder] {
			folders[folder] = true
			page.Objects = append(page.Objects, &driver.ListObject{Key: folder, IsDir: true})
		}
	}
	slices.SortFunc(page.Objects, func(a, b *driver.ListObject) int { return strings.Compare(a.Key, b.Key) })
	return page, nil
}

// NewRangeReader reads a file.
func (b *bucket) NewRangeReader(ctx context.Context, key string, offset, length int64, _ *driver.ReaderOptions) (driver.Reader, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, err := b.content(ctx, key)
	if err != nil {
		return nil, err
	}
	r := &fileReader{attributes: driver.ReaderAttributes{ContentType: "application/octet-stream", Size: int64(len(text))}}
	text = text[min(offset, int64(len(text))):]
	if length >= 0 {
		text = text[:min(length, int64(len(text)))]
	}
	r.Reader = bytes.NewReader(text)
	return r, nil
}

type fileReader struct {
	io.Reader
	attributes driver.ReaderAttributes
}

func (r *fileReader) Close() error                         { return nil }
func (r *fileReader) Attributes() *driver.ReaderAttributes { return &r.attributes }
func (r *fileReader) As(any) bool                          { return false }

// NewTypedWriter writes a file when it is closed.
func (b *bucket) NewTypedWriter(ctx context.Context, key, _ string, _ *driver.WriterOptions) (driver.Writer, error) {
	return &fileWriter{ctx: ctx, bucket: b, key: key}, nil
}

type fileWriter struct {
	bytes.Buffer
	ctx    context.Context
	bucket *bucket
	key    string
}

// Close writes the file, unless the writing was given up.
func (w *fileWriter) Close() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	return w.bucket.put(w.ctx, w.key, bytes.Clone(w.Bytes()))
}

// SignedURL is not supported.
func (b *bucket) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errors.ErrUnsupported
}

// ErrorCode tells the engine that a file is not there.
func (b *bucket) ErrorCode(err error) gcerrors.ErrorCode {
	if errors.Is(err, errNotFound) {
		return gcerrors.NotFound
	}
	return gcerrors.Unknown
}

// As has no types of its own.
func (b *bucket) As(any) bool { return false }

// ErrorAs has no types of its own.
func (b *bucket) ErrorAs(error, any) bool { return false }

// Close does nothing: the engine gives back its lock itself.
func (b *bucket) Close() error { return nil }
