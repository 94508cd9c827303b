package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// server is one machine: the record of it, which is a file in its folder, and
// what is done with it.
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

// nic is a port under its name inside.
type nic struct {
	Name string
	Port machine.Port
}

// rootSlot stands for the disk made of an image.
const rootSlot = "root"

func (s *server) path(name string) string { return filepath.Join(s.driver.servers(), s.Spec.ID, name) }
func (s *server) space() string           { return s.driver.Space("srv", s.Spec.ID) }

// save writes the record so that a crash leaves the old or the new one. It
// holds user data: nobody else may read it.
func (s *server) save() error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.path("server.json.new"), data, 0o600); err != nil {
		return fmt.Errorf("writing record: %w", err)
	}
	return os.Rename(s.path("server.json.new"), s.path("server.json"))
}

// load returns the record of a machine, or fs.ErrNotExist.
func (d *Driver) load(id string) (*server, error) {
	if id == "" || id != filepath.Base(id) || strings.HasPrefix(id, ".") {
		return nil, fmt.Errorf("%q is not the id of a server", id)
	}
	s := &server{driver: d}
	s.Spec.ID = id
	data, err := os.ReadFile(s.path("server.json"))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("reading record: %w", err)
	}
	return s, nil
}

var notHost = regexp.MustCompile(`[^a-z0-9.-]+`)

// hostname is the metadata's, or what is left of the name in a form that the
// kernel takes.
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

// new fills the record of a machine that does not exist yet.
func (s *server) new(ctx context.Context, spec machine.Spec) error {
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

// start makes everything that the machine needs and runs it. Each step looks
// at what is there, so that it can be repeated at any point.
func (s *server) start(ctx context.Context) error {
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

// stop ends the machine; its disk, ports and volumes stay. A gentle stop asks
// systemd first.
func (s *server) stop(ctx context.Context, gentle bool) error {
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

// release takes from the host what the machine has there; the folder stays.
func (s *server) release(ctx context.Context) error {
	err := s.stop(ctx, false)
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
