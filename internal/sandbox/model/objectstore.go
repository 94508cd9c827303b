package model

import (
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// ObjectAccount is what a project keeps objects in. Meta holds its metadata,
// under header names without "X-Account-Meta-".
type ObjectAccount struct {
	ProjectID string            `json:"project_id"`
	Created   time.Time         `json:"created"`
	Meta      map[string]string `json:"meta"`
}

// Bucket is a container of objects.
type Bucket struct {
	ProjectID string            `json:"project_id"`
	Container string            `json:"container"`
	Created   time.Time         `json:"created"`
	Modified  time.Time         `json:"modified"`
	Meta      map[string]string `json:"meta"`
	// Headers are kept as they were sent: access lists, versioning and such.
	Headers map[string]string `json:"headers"`
	// Versioned keeps what is overwritten and deleted.
	Versioned bool `json:"versioned"`
}

// Key identifies a container.
func (b Bucket) Key() string { return BucketKey(b.ProjectID, b.Container) }

// BucketKey is the key of a container; a project's id has no slash.
func BucketKey(projectID, container string) string { return projectID + "/" + container }

// Object is an object, or a version of one. ID is the name of its file, which
// large objects and markers do not have.
type Object struct {
	ID        string            `json:"id"`
	Bucket    string            `json:"bucket"` // the container's key
	Path      string            `json:"path"`
	Size      int64             `json:"size"`
	ETag      string            `json:"etag"` // MD5, in hexadecimal
	Type      string            `json:"content_type"`
	Modified  time.Time         `json:"modified"`
	Meta      map[string]string `json:"meta,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	DeleteAt  int64             `json:"delete_at,omitempty"` // seconds since 1970
	Manifest  string            `json:"manifest,omitempty"`  // container/prefix of a dynamic large object
	Segments  []ObjectSegment   `json:"segments,omitempty"`  // of a static large object
	VersionID string            `json:"version_id,omitempty"`
	// Latest is the version that the name leads to; Marker says that this
	// version is a deletion.
	Latest bool `json:"latest"`
	Marker bool `json:"marker,omitempty"`
}

// At is where an object is.
func (o Object) At() string { return o.Bucket + "/" + o.Path }

// ObjectSegment is a part of a static large object: Length bytes from Offset
// of the object at Path, "/container/object".
type ObjectSegment struct {
	Path     string    `json:"path"`
	ETag     string    `json:"etag"`
	Size     int64     `json:"size"`
	Offset   int64     `json:"offset"`
	Length   int64     `json:"length"`
	Range    string    `json:"range,omitempty"`
	Type     string    `json:"content_type"`
	Modified time.Time `json:"modified"`
}

// ObjectStorage is the tables of Swift.
type ObjectStorage struct {
	Accounts  *store.Table[ObjectAccount]
	Buckets   *store.Table[Bucket]
	BucketsOf *store.Index[Bucket] // by project
	Objects   *store.Table[Object]
	// Current finds the latest versions by place, In by container; VersionsAt
	// and Versions find all.
	Current    *store.Index[Object]
	In         *store.Index[Object]
	VersionsAt *store.Index[Object]
	Versions   *store.Index[Object]
}

func newObjectStorage(s *store.Store) ObjectStorage {
	m := ObjectStorage{
		Accounts: store.NewTable(s, "objectstore.accounts", func(v ObjectAccount) string { return v.ProjectID }),
		Buckets:  store.NewTable(s, "objectstore.containers", Bucket.Key),
		Objects:  store.NewTable(s, "objectstore.objects", func(v Object) string { return v.ID }),
	}
	present := func(value func(Object) string) func(Object) []string {
		return func(v Object) []string {
			if !v.Latest || v.Marker {
				return nil
			}
			return []string{value(v)}
		}
	}
	m.BucketsOf = m.Buckets.Index(func(v Bucket) string { return v.ProjectID })
	m.Current = m.Objects.IndexEach(present(Object.At))
	m.In = m.Objects.IndexEach(present(func(v Object) string { return v.Bucket }))
	m.VersionsAt = m.Objects.Index(Object.At)
	m.Versions = m.Objects.Index(func(v Object) string { return v.Bucket })
	return m
}
