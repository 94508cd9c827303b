package images

import (
	"errors"
	"fmt"

	"github.com/slipway-sh/slipway/internal/fault"
)

// assumedDisk is the disk that a node needs when its image does not say, in
// GiB, and largestRoot what the formula below never exceeds by itself.
const assumedDisk, largestRoot = 20, 125

// RootVolume is the size in GiB of the root volume that a machine needs: 0 if
// its flavor has a disk. The size is SCS's: min_disk + 2 + half the memory in
// GiB, rounded down to a multiple of 5, at most 125 and at least min_disk
// (fixup_flavor_volumes.sh of k8s-cluster-api-provider). flavorDisk and minDisk
// are in GiB, ram in MiB. A flavor whose disk is too small is a fault.
func RootVolume(flavor string, flavorDisk, ram, minDisk int) (int, error) {
	if flavorDisk > 0 {
		if flavorDisk < minDisk {
			return 0, fault.New("flavor "+flavor, fmt.Errorf("its disk has %d GiB, but the image needs %d", flavorDisk, minDisk), "choose a flavor with a larger disk, or one without a disk")
		}
		return 0, nil
	}
	if ram <= 0 {
		return 0, fault.New("flavor "+flavor, errors.New("its memory is unknown"), "check the flavor")
	}
	if minDisk == 0 {
		minDisk = assumedDisk
	}
	size := (minDisk + 2 + ram/1024/2) / 5 * 5
	return max(min(size, largestRoot), minDisk), nil
}
