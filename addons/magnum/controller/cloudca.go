package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// authorityKey is the key with the cloud's CA certificates in a cluster's Secret.
const authorityKey = "cacert"

// trustCloud gives the cluster's Secret the CA certificates of the cloud. Cluster API reads them
// there, and the addon provider copies them to the cluster. A Secret that somebody else made, for a
// credential of their own, stays as it is.
func (p *pass) trustCloud(ctx context.Context) error {
	status, made := &p.cluster.Status, p.cluster.Spec.Credential.ApplicationCredentialID
	if len(p.CloudCA) == 0 || made == "" {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionCloudCA)
		return nil
	}
	want := certificatesDigest(p.CloudCA)
	// Who makes another credential writes the Secret, perhaps with certificates of before.
	if known := status.CloudCA; known == nil || known.Digest != want || made != status.CredentialID {
		secret, err := p.secret(ctx)
		if err != nil || secret == nil {
			return err
		}
		if err := p.replaceAuthorities(ctx, secret, want); err != nil {
			return err
		}
		status.CloudCA = authoritiesOf(secret, status.CloudCA, want, p.now)
	}
	p.cloudCACondition()
	return nil
}

// replaceAuthorities writes the certificates with the time, which a pass that is interrupted here
// leaves to the next one.
func (p *pass) replaceAuthorities(ctx context.Context, secret *corev1.Secret, want string) error {
	if certificatesDigest(secret.Data[authorityKey]) == want {
		return nil
	}
	before := secret.DeepCopy()
	secret.Data[authorityKey] = p.CloudCA
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	secret.Annotations[v1alpha1.AnnotationAuthoritiesChanged] = p.now.UTC().Format(time.RFC3339)
	if err := p.client.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing the cloud's CA certificates into Secret %s: %w", secret.Name, err)
	}
	p.events.Event(p.cluster, corev1.EventTypeNormal, "CloudCAChanged", "the Secret "+secret.Name+" has the cloud's new CA certificates")
	return nil
}

// authoritiesOf is the status for a Secret with the wanted certificates. The time is unset if pods
// have never had others.
func authoritiesOf(secret *corev1.Secret, known *v1alpha1.CloudCAStatus, want string, now time.Time) *v1alpha1.CloudCAStatus {
	is := &v1alpha1.CloudCAStatus{Digest: want}
	if known != nil {
		is.ChangedAt, is.RestartedFor = known.ChangedAt, known.RestartedFor
	}
	changed, err := time.Parse(time.RFC3339, secret.Annotations[v1alpha1.AnnotationAuthoritiesChanged])
	switch {
	case err == nil:
		is.ChangedAt = &metav1.Time{Time: changed}
	case known != nil && known.Digest != want: // another one wrote them
		is.ChangedAt = &metav1.Time{Time: now}
	}
	return is
}

// restartForCA is the digest of the certificates that pods on the cluster are to be restarted for:
// they read them once. As with a credential, the Secret has to be on the cluster before.
func (p *pass) restartForCA() string {
	known := p.cluster.Status.CloudCA
	if known == nil || known.ChangedAt == nil || p.foreign() {
		return ""
	}
	if known.Digest != known.RestartedFor && p.now.Sub(known.ChangedAt.Time) >= p.Overlap/2 {
		known.RestartedFor = known.Digest
	}
	return known.RestartedFor
}

// restart names what pods on the cluster are to be restarted for; empty is nothing.
func (p *pass) restart() string {
	return strings.Trim(p.restartFor()+"."+p.restartForCA(), ".")
}

// foreign reports whether another program made the release, and this pass leaves it so.
func (p *pass) foreign() bool {
	return p.cluster.Status.Release != nil && p.cluster.Status.Release.Foreign && !p.upgrading
}

// cloudCACondition reports whether the cluster trusts the cloud by the certificates of now. What
// has been true stays so until they change again: addons may fail later for other reasons.
func (p *pass) cloudCACondition() {
	known, conditions := p.cluster.Status.CloudCA, &p.cluster.Status.Conditions
	pending := known.ChangedAt != nil && known.RestartedFor != known.Digest
	reason, message := "", ""
	switch {
	case pending && p.foreign():
		reason = "NotRestarted"
		message = "another program made the cluster: its cloud controller and CSI driver use the CA certificates of before until you restart them or upgrade the cluster"
	case pending:
		p.later(p.Overlap/2 - p.now.Sub(known.ChangedAt.Time))
		reason, message = "Distributing", "the cloud controller and the CSI driver restart when the cluster has the new CA certificates of the cloud"
	case known.ChangedAt == nil || meta.IsStatusConditionTrue(*conditions, v1alpha1.ConditionCloudCA):
	case p.trouble != nil || p.state.Exists && !p.state.Addons:
		reason, message = "Restarting", "the cloud controller and the CSI driver are being restarted for the new CA certificates of the cloud"
	}
	condition := metav1.Condition{Type: v1alpha1.ConditionCloudCA, Status: metav1.ConditionTrue, Reason: "AsWanted", ObservedGeneration: p.cluster.Generation}
	if reason != "" {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason, message
	}
	meta.SetStatusCondition(conditions, condition)
}

// certificatesDigest tells sets of certificates apart, whatever their order and the text around
// them; empty without one.
func certificatesDigest(text []byte) string {
	var all []string
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			sum := sha256.Sum256(block.Bytes)
			all = append(all, string(sum[:]))
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	sum := sha256.New()
	for _, one := range slices.Compact(all) {
		sum.Write([]byte(one))
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// CloudCA returns the certificates of a text in PEM, and nothing else of it: tenants read all of it.
func CloudCA(text []byte) ([]byte, error) {
	all, err := cert.ParseCertsPEM(text)
	if err != nil {
		return nil, err
	}
	return cert.EncodeCertificates(all...)
}
