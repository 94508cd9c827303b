package objectstore

import (
	"crypto/md5" //nolint:gosec // Swift's ETag is an MD5
	"encoding/hex"
	"errors"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// part is length bytes from offset of a file.
type part struct {
	id             string
	offset, length int64
}

func length(parts []part) (n int64) {
	for _, p := range parts {
		n += p.length
	}
	return n
}

// resolve finds the files that an object's bytes are in. Manifests may name
// manifests, ten deep.
func (s *service) resolve(r store.Reader, project string, o model.Object, depth int) ([]part, error) {
	if depth > 10 {
		return nil, api.Conflict("Max recursion depth exceeded")
	}
	var parts []part
	switch {
	case o.Manifest != "":
		for _, segment := range s.dynamic(r, project, o) {
			more, err := s.resolve(r, project, segment, depth+1)
			if err != nil {
				return nil, err
			}
			parts = append(parts, more...)
		}
		return parts, nil
	case o.Segments != nil:
		for _, segment := range o.Segments {
			found, ok := s.segment(r, project, segment.Path)
			if !ok || found.ETag != segment.ETag {
				return nil, api.Conflict("Segment %s of the large object is missing or was changed.", segment.Path)
			}
			more, err := s.resolve(r, project, found, depth+1)
			if err != nil {
				return nil, err
			}
			parts = append(parts, slice(more, segment.Offset, segment.Length)...)
		}
		return parts, nil
	}
	return []part{{o.ID, 0, o.Size}}, nil
}

// slice cuts length bytes from offset out of parts.
func slice(parts []part, offset, length int64) []part {
	var cut []part
	for _, p := range parts {
		if offset >= p.length {
			offset -= p.length
			continue
		}
		n := min(p.length-offset, length)
		if n <= 0 {
			break
		}
		cut = append(cut, part{p.id, p.offset + offset, n})
		length, offset = length-n, 0
	}
	return cut
}

// segment finds an object by its path in an account, "/container/object".
func (s *service) segment(r store.Reader, project, path string) (model.Object, bool) {
	container, object, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !ok {
		return model.Object{}, false
	}
	return s.current(r, place{project, container, object})
}

// dynamic lists the segments of a dynamic large object as they are now.
func (s *service) dynamic(r store.Reader, project string, o model.Object) []model.Object {
	manifest, err := url.PathUnescape(o.Manifest)
	if err != nil {
		manifest = o.Manifest
	}
	container, prefix, _ := strings.Cut(manifest, "/")
	var segments []model.Object
	for segment := range s.model.In.Each(r, model.BucketKey(project, container)) {
		if strings.HasPrefix(segment.Path, prefix) && segment.ID != o.ID && !s.expired(segment) {
			segments = append(segments, segment)
		}
	}
	slices.SortFunc(segments, func(a, b model.Object) int { return strings.Compare(a.Path, b.Path) })
	return segments
}

func (s *service) dynamicETag(r store.Reader, project string, o model.Object) string {
	sum := md5.New()
	for _, segment := range s.dynamic(r, project, o) {
		sum.Write([]byte(segment.ETag))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// joined reads parts of files as one file. It has one file open at a time.
type joined struct {
	files files
	parts []part
	size  int64
	pos   int64
	open  *os.File
	id    string
}

// check opens the first file, to find out early that it is gone.
func (j *joined) check() error {
	if len(j.parts) == 0 {
		return nil
	}
	return j.use(j.parts[0].id)
}

func (j *joined) use(id string) (err error) {
	if j.open != nil && j.id == id {
		return nil
	}
	j.close()
	j.open, err = j.files.open(id)
	j.id = id
	return err
}

func (j *joined) close() {
	if j.open != nil {
		_ = j.open.Close() // it was only read
		j.open = nil
	}
}

// Seek implements io.Seeker.
func (j *joined) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += j.pos
	case io.SeekEnd:
		offset += j.size
	}
	if offset < 0 {
		return 0, errors.New("seeking before the start")
	}
	j.pos = offset
	return offset, nil
}

// Read implements io.Reader.
func (j *joined) Read(p []byte) (int, error) {
	at := j.pos
	for _, part := range j.parts {
		if at >= part.length {
			at -= part.length
			continue
		}
		if err := j.use(part.id); err != nil {
			return 0, err
		}
		n, err := j.open.ReadAt(p[:min(int64(len(p)), part.length-at)], part.offset+at)
		j.pos += int64(n)
		if n > 0 {
			err = nil
		}
		return n, err
	}
	return 0, io.EOF
}
