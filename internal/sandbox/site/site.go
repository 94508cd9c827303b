// Package site is what machines of every kind stand on, on this host: networks with
// their metadata services, volumes and load balancers. Containers and virtual machines
// of one sandbox share one site.
package site

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/balancer"
	"github.com/slipway-sh/slipway/internal/sandbox/blockdev"
	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
)

// Options say where a site is.
type Options struct {
	// Dir keeps machines' disks, volumes and records; it lies on a real file
	// system with room.
	Dir string
	// RunDir keeps what does not outlive a restart of the host; empty is a
	// folder of /run that belongs to Dir.
	RunDir string
	// HostSpace is the network namespace that counts as the host's; empty is
	// that of the process.
	HostSpace string
	Events    event.Sink
}

// Site is the networks, volumes and load balancers of one folder.
type Site struct {
	Options
	// Tag tells what belongs to this folder from what belongs to another.
	Tag string
	// Disks are the volumes, Net the networks without their metadata services.
	Disks blockdev.Volumes
	Net   *fabric.Fabric

	balancer *balancer.Balancers
	metadata *metadata.Servers
	mu       sync.Mutex
	// machines are asked who they are, by network and address.
	machines map[string]resident
}

// resident is a machine that has an address.
type resident struct {
	id  string
	ask func() (metadata.Instance, bool)
}

var _ machine.Fabric = (*Site)(nil)

// Open returns the site of a folder, with the defaults of its options filled in. What
// an earlier process left is adopted when it is applied again.
func Open(o Options) (*Site, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening the machines' folder: %w", err)
	}
	o.Dir = dir
	s := &Site{Options: o, Tag: tagOf(dir), machines: map[string]resident{}}
	if s.Events == nil {
		s.Events = event.Discard{}
	}
	if s.RunDir == "" {
		s.RunDir = defaultRunDir(s.Tag)
	}
	for _, folder := range []string{s.Dir, s.RunDir} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("opening the machines' folder: %w", err)
		}
	}
	if s.Disks, err = blockdev.New(dir); err != nil {
		return nil, err
	}
	s.Net = fabric.New(fabric.Options{Dir: s.spaces(), Tag: s.Tag, Host: o.HostSpace})
	s.balancer = balancer.New(s.Net, s.spaces())
	s.metadata = metadata.NewServers(s.instanceAt)
	return s, nil
}

func (s *Site) spaces() string { return filepath.Join(s.RunDir, "spaces") }

// Space is the name of a network namespace.
func (s *Site) Space(kind, id string) string {
	return filepath.Join(s.spaces(), kind+"-"+filepath.Base(id))
}

// Fabric returns the site itself, which adds metadata to networks.
func (s *Site) Fabric() machine.Fabric { return s }

// Volumes returns the volumes in the folder.
func (s *Site) Volumes() machine.Volumes { return s.Disks }

// Balancers returns the load balancers.
func (s *Site) Balancers() machine.Balancers { return s.balancer }

// Close ends what lives in this process: metadata and load balancing. Networks stay.
func (s *Site) Close() error { return errors.Join(s.metadata.Close(), s.balancer.Close()) }

// Shutdown ends load balancers, networks and the devices of volumes, also what an
// earlier process left. Machines have been ended before. It tries all, whatever fails
// on the way; the folder with volumes stays.
func (s *Site) Shutdown(ctx context.Context) error {
	return errors.Join(s.balancer.Shutdown(), s.Net.Shutdown(ctx), s.Disks.Release())
}

// Forsake removes the folder of what does not outlive a restart of the host, when
// nothing is left.
func (s *Site) Forsake() error {
	if err := os.RemoveAll(s.RunDir); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(s.RunDir)) // the last one of several sandboxes
	return nil
}

// Left reports whether a site of the folder, in this process or one before, has
// anything on the host.
func Left(o Options) bool {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return false
	}
	if o.RunDir == "" {
		o.RunDir = defaultRunDir(tagOf(dir))
	}
	_, err = os.Lstat(o.RunDir)
	return err == nil
}

// tagOf tells what belongs to one folder's site from what belongs to another's.
func tagOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:3])
}

func defaultRunDir(tag string) string { return "/run/slipway/" + tag }
