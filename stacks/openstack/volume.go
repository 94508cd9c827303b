package openstack

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/fault"
)

// extendAttached is the microversion from which attached volumes can be extended.
const extendAttached = "3.42"

// readyKey is the metadata of a volume that was usable once, and so may contain data.
const readyKey = "slipway_ready"

// VolumeInputs are the inputs of a volume.
type VolumeInputs struct {
	Ownership
	// Size in GiB; it can grow but not shrink.
	Size             int    `pulumi:"size"`
	Type             string `pulumi:"type,optional" diff:"replace"`
	AvailabilityZone string `pulumi:"availabilityZone,optional" diff:"replace"`
}

// VolumeState is the state of a volume.
type VolumeState struct{ VolumeInputs }

func (s VolumeState) inputs() VolumeInputs { return s.VolumeInputs }

// Volume is a volume in a program.
type Volume struct{ pulumi.CustomResourceState }

// NewVolume adds a volume to the program.
func NewVolume(ctx *pulumi.Context, in VolumeInputs, options ...pulumi.ResourceOption) (*Volume, error) {
	r := &Volume{}
	return r, register(ctx, "Volume", in, nil, r, options)
}

type volume struct {
	controller[VolumeInputs, VolumeState]
}

// Annotate names the resource's type.
func (*volume) Annotate(a infer.Annotator) { a.SetToken("openstack", "Volume") }

// Diff refuses to shrink the volume, even in a plan.
func (v *volume) Diff(ctx context.Context, r infer.DiffRequest[VolumeInputs, VolumeState]) (infer.DiffResponse, error) {
	if err := noShrinking(r.State.Size, r.Inputs); err != nil {
		return infer.DiffResponse{}, err
	}
	return v.controller.Diff(ctx, r)
}

func noShrinking(have int, in VolumeInputs) error {
	if have <= in.Size {
		return nil
	}
	return fault.Usage("volume "+in.mark().Name(), fmt.Errorf("it has %d GiB and cannot be reduced to %d GiB", have, in.Size), "set at least its current size")
}

type volumeKind struct{ Clients }

func (volumeKind) word() string { return "volume" }

// find deletes a volume of ours that was never usable, so that it is created again.
func (k volumeKind) find(ctx context.Context, in VolumeInputs) (string, error) {
	client, err := k.Volume()
	if err != nil {
		return "", err
	}
	pages, err := volumes.List(client, volumes.ListOpts{Name: in.mark().Name()}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := volumes.ExtractVolumes(pages)
	if err != nil {
		return "", err
	}
	stillborn := map[string]bool{}
	var candidates []candidate
	for _, v := range list {
		candidates = append(candidates, candidate{id: v.ID, name: v.Name, metadata: v.Metadata, description: v.Description})
		stillborn[v.ID] = v.Status == "deleting" || (v.Status == "error" && v.Metadata[readyKey] == "")
	}
	id, err := pick(k.word(), in.mark(), candidates)
	if err == nil && stillborn[id] {
		return "", k.remove(ctx, id, VolumeState{})
	}
	return id, err
}

func (k volumeKind) make(ctx context.Context, in VolumeInputs) (string, error) {
	client, err := k.Volume()
	if err != nil {
		return "", err
	}
	v, err := volumes.Create(ctx, client, volumes.CreateOpts{Name: in.mark().Name(), Description: in.mark().Description(),
		Metadata: in.mark().Metadata(), Size: in.Size, VolumeType: in.Type, AvailabilityZone: in.AvailabilityZone}, nil).Extract()
	if err != nil {
		return "", err
	}
	return v.ID, nil
}

func (k volumeKind) settle(ctx context.Context, id string, in VolumeInputs) (VolumeState, error) {
	client, v, err := k.usable(ctx, id)
	if err != nil {
		return VolumeState{}, err
	}
	if err := noShrinking(v.Size, in); err != nil {
		return VolumeState{}, err
	}
	if v.Size < in.Size {
		growing := *client
		if v.Status == "in-use" {
			growing.Microversion = extendAttached
		}
		if err := volumes.ExtendSize(ctx, &growing, id, volumes.ExtendSizeOpts{NewSize: in.Size}).ExtractErr(); err != nil {
			return VolumeState{}, fmt.Errorf("extending: %w", err)
		}
		if client, v, err = k.usable(ctx, id); err != nil {
			return VolumeState{}, err
		}
	}
	marks := in.mark().Metadata()
	marks[readyKey] = "true"
	if missing(v.Metadata, marks) {
		metadata := maps.Clone(v.Metadata)
		maps.Copy(metadata, marks)
		if _, err := volumes.Update(ctx, client, id, volumes.UpdateOpts{Metadata: metadata}).Extract(); err != nil {
			return VolumeState{}, fmt.Errorf("setting metadata: %w", err)
		}
	}
	return VolumeState{in}, nil
}

// missing reports whether have lacks a pair of want.
func missing(have, want map[string]string) bool {
	for key, value := range want {
		if have[key] != value {
			return true
		}
	}
	return false
}

// usable waits until the volume is available or in use.
func (k volumeKind) usable(ctx context.Context, id string) (client *gophercloud.ServiceClient, v *volumes.Volume, err error) {
	err = wait(ctx, func() (string, bool, error) {
		if client, v, err = k.get(ctx, id); err != nil {
			return "", false, err
		}
		switch {
		case v.Status == "available" || v.Status == "in-use":
			return "", true, nil
		case strings.HasPrefix(v.Status, "error"):
			return "", false, failed(v.Status, k.cause(ctx, client, id), "run the same command again, which replaces a volume that was never usable; if it was in use before, ask the cloud's operator to repair it")
		}
		return "volume is " + v.Status, false, nil
	})
	return client, v, err
}

// cause returns Cinder's message about a volume in error, if there is one.
func (volumeKind) cause(ctx context.Context, client *gophercloud.ServiceClient, id string) string {
	telling := *client
	telling.Microversion = "3.5" // the first with filters on messages
	var body struct {
		Messages []struct {
			UserMessage string `json:"user_message"`
		} `json:"messages"`
	}
	_, err := telling.Get(ctx, telling.ServiceURL("messages")+"?resource_uuid="+id, &body, nil)
	if err != nil || len(body.Messages) == 0 {
		return ""
	}
	return body.Messages[0].UserMessage
}

func (k volumeKind) read(ctx context.Context, id string, in VolumeInputs) (VolumeState, error) {
	_, v, err := k.get(ctx, id)
	if err != nil {
		return VolumeState{}, err
	}
	in.Size = v.Size
	if in.Type != "" {
		in.Type = v.VolumeType
	}
	if in.AvailabilityZone != "" {
		in.AvailabilityZone = v.AvailabilityZone
	}
	return VolumeState{in}, nil
}

func (k volumeKind) get(ctx context.Context, id string) (*gophercloud.ServiceClient, *volumes.Volume, error) {
	client, err := k.Volume()
	if err != nil {
		return nil, nil, err
	}
	v, err := volumes.Get(ctx, client, id).Extract()
	return client, v, gone(err)
}
