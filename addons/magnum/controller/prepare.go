package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
)

// writeSpec writes a change of the cluster's spec. Whoever else wrote since it
// was read wins, and the next pass sees both.
func (p *pass) writeSpec(ctx context.Context, what string, change func(*v1alpha1.ClusterSpec)) error {
	before, status := p.cluster.DeepCopy(), *p.cluster.Status.DeepCopy()
	change(&p.cluster.Spec)
	if err := p.client.Patch(ctx, p.cluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing %s: %w", what, err)
	}
	// The answer has the status of the server, which this pass may be ahead of.
	p.cluster.Status = status
	return nil
}

// takeTemplate copies the template where the copy is absent or of another one.
func (p *pass) takeTemplate(ctx context.Context) error {
	template := &v1alpha1.ClusterTemplate{}
	key := client.ObjectKey{Namespace: p.cluster.TemplateNamespace(), Name: p.cluster.Spec.TemplateRef.Name}
	err := p.client.Get(ctx, key, template)
	copied := p.cluster.Spec.Template
	switch {
	case apierrors.IsNotFound(err) && copied != nil:
		return nil // deleted since; the copy is what counts
	case apierrors.IsNotFound(err):
		p.stay(fault.New("template "+key.String(), errors.New("it does not exist"), "create it, or name another in spec.templateRef"), false)
		return nil
	case err != nil:
		return fmt.Errorf("reading template %s: %w", key, err)
	case copied != nil && copied.UUID == template.UUID():
		return nil
	case template.Namespace != p.cluster.Namespace && !template.Spec.Public:
		p.stay(fault.New("template "+key.String(), errors.New("it belongs to another project and is not public"), "publish it, or use one of the project's own"), true)
		return nil
	}
	return p.writeSpec(ctx, "the copy of the template", func(spec *v1alpha1.ClusterSpec) {
		first := spec.Template == nil
		values := template.Spec.TemplateValues
		spec.Template = &v1alpha1.TemplateSnapshot{UUID: template.UUID(), Name: template.Title(), TemplateValues: *values.DeepCopy()}
		if !first {
			if spec.Resolved != nil {
				spec.Resolved.Image = v1alpha1.ResolvedImage{}
			}
			return
		}
		if spec.Keypair == "" {
			spec.Keypair = values.KeypairID
		}
		if spec.DockerVolumeSize == 0 {
			spec.DockerVolumeSize = values.DockerVolumeSize
		}
	})
}

