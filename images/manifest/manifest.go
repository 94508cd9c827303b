// Package manifest is the list of node images that a cloud shall have: its
// types, strict decoding with validation, and readers of other tools' lists.
package manifest

import (
	"strings"

	"github.com/slipway-sh/slipway/internal/config"
)

// APIVersion and Kind head every manifest of our own form.
const (
	APIVersion = "slipway.sh/v1alpha1"
	Kind       = "Images"
)

// Manifest is a list of node images with what holds for all of them.
type Manifest struct {
	// Version of this file format.
	APIVersion string `json:"apiVersion" schema:"required,enum=slipway.sh/v1alpha1"`
	// Kind of this file.
	Kind string `json:"kind" schema:"required,enum=Images"`
	// What the list consists of.
	Spec Spec `json:"spec"`
}

// Spec is what a manifest consists of.
type Spec struct {
	// Values for images that do not say their own.
	Defaults Defaults `json:"defaults"`
	// IDs of projects whose community and shared images are used if they have the right bytes and properties.
	TrustedOwners []string `json:"trustedOwners,omitempty"`
	// The largest disk that an image may unpack to, in GiB, where the image gives no minDisk.
	MaxDisk int `json:"maxDisk" default:"100" schema:"min=1,max=16384"`
	// What `slipway image prune` does with images that are no longer in the list.
	Retire Retire `json:"retire"`
	// The images. Their names are unique.
	Images []Image `json:"images" schema:"required"`
}

// Defaults are values for images that do not say their own.
type Defaults struct {
	// Who may use the images: `private`, `shared`, `community` or `public`.
	Visibility string `json:"visibility" default:"private" schema:"enum=private|shared|community|public"`
	// How the bytes come to the cloud: `upload` streams them, `glance-direct` streams them into Glance's staging area and has it import them,
	// `web-download` has Glance fetch the URL. What the cloud or the image does not allow falls back to `upload`.
	Method string `json:"method" default:"upload" schema:"enum=upload|glance-direct|web-download"`
	// Format to convert qcow2 images to, `raw`; empty leaves images as they are. Ceph wants raw.
	Convert string `json:"convert,omitempty" schema:"enum=|raw"`
	// Properties of all images.
	Properties map[string]string `json:"properties,omitempty"`
	// Tags of all images.
	Tags []string `json:"tags,omitempty"`
	// Projects that images of visibility `shared` are shared with.
	Share []Member `json:"share,omitempty"`
}

// Retire is the policy for images that left the list. An image that a
// template, cluster or server uses is never touched.
type Retire struct {
	// How many images of each Kubernetes minor version stay as they are, the newest first, those in the list included.
	Keep int `json:"keep" default:"2" schema:"min=0,max=1000"`
	// How long an image stays hidden before it is deleted.
	DeleteAfter config.Duration `json:"deleteAfter" default:"168h" schema:"format=duration"`
}

// Member is a project that an image is shared with.
type Member struct {
	// ID of the project.
	Project string `json:"project" schema:"required"`
	// Entry of clouds.yaml with a login of that project, by which the offer is accepted. Empty: our own login accepts, which takes an administrator.
	Cloud string `json:"cloud,omitempty"`
}

