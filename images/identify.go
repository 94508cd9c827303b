package images

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Action is what is done about one image of a manifest.
type Action string

// The actions.
const (
	// Use takes an image of the project that has the bytes.
	Use Action = "use"
	// Borrow takes an image of another project that has the bytes.
	Borrow Action = "borrow"
	// Upload brings the bytes.
	Upload Action = "upload"
	// Resume brings the bytes to a record that an earlier run left without.
	Resume Action = "resume"
	// Wait is for an upload of another run that is still alive.
	Wait Action = "wait"
)

// Choice is the action with the record that it is about, nil for Upload.
type Choice struct {
	Action Action
	Record *Record
	// Replaced is the image with the same name and other bytes that is replaced, nil if
	// there is none or the user did not ask for it.
	Replaced *Record
	// Reason is shown to the user.
	Reason string
}

// sameness is what can be said about bytes without reading them.
type sameness int

const (
	unknown sameness = iota
	same
	different
)

// compare compares an image of the manifest with one in Glance. What Glance
// computed itself always counts, what is recorded in properties if their
// owner is trusted.
func compare(i manifest.Image, r Record, trusted bool) sameness {
	if r.DiskFormat != i.DiskFormat() {
		return different
	}
	recorded := r.Properties[PropertyDigest]
	if trusted && i.HasDigest(recorded) {
		return same
	}
	computed := r.HashAlgo + ":" + r.HashValue
	if i.Convert == "" && r.HashValue != "" && i.HasDigest(computed) {
		return same
	}
	switch {
	case trusted && sameAlgorithm(i, recorded):
		return different
	case i.Convert == "" && !packed(i) && sameAlgorithm(i, computed):
		return different
	}
	return unknown
}

// sameAlgorithm says that the manifest has a digest of the same algorithm.
func sameAlgorithm(i manifest.Image, digest string) bool {
	algorithm, hex, _ := strings.Cut(digest, ":")
	return hex != "" && (algorithm == "sha256" && i.SHA256 != "" || algorithm == "sha512" && i.SHA512 != "")
}

// packed says that the published file is compressed, so that its digest is not
// the one of the bytes in Glance.
func packed(i manifest.Image) bool {
	name, _, _ := strings.Cut(i.URL+string(i.File), "?")
	return slices.Contains([]string{".gz", ".bz2", ".xz", ".zst"}, path.Ext(name))
}

// Identify chooses what is done about one image, from what the project can
// see. Identity is the content: names only tell which of several is meant, and
// that something else has the name. It is pure.
func Identify(i manifest.Image, list []Record, project string, trustedOwners []string, replace bool, now time.Time) (Choice, error) {
	var own, others []Record
	for _, r := range list {
		if r.Owner == project {
			own = append(own, r)
		} else {
			others = append(others, r)
		}
	}
	choice, err := identifyOwn(i, own, now)
	if choice.Action == Use || choice.Action == Wait || err != nil {
		return choice, err
	}
	if borrowed, ok := borrow(i, others, trustedOwners); ok {
		return borrowed, nil
	}
	if taken := nameTaken(i, own); taken != nil {
		if !replace {
			return Choice{}, conflict(i, *taken)
		}
		choice.Replaced = taken
	}
	return choice, nil
}

func identifyOwn(i manifest.Image, own []Record, now time.Time) (Choice, error) {
	choice := Choice{Action: Upload, Reason: "no image had its content"}
	// Those of the name first: of several with the same bytes they are meant.
	slices.SortStableFunc(own, func(a, b Record) int { return rank(i, b) - rank(i, a) })
	for _, r := range own {
		switch {
		case r.Active() && compare(i, r, true) == same:
			return Choice{Action: Use, Record: &r, Reason: "has the same content"}, nil
		case r.Status == "deactivated" && compare(i, r, true) == same:
			return Choice{}, fault.New(r.object(), errors.New("it is deactivated"), "run openstack image set --activate "+r.ID)
		case !ownLeftover(i, r) || choice.Action != Upload:
		case now.Before(leaseOf(r)):
			choice = Choice{Action: Wait, Record: &r, Reason: "another run is uploading it"}
		default:
			choice = Choice{Action: Resume, Record: &r, Reason: "an earlier run left it unfinished"}
		}
	}
	return choice, nil
}

func rank(i manifest.Image, r Record) int {
	score := 0
	for n, yes := range []bool{!r.Hidden, r.Properties[PropertyMark] == i.Key, r.Name == i.Name} {
		if yes {
			score += 1 << n
		}
	}
	return score
}

// ownLeftover reports whether a record is ours and its bytes were never verified: some
// servers accept an interrupted upload as complete.
func ownLeftover(i manifest.Image, r Record) bool {
	return r.Properties[PropertyMark] == i.Key && unfinished(r)
}

// unfinished reports whether the run that uploads a record is active or was interrupted.
func unfinished(r Record) bool {
	_, leased := r.Properties[PropertyLease]
	return r.Active() && leased || slices.Contains([]string{"queued", "saving", "uploading", "importing", "killed"}, r.Status)
}

func leaseOf(r Record) time.Time {
	until, err := time.Parse(time.RFC3339, r.Properties[PropertyLease])
	if err != nil {
		return time.Time{}
	}
	return until
}

// borrow looks for the bytes in other projects. The owner must be trusted,
// because an owner can delete an image or change its properties; of a public
// image the cloud's operator is the owner, then the digest must be Glance's.
func borrow(i manifest.Image, others []Record, trusted []string) (Choice, bool) {
	for _, r := range others {
		known := slices.Contains(trusted, r.Owner)
		if !r.Active() || !known && r.Visibility != manifest.VisibilityPublic || compare(i, r, known) != same {
			continue
		}
		want := Wanted{KubernetesVersion: i.KubernetesVersion, Distro: i.GlanceProperties()[manifest.PropertyDistro]}
		if (want.KubernetesVersion != "" || want.Distro != "") && Gate(r, want) != nil {
			continue // ours to use, not ours to correct
		}
		return Choice{Action: Borrow, Record: &r, Reason: fmt.Sprintf("project %s has an image with the same content (%s)", r.Owner, r.Visibility)}, true
	}
	return Choice{}, false
}

// nameTaken is an image that is in use by the name, with other bytes.
func nameTaken(i manifest.Image, own []Record) *Record {
	for _, r := range own {
		if r.Name == i.Name && !r.Hidden && !ownLeftover(i, r) && (r.Active() || r.Status == "deactivated") {
			return &r
		}
	}
	return nil
}

// conflict is the fault of a name that something else has (F59).
func conflict(i manifest.Image, r Record) error {
	cause := errors.New("an active image has this name, but its content cannot be compared with the manifest")
	if compare(i, r, true) == different {
		cause = fmt.Errorf("an active image has this name but different content: %s %s:%s, expected %s", r.DiskFormat, r.HashAlgo, abbreviated(r.HashValue), abbreviated(i.Digest()))
	}
	return fault.New(r.object(), cause, "give the new build another name in the manifest, or rename and hide the old image with slipway image sync --replace")
}

func abbreviated(digest string) string {
	if len(digest) > 23 {
		return digest[:23] + "…"
	}
	return digest
}
