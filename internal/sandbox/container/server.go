package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

// server is one machine: its record, which is a file in its folder, and the operations on it.
type server struct {
	driver *Driver

	Spec machine.Spec
	// Image is the name under which images keeps the image.
	Image string
	NICs  []nic
	// Slots are the volumes by the letter of their device: 0 is /dev/vda.
	Slots    machine.Slots
	Console  console
	Prepared bool
}

// nic is a port with the name of its link in the machine.
type nic struct {
	Name string
	Port machine.Port
}

// rootSlot stands for the disk that is created from an image.
const rootSlot = "root"

func (s *server) path(name string) string { return s.driver.Path(s.Spec.ID, name) }
func (s *server) space() string           { return s.driver.Space("srv", s.Spec.ID) }
func (s *server) save() error             { return s.driver.Save(s) }

// ID, LocalDisks and ImageName are for lifecycle.Server.
func (s *server) ID() string        { return s.Spec.ID }
func (s *server) ImageName() string { return s.Image }

// LocalDisks returns the volumes that are deleted with the machine.
func (s *server) LocalDisks() (ids []string) {
	for i := range s.Spec.Local {
		ids = append(ids, s.local(i))
	}
	return ids
}

var notHost = regexp.MustCompile(`[^a-z0-9.-]+`)

// hostname returns the host name of the metadata, or else the machine's name, reduced to a form
// that the kernel accepts.
func (s *server) hostname() string {
	name := s.Spec.Metadata.Hostname
	if name == "" {
		name = s.Spec.Name
	}
	name = strings.Trim(notHost.ReplaceAllString(strings.ToLower(name), "-"), "-.")
	if name == "" {
		name = "server-" + s.Spec.ID
	}
	return strings.TrimRight(name[:min(63, len(name))], "-.")
}

func (s *server) trouble(k faultinject.Kind) bool { return slices.Contains(s.Spec.Trouble, string(k)) }

// Fit removes the ports and volumes that a spec does not have.
func (s *server) Fit(spec machine.Spec) {
	s.NICs = slices.DeleteFunc(s.NICs, func(n nic) bool { return !spec.HasPort(n.Port.ID) })
	s.Slots.Keep(slices.Concat([]string{rootSlot}, spec.Volumes, s.LocalDisks()))
}

// Make fills in the record of a machine that does not exist yet.
func (s *server) Make(ctx context.Context, spec machine.Spec) error {
	s.Spec = spec
	for i, p := range spec.Ports {
		s.NICs = append(s.NICs, nic{Name: fmt.Sprintf("eth%d", i), Port: p})
	}
	if err := os.MkdirAll(s.path(""), 0o700); err != nil {
		return fmt.Errorf("making folder: %w", err)
	}
	if spec.Image != "" {
		name, err := s.driver.images.Keep(ctx, spec.Image)
		if err != nil {
			return err
		}
		s.Image, s.Slots = name, []string{rootSlot}
	} else if len(spec.Volumes) == 0 {
		return errors.New("there is neither an image nor a volume to boot from")
	}
	s.Slots = append(s.Slots, spec.Volumes...)
	for i, disk := range spec.Local {
		if err := s.driver.volumes.CreateVolume(ctx, machine.Volume{ID: s.local(i), GiB: disk.GiB}); err != nil {
			return err
		}
		s.Slots = append(s.Slots, s.local(i))
	}
	return s.save()
}

// Start creates everything that the machine needs and runs it. Each step checks what exists
// already, so that Start can be repeated after an interruption at any point.
func (s *server) Start(ctx context.Context) error {
	state, _, err := s.driver.runc.state(ctx, s.Spec.ID)
	if err != nil || state == machine.Running {
		return err
	}
	if err := s.driver.runc.remove(ctx, s.Spec.ID); err != nil {
		return err
	}
	if err := namespace.Create(s.space()); err != nil {
		return err
	}
	if err := s.plug(ctx); err != nil {
		return err
	}
	if err := s.mountRoot(ctx); err != nil {
		return err
	}
	if !s.Prepared {
		if err := s.prepare(); err != nil {
			return fmt.Errorf("preparing the file system: %w", err)
		}
		s.Prepared = true
	}
	return s.run(ctx)
}

func (s *server) run(ctx context.Context) error {
	s.Console.close()
	c, tty, err := openConsole(s.path("console.log"))
	if err != nil {
		return err
	}
	defer tty.Close()
	s.Console = c
	err = s.config()
	if err == nil {
		err = s.save()
	}
	if err == nil {
		err = s.driver.runc.run(ctx, s.Spec.ID, s.path(""), tty)
	}
	if err == nil {
		err = s.showVolumes(ctx)
	}
	if err != nil {
		s.Console.close()
		return errors.Join(err, s.driver.runc.remove(context.WithoutCancel(ctx), s.Spec.ID))
	}
	return nil
}

func (s *server) plug(ctx context.Context) error {
	if s.trouble(faultinject.NoNetwork) {
		return nil
	}
	for _, n := range s.NICs {
		if err := s.driver.plug(ctx, s.space(), n); err != nil {
			return fmt.Errorf("connecting port %s: %w", n.Port.ID, err)
		}
	}
	return nil
}

// haltTime is how long a machine may take to switch itself off.
const haltTime = 20 * time.Second

// Stop ends the machine; its disk, ports and volumes stay. A gentle stop asks
// systemd first.
func (s *server) Stop(ctx context.Context, gentle bool) error {
	state, pid, err := s.driver.runc.state(ctx, s.Spec.ID)
	if err != nil {
		return err
	}
	if gentle && state == machine.Running && !s.trouble(faultinject.NoBoot) {
		init := process.Of(pid)
		if err := s.driver.runc.kill(ctx, s.Spec.ID, haltSignal); err == nil {
			patience, cancel := context.WithTimeout(ctx, haltTime)
			init.Wait(patience)
			cancel()
		}
	}
	err = s.driver.runc.remove(context.WithoutCancel(ctx), s.Spec.ID)
	s.Console.close()
	return errors.Join(err, s.save())
}

// State asks runc. A machine that has a record but no container is stopped.
func (s *server) State(ctx context.Context) (machine.State, error) {
	state, _, err := s.driver.runc.state(ctx, s.Spec.ID)
	if state == machine.Gone {
		state = machine.Stopped
	}
	return state, err
}

// Release removes from the host what the machine has there, at once; the folder stays.
func (s *server) Release(ctx context.Context, _ bool) error {
	err := s.Stop(ctx, false)
	for _, n := range s.NICs {
		err = errors.Join(err, s.driver.fabric.Unplug(ctx, n.Port))
	}
	err = errors.Join(err, namespace.Delete(s.space()), unmount(s.path("rootfs")), unmount(s.path("disk")))
	for _, id := range s.Slots {
		if id != "" && id != rootSlot {
			err = errors.Join(err, ignoreMissing(detach(s.driver.volumes.Path(id))))
		}
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
