package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// undoTime bounds the deletion of what was created in vain; the client may be gone by then.
const undoTime = 10 * time.Second

// makeCredential creates an application credential of the caller for a cluster.
func (c *call) makeCredential(cluster *v1alpha1.Cluster) (openstack.Credential, error) {
	if err := c.s.o.Credentials.MayMakeCredential(c.token); err != nil {
		return openstack.Credential{}, &httpError{status: http.StatusForbidden, detail: openstackapi.Sentence(err.Error())}
	}
	name := fmt.Sprintf("magnum-%s-%s", cluster.UUID(), uuid.NewString()[:8])
	description := fmt.Sprintf("Cluster %s (%s)", cluster.Title(), cluster.UUID())
	credential, err := c.s.o.Cloud.MakeCredential(c.ctx(), c.token, c.s.o.Credentials, name, description)
	return credential, looked(err, http.StatusForbidden)
}

// drop deletes an unused credential, whatever became of the request.
func (c *call) drop(credential openstack.Credential) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), undoTime)
	defer cancel()
	if err := c.s.o.Cloud.DropCredential(ctx, c.token, credential); err != nil {
		c.s.o.Log.WarnContext(ctx, "an application credential is left over", "request_id", c.requestID, "id", credential.ID, "error", err.Error())
	}
}

func (c *call) secret(cluster *v1alpha1.Cluster, credential openstack.Credential) (*corev1.Secret, error) {
	data, err := c.s.o.Credentials.SecretData(c.token, credential)
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.CredentialSecret(), Labels: map[string]string{
		v1alpha1.LabelProject: v1alpha1.LabelValue(cluster.Spec.ProjectID), v1alpha1.LabelUser: v1alpha1.LabelValue(credential.UserID),
		v1alpha1.LabelCluster: v1alpha1.LabelValue(cluster.UUID()), v1alpha1.LabelStack: v1alpha1.LabelValue(cluster.Stack())}}, Data: data}, nil
}

// giveCredential creates the credential and the Secret of a new cluster. undo deletes both.
func (c *call) giveCredential(cluster *v1alpha1.Cluster) (undo func(), err error) {
	credential, err := c.makeCredential(cluster)
	if err != nil {
		return nil, err
	}
	secret, err := c.secret(cluster, credential)
	if err == nil {
		err = c.s.o.Client.Create(c.ctx(), secret)
	}
	if apierrors.IsNotFound(err) {
		if err = c.makeNamespace(cluster.Spec.ProjectID); err == nil {
			err = c.s.o.Client.Create(c.ctx(), secret)
		}
	}
	if err != nil {
		c.drop(credential)
		return nil, fmt.Errorf("keeping the credential: %w", err)
	}
	cluster.Spec.Credential = v1alpha1.Credential{SecretName: secret.Name, ApplicationCredentialID: credential.ID, UserID: credential.UserID}
	return func() { c.discard(secret, credential) }, nil
}

// discard deletes a credential and its Secret.
func (c *call) discard(secret *corev1.Secret, credential openstack.Credential) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), undoTime)
	defer cancel()
	if err := c.s.o.Client.Delete(ctx, secret); err != nil && !apierrors.IsNotFound(err) {
		c.s.o.Log.WarnContext(ctx, "a Secret is left over", "request_id", c.requestID, "secret", secret.Name, "error", err.Error())
	}
	c.drop(credential)
}

// replaceCredential puts a new credential of the caller into the cluster's Secret and records it in
// the spec. The controllers revoke the former one when the cluster uses the new one (overlap, then
// revoke). The Secret is written first: if the spec cannot be written, the cluster works with the
// new credential, which is merely not recorded, and the former one is not revoked.
func (c *call) replaceCredential(v *inventory.View, owner bool) error {
	cluster := v.Cluster
	credential, err := c.makeCredential(cluster)
	if err != nil {
		return err
	}
	secret, err := c.secret(cluster, credential)
	if err != nil {
		c.drop(credential)
		return err
	}
	if err := c.putSecret(secret); err != nil && !c.kept(secret, credential) {
		return err
	}
	_, err = update(c, cluster, func(cluster *v1alpha1.Cluster) error {
		supersede(cluster, credential)
		cluster.Spec.Credential.SecretName = secret.Name
		if owner {
			cluster.Spec.UserID = c.caller.UserID
		}
		return nil
	})
	var answer *httpError
	if errors.As(err, &answer) && answer.status == http.StatusNotFound { // its deletion has just ended
		c.discard(secret, credential)
	}
	return err
}

// putSecret overwrites the Secret, or creates it.
func (c *call) putSecret(secret *corev1.Secret) error {
	for range maxConflicts {
		old := &corev1.Secret{}
		err := c.s.o.Client.Get(c.ctx(), client.ObjectKeyFromObject(secret), old)
		switch {
		case apierrors.IsNotFound(err):
			err = c.s.o.Client.Create(c.ctx(), secret.DeepCopy())
		case err == nil:
			old.Data, old.Labels = secret.Data, secret.Labels
			err = c.s.o.Client.Update(c.ctx(), old)
		}
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("keeping the credential: %w", err)
		}
	}
	return conflict("Somebody else changes the credential at the same time. Try again.")
}