// Image is one image.
type Image struct {
	// Name in Glance.
	Name string `json:"name" schema:"required,maxLength=255"`
	// Short name for --only; in azimuth-images' lists the key. Empty: the name.
	Key string `json:"key,omitempty"`
	// Address of the image, http or https. One of url, file and bundle is given.
	URL string `json:"url,omitempty"`
	// Path of the image file, relative to the manifest.
	File config.File `json:"file,omitempty"`
	// Name of a machine image in the bundle.
	Bundle string `json:"bundle,omitempty"`
	// Format of the image once it is unpacked: `qcow2` or `raw`.
	Format string `json:"format" default:"qcow2" schema:"enum=qcow2|raw"`
	// Format to convert to; empty: as `spec.defaults.convert` says.
	Convert string `json:"convert,omitempty" schema:"enum=|raw|none"`
	// SHA-256 of the file as it is published, in hex. One digest is required for a url.
	SHA256 string `json:"sha256,omitempty"`
	// SHA-512 of the file as it is published, in hex. Glance computes this one itself, so that images that others uploaded are known by it.
	SHA512 string `json:"sha512,omitempty"`
	// Detached signature of the image or of a list of digests.
	Signature *Signature `json:"signature,omitempty"`
	// Kubernetes version of the image, such as `v1.34.2`. Empty: it is no node image.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// The operating system in the image.
	OS OS `json:"os"`
	// Processor architecture as Nova calls it, such as `x86_64`.
	Architecture string `json:"architecture,omitempty"`
	// When the image was built, `YYYY-MM-DD`.
	BuildDate string `json:"buildDate,omitempty"`
	// Disk that the image needs, in GiB. 0: the size that it unpacks to, rounded up.
	MinDisk int `json:"minDisk,omitempty" schema:"min=0,max=16384"`
	// Memory that the image needs, in MiB.
	MinRAM int `json:"minRAM,omitempty" schema:"min=0,max=1048576"`
	// Further properties; they win over those that follow from the fields above.
	Properties map[string]string `json:"properties,omitempty"`
	// Who may use the image; empty: as `spec.defaults` says.
	Visibility string `json:"visibility,omitempty" schema:"enum=|private|shared|community|public"`
	// How the bytes come to the cloud; empty: as `spec.defaults` says.
	Method string `json:"method,omitempty" schema:"enum=|upload|glance-direct|web-download"`
	// Projects that the image is shared with, besides those of `spec.defaults`.
	Share []Member `json:"share,omitempty"`
	// Tags, besides those of `spec.defaults`.
	Tags []string `json:"tags,omitempty"`
	// Keep Glance from deleting the image.
	Protected bool `json:"protected,omitempty"`
	// Leave the image out of lists; it can still be used by ID.
	Hidden bool `json:"hidden,omitempty"`
}

// OS is the operating system in an image.
type OS struct {
	// Distribution as libosinfo calls it, such as `ubuntu`, `flatcar` or `debian`. Both Magnum drivers need it.
	Distro string `json:"distro,omitempty"`
	// Version of the distribution.
	Version string `json:"version,omitempty"`
	// `linux` or `windows`.
	Type string `json:"type" default:"linux" schema:"enum=linux|windows"`
	// User with administrative rights that cloud-init sets up for logins.
	AdminUser string `json:"adminUser,omitempty"`
}

// The methods of signing.
const (
	Minisign = "minisign"
	OpenPGP  = "openpgp"
)

// Signature is a detached signature. It is checked before Glance takes the
// last byte.
type Signature struct {
	// `minisign` (prehashed, its default since 0.8) or `openpgp`.
	Method string `json:"method" schema:"required,enum=minisign|openpgp"`
	// URL or path of the signature, such as `….minisig` or `SHA256SUMS.asc`.
	From string `json:"from" schema:"required"`
	// URL or path of a list of digests in the form of sha256sum; the signature is the list's, and the list has the image's file name. Empty: the signature is the image's.
	Checksums string `json:"checksums,omitempty"`
	// Public key: minisign's line of base64, or an armoured OpenPGP key.
	PublicKey string `json:"publicKey,omitempty"`
	// File with the public key.
	PublicKeyFile config.File `json:"publicKeyFile,omitempty"`
}

// DiskFormat is the format that the image has in Glance.
func (i Image) DiskFormat() string {
	if i.Convert == FormatRaw {
		return FormatRaw
	}
	return i.Format
}

// The formats of images.
const (
	FormatQcow2 = "qcow2"
	FormatRaw   = "raw"
)

// The values of visibility that matter here.
const (
	VisibilityPrivate = "private"
	VisibilityShared  = "shared"
	VisibilityPublic  = "public"
)

// The methods by which bytes come to Glance.
const (
	MethodUpload       = "upload"
	MethodGlanceDirect = "glance-direct"
	MethodWebDownload  = "web-download"
)

// Source is where the image comes from, for people.
func (i Image) Source() string {
	switch {
	case i.URL != "":
		return i.URL
	case i.File != "":
		return string(i.File)
	}
	return "bundle item " + i.Bundle
}

// Digest is the strongest digest of the published file as "sha512:…" or
// "sha256:…", "" if the manifest has none.
func (i Image) Digest() string {
	switch {
	case i.SHA512 != "":
		return "sha512:" + strings.ToLower(i.SHA512)
	case i.SHA256 != "":
		return "sha256:" + strings.ToLower(i.SHA256)
	}
	return ""
}

// HasDigest reports whether a recorded digest, in Digest's form, is one of
// this image's.
func (i Image) HasDigest(recorded string) bool {
	return recorded != "" && (i.SHA512 != "" && strings.EqualFold(recorded, "sha512:"+i.SHA512) ||
		i.SHA256 != "" && strings.EqualFold(recorded, "sha256:"+i.SHA256))
}
