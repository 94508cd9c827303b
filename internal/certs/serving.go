package certs

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/internal/kube"
)

// ownAuthority is the Secret with the authority of cert-manager's own webhook, which renews
// it by itself.
const ownAuthority = "cert-manager-webhook-ca"

// nameAnnotation is on the Secrets that cert-manager makes.
const nameAnnotation = "cert-manager.io/certificate-name"

func certificates() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
}

// Serving lists what programs on a Kubernetes serve TLS with: webhooks and the Magnum API.
// name and namespace are those of the cluster.
func Serving(ctx context.Context, on *kube.Cluster, namespace, name string) (Listing, error) {
	var l Listing
	due, err := renewals(ctx, on)
	if err != nil {
		return l, err
	}
	for _, filter := range []string{"type=" + string(corev1.SecretTypeTLS), "metadata.name=" + ownAuthority} {
		list, err := on.Typed.CoreV1().Secrets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: filter})
		if err != nil {
			return l, fmt.Errorf("listing Secrets: %w", err)
		}
		for _, secret := range list.Items {
			if secret.Name == ownAuthority && secret.Type == corev1.SecretTypeTLS && strings.HasPrefix(filter, "type") {
				continue // the other filter finds it
			}
			found, err := leaf(secret.Data[corev1.TLSCertKey])
			if err != nil {
				l.miss("Secret "+secret.Namespace+"/"+secret.Name, err)
				continue
			}
			c := Certificate{Cluster: name, Namespace: namespace, Use: UseServing, Object: "Secret " + secret.Namespace + "/" + secret.Name, Ends: found.NotAfter.UTC()}
			if found.IsCA {
				c.Use = UseAuthority
			}
			c.RenewedBy, c.RenewsAt = renewer(secret, due)
			l.Certificates = append(l.Certificates, c)
		}
	}
	return l, nil
}

// renewer is what renews the certificate in a Secret, and when.
func renewer(secret corev1.Secret, due map[string]time.Time) (string, time.Time) {
	switch {
	case secret.Name == ownAuthority:
		return ByCertManager, time.Time{}
	case secret.Annotations[nameAnnotation] != "":
		return ByCertManager, due[secret.Namespace+"/"+secret.Annotations[nameAnnotation]]
	case secret.Namespace == metav1.NamespaceSystem && secret.Name == "k3s-serving":
		return ByK3s, time.Time{}
	}
	return ByNobody, time.Time{}
}

// renewals are the times at which cert-manager renews certificates, by namespace and name.
func renewals(ctx context.Context, on *kube.Cluster) (map[string]time.Time, error) {
	due := map[string]time.Time{}
	list, err := on.Dynamic.Resource(certificates()).Namespace(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return due, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing Certificates: %w", err)
	}
	for _, item := range list.Items {
		text, _, _ := unstructured.NestedString(item.Object, "status", "renewalTime")
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			due[item.GetNamespace()+"/"+item.GetName()] = at.UTC()
		}
	}
	return due, nil
}
