package images

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/manifest"
)

// wantedProperties are all properties that the image shall have.
func wantedProperties(i manifest.Image) map[string]string {
	p := i.GlanceProperties()
	p[PropertyMark] = i.Key
	if digest := i.Digest(); digest != "" {
		p[PropertyDigest] = digest
	}
	if i.SHA256 != "" && i.Convert == "" && !packed(i) {
		p[PropertySHA256] = i.SHA256
	}
	return p
}

// wantedDisk is the min_disk of an image: the manifest's, or the size of its
// disk in whole GiB.
func wantedDisk(i manifest.Image, virtual int64) int {
	if i.MinDisk > 0 || virtual <= 0 {
		return i.MinDisk
	}
	const gib = 1 << 30
	return int((virtual + gib - 1) / gib)
}

// Difference is one thing that an image in Glance has otherwise than the
// manifest wants.
type Difference struct {
	Property string `json:"property"`
	Has      string `json:"has"`
	Wants    string `json:"wants"`

	change images.Patch
}

// Describe lists what differs between the description of an image in Glance
// and the manifest's, sorted. virtual is the size of the disk in bytes, 0 if
// it is not known. What the manifest says nothing of is left alone, and the
// name too of an image that somebody else uploaded. It is pure.
func Describe(i manifest.Image, r Record, virtual int64) []Difference {
	var all []Difference
	add := func(property, has, wants string, change images.Patch) {
		if has != wants {
			all = append(all, Difference{property, has, wants, change})
		}
	}
	marked := r.Properties[PropertyMark] != ""
	if marked {
		add("name", r.Name, i.Name, images.ReplaceImageName{NewName: i.Name})
	}
	visibility := r.Visibility
	if r.lent() {
		visibility = manifest.VisibilityPrivate // it is again when no cluster needs it
	}
	add("visibility", visibility, i.Visibility, images.UpdateVisibility{Visibility: images.ImageVisibility(i.Visibility)})
	if disk := wantedDisk(i, virtual); disk > 0 {
		add("min_disk", number(r.MinDisk), number(disk), images.ReplaceImageMinDisk{NewMinDisk: disk})
	}
	add("min_ram", number(r.MinRAM), number(i.MinRAM), images.ReplaceImageMinRam{NewMinRam: i.MinRAM})
	add("protected", truth(r.Protected), truth(i.Protected), images.ReplaceImageProtected{NewProtected: i.Protected})
	add("os_hidden", truth(r.Hidden), truth(i.Hidden), images.ReplaceImageHidden{NewHidden: i.Hidden})
	if missing := without(i.Tags, r.Tags); len(missing) > 0 {
		tags := slices.Concat(r.Tags, missing)
		add("tags", join(r.Tags), join(tags), images.ReplaceImageTags{NewTags: tags})
	}
	return append(all, describeProperties(i, r, marked)...)
}

func describeProperties(i manifest.Image, r Record, marked bool) []Difference {
	var all []Difference
	wanted := wantedProperties(i)
	if !marked && r.Active() {
		delete(wanted, PropertyMark) // not ours to retire
	}
	if recorded := r.Properties[PropertyDigest]; i.HasDigest(recorded) {
		wanted[PropertyDigest] = recorded
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if has, wants := r.Properties[name], wanted[name]; has != wants {
			all = append(all, Difference{name, has, wants, images.UpdateImageProperty{Op: operation(r, name), Name: name, Value: wants}})
		}
	}
	stale := []string{PropertyLease, PropertyHidden}
	if i.Visibility != manifest.VisibilityPrivate {
		stale = append(stale, PropertyLent) // it is never made private again
	}
	for _, name := range stale {
		if has, there := r.Properties[name]; there {
			all = append(all, Difference{name, has, "", images.UpdateImageProperty{Op: images.RemoveOp, Name: name}})
		}
	}
	return all
}

// settle brings the description of an image in line, in one call. Another run
// may do the same at the same time: what it did is looked at again.
func (s *Syncer) settle(ctx context.Context, i manifest.Image, r Record, virtual int64) (bool, Record, error) {
	for attempt := 1; ; attempt++ {
		var changes images.UpdateOpts
		for _, d := range Describe(i, r, virtual) {
			changes = append(changes, d.change)
		}
		settled, err := s.Glance.patch(ctx, r, changes)
		if attempt == settleAttempts || !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
			return len(changes) > 0, settled, err
		}
		if r, err = s.Glance.Get(ctx, r.ID); err != nil {
			return false, r, err
		}
	}
}

// settleAttempts is how often an image is described before a refusal is believed
// to be no other run's doing.
const settleAttempts = 3

// without lists what of a is not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(text string) bool { return slices.Contains(b, text) })
}
