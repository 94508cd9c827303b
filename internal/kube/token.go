package kube

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Account is a ServiceAccount that people and pipelines use to log in with a token.
type Account struct {
	Namespace, Name string
	// ClusterRole is the role that it has in the whole cluster.
	ClusterRole string
	// Lifetime is the lifetime of its tokens, at least ten minutes.
	Lifetime time.Duration
}

// anchorLabel is the label of the Secrets that tokens are bound to: deleting its Secret
// revokes a token.
const anchorLabel = "slipway.sh/token-of"

// Token returns a token of the account: the old one while more than a third of its
// lifetime is left, else a new one. Older tokens stay valid until RevokeTokens.
func (c *Cluster) Token(ctx context.Context, a Account, old string) (string, error) {
	if err := c.ensureAccount(ctx, a); err != nil {
		return "", err
	}
	good, err := c.anchored(ctx, a, old)
	if err != nil {
		return "", err
	}
	if good && time.Until(claimsOf(old).expires()) > a.Lifetime/3 {
		return old, nil
	}
	anchor, err := c.Typed.CoreV1().Secrets(a.Namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{GenerateName: a.Name + "-token-", Labels: map[string]string{anchorLabel: a.Name}}}, metav1.CreateOptions{FieldManager: FieldManager})
	if err != nil {
		return "", fmt.Errorf("creating the Secret that the token is bound to: %w", err)
	}
	seconds := int64(a.Lifetime.Seconds())
	made, err := c.Typed.CoreV1().ServiceAccounts(a.Namespace).CreateToken(ctx, a.Name, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: anchor.Name, UID: anchor.UID},
	}}, metav1.CreateOptions{FieldManager: FieldManager})
	if err != nil {
		return "", fmt.Errorf("requesting a token of %s: %w", a.Name, err)
	}
	return made.Status.Token, nil
}

// RevokeTokens revokes all tokens of the account except one; "" means no exception. The
// API server may take about ten seconds to notice.
func (c *Cluster) RevokeTokens(ctx context.Context, a Account, but string) error {
	secrets := c.Typed.CoreV1().Secrets(a.Namespace)
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: anchorLabel + "=" + a.Name})
	if err != nil {
		return fmt.Errorf("listing tokens of %s: %w", a.Name, err)
	}
	var errs []error
	for _, anchor := range list.Items {
		if string(anchor.UID) == claimsOf(but).Kubernetes.Secret.UID {
			continue
		}
		if err := secrets.Delete(ctx, anchor.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("revoking a token of %s: %w", a.Name, err))
		}
	}
	return errors.Join(errs...)
}

// RemoveAccount revokes all tokens of the account and deletes it with its role; one that is
// gone already is no error.
func (c *Cluster) RemoveAccount(ctx context.Context, a Account) error {
	revoked := c.RevokeTokens(ctx, a, "")
	role := c.Typed.RbacV1().ClusterRoleBindings().Delete(ctx, a.Namespace+":"+a.Name, metav1.DeleteOptions{})
	account := c.Typed.CoreV1().ServiceAccounts(a.Namespace).Delete(ctx, a.Name, metav1.DeleteOptions{})
	for _, err := range []*error{&role, &account} {
		if apierrors.IsNotFound(*err) {
			*err = nil
		} else if *err != nil {
			*err = fmt.Errorf("removing account %s: %w", a.Name, *err)
		}
	}
	return errors.Join(revoked, role, account)
}

// ensureAccount reconciles the account and its role.
func (c *Cluster) ensureAccount(ctx context.Context, a Account) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: a.Name}}
	_, err := c.Typed.CoreV1().ServiceAccounts(a.Namespace).Create(ctx, account, metav1.CreateOptions{FieldManager: FieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating ServiceAccount %s: %w", a.Name, err)
	}
	bindings := c.Typed.RbacV1().ClusterRoleBindings()
	name := a.Namespace + ":" + a.Name
	bound, err := bindings.Get(ctx, name, metav1.GetOptions{})
	if err == nil && bound.RoleRef.Name != a.ClusterRole { // it cannot be changed
		if err := bindings.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("removing the old role of %s: %w", a.Name, err)
		}
	} else if err == nil || !apierrors.IsNotFound(err) {
		return err
	}
	_, err = bindings.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: a.ClusterRole},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.Namespace, Name: a.Name}}}, metav1.CreateOptions{FieldManager: FieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("binding ClusterRole %s to %s: %w", a.ClusterRole, a.Name, err)
	}
	return nil
}

// anchored reports whether the Secret that a token is bound to exists.
func (c *Cluster) anchored(ctx context.Context, a Account, token string) (bool, error) {
	bound := claimsOf(token).Kubernetes.Secret
	if bound.Name == "" {
		return false, nil
	}
	anchor, err := c.Typed.CoreV1().Secrets(a.Namespace).Get(ctx, bound.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the Secret that the token is bound to: %w", err)
	}
	return string(anchor.UID) == bound.UID, nil
}

// claims are the claims of a Kubernetes token.
type claims struct {
	Expires    int64 `json:"exp"`
	Kubernetes struct {
		Secret struct {
			Name string `json:"name"`
			UID  string `json:"uid"`
		} `json:"secret"`
	} `json:"kubernetes.io"`
}

func (c claims) expires() time.Time { return time.Unix(c.Expires, 0) }

// claimsOf reads a token without verifying it, which is the API server's task; the
// claims are empty if the text is not a token.
func claimsOf(token string) (c claims) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(text, &c) != nil {
		return claims{}
	}
	return c
}
