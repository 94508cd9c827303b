package images

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/disk"
	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/fault"
)

// TestFilesThatAreReadForTheirDigest: those whose bytes some image in Glance can have, as far as the
// beginning tells, or whose name one has.
func TestFilesThatAreReadForTheirDigest(t *testing.T) {
	t.Parallel()
	there := oneOf([]Record{{Name: "node", DiskFormat: "qcow2", Size: 7}, {Name: "other", DiskFormat: "raw", Size: 1 << 20}})
	for name, test := range map[string]struct {
		file extent
		want bool
	}{
		"its name": {extent{"node", "raw", 9}, true}, "its size": {extent{"new", "qcow2", 7}, true}, "another size": {extent{"new", "qcow2", 8}, false},
		"another's size": {extent{"new", "qcow2", 1 << 20}, false}, "no size yet": {extent{"new", "qcow2", -1}, true}, "another format": {extent{"new", "iso", -1}, false}, "nothing": {extent{"new", "raw", 0}, false},
	} {
		if got := there(test.file); got != test.want || !always(test.file) {
			t.Errorf("%s: %t", name, got)
		}
	}
	image := imagetest.Qcow2(imagetest.Disk(1, 1), imagetest.Options{})
	for name, test := range map[string]struct {
		image manifest.Image
		head  []byte
		want  extent
	}{
		"as it is":            {manifest.Image{Name: "n", Format: "qcow2"}, image, extent{"n", "qcow2", 99}},
		"to be converted":     {manifest.Image{Name: "n", Format: "qcow2", Convert: "raw"}, image, extent{"n", "raw", 1 << 20}},
		"raw already":         {manifest.Image{Name: "n", Format: "raw", Convert: "raw"}, []byte("boot"), extent{"n", "raw", 99}},
		"compressed":          {manifest.Image{Name: "n", Format: "qcow2"}, []byte("\x1f\x8b"), extent{"n", "qcow2", -1}},
		"one that is refused": {manifest.Image{Name: "n", Format: "qcow2", Convert: "raw"}, image[:60], extent{"n", "raw", 99}},
	} {
		if got := extentOf(test.image, test.head, 99); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	if got := disk.Recognise(image); got != disk.Qcow2 {
		t.Errorf("recognised as %s", got)
	}
}

// TestWhatDisagreesWithWhatIsWanted: what an image says nothing of does not, unless Magnum needs it.
func TestWhatDisagreesWithWhatIsWanted(t *testing.T) {
	t.Parallel()
	want := Wanted{KubernetesVersion: "v1.34.2", Architecture: "x86_64", RootDisk: 20, RAM: 2048, Format: "qcow2"}
	for name, test := range map[string]struct {
		properties map[string]string
		said       []string
	}{
		"nothing":                    {nil, nil},
		"all that is wanted":         {map[string]string{"kube_version": "1.34.2", "kubernetes_version": "v1.34.2", "architecture": "x86_64"}, nil},
		"SCS's version alone":        {map[string]string{"kubernetes_version": "v1.34.2"}, nil},
		"SCS's alone, and another":   {map[string]string{"kubernetes_version": "v1.33.1"}, []string{"kubernetes_version: it is v1.33.1, expected v1.34.2"}},
		"another architecture":       {map[string]string{"architecture": "aarch64"}, []string{"architecture: it is aarch64, expected x86_64"}},
		"another version":            {map[string]string{"kube_version": "v1.33.1"}, []string{"kube_version: it is v1.33.1, expected v1.34.2"}},
		"two versions, one is right": {map[string]string{"kube_version": "v1.34.2", "kubernetes_version": "v1.33.1"}, []string{"it is v1.33.1, but kube_version is v1.34.2"}},
	} {
		r := Record{Name: "node", Status: "active", DiskFormat: "qcow2", MinDisk: 20, MinRAM: 2048, Properties: test.properties}
		all := fault.All(Disagreements(r, want))
		if len(all) != len(test.said) || len(all) == 1 && !strings.Contains(all[0].Error(), test.said[0]) {
			t.Errorf("%s: %v, want %q", name, all, test.said)
		}
		if err := Disagreements(r, Wanted{}); len(test.said) == 1 && !strings.Contains(test.said[0], "but kube_version") && err != nil {
			t.Errorf("%s: nothing is wanted, and it disagrees: %v", name, err)
		}
	}
}

// TestWhatIsKnownOfBytes without reading them: by a digest of one algorithm only if the manifest has
// that one, and by recorded ones only of those who are trusted.
func TestWhatIsKnownOfBytes(t *testing.T) {
	t.Parallel()
	both, one := manifest.Image{Format: "qcow2", SHA256: "ab", SHA512: "cd"}, manifest.Image{Format: "qcow2", SHA256: "ab"}
	record := func(format, algorithm, value, recorded string) Record {
		return Record{DiskFormat: format, HashAlgo: algorithm, HashValue: value, Properties: map[string]string{PropertyDigest: recorded}}
	}
	packed := both
	packed.URL = "https://example.org/node.qcow2.xz?token=.qcow2"
	for name, test := range map[string]struct {
		image   manifest.Image
		record  Record
		trusted bool
		want    sameness
	}{
		"computed":                       {both, record("qcow2", "sha512", "cd", ""), false, same},
		"computed, another":              {both, record("qcow2", "sha512", "ce", ""), false, different},
		"computed, not comparable":       {one, record("qcow2", "sha512", "cd", ""), false, unknown},
		"computed, by another algorithm": {both, record("qcow2", "md5", "cd", ""), false, unknown},
		"computed, of what is unpacked":  {packed, record("qcow2", "sha512", "ce", ""), false, unknown},
		"nothing computed":               {both, record("qcow2", "sha512", "", ""), false, unknown},
		"recorded":                       {both, record("qcow2", "", "", "sha256:ab"), true, same},
		"recorded, by whom nobody knows": {both, record("qcow2", "", "", "sha256:ab"), false, unknown},
		"recorded, another":              {one, record("qcow2", "", "", "sha256:ac"), true, different},
		"recorded, not comparable":       {one, record("qcow2", "", "", "sha512:ac"), true, unknown},
		"another format":                 {both, record("raw", "sha512", "cd", ""), false, different},
	} {
		if got := compare(test.image, test.record, test.trusted); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// TestWhatIsDoneAboutAnImage of the project, or of another.
func TestWhatIsDoneAboutAnImage(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	wanted := manifest.Image{Name: "node", Key: "node", Format: "qcow2", SHA512: "cd", OS: manifest.OS{Distro: "ubuntu"}}
	record := func(change func(*Record)) Record {
		r := Record{ID: "12345678-9", Name: "node", Owner: "p", Status: "active", DiskFormat: "qcow2", HashAlgo: "sha512", HashValue: "cd", Visibility: "private", Properties: map[string]string{}}
		change(&r)
		return r
	}
	leased := func(status string, until time.Duration) Record {
		return record(func(r *Record) {
			r.Status, r.HashValue, r.Properties = status, "", map[string]string{PropertyMark: "node", PropertyLease: now.Add(until).Format(time.RFC3339)}
		})
	}
	lent := func(owner, visibility, distro string) Record {
		return record(func(r *Record) {
			r.Owner, r.Visibility, r.Properties = owner, visibility, map[string]string{"os_distro": distro}
		})
	}
	other := func(status string, hidden bool) Record {
		return record(func(r *Record) { r.Status, r.HashValue, r.Hidden = status, "ce", hidden })
	}
	for name, test := range map[string]struct {
		record Record
		want   Action
		err    string
	}{
		"the same":                        {record(func(*Record) {}), Use, ""},
		"the same, deactivated":           {record(func(r *Record) { r.Status = "deactivated" }), "", "it is deactivated"},
		"being uploaded":                  {leased("queued", time.Minute), Wait, ""},
		"left by an earlier run":          {leased("saving", -time.Minute), Resume, ""},
		"left, active":                    {leased("active", 0), Resume, ""},
		"of another key":                  {record(func(r *Record) { r.Status, r.Properties[PropertyMark] = "queued", "other" }), Upload, ""},
		"the name, other bytes":           {other("active", false), "", "different content"},
		"the name, deactivated":           {other("deactivated", false), "", "different content"},
		"the name, hidden":                {other("active", true), Upload, ""},
		"the name, no bytes yet":          {other("queued", false), Upload, ""},
		"another name":                    {record(func(r *Record) { r.Name, r.HashValue = "nodes", "ce" }), Upload, ""},
		"public":                          {lent("q", "public", "ubuntu"), Borrow, ""},
		"public, of another distribution": {lent("q", "public", "flatcar"), Upload, ""},
		"of somebody trusted":             {lent("t", "shared", "ubuntu"), Borrow, ""},
		"of somebody else":                {lent("q", "shared", "ubuntu"), Upload, ""},
	} {
		choice, err := Identify(wanted, []Record{test.record}, "p", []string{"t"}, false, now)
		if choice.Action != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %s, %v; want %s, %q", name, choice.Action, err, test.want, test.err)
		}
	}
	plain := manifest.Image{Name: "node", Key: "node", Format: "qcow2", SHA512: "cd"}
	if choice, err := Identify(plain, []Record{lent("q", "public", "")}, "p", nil, false, now); choice.Action != Borrow || err != nil {
		t.Errorf("one that needs no description: %s, %v", choice.Action, err)
	}
	if choice, err := Identify(wanted, []Record{other("active", false)}, "p", nil, true, now); choice.Action != Upload || choice.Replaced == nil || err != nil {
		t.Errorf("one that may be replaced: %+v, %v", choice, err)
	}
}

// TestImagesThatAnEnvironmentLeaves go with it, unless somebody else may need them.
func TestImagesThatAnEnvironmentLeaves(t *testing.T) {
	t.Parallel()
	used := map[string]string{"used": "server a", "by name": "cluster template t", "hidden": "cluster template h"}
	for name, test := range map[string]struct {
		record Record
		want   Step
	}{
		"nobody's": {Record{ID: "1", Name: "n", Visibility: "private"}, Delete}, "shared": {Record{ID: "1", Visibility: "shared"}, Keep}, "protected": {Record{ID: "1", Visibility: "private", Protected: true}, Keep},
		"used": {Record{ID: "used", Visibility: "private"}, Keep}, "used by its name": {Record{ID: "1", Name: "by name", Visibility: "private"}, Keep}, "hidden, of a name in use": {Record{ID: "1", Name: "hidden", Visibility: "private", Hidden: true}, Delete},
	} {
		if plan := Leave([]Record{test.record}, used); len(plan) != 1 || plan[0].Step != test.want || plan[0].Reason == "" {
			t.Errorf("%s: %+v, want %s", name, plan, test.want)
		}
	}
}

// TestImagesByIDOrName: an ID wins, then a name of the project's own; of several nobody is chosen.
func TestImagesByIDOrName(t *testing.T) {
	t.Parallel()
	list := []Record{{ID: "1", Name: "own", Owner: "p"}, {ID: "2", Name: "own", Owner: "q"}, {ID: "3", Name: "theirs", Owner: "q"}, {ID: "4", Name: "two", Owner: "q"}, {ID: "5", Name: "two", Owner: "r"}, {ID: "own", Name: "6", Owner: "q"}}
	for wanted, want := range map[string]string{"1": "1", "own": "own", "theirs": "3", "6": "own", "two": "2 images have this name: 4, 5", "none": "there is no image"} {
		r, err := Resolve(list, "p", wanted)
		if err == nil && r.ID != want || err != nil && (!strings.Contains(err.Error(), want) || fault.Remedy(err) == "") {
			t.Errorf("%s: %q, %v; want %q", wanted, r.ID, err, want)
		}
	}
	if r, err := Resolve(list[:5], "p", "own"); err != nil || r.ID != "1" {
		t.Errorf("the project's own: %q, %v", r.ID, err)
	}
}

// TestDigestsInLists of either form, for the file alone that is meant.
func TestDigestsInLists(t *testing.T) {
	t.Parallel()
	short, long := strings.Repeat("ab", 32), strings.Repeat("cd", 64)
	for name, test := range map[string]struct{ list, want string }{
		"of sha256sum":        {short + "  node.qcow2\n", short},
		"of binary mode":      {"# a comment\n" + long + " *build/node.qcow2\n", long},
		"of BSD":              {"SHA256 (node.qcow2) = " + short, short},
		"of BSD, another":     {"SHA256 (other.qcow2) = " + short, ""},
		"of BSD, in words":    {"SHA256 (node.qcow2) is " + short, ""},
		"of BSD, and more":    {"SHA256 (node.qcow2) = " + short + " x", ""},
		"the second is right": {short + " other.qcow2\nMD5 (node.qcow2) = abcd\nSHA512 (node.qcow2) = " + long, long},
		"too short":           {"abcd node.qcow2", ""},
	} {
		got, err := digestIn(test.list, "node.qcow2")
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestDescriptionsOfImages: of one that another uploaded, the name is left alone.
func TestDescriptionsOfImages(t *testing.T) {
	t.Parallel()
	i := manifest.Image{Name: "new", Key: "k", Visibility: "private", Format: "qcow2"}
	names := func(virtual int64, properties map[string]string) (all []string) {
		for _, d := range Describe(i, Record{Name: "old", Visibility: "private", Status: "active", Properties: properties}, virtual) {
			all = append(all, d.Property)
		}
		return all
	}
	for want, got := range map[string][]string{
		"name": names(0, map[string]string{PropertyMark: "k"}), "": names(0, nil), "name min_disk": names(1, map[string]string{PropertyMark: "k"}), "name " + PropertyLease: names(0, map[string]string{PropertyMark: "k", PropertyLease: "x"}),
	} {
		if strings.Join(got, " ") != want {
			t.Errorf("differs in %q, want %q", got, want)
		}
	}
	for virtual, want := range map[int64]int{0: 0, -1: 0, 1: 1, 1 << 30: 1, 1<<30 + 1: 2} {
		if got := wantedDisk(i, virtual); got != want {
			t.Errorf("a disk of %d bytes needs %d GiB, want %d", virtual, got, want)
		}
	}
	i.MinDisk = 9
	if got := wantedDisk(i, 1<<40); got != 9 {
		t.Errorf("the manifest's size is not taken: %d", got)
	}
}

// TestWhatABillAdds is what the manifest does not say.
func TestWhatABillAdds(t *testing.T) {
	t.Parallel()
	i := manifest.Image{OS: manifest.OS{Distro: "debian"}, Properties: map[string]string{"hw_disk_bus": "scsi"}}
	given := maps.Clone(i.Properties)
	DescribeFromBill(&i, map[string]string{"kube_version": "1.34.2", "os_distro": "ubuntu", "hw_disk_bus": "virtio", "os_purpose": "k8snode"})
	if want := map[string]string{"hw_disk_bus": "scsi", "os_purpose": "k8snode"}; i.KubernetesVersion != "v1.34.2" || !maps.Equal(i.Properties, want) || given["hw_disk_bus"] != "scsi" {
		t.Errorf("%s %v", i.KubernetesVersion, i.Properties)
	}
	own := manifest.Image{KubernetesVersion: "v1.33.1"}
	if DescribeFromBill(&own, map[string]string{"kube_version": "1.34.2"}); own.KubernetesVersion != "v1.33.1" {
		t.Errorf("the manifest's version is gone: %s", own.KubernetesVersion)
	}
}

// TestWhatGlanceCannotFetchItself: nothing that has to be looked at or changed on its way.
func TestWhatGlanceCannotFetchItself(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*manifest.Image){
		"": func(*manifest.Image) {}, "it has no URL": func(i *manifest.Image) { i.URL = "" }, "it must be converted": func(i *manifest.Image) { i.Convert = "raw" }, "it is compressed": func(i *manifest.Image) { i.URL += ".gz" },
		"without sha512": func(i *manifest.Image) { i.SHA512 = "" }, "its signature": func(i *manifest.Image) { i.Signature = &manifest.Signature{} },
	} {
		i := manifest.Image{URL: "https://example.org/node.qcow2", Format: "qcow2", SHA512: "cd"}
		change(&i)
		if got := notByWeb(i); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSignaturesOfComments are checked too: it says what the signature is for.
func TestSignaturesOfComments(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signature := []byte("the signature of the bytes")
	good := base64.StdEncoding.EncodeToString(ed25519.Sign(private, append(slices.Clone(signature), "of node"...)))
	for name, test := range map[string]struct {
		text string
		want error
	}{
		"right": {"\ntrusted comment: of node\n" + good + "\n", nil}, "with Windows' ends": {"\ntrusted comment: of node\r\n" + good + "\r\n", nil}, "another comment": {"\ntrusted comment: of nodes\n" + good, errSignature},
		"none": {"\nof node\n" + good, errSignature}, "no base64": {"\ntrusted comment: of node\n" + good + "!", errSignature}, "cut off": {"\ntrusted comment: of node\n" + good[:40], errSignature}, "nothing signed": {"\ntrusted comment: of node", errSignature},
	} {
		if err := trustedComment(public, test.text, signature); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if got := (Record{Status: string(images.ImageStatusActive)}); !got.Active() || (Record{Status: "queued"}).Active() {
		t.Error("which images are active")
	}
}
