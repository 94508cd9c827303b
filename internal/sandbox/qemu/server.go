package qemu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

// server is one machine: the record of it, which is a file in its folder, and what is
// done with it.
type server struct {
	driver *Driver

	Spec machine.Spec
	// Image is the name under which the store keeps the image.
	Image string
	// Cards are the ports by the order of their slots.
	Cards []machine.Port
	// Slots are the volumes by the letter of their device: 0 is /dev/vda.
	Slots   machine.Slots
	Process process.ID
	// Halted says that the machine stands still for as long as its disk is read.
	Halted bool
}

// rootSlot stands for the disk made of an image.
const rootSlot = "root"

func now() time.Time { return time.Now() }

func (s *server) path(name string) string { return s.driver.Path(s.Spec.ID, name) }
func (s *server) save() error             { return s.driver.Save(s) }

// ID, ImageName and LocalDisks are for lifecycle.Server.
func (s *server) ID() string        { return s.Spec.ID }
func (s *server) ImageName() string { return s.Image }

// LocalDisks are the volumes that end with the machine.
func (s *server) LocalDisks() (ids []string) {
	for i := range s.Spec.Local {
		ids = append(ids, s.local(i))
	}
	return ids
}

// socket is where QEMU listens for commands; its path has at most 107 characters.
func (s *server) socket() string {
	return filepath.Join(s.driver.site.RunDir, "vm-"+strings.ReplaceAll(s.Spec.ID, "-", ""))
}

// Fit removes the cards and volumes that a spec does not have.
func (s *server) Fit(spec machine.Spec) {
	s.Cards = slices.DeleteFunc(s.Cards, func(p machine.Port) bool { return !spec.HasPort(p.ID) })
	s.Slots.Keep(append([]string{rootSlot}, spec.Volumes...))
}

// Make fills the record of a machine that does not exist yet.
func (s *server) Make(ctx context.Context, spec machine.Spec) error {
	s.Spec, s.Cards = spec, spec.Ports
	if err := os.MkdirAll(s.path(""), 0o700); err != nil {
		return fmt.Errorf("making folder: %w", err)
	}
	switch {
	case spec.Image != "":
		name, err := s.driver.images.Keep(ctx, spec.Image)
		if err != nil {
			return err
		}
		s.Image, s.Slots = name, machine.Slots{rootSlot}
	case len(spec.Volumes) == 0:
		return errors.New("there is neither an image nor a volume to boot from")
	}
	for _, id := range spec.Volumes {
		if _, err := s.Slots.Take(id); err != nil {
			return err
		}
	}
	if err := s.check(); err != nil {
		return err
	}
	for i, disk := range spec.Local {
		if err := s.driver.site.Disks.CreateVolume(ctx, machine.Volume{ID: s.local(i), GiB: disk.GiB}); err != nil {
			return err
		}
	}
	return s.save()
}

// local is what stands for the id of a volume for a disk of the machine's own.
func (s *server) local(i int) string { return fmt.Sprintf("%s-local-%d", s.Spec.ID, i) }

// Instance is what metadata tell of the machine.
func (s *server) Instance() metadata.Instance {
	i := metadata.Instance{ID: s.Spec.ID, Name: s.Spec.Name, ProjectID: s.Spec.ProjectID, Metadata: s.Spec.Metadata, Ports: s.Cards}
	if i.Metadata.Hostname == "" {
		i.Metadata.Hostname = s.Spec.Name
	}
	return i
}
