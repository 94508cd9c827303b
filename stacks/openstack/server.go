package openstack

import (
	"context"
	"fmt"
	"maps"
	"regexp"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// The microversions that are used.
const (
	// readingServers is one of the newest in which a server contains its flavor's ID; it
	// also contains the tags.
	readingServers = "2.26"
	// taggedServers accepts tags when a server is created.
	taggedServers = "2.52"
	// volumeTypeOfRoot accepts the type of a root volume.
	volumeTypeOfRoot = "2.67"
)

// ServerInputs are the inputs of a server.
type ServerInputs struct {
	Ownership
	FlavorID string `pulumi:"flavorID"`
	// ImageID and UserData are used when the server is created. A change does not
	// replace a running server; a change of ImageDigest does.
	ImageID  string `pulumi:"imageID" diff:"ignore"`
	UserData string `pulumi:"userData,optional" diff:"ignore" provider:"secret"`
	KeyName  string `pulumi:"keyName,optional" diff:"ignore"`
	// KeyFingerprint is that of the key pair, if it is ours: we cannot log in to a
	// server with another one.
	KeyFingerprint string `pulumi:"keyFingerprint,optional" diff:"replace"`
	// Ports are attached in this order.
	Ports []string `pulumi:"ports" diff:"replace"`
	// Volumes are kept when the server is replaced.
	Volumes []string `pulumi:"volumes,optional"`
	// RootVolumeSize is the size in GiB of a root volume that is deleted with the
	// server; 0 boots from the hypervisor's own disk (S-15).
	RootVolumeSize   int               `pulumi:"rootVolumeSize,optional" diff:"replace"`
	RootVolumeType   string            `pulumi:"rootVolumeType,optional" diff:"replace"`
	AvailabilityZone string            `pulumi:"availabilityZone,optional" diff:"replace"`
	Metadata         map[string]string `pulumi:"metadata,optional"`
	// ConfigDrive has Nova give the user data on a disk, beside the metadata service. A cloud may
	// do so for all servers, so it is not read back.
	ConfigDrive bool `pulumi:"configDrive,optional" diff:"replace"`
	// ImageDigest is the SHA-256 of the image, if it is from the bundle or an image
	// manifest: a newer image replaces the server. It is empty for other images of the
	// cloud, which its operator manages.
	ImageDigest string `pulumi:"imageDigest,optional" diff:"replace-known"`
}

// ServerState is the state of a server.
type ServerState struct {
	ServerInputs
	Status string `pulumi:"status"`
}

func (s ServerState) inputs() ServerInputs { return s.ServerInputs }

// Server is a server in a program.
type Server struct{ pulumi.CustomResourceState }

// ServerRefs are the inputs of a server that come from other resources.
type ServerRefs struct {
	Ports, Volumes           pulumi.StringArrayInput
	Image, KeyName, UserData pulumi.StringInput
	KeyFingerprint           pulumi.StringInput
}

// NewServer adds a server to the program.
func NewServer(ctx *pulumi.Context, in ServerInputs, refs ServerRefs, options ...pulumi.ResourceOption) (*Server, error) {
	r := &Server{}
	properties := pulumi.Map{"ports": refs.Ports}
	if refs.Volumes != nil {
		properties["volumes"] = refs.Volumes
	}
	if refs.Image != nil {
		properties["imageID"] = refs.Image
	}
	if refs.KeyName != nil {
		properties["keyName"] = refs.KeyName
	}
	if refs.KeyFingerprint != nil {
		properties["keyFingerprint"] = refs.KeyFingerprint
	}
	if refs.UserData != nil {
		properties["userData"] = pulumi.ToSecret(refs.UserData)
	}
	return r, register(ctx, "Server", in, properties, r, options)
}

type server struct {
	controller[ServerInputs, ServerState]
}

// Annotate names the resource's type.
func (*server) Annotate(a infer.Annotator) { a.SetToken("openstack", "Server") }

type serverKind struct{ Clients }

func (serverKind) word() string { return "server" }

// keyMetadata and imageMetadata are the metadata keys of the fingerprint of a server's key,
// and of the digest of its image.
const (
	keyMetadata   = "slipway_key"
	imageMetadata = "slipway_image"
)

// find deletes a server of ours that never came up, whose key is lost, or that has an older
// image and is not in the state, so that it is created again. Its volumes are kept.
func (k serverKind) find(ctx context.Context, in ServerInputs) (string, error) {
	client, err := k.Compute()
	if err != nil {
		return "", err
	}
	pages, err := servers.List(client, servers.ListOpts{Name: "^" + regexp.QuoteMeta(in.mark().Name()) + "$"}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := servers.ExtractServers(pages)
	if err != nil {
		return "", err
	}
	broken := map[string]bool{}
	var candidates []candidate
	for _, s := range list {
		candidates = append(candidates, candidate{id: s.ID, name: s.Name, metadata: s.Metadata})
		broken[s.ID] = s.Status == "ERROR" || s.Status == "DELETED" || s.TaskState == "deleting" || s.Metadata[keyMetadata] != in.KeyFingerprint ||
			in.ImageDigest != "" && s.Metadata[imageMetadata] != "" && s.Metadata[imageMetadata] != in.ImageDigest
	}
	id, err := pick(k.word(), in.mark(), candidates)
	if err == nil && broken[id] {
		return "", k.remove(ctx, id, ServerState{})
	}
	return id, err
}

func (k serverKind) make(ctx context.Context, in ServerInputs) (string, error) {
	client, err := k.Compute()
	if err != nil {
		return "", err
	}
	creating := *client
	creating.Microversion = taggedServers
	if in.RootVolumeType != "" {
		creating.Microversion = volumeTypeOfRoot
	}
	var networks []servers.Network
	for _, port := range in.Ports {
		networks = append(networks, servers.Network{Port: port})
	}
	metadata := in.metadata()
	if in.ImageDigest != "" {
		metadata[imageMetadata] = in.ImageDigest
	}
	options := servers.CreateOpts{Name: in.mark().Name(), FlavorRef: in.FlavorID, ImageRef: in.ImageID, Networks: networks,
		UserData: []byte(in.UserData), AvailabilityZone: in.AvailabilityZone, Metadata: metadata, BlockDevice: in.devices(), Tags: append(in.mark().Tags(), in.Tags...)}
	if in.RootVolumeSize > 0 {
		options.ImageRef = ""
	}
	if in.ConfigDrive {
		options.ConfigDrive = &in.ConfigDrive
	}
	s, err := servers.Create(ctx, &creating, keypairs.CreateOptsExt{CreateOptsBuilder: options, KeyName: in.KeyName}, nil).Extract()
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

// metadata is the metadata that may be changed on an existing server; the keys that
// record how it was created are not.
func (in ServerInputs) metadata() map[string]string {
	all := maps.Clone(in.Metadata)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, in.mark().Metadata())
	if in.KeyFingerprint != "" {
		all[keyMetadata] = in.KeyFingerprint
	}
	return all
}

func (k serverKind) settle(ctx context.Context, id string, in ServerInputs) (ServerState, error) {
	client, s, err := k.running(ctx, id)
	if err != nil {
		return ServerState{}, err
	}
	if flavor, _ := s.Flavor["id"].(string); flavor != in.FlavorID {
		if err := k.resize(ctx, client, id, in.FlavorID); err != nil {
			return ServerState{}, err
		}
	}
	if missing(s.Metadata, in.metadata()) {
		if _, err := servers.UpdateMetadata(ctx, client, id, servers.MetadataOpts(in.metadata())).Extract(); err != nil {
			return ServerState{}, fmt.Errorf("changing metadata: %w", err)
		}
	}
	if err := k.attach(ctx, client, s, in.Volumes); err != nil {
		return ServerState{}, err
	}
	in.ImageDigest = s.Metadata[imageMetadata]
	return ServerState{in, "ACTIVE"}, nil
}

func (k serverKind) read(ctx context.Context, id string, in ServerInputs) (ServerState, error) {
	_, s, err := k.get(ctx, id)
	if err != nil {
		return ServerState{}, err
	}
	if flavor, ok := s.Flavor["id"].(string); ok {
		in.FlavorID = flavor
	}
	in.ImageDigest = s.Metadata[imageMetadata]
	for key := range in.Metadata {
		if s.Metadata[key] != in.Metadata[key] {
			in.Metadata = maps.Clone(in.Metadata)
			in.Metadata[key] = s.Metadata[key]
		}
	}
	return ServerState{in, s.Status}, nil
}

// remove keeps ports and volumes that were created before the server.
func (k serverKind) remove(ctx context.Context, id string, _ ServerState) error {
	asked := false
	return wait(ctx, func() (string, bool, error) {
		client, s, err := k.get(ctx, id)
		if err != nil {
			return "", err == errGone, skipGone(err)
		}
		switch {
		case s.Status == "DELETED" || s.Status == "SOFT_DELETED":
			return "", true, nil
		case !asked && s.TaskState != "deleting":
			asked = true
			err := gone(servers.Delete(ctx, client, id).ExtractErr())
			return "deleting", err == errGone, skipGone(err)
		case s.Status == "ERROR" && s.TaskState == "" && s.Fault.Message != "":
			return vainly + "the server is in ERROR, and cannot be deleted: " + s.Fault.Message, false, nil
		case s.TaskState == "":
			return vainly + "the server is " + s.Status + ", although its deletion was accepted", false, nil
		}
		return "server is being deleted", false, nil
	})
}

func (k serverKind) get(ctx context.Context, id string) (*gophercloud.ServiceClient, *servers.Server, error) {
	client, err := k.Compute()
	if err != nil {
		return nil, nil, err
	}
	reading := *client
	reading.Microversion = readingServers
	s, err := servers.Get(ctx, &reading, id).Extract()
	return &reading, s, gone(err)
}
