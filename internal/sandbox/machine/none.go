package machine

import (
	"context"
	"fmt"
	"sync"
)

// None is the driver without machines: everything succeeds at once and only
// the model knows of it.
type None struct {
	mu       sync.Mutex
	machines map[string]State
	devices  map[string][]string
}

// NewNone returns the driver.
func NewNone() *None {
	return &None{machines: map[string]State{}, devices: map[string][]string{}}
}

// Name is "none".
func (n *None) Name() string { return "none" }

// Machines returns the driver itself.
func (n *None) Machines() Machines { return n }

// Fabric returns the driver itself.
func (n *None) Fabric() Fabric { return n }

// Volumes returns the driver itself.
func (n *None) Volumes() Volumes { return n }

// Balancers returns the driver itself.
func (n *None) Balancers() Balancers { return n }

// Close does nothing.
func (n *None) Close() error { return nil }

func (n *None) set(id string, s State) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s == Gone {
		delete(n.machines, id)
		delete(n.devices, id)
	} else {
		n.machines[id] = s
	}
	return nil
}

// Create notes the machine as running, with its volumes as devices.
func (n *None) Create(ctx context.Context, spec Spec) error {
	if err := n.set(spec.ID, Running); err != nil {
		return err
	}
	if spec.Image != "" {
		n.mu.Lock()
		n.devices[spec.ID] = []string{"root"}
		n.mu.Unlock()
	}
	for _, volume := range spec.Volumes {
		if _, err := n.AttachVolume(ctx, spec.ID, volume); err != nil {
			return err
		}
	}
	return nil
}

// Start notes the machine as running.
func (n *None) Start(_ context.Context, id string) error { return n.set(id, Running) }

// Stop notes the machine as stopped.
func (n *None) Stop(_ context.Context, id string) error { return n.set(id, Stopped) }

// Reboot notes the machine as running.
func (n *None) Reboot(_ context.Context, id string, _ bool) error { return n.set(id, Running) }

// Delete forgets the machine.
func (n *None) Delete(_ context.Context, id string) error { return n.set(id, Gone) }

// State returns what was noted; after a restart of the process nothing is.
func (n *None) State(_ context.Context, id string) (State, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.machines[id]; ok {
		return s, nil
	}
	return Gone, nil
}

// List returns the machines noted.
func (n *None) List(context.Context) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ids := make([]string, 0, len(n.machines))
	for id := range n.machines {
		ids = append(ids, id)
	}
	return ids, nil
}

// Console says that there is no machine.
func (n *None) Console(_ context.Context, id string, _ int) (string, error) {
	return "Server " + id + " has no machine: the sandbox runs with driver none.\n", nil
}

// AttachVolume returns the next free device name, or the one the volume has.
func (n *None) AttachVolume(_ context.Context, id, volumeID string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	slots := n.devices[id]
	free := len(slots)
	for i, volume := range slots {
		switch volume {
		case volumeID:
			return device(i), nil
		case "":
			free = min(free, i)
		}
	}
	if free >= 26 {
		return "", fmt.Errorf("server %s: no device name is left", id)
	}
	if free == len(slots) {
		slots = append(slots, "")
	}
	slots[free] = volumeID
	n.devices[id] = slots
	return device(free), nil
}

// DetachVolume frees the device name.
func (n *None) DetachVolume(_ context.Context, id, volumeID string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, volume := range n.devices[id] {
		if volume == volumeID {
			n.devices[id][i] = ""
		}
	}
	return nil
}

func device(slot int) string { return "/dev/vd" + string(rune('a'+slot)) }
