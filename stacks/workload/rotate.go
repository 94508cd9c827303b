package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/fault"
)

// annotationFormer is on the Secret from when it has new credentials until the former ones
// are revoked: by it the next run goes on.
const annotationFormer = "slipway.sh/former-credentials"

// former are credentials that a rotation replaced.
type former struct {
	// Since is when the Secret got the new ones.
	Since time.Time `json:"since"`
	IDs   []string  `json:"ids"`
	// UserID is who can revoke them.
	UserID string `json:"userId"`
	// Lost says that they worked no more, or that nobody knows which they were: then create
	// does the rest too.
	Lost bool `json:"lost,omitempty"`
	// Earlier are of rotations that did not end.
	Earlier []former `json:"earlier,omitempty"`
}

// formerOf returns what the Secret says of a rotation under way.
func formerOf(secret *corev1.Secret) former {
	var f former
	if json.Unmarshal([]byte(secret.Annotations[annotationFormer]), &f) != nil {
		return former{}
	}
	return f
}

// notes say which of them stay, because they are of other users.
func (f former) notes(userID string) (notes []string) {
	for _, one := range append([]former{f}, f.Earlier...) {
		if one.UserID != "" && one.UserID != userID {
			notes = append(notes, staying(one.IDs, one.UserID)...)
		}
	}
	return notes
}

// Rotation is the result of rotating a cluster's credential.
type Rotation struct {
	// Credential is the ID of the new one, CloudProvider that of the second, if there is one.
	Credential    string `json:"credential"`
	CloudProvider string `json:"cloudProvider,omitempty"`
	// Restarted are what runs on the cluster and was restarted, Revoked the former credentials.
	Restarted []string `json:"restarted,omitempty"`
	Revoked   []string `json:"revoked,omitempty"`
	Notes     []string `json:"notes,omitempty"`
}

// MinOverlap is the least overlap that makes sense: what Cluster API began with the former
// credential must end.
const MinOverlap = 10 * time.Second

// RotateCredential gives a cluster new credentials and revokes the former ones when nothing
// uses them any more: it writes the Secret, waits until the cluster has them, restarts the
// cloud controller manager and the CSI drivers there, and lets the overlap pass. All that
// time both are valid. A run that was killed is continued by the next.
func (m *Management) RotateCredential(ctx context.Context, c Cloud, key Key, overlap time.Duration, progress func(string)) (r Rotation, err error) {
	there, err := m.mayRotate(ctx, key)
	if err != nil {
		return r, err
	}
	if c, err = m.enter(ctx, c, key, there); err != nil {
		return r, err
	}
	if err := c.checkRoles(); err != nil {
		return r, err
	}
	progress("creating the application credential")
	secret, err := m.replaceCredential(ctx, c, key)
	if err != nil {
		return r, err
	}
	m.nudge(ctx, key, secret, progress)
	return m.endRotation(ctx, c, key, there, secret, overlap, progress)
}

// endRotation gives a cluster the credential in its Secret, and revokes the former ones.
func (m *Management) endRotation(ctx context.Context, c Cloud, key Key, there known, secret *corev1.Secret, overlap time.Duration, progress func(string)) (r Rotation, err error) {
	r.Credential, r.CloudProvider = idIn(secret.Data[keyClouds]), idIn(secret.Data[keyCloudProvider])
	got, err := m.distribute(ctx, key, there, insideID(secret), progress)
	if r.Restarted = got.restarted; err != nil {
		return r, fmt.Errorf("giving the cluster the new credential (the former one is still valid): %w", err)
	}
	old := formerOf(secret)
	progress("waiting until Cluster API has done what it began with the former credential")
	if err := pause(ctx, remaining(old.Since, overlap, time.Now())); err != nil {
		return r, err
	}
	progress("revoking the former credential")
	r.Notes = old.notes(c.UserID)
	if r.Revoked, err = m.revokeFormer(ctx, c, key, secret); err != nil {
		return r, err
	}
	if len(old.IDs) == 0 {
		r.Notes = append(r.Notes, others(ctx, got.had, slices.Concat(idsIn(secret), r.Revoked))...)
	}
	return r, nil
}

