package objectstore

import (
	"crypto/md5" //nolint:gosec // Swift's ETag is an MD5
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const (
	maxSegments = 1000
	maxManifest = 8 << 20
)

// segmentInput is a part in a manifest that is sent. Size and tag may be left
// out, and are not checked then.
type segmentInput struct {
	Path  string  `json:"path"`
	ETag  *string `json:"etag"`
	Size  *int64  `json:"size_bytes"`
	Range string  `json:"range"`
}

// putManifest makes a static large object of objects that are there already.
func (s *service) putManifest(c *api.Call, p place, o model.Object) error {
	text, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxManifest))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return api.Errorf(http.StatusRequestEntityTooLarge, "", "Manifest File > %d bytes", maxManifest)
	}
	var inputs []segmentInput
	if err != nil || json.Unmarshal(text, &inputs) != nil {
		return api.BadRequest("Manifest must be valid JSON.")
	}
	if len(inputs) == 0 || len(inputs) > maxSegments {
		return api.BadRequest("Number of segments must be >= 1 and <= %d", maxSegments)
	}
	err = c.View(func(r store.Reader) error {
		var problems []string
		for _, in := range inputs {
			segment, problem := s.checkSegment(r, p, in)
			if problem != "" {
				problems = append(problems, in.Path+", "+problem)
			}
			o.Segments = append(o.Segments, segment)
			o.Size += segment.Length
		}
		if len(problems) > 0 {
			return api.BadRequest("Errors:\n%s", strings.Join(problems, "\n"))
		}
		return nil
	})
	if err != nil {
		return err
	}
	o.ETag = manifestETag(o.Segments)
	if etag := strings.Trim(c.Request.Header.Get("Etag"), `"`); etag != "" && etag != o.ETag {
		return api.Errorf(http.StatusUnprocessableEntity, "", "Unable to process the contained instructions: the ETag does not match.")
	}
	return s.created(c, p, o)
}

// checkSegment finds a part and says what is wrong with it.
func (s *service) checkSegment(r store.Reader, p place, in segmentInput) (model.ObjectSegment, string) {
	path := "/" + strings.TrimPrefix(in.Path, "/")
	found, ok := s.segment(r, p.project, path)
	segment := model.ObjectSegment{Path: path, ETag: found.ETag, Size: found.Size, Length: found.Size, Range: in.Range,
		Type: found.Type, Modified: found.Modified}
	switch {
	case !ok:
		return segment, "404 Not Found"
	case path == "/"+p.container+"/"+p.object:
		return segment, "Manifest object name cannot be one of its segments"
	case in.ETag != nil && *in.ETag != "" && strings.Trim(*in.ETag, `"`) != found.ETag:
		return segment, "Etag Mismatch"
	case in.Size != nil && *in.Size != found.Size:
		return segment, "Size Mismatch"
	case found.Size == 0:
		return segment, "Too small; each segment must be at least 1 byte."
	case in.Range == "":
		return segment, ""
	}
	var problem string
	segment.Offset, segment.Length, problem = segmentRange(in.Range, found.Size)
	return segment, problem
}

// segmentRange reads "first-last", "first-" or "-count".
func segmentRange(text string, size int64) (offset, length int64, problem string) {
	first, last, ok := strings.Cut(text, "-")
	from, errFrom := strconv.ParseInt(first, 10, 64)
	to, errTo := strconv.ParseInt(last, 10, 64)
	switch {
	case !ok || errFrom != nil && errTo != nil:
		return 0, 0, "Invalid Range"
	case first == "":
		length = min(to, size)
		return size - length, length, ""
	case last == "":
		to = size - 1
	}
	if from > to || from >= size {
		return 0, 0, "Unsatisfiable Range"
	}
	to = min(to, size-1)
	return from, to - from + 1, ""
}

func manifestETag(segments []model.ObjectSegment) string {
	sum := md5.New()
	for _, segment := range segments {
		sum.Write([]byte(segment.ETag))
		if segment.Range != "" {
			fmt.Fprintf(sum, ":%s;", segment.Range)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// getManifest shows the parts of a static large object; format=raw shows them
// as they are sent.
func (s *service) getManifest(c *api.Call, o model.Object) error {
	list := []map[string]any{}
	for _, segment := range o.Segments {
		item := map[string]any{"name": segment.Path, "hash": segment.ETag, "bytes": segment.Size, "content_type": segment.Type,
			"last_modified": listStamp(segment.Modified)}
		if c.Query("format") == "raw" {
			item = map[string]any{"path": segment.Path, "etag": segment.ETag, "size_bytes": segment.Size}
		}
		if segment.Range != "" {
			item["range"] = segment.Range
		}
		list = append(list, item)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	c.Writer.Header().Set("X-Static-Large-Object", "True")
	c.Writer.Header().Set("Etag", shownETag(o))
	return writeBody(c, "application/json; charset=utf-8", text)
}
