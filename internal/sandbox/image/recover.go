package image

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// part is where a writer puts bytes until they are complete.
func (s *service) part(id, writer string) string { return File(s.env, id) + "." + writer + ".part" }

// staged is where bytes wait for their import.
func (s *service) staged(id string) string { return File(s.env, id) + ".staged" }

// discard removes the bytes of an image.
func (s *service) discard(id string) {
	for _, path := range []string{File(s.env, id), s.staged(id)} {
		_ = os.Remove(path) // most often there is none
	}
}

// recover ends what a process that died left half done: images that were
// being written are queued again, and files that no image has are removed.
// Imports begin anew.
func (s *service) recover() {
	keep := map[string]bool{}
	err := s.env.Store.Update(func(tx *store.Tx) error {
		for v := range s.model.Image.Images.All(tx) {
			switch {
			case v.Status == model.ImageSaving || v.Status == model.ImageUploading && v.Staged == nil:
				s.model.Image.Images.Change(tx, v.ID, func(v *model.Image) { v.Status, v.Writer = model.ImageQueued, "" })
			case v.Size != nil:
				keep[filepath.Base(File(s.env, v.ID))] = true
			case v.Staged != nil:
				keep[filepath.Base(s.staged(v.ID))] = true
			}
		}
		return nil
	})
	if err != nil {
		s.env.Events.Emit(event.Event{Time: s.env.Timing.Now(), State: event.Note, Step: "images", Error: err.Error()})
		return
	}
	files, _ := os.ReadDir(filepath.Dir(File(s.env, "any"))) // no folder, no files
	for _, file := range files {
		if !keep[file.Name()] && !strings.HasPrefix(file.Name(), ".") {
			_ = os.Remove(File(s.env, file.Name()))
		}
	}
}
