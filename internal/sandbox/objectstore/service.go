// Package objectstore is Swift: accounts, containers and objects. Objects are
// files below the sandbox's folder; a record points to a file only when the
// file is whole, and files without a record are removed at start.
package objectstore

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"path/filepath"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const (
	prefix = "/object-store"
	// accountPrefix is before the project's id in the name of an account.
	accountPrefix = "AUTH_"
	// sweepEvery is how often objects whose time is over are removed; they
	// cannot be read from that time on.
	sweepEvery = time.Minute
)

type service struct {
	env   *api.Env
	model model.ObjectStorage
	files files
}

// New returns the service and removes files that a crash has left.
func New(env *api.Env) *api.Service {
	s := &service{env: env, model: env.Model.Objects, files: files{filepath.Join(env.Dir, "objects")}}
	if err := s.removeOrphans(); err != nil {
		s.note("removing files without an object", err)
	}
	return &api.Service{
		Name: "swift", Type: "object-store", Prefix: prefix, Catalog: prefix + "/v1/" + accountPrefix + "%(project_id)s",
		Errors: errorPage, Routes: []api.Route{{Pattern: "GET /info", Role: api.Public, Handle: s.info}},
		Fallback: s.serve, Anonymous: true, Run: s.run,
	}
}

// errorPage is Swift's short page.
func errorPage(e *api.Error) (string, []byte) {
	return "text/html; charset=UTF-8", fmt.Appendf(nil, "<html><h1>%s</h1><p>%s</p></html>",
		http.StatusText(e.Status), html.EscapeString(e.Message))
}

func (s *service) note(what string, err error) {
	s.env.Events.Emit(event.Event{Time: s.env.Timing.Now(), State: event.Note, Step: "object store", Message: what, Error: err.Error()})
}

// run removes objects whose time is over until the context ends.
func (s *service) run(ctx context.Context) {
	tick := s.env.Timing.Clock.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
		}
		if err := s.removeExpired(); err != nil {
			s.note("removing expired objects", err)
		}
	}
}

func (s *service) removeExpired() error {
	var gone []string
	err := s.env.Store.Update(func(tx *store.Tx) error {
		for o := range s.model.Objects.All(tx) {
			if s.expired(o) {
				s.model.Objects.Delete(tx, o.ID)
				gone = append(gone, o.ID)
			}
		}
		return nil
	})
	if err == nil {
		s.files.remove(gone...)
	}
	return err
}

func (s *service) expired(o model.Object) bool {
	return o.DeleteAt > 0 && o.DeleteAt <= s.env.Timing.Now().Unix()
}

func (s *service) removeOrphans() error {
	return s.env.Store.View(func(r store.Reader) error {
		return s.files.sweep(func(id string) bool {
			_, ok := s.model.Objects.Get(r, id)
			return ok
		})
	})
}

// info tells what the store can do.
func (s *service) info(c *api.Call) error {
	return c.Reply(http.StatusOK, map[string]any{
		"swift": map[string]any{"version": "2.33.0", "max_file_size": int64(maxObject), "max_meta_name_length": 128,
			"max_meta_value_length": 256, "max_meta_count": 90, "max_meta_overall_size": 4096, "max_header_size": 8192,
			"max_object_name_length": maxObjectName, "max_container_name_length": maxContainerName,
			"max_account_name_length": 256, "container_listing_limit": listingLimit, "account_listing_limit": listingLimit,
			"valid_api_versions": []string{"v1", "v1.0"}, "strict_cors_mode": true, "allow_account_management": false,
			"account_autocreate": true, "extra_header_count": 0, "policies": []any{map[string]any{"name": "Policy-0", "default": true}}},
		"slo": map[string]any{"max_manifest_segments": maxSegments, "max_manifest_size": maxManifest, "min_segment_size": 1,
			"allow_async_delete": false, "yield_frequency": 10},
		"dlo":               map[string]any{"max_segments": listingLimit},
		"bulk_delete":       map[string]any{"max_deletes_per_request": maxDeletes, "max_failed_deletes": 1000},
		"tempurl":           map[string]any{"methods": []string{"GET", "HEAD", "PUT", "POST", "DELETE"}, "allowed_digests": []string{"sha1", "sha256", "sha512"}, "incoming_allow_headers": []any{}, "incoming_remove_headers": []string{"x-timestamp"}, "outgoing_allow_headers": []string{"x-object-meta-public-*"}, "outgoing_remove_headers": []string{"x-object-meta-*"}},
		"object_versioning": map[string]any{},
		"container_quotas":  map[string]any{},
		"tempauth":          map[string]any{"account_acls": false},
	})
}
