package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// login is what is read of clouds.yaml.
type login struct {
	AuthURL      string `json:"auth_url"`
	CredentialID string `json:"application_credential_id"`
}

// loginOf reads the cloud "openstack" of a Secret. What cannot be read is empty:
// the parser's words would quote secrets.
func loginOf(secret *corev1.Secret) login {
	var document struct {
		Clouds map[string]struct {
			Auth login `json:"auth"`
		} `json:"clouds"`
	}
	if yaml.Unmarshal(secret.Data["clouds.yaml"], &document) != nil {
		return login{}
	}
	return document.Clouds["openstack"].Auth
}

func authURL(secret *corev1.Secret) string { return loginOf(secret).AuthURL }

// credentials follows a change of the cluster's credential: once the Secret has
// the new one and the cluster had time to take it, those before it are revoked.
func (p *pass) credentials(ctx context.Context) error {
	if err := p.noteCredential(ctx); err != nil {
		return err
	}
	wanted, status := p.cluster.Spec.Credential, &p.cluster.Status
	if wanted.ApplicationCredentialID != status.CredentialID {
		secret, err := p.secret(ctx)
		if err != nil || secret == nil {
			p.credentialCondition(false, v1alpha1.ReasonCredentialLost, "the Secret "+p.cluster.CredentialSecret()+" is missing or not usable")
			return err
		}
		if has := loginOf(secret).CredentialID; wanted.ApplicationCredentialID != "" && has != wanted.ApplicationCredentialID {
			p.credentialCondition(false, "Outdated", "the Secret "+secret.Name+" contains a different application credential than the cluster names")
			p.later(longestPause)
			return nil
		}
		status.CredentialID, status.CredentialChangedAt = wanted.ApplicationCredentialID, &metav1.Time{Time: p.now}
	}
	if p.trouble == nil && p.lost() == nil {
		p.credentialCondition(true, "", "")
	}
	p.revokeSuperseded(ctx)
	return nil
}

func (p *pass) credentialCondition(valid bool, reason, message string) {
	status := metav1.ConditionFalse
	if valid {
		status, reason = metav1.ConditionTrue, "AsWanted"
	}
	meta.SetStatusCondition(&p.cluster.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionCredential, Status: status,
		Reason: reason, Message: message, ObservedGeneration: p.cluster.Generation})
}

// restartFor is the credential that pods on the cluster are to be restarted for.
// They read their Secret once; so they are restarted after half of the overlap,
// when the addon provider and kubelets have long brought the new one, and before
// the old one ends.
func (p *pass) restartFor() string {
	wanted, status := p.cluster.Spec.Credential, &p.cluster.Status
	if len(wanted.Superseded) == 0 || p.foreign() {
		return ""
	}
	changed := ptr.Deref(status.CredentialChangedAt, metav1.Time{}).Time
	if left := p.Overlap/2 - p.now.Sub(changed); status.CredentialID == wanted.ApplicationCredentialID && left <= 0 {
		return status.CredentialID
	}
	if len(wanted.Superseded) > 1 {
		return wanted.Superseded[len(wanted.Superseded)-1].ID // as it is
	}
	return ""
}

// revokeSuperseded revokes former credentials after the overlap, and not before
// the addons have the new one.
func (p *pass) revokeSuperseded(ctx context.Context) {
	status := &p.cluster.Status
	status.RevokedCredentials = slices.DeleteFunc(status.RevokedCredentials, func(id string) bool {
		return !slices.ContainsFunc(p.cluster.Spec.Credential.Superseded, func(s v1alpha1.SupersededCredential) bool { return s.ID == id })
	})
	for _, old := range p.cluster.Spec.Credential.Superseded {
		if slices.Contains(status.RevokedCredentials, old.ID) || old.ID == status.CredentialID {
			continue
		}
		if left := p.Overlap - p.now.Sub(ptr.Deref(status.CredentialChangedAt, metav1.Time{}).Time); left > 0 {
			p.later(left)
			p.later(left - p.Overlap/2)
			return
		}
		if p.state.Exists && !p.state.Addons {
			return // an addon that becomes Deployed is an event
		}
		if err := p.revoke(ctx, old.UserID, old.ID); err != nil {
			p.credentialCondition(true, "", "")
			p.leave(old.ID, err)
			continue
		}
		status.RevokedCredentials = append(status.RevokedCredentials, old.ID)
	}
}

var errNoRevoker = errors.New("the controllers have no administrator login to OpenStack")

func (p *pass) revoke(ctx context.Context, userID, id string) error {
	if p.Revoker == nil {
		return errNoRevoker
	}
	if err := p.Revoker.Revoke(ctx, userID, id); err != nil {
		return fmt.Errorf("revoking application credential %s: %w", id, err)
	}
	return nil
}

// leave tells of a credential that could not be revoked, and tries again later.
func (p *pass) leave(id string, err error) {
	if !errors.Is(err, errNoRevoker) {
		p.later(longestPause)
	}
	p.events.Event(p.cluster, corev1.EventTypeWarning, "CredentialLeft", fmt.Sprintf("application credential %s is still valid: %v", id, err))
}

// revokeAll revokes all credentials of a cluster that is gone; left says that
// some could not be. Without an administrator's login they are left for good:
// a cluster must not be undeletable for it.
func (p *pass) revokeAll(ctx context.Context) (left bool) {
	c := p.cluster.Spec.Credential
	all := append(slices.Clone(c.Superseded), v1alpha1.SupersededCredential{ID: c.ApplicationCredentialID, UserID: c.UserID})
	for _, one := range all {
		if one.ID == "" || slices.Contains(p.cluster.Status.RevokedCredentials, one.ID) {
			continue
		}
		err := p.revoke(ctx, one.UserID, one.ID)
		if err == nil {
			p.cluster.Status.RevokedCredentials = append(p.cluster.Status.RevokedCredentials, one.ID)
			continue
		}
		p.leave(one.ID, err)
		if !errors.Is(err, errNoRevoker) {
			p.stay(err, false)
			left = true
		}
	}
	return left
}