// kept reports whether a Secret has its credential although writing it seemed to fail. If the
// Secret is known not to have it, the credential is dropped.
func (c *call) kept(secret *corev1.Secret, credential openstack.Credential) bool {
	there := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name}}
	stands, unknown := c.stands(there)
	if stands && bytes.Equal(there.Data["clouds.yaml"], secret.Data["clouds.yaml"]) {
		return true
	}
	if unknown == nil {
		c.drop(credential)
	}
	return false
}

// supersede records a new credential and the former one, and forgets those that are revoked.
func supersede(cluster *v1alpha1.Cluster, credential openstack.Credential) {
	now := &cluster.Spec.Credential
	now.Superseded = slices.DeleteFunc(now.Superseded, func(s v1alpha1.SupersededCredential) bool {
		return slices.Contains(cluster.Status.RevokedCredentials, s.ID)
	})
	if now.ApplicationCredentialID != "" && now.ApplicationCredentialID != credential.ID {
		now.Superseded = append(now.Superseded, v1alpha1.SupersededCredential{ID: now.ApplicationCredentialID, UserID: now.UserID})
	}
	now.ApplicationCredentialID, now.UserID = credential.ID, credential.UserID
}

// lost reports whether a cluster's credential is lost: its Secret is gone, or the controllers found
// that it is refused. Another credential then helps a cluster in any state, also one that is being
// deleted.
func (c *call) lost(cluster *v1alpha1.Cluster) bool {
	if told := meta.FindStatusCondition(cluster.Status.Conditions, v1alpha1.ConditionCredential); told != nil && told.Reason == v1alpha1.ReasonCredentialLost {
		return true
	}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.CredentialSecret()}
	return apierrors.IsNotFound(c.s.o.Client.Get(c.ctx(), key, &corev1.Secret{}))
}

// restoreCredential gives a cluster that is to be deleted a credential of the caller if its own is
// lost: without one, nothing that it has in OpenStack can be deleted. A cluster for which nothing
// was created needs none. If the caller cannot create one, the deletion goes on all the same: the
// controllers say what is missing.
func (c *call) restoreCredential(v *inventory.View) {
	cluster := v.Cluster
	if cluster.Spec.ProjectID != c.caller.ProjectID || cluster.Status.Phase == "" || !c.lost(cluster) {
		return
	}
	if err := c.replaceCredential(v, false); err != nil {
		c.s.o.Log.WarnContext(c.ctx(), "a cluster that is deleted got no credential", "request_id", c.requestID, "object", client.ObjectKeyFromObject(cluster).String(), "error", err.Error())
	}
}

// adoptCredential gives a cluster a credential of the caller if the present one is another user's:
// the user who changed the cluster last answers for it, and the cluster of a removed user works
// again. The present credential stays if the caller cannot create one, or lacks the cluster's key
// pair: Nova looks for the key among those of the credential's user. It also stays if the caller
// lacks a role that the present credential has: without that role, the next request of the cluster
// would be refused.
func (c *call) adoptCredential(v *inventory.View) error {
	present := v.Cluster.Spec.Credential
	if present.ApplicationCredentialID == "" || present.UserID == c.caller.UserID || v.Cluster.Spec.ProjectID != c.caller.ProjectID {
		return nil
	}
	if c.lacksKeypair(v.Cluster) || c.narrows(v.Cluster) {
		return nil
	}
	err := c.replaceCredential(v, false)
	var answer *httpError
	// Keystone answers 400 to users whose roles come from a federation.
	if errors.As(err, &answer) && (answer.status == http.StatusForbidden || answer.status == http.StatusBadRequest) {
		return nil
	}
	return err
}

// lacksKeypair reports whether the caller has no key pair with the name of the one that the
// cluster's machines are created with.
func (c *call) lacksKeypair(cluster *v1alpha1.Cluster) bool {
	name := cluster.Spec.Keypair
	return name != "" && errors.Is(c.s.o.Cloud.Keypair(c.ctx(), c.token, name), openstack.ErrNotFound)
}

// narrows reports whether the cluster's credential works and has a role that a credential of the
// caller would lack. If Keystone does not tell, the present one stays.
func (c *call) narrows(cluster *v1alpha1.Cluster) bool {
	secret := &corev1.Secret{}
	err := c.s.o.Client.Get(c.ctx(), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.CredentialSecret()}, secret)
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	roles, err := c.s.o.Cloud.CredentialRoles(c.ctx(), c.token, secret.Data)
	if err != nil {
		return errors.Is(err, openstack.ErrUnavailable) || errors.Is(err, context.Canceled)
	}
	return c.s.o.Credentials.Lacks(c.token, roles)
}

// rotateCredential answers PATCH /credentials/{cluster}: the new credential is in place when the
// answer arrives.
func rotateCredential(c *call) error {
	if _, err := c.jsonBody(); err != nil {
		return err
	}
	v, err := c.cluster(c.ident("cluster"), "credential:rotate", c.admin)
	if err != nil {
		return err
	}
	if err := accepts(v.Phase(), "rotate the credential of", true); err != nil && !c.lost(v.Cluster) {
		return err
	}
	if c.lacksKeypair(v.Cluster) && !c.lost(v.Cluster) {
		return conflict("You have no key pair %s, which machines of the cluster are made with: create it first, or let a user rotate who has it.", v.Cluster.Spec.Keypair)
	}
	if err := c.replaceCredential(v, true); err != nil {
		return err
	}
	return c.accepted(v.Cluster.UUID())
}