// follow tells groups without an image of their own which one they have.
func (p *pass) follow(ctx context.Context) error {
	if p.trouble != nil {
		return nil
	}
	for _, g := range p.groups {
		if image := p.cluster.Spec.Template.ImageID; g.Spec.ImageID != "" && g.Spec.ImageID != image && !driver.OwnImage(p.cluster, g) {
			if err := p.writeGroupSpec(ctx, g, func(spec *v1alpha1.NodeGroupSpec) { spec.ImageID, spec.Image = image, nil }); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeGroupSpec writes a change of a group's spec, see writeSpec.
func (p *pass) writeGroupSpec(ctx context.Context, g *v1alpha1.NodeGroup, change func(*v1alpha1.NodeGroupSpec)) error {
	before, status := g.DeepCopy(), *g.Status.DeepCopy()
	change(&g.Spec)
	if err := p.client.Patch(ctx, g, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing node group %s: %w", g.Title(), err)
	}
	g.Status = status
	return nil
}

// defaultGroups makes the default groups that are missing.
func (p *pass) defaultGroups(ctx context.Context) error {
	if p.trouble != nil {
		return nil
	}
	for _, g := range v1alpha1.DefaultGroups(p.cluster) {
		if p.hasGroup(g.Name) {
			continue
		}
		err := p.client.Create(ctx, g)
		if apierrors.IsAlreadyExists(err) {
			continue // its event is on its way
		}
		if err != nil {
			return fmt.Errorf("creating node group %s: %w", g.Title(), err)
		}
		p.groups = append(p.groups, g)
	}
	return nil
}

func (p *pass) hasGroup(name string) bool {
	for _, groups := range [][]*v1alpha1.NodeGroup{p.groups, p.leaving} {
		for _, g := range groups {
			if g.Name == name {
				return true
			}
		}
	}
	return false
}

// resolve looks up what names stand for where the endpoint has not.
func (p *pass) resolve(ctx context.Context) error {
	if p.trouble != nil {
		return nil
	}
	want, needed := p.unresolved()
	// Types of volumes are nice to have; they are asked for once, with the rest
	// or before the release is first made.
	types := p.cluster.Status.Release == nil && len(p.resolved().VolumeTypes) == 0
	if !needed && !types && want.MTUOf == "" {
		return nil
	}
	secret, err := p.secret(ctx)
	if err != nil || secret == nil {
		return err
	}
	found, images, err := p.Resolver.Resolve(ctx, secret, want)
	if err != nil && needed {
		p.stay(err, false)
		return nil
	}
	if err != nil {
		p.warnings = append(p.warnings, driver.Warning{Setting: "storage classes", Message: "volume types, or the network's MTU, could not be read: " + err.Error()})
		return nil
	}
	if err := p.writeImages(ctx, images); err != nil {
		return err
	}
	return p.writeSpec(ctx, "resolving names", func(spec *v1alpha1.ClusterSpec) { spec.Resolved = combine(p.resolved(), *found) })
}

// defaultPort is that of API servers where a template names none.
const defaultPort = 6443

// fixed is what CAPO has of a cluster and never changes; a port of 0 is not known.
type fixed struct {
	network string
	port    int64
}

// keepFixed holds a cluster to the networks and the port that CAPO has for it, also where the
// template of an upgrade, or what an earlier release noted of it, has others. A release of another
// program is left as it is until it is upgraded.
func (p *pass) keepFixed(ctx context.Context) error {
	if p.trouble != nil || p.objects.Infrastructure == nil || p.leftAsItIs() {
		return nil
	}
	var has fixed
	has.network, _, _ = unstructured.NestedString(p.objects.Infrastructure.Object, "spec", "externalNetwork", "id")
	has.port, _, _ = unstructured.NestedInt64(p.objects.Infrastructure.Object, "spec", "apiServerPort")
	asked, err := p.asked()
	if err != nil {
		return err
	}
	otherNetwork := has.network != "" && has.network != asked.network
	otherPort := has.port != 0 && has.port != asked.port
	made, _, _ := unstructured.NestedSlice(p.objects.Infrastructure.Object, "spec", "managedSubnets") // it has a network of its own
	notItsOwn := len(made) > 0 && p.resolved().FixedNetworkID+p.resolved().FixedSubnetID != ""
	if !otherNetwork && !otherPort && !notItsOwn {
		return nil
	}
	return p.writeSpec(ctx, "what the cluster keeps", func(spec *v1alpha1.ClusterSpec) {
		now := p.resolved()
		if otherNetwork {
			now.ExternalNetworkID = has.network
		}
		if notItsOwn {
			now.FixedNetworkID, now.FixedSubnetID, now.FixedNetworkMTU = "", "", 0
		}
		if otherNetwork || notItsOwn {
			spec.Resolved = &now
		}
		if otherPort {
			spec.Template.APIServerPort = int32(has.port)
		}
	})
}

// asked is what the next release has of it: what the cluster says, else the operator's values.
func (p *pass) asked() (fixed, error) {
	known := p.cluster.Status.Release
	site, err := p.siteValues(known != nil && known.TemplateUUID != p.cluster.Spec.Template.UUID)
	if err != nil {
		return fixed{}, err
	}
	values := map[string]any{}
	if site != nil {
		if err := utiljson.Unmarshal(site.Raw, &values); err != nil {
			return fixed{}, fmt.Errorf("decoding the operator's values: %w", err)
		}
	}
	network, _, _ := unstructured.NestedString(values, "clusterNetworking", "externalNetworkId")
	port, _, _ := unstructured.NestedInt64(values, "apiServer", "port")
	return fixed{cmp.Or(p.resolved().ExternalNetworkID, network), cmp.Or(int64(p.cluster.Spec.Template.APIServerPort), port, defaultPort)}, nil
}

func (p *pass) resolved() v1alpha1.ResolvedNames {
	return ptr.Deref(p.cluster.Spec.Resolved, v1alpha1.ResolvedNames{})
}

// unresolved are names without an id.
func (p *pass) unresolved() (want Names, needed bool) {
	spec, have := &p.cluster.Spec, p.resolved()
	open := func(id, name string, otherwise ...string) string {
		for _, other := range otherwise {
			if name == "" {
				name = other
			}
		}
		if id != "" {
			return ""
		}
		needed = needed || name != ""
		return name
	}
	want.Image = open(have.Image.ID, spec.Template.ImageID)
	// A cluster that runs has its networks: CAPO refuses those that the template of an upgrade adds.
	if p.cluster.Status.Release == nil || spec.Resolved == nil {
		want.ExternalNetwork = open(have.ExternalNetworkID, spec.Template.ExternalNetworkID)
		want.FixedNetwork = open(have.FixedNetworkID, spec.FixedNetwork, spec.Template.FixedNetwork)
		want.FixedSubnet = open(have.FixedSubnetID, spec.FixedSubnet, spec.Template.FixedSubnet)
	}
	// The endpoint looks the network up and not its MTU. A cluster that runs keeps
	// what its nodes found out (S-60).
	if p.cluster.Status.Release == nil && have.FixedNetworkMTU == 0 {
		want.MTUOf = have.FixedNetworkID
	}
	for _, g := range p.groups {
		if driver.OwnImage(p.cluster, g) && g.Spec.Image == nil {
			want.Images, needed = append(want.Images, g.Spec.ImageID), true
		}
	}
	return want, needed
}

// combine keeps what was known and adds what was found, of volume types as many as fit.
func combine(have, found v1alpha1.ResolvedNames) *v1alpha1.ResolvedNames {
	if have.Image.ID == "" {
		have.Image = found.Image
	}
	for _, field := range []struct{ have, found *string }{{&have.ExternalNetworkID, &found.ExternalNetworkID},
		{&have.FixedNetworkID, &found.FixedNetworkID}, {&have.FixedSubnetID, &found.FixedSubnetID}} {
		if *field.have == "" {
			*field.have = *field.found
		}
	}
	if have.FixedNetworkMTU == 0 {
		have.FixedNetworkMTU = found.FixedNetworkMTU
	}
	if len(have.VolumeTypes) == 0 {
		have.VolumeTypes = found.VolumeTypes[:min(len(found.VolumeTypes), v1alpha1.MaxVolumeTypes)]
	}
	return &have
}

func (p *pass) writeImages(ctx context.Context, images map[string]v1alpha1.ResolvedImage) error {
	for _, g := range p.groups {
		image, found := images[g.Spec.ImageID]
		if !found || g.Spec.Image != nil {
			continue
		}
		if err := p.writeGroupSpec(ctx, g, func(spec *v1alpha1.NodeGroupSpec) { spec.Image = &image }); err != nil {
			return err
		}
	}
	return nil
}

// secret reads the cluster's Secret; that it is not there, or lacks what
// everything needs, is noted as trouble.
func (p *pass) secret(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: p.key.Namespace, Name: p.cluster.CredentialSecret()}
	err := p.live.Get(ctx, key, secret)
	remedy := "run openstack coe credential rotate " + p.cluster.UUID() + ", or create the Secret with the keys clouds.yaml (cloud openstack) and cacert"
	switch {
	case apierrors.IsNotFound(err):
		p.stay(fault.New("Secret "+key.String(), errors.New("the cluster's credential does not exist"), remedy), false)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s: %w", key, err)
	case len(secret.Data["clouds.yaml"]) == 0:
		p.stay(fault.New("Secret "+key.String(), errors.New("it has no key clouds.yaml"), remedy), false)
		return nil, nil
	}
	return secret, nil
}