// revokeFormer ends a rotation, unless another run has replaced the credential meanwhile.
func (m *Management) revokeFormer(ctx context.Context, c Cloud, key Key, rotated *corev1.Secret) (revoked []string, err error) {
	now, err := m.credentialSecret(ctx, key)
	if err != nil {
		return nil, err
	}
	if now == nil || now.Annotations[annotationFormer] != rotated.Annotations[annotationFormer] || !slices.Equal(idsIn(now), idsIn(rotated)) {
		return nil, fault.New(object(key), errors.New("another run has written its credential meanwhile"), "see that no other run is under way, then run the same command again")
	}
	replaced := m.credential(c, key)
	replaced.Known = knownIn(now)
	if revoked, err = replaced.Revoke(ctx, idsIn(now)...); err != nil {
		return revoked, err
	}
	done := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, annotationFormer)
	if _, err := m.Kube.Typed.CoreV1().Secrets(key.Namespace).Patch(ctx, now.Name, types.MergePatchType, done, metav1.PatchOptions{}); err != nil {
		return revoked, fmt.Errorf("writing the credential's Secret: %w", err)
	}
	return revoked, nil
}

// mayRotate refuses clusters whose credential is not Slipway's.
func (m *Management) mayRotate(ctx context.Context, key Key) (known, error) {
	there, err := m.look(ctx, key)
	switch {
	case err != nil:
		return there, err
	case m.itself(key):
		return there, fault.Usage(object(key), errors.New("it is the management cluster itself"), "its credential is the environment's: set spec.credential.expiresAfter and run slipway up")
	case there.origin == Magnum:
		return there, fault.Usage(object(key), errors.New("the Magnum API created it"), "its owner runs openstack coe credential rotate")
	case there.origin == None:
		return there, Absent(key)
	}
	if err := m.notDeleting(ctx, key); err != nil {
		return there, err
	}
	secret, err := m.credentialSecret(ctx, key)
	if err != nil || secret != nil || there.usesOwn(key) {
		return there, err // without a Secret, it is lost
	}
	return there, fault.Usage(object(key), errors.New("Slipway did not create its credential"),
		"create one with openstack application credential create, and write it into the Secret that the OpenStackCluster names in spec.identityRef")
}

// replaceCredential puts new credentials into the cluster's Secret, unless an earlier run did.
func (m *Management) replaceCredential(ctx context.Context, c Cloud, key Key) (*corev1.Secret, error) {
	secrets := m.Kube.Typed.CoreV1().Secrets(key.Namespace)
	old, err := m.credentialSecret(ctx, key)
	if err != nil {
		return nil, err
	}
	works := false
	if old != nil {
		if works, err = c.works(ctx, old); err != nil || works && old.Annotations[annotationFormer] != "" {
			return old, err
		}
	}
	data, err := m.issue(ctx, c, key)
	if err != nil {
		return nil, err
	}
	fresh := c.secret(key, data)
	before := former{Since: time.Now().UTC(), Lost: !works}
	if old != nil {
		before.IDs, before.UserID = idsIn(old), old.Annotations[annotationUser]
		if earlier := formerOf(old); !earlier.Since.IsZero() {
			before.Earlier = append(earlier.Earlier, former{Since: earlier.Since, IDs: earlier.IDs, UserID: earlier.UserID})
		}
	}
	text, err := json.Marshal(before)
	if err != nil {
		return nil, fmt.Errorf("noting the former credential: %w", err)
	}
	fresh.Annotations[annotationFormer] = string(text)
	if old == nil {
		fresh, err = secrets.Create(ctx, fresh, metav1.CreateOptions{})
	} else {
		old.Data = fresh.Data
		if old.Annotations == nil {
			old.Annotations = map[string]string{}
		}
		maps.Copy(old.Annotations, fresh.Annotations)
		fresh, err = secrets.Update(ctx, old, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil, fault.New(object(key), errors.New("another run writes its credential at the same time"), "run the same command again; it revokes what this run created")
	}
	if err != nil {
		return nil, fmt.Errorf("writing the credential's Secret: %w", err)
	}
	return fresh, nil
}

// remaining is what is left of an overlap: never more than all of it, also if it was begun on a
// machine whose clock is ahead.
func remaining(since time.Time, overlap time.Duration, now time.Time) time.Duration {
	return min(overlap, since.Add(overlap).Sub(now))
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
