// Package images reconciles the node images in Glance with a manifest: it finds what is
// there already, uploads, describes, shares, verifies and retires images. The gate
// decides whether an image can be used for a cluster.
package images

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
)

// The properties that Slipway keeps of an image.
const (
	// PropertyMark holds the key that the image has in its manifest; only
	// images with it are retired.
	PropertyMark = "slipway_image"
	// PropertyDigest is the digest of the file as it was published, before
	// unpacking and conversion: "sha512:…" or "sha256:…".
	PropertyDigest = "slipway_digest"
	// PropertySHA256 is the digest of the bytes in Glance, by which
	// environments find them too.
	PropertySHA256 = "slipway_sha256"
	// PropertyLease is until when the writer of an unfinished image is alive.
	PropertyLease = "slipway_lease"
	// PropertyUploadedBy is the environment whose `up` uploaded the image.
	PropertyUploadedBy = "slipway_brought_by"
	// PropertyHidden is when Slipway hid the image.
	PropertyHidden = "slipway_hidden_at"
	// PropertyLent is on an image that was private, and that is shared with the projects of
	// clusters as long as they use it.
	PropertyLent = "slipway_lent"
)

// Record is an image as Glance has it.
type Record struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Status      string            `json:"status"`
	Owner       string            `json:"owner"`
	Visibility  string            `json:"visibility"`
	DiskFormat  string            `json:"diskFormat"`
	HashAlgo    string            `json:"hashAlgo,omitempty"`
	HashValue   string            `json:"hashValue,omitempty"`
	Size        int64             `json:"size"`
	VirtualSize int64             `json:"virtualSize,omitempty"`
	MinDisk     int               `json:"minDisk"`
	MinRAM      int               `json:"minRAM"`
	Protected   bool              `json:"protected"`
	Hidden      bool              `json:"hidden"`
	Tags        []string          `json:"tags"`
	Properties  map[string]string `json:"properties"`
	CreatedAt   time.Time         `json:"createdAt"`
	UpdatedAt   time.Time         `json:"updatedAt"`
}

// Active says that the image has its bytes and can be used.
func (r Record) Active() bool { return r.Status == string(images.ImageStatusActive) }

// lent reports whether Slipway shares the image for clusters in other projects.
func (r Record) lent() bool {
	return r.Visibility == string(images.ImageVisibilityShared) && r.Properties[PropertyLent] != ""
}

// object is the image as errors name it.
func (r Record) object() string {
	if r.ID == "" { // not there yet
		return "image " + r.Name
	}
	return fmt.Sprintf("image %s (%s)", r.Name, r.ID)
}

func newRecord(i images.Image) Record {
	r := Record{ID: i.ID, Name: i.Name, Status: string(i.Status), Owner: i.Owner, Visibility: string(i.Visibility), DiskFormat: i.DiskFormat,
		Size: i.SizeBytes, VirtualSize: i.VirtualSize, MinDisk: i.MinDiskGigabytes, MinRAM: i.MinRAMMegabytes, Protected: i.Protected,
		Hidden: i.Hidden, Tags: i.Tags, Properties: map[string]string{}, CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt}
	for key, value := range i.Properties {
		if text, ok := value.(string); ok {
			r.Properties[key] = text
		}
	}
	r.HashAlgo, r.HashValue = r.Properties["os_hash_algo"], r.Properties["os_hash_value"]
	for _, field := range []string{"os_hash_algo", "os_hash_value", "stores", "direct_url"} { // Glance's own, no properties
		delete(r.Properties, field)
	}
	return r
}

// Glance is the image service of one project.
type Glance struct {
	cloud  *cloud.Cloud
	client *gophercloud.ServiceClient
	// Project is the ID of the project that is logged in to.
	Project string
}

// NewGlance returns the image service of a cloud.
func NewGlance(c *cloud.Cloud) (*Glance, error) {
	client, err := c.Image()
	if err != nil {
		return nil, err
	}
	result, ok := c.Provider.GetAuthResult().(interface {
		ExtractProject() (*tokens.Project, error)
	})
	if !ok {
		return nil, fault.New("cloud "+c.Name, errors.New("the login does not name its project"), "log in with the Identity API v3")
	}
	project, err := result.ExtractProject()
	if err != nil {
		return nil, c.Fault("token", err)
	}
	if project == nil {
		return nil, fault.New("cloud "+c.Name, errors.New("the login has no project"), "set a project in clouds.yaml")
	}
	return &Glance{cloud: c, client: client, Project: project.ID}, nil
}

// page is how many images one answer shall hold.
const page = 1000

// List lists the images that the project can see: its own, public ones and
// those shared with it; all adds the community's. Hidden ones are another list
// of Glance's.
func (g *Glance) List(ctx context.Context, all, hidden bool) ([]Record, error) {
	options := images.ListOpts{Limit: page, Hidden: hidden}
	if all {
		options.Visibility = "all"
	}
	pages, err := images.List(g.client, options).AllPages(ctx)
	if err != nil {
		return nil, g.cloud.Fault("images", err)
	}
	list, err := images.ExtractImages(pages)
	if err != nil {
		return nil, g.cloud.Fault("images", err)
	}
	var records []Record
	for _, i := range list {
		if i.Hidden == hidden {
			records = append(records, newRecord(i))
		}
	}
	return records, nil
}

// Get reads one image.
func (g *Glance) Get(ctx context.Context, id string) (Record, error) {
	i, err := images.Get(ctx, g.client, id).Extract()
	if err != nil {
		return Record{}, g.cloud.Fault("image "+id, err)
	}
	return newRecord(*i), nil
}

// delete deletes an image; one that is gone is deleted.
func (g *Glance) delete(ctx context.Context, r Record) error {
	err := images.Delete(ctx, g.client, r.ID).ExtractErr()
	if gophercloud.ResponseCodeIs(err, 404) {
		return nil
	}
	return g.cloud.Fault(r.object()+": deleting", err)
}

// patch changes an image.
func (g *Glance) patch(ctx context.Context, r Record, changes images.UpdateOpts) (Record, error) {
	if len(changes) == 0 {
		return r, nil
	}
	i, err := images.Update(ctx, g.client, r.ID, changes).Extract()
	if err != nil {
		return r, g.cloud.Fault(r.object()+": changing", err)
	}
	return newRecord(*i), nil
}
