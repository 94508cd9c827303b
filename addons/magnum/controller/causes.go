package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// ask returns what the cluster's cloud says, for a cluster that is not as it should be:
// Cluster API learns of a load balancer in ERROR only after minutes of waiting, and never
// why a server failed. The cluster's own credential is used, so nothing is read that its
// project may not see.
func (p *pass) ask(ctx context.Context) *cause.Cloud {
	if missing := p.missingSecret(ctx); missing != nil {
		return missing
	}
	deleting := p.cluster.DeletionTimestamp != nil
	if p.Clouds == nil || deleting && p.objects.Infrastructure == nil || !deleting && p.cluster.Status.Phase.Complete() && p.state != nil && p.state.Healthy && len(p.state.Causes) == 0 {
		return nil
	}
	secret := &corev1.Secret{}
	err := p.live.Get(ctx, client.ObjectKey{Namespace: p.key.Namespace, Name: p.cluster.CredentialSecret()}, secret)
	if err != nil {
		return nil // the step that needs the Secret tells
	}
	if len(secret.Data["clouds.yaml"]) == 0 {
		return noCredential("the Secret " + secret.Name + " has no clouds.yaml")
	}
	// The resource version is in the key, so that a new credential is tried at once.
	said, again := p.Clouds.Look(ctx, secret.Namespace+"/"+secret.Name+"@"+secret.ResourceVersion,
		cloud.Options{Cloud: "openstack", CloudsYAML: secret.Data["clouds.yaml"], CABundle: secret.Data["cacert"]})
	p.later(again)
	if deleting && said != nil && said.Refused == nil {
		return nil // what goes is not well, and need not be
	}
	return said
}

// judge finds the causes of what is not as it should be.
func (p *pass) judge(ctx context.Context) {
	p.objects.Now = p.now
	p.state = observe.Of(p.objects)
	if p.objects.Cloud = p.ask(ctx); p.objects.Cloud != nil {
		p.state = observe.Of(p.objects)
	}
	p.forgetCauses(p.state.Causes)
	p.tell()
}
