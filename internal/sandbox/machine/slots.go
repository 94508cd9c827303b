package machine

import (
	"errors"
	"slices"
)

// Slots are what a machine has at the letters of its disks: 0 is /dev/vda. An empty
// one is free.
type Slots []string

// maxSlots is how many device names there are: vda to vdz.
const maxSlots = 26

// Take returns the slot of a disk, giving it the first free one.
func (s *Slots) Take(id string) (int, error) {
	if i := slices.Index(*s, id); i >= 0 {
		return i, nil
	}
	if i := slices.Index(*s, ""); i >= 0 {
		(*s)[i] = id
		return i, nil
	}
	if len(*s) >= maxSlots {
		return 0, errors.New("no device name is left")
	}
	*s = append(*s, id)
	return len(*s) - 1, nil
}

// Free gives the slot of a disk back; one that has none is no error.
func (s Slots) Free(id string) {
	if i := slices.Index(s, id); i >= 0 {
		s[i] = ""
	}
}

// Keep frees the slots of all disks but these.
func (s Slots) Keep(ids []string) {
	for i, id := range s {
		if !slices.Contains(ids, id) {
			s[i] = ""
		}
	}
}

// DeviceName is how a slot's disk is called in the machine, "vda".
func DeviceName(slot int) string { return "vd" + string(rune('a'+slot)) }

// Serial is the serial number of a volume's disk: Nova takes the first 20 characters of
// the volume's id, as many as virtio has, and the Cinder CSI driver looks for it.
func Serial(volumeID string) string { return volumeID[:min(20, len(volumeID))] }
