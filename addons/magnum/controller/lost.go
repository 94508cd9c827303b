package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cause"
)

// A credential is lost if its Secret is gone or Keystone refuses it. Only its owner can make
// another, with a token: the controllers say so, and have Cluster API go on when it is there.

// missingSecret stands for the answer of a cloud that cannot be asked because the cluster's
// Secret is not there; nil if it is. The cache has the Secrets of the endpoint, whose deletion
// is an event; others are read.
func (p *pass) missingSecret(ctx context.Context) *cause.Cloud {
	key := client.ObjectKey{Namespace: p.key.Namespace, Name: p.cluster.CredentialSecret()}
	err := p.kept.Get(ctx, key, secretMetadata())
	if apierrors.IsNotFound(err) {
		err = p.live.Get(ctx, key, &corev1.Secret{})
	}
	if !apierrors.IsNotFound(err) {
		return nil // it is there, or the step that needs it tells
	}
	p.later(longestPause) // whoever writes one by hand need not label it
	return noCredential("the Secret " + key.Name + " does not exist")
}

func noCredential(words string) *cause.Cloud {
	return &cause.Cloud{Refused: &cause.Refusal{Absent: true, Words: words}}
}

// lost is why the cluster's credential is lost; nil if it is not, or nobody knows.
func (p *pass) lost() *observe.Cause {
	for i := range p.state.Causes {
		if p.state.Causes[i].Renew {
			return &p.state.Causes[i]
		}
	}
	return nil
}

// advise is a cause with what the owner of the cluster does about it, where they can.
func (p *pass) advise(c observe.Cause) string {
	if !c.Renew {
		return c.String()
	}
	command := "credential rotate"
	if p.cluster.DeletionTimestamp != nil {
		command = "cluster delete"
	}
	return fmt.Sprintf("%s; to give the cluster a new credential, run openstack coe %s %s", c, command, p.cluster.UUID())
}

// noteCredential notes whether the credential is lost. Once another is there, Cluster API's
// provider is to look at the cluster at once: it does not watch the Secret, and after failures
// it looks again only after minutes.
func (p *pass) noteCredential(ctx context.Context) error {
	if c := p.lost(); c != nil {
		p.credentialCondition(false, v1alpha1.ReasonCredentialLost, p.advise(*c))
		return nil
	}
	was := meta.FindStatusCondition(p.cluster.Status.Conditions, v1alpha1.ConditionCredential)
	if was == nil || was.Reason != v1alpha1.ReasonCredentialLost {
		return nil
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationRenewed, p.now.UTC().Format(time.RFC3339)))
	for _, o := range append(p.objects.Servers, p.objects.Infrastructure) {
		if o == nil {
			continue
		}
		if err := p.client.Patch(ctx, o.DeepCopy(), patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("annotating %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	p.credentialCondition(true, "", "")
	return nil
}
