// Package cloudconfig knows the Secret on a cluster by which what runs there logs in to
// OpenStack: the cloud controller manager and the CSI drivers read it once, at their start.
package cloudconfig

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

const (
	// Secret is its name, Clouds the key of its clouds.yaml. The openstack-cluster chart has the
	// addon provider write it.
	Secret = "cloud-config"
	Clouds = "clouds.yaml"
	// Namespace is where it is unless the chart's values name another.
	Namespace = "openstack-system"
	// Annotation is on pods that read it: the credential that they were restarted for.
	Annotation = "slipway.sh/credential"
)

// ID returns the ID of the application credential in a clouds.yaml.
func ID(clouds []byte) string {
	var document struct {
		Clouds map[string]struct {
			Auth struct {
				ID string `json:"application_credential_id"`
			} `json:"auth"`
		} `json:"clouds"`
	}
	if yaml.Unmarshal(clouds, &document) != nil { // its error could quote the secret
		return ""
	}
	return strings.TrimSpace(document.Clouds["openstack"].Auth.ID)
}

// Restart sees to it that all that reads the Secret in a namespace was restarted for a
// credential. missing names the first that is not up again.
func Restart(ctx context.Context, client kubernetes.Interface, namespace, id string) (restarted []string, missing string, err error) {
	readers, err := readersIn(ctx, client, namespace)
	if err != nil {
		return nil, "", err
	}
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, Annotation, id)
	for _, r := range readers {
		restarted = append(restarted, r.String())
		if r.template.Annotations[Annotation] != id {
			if err := r.patch(ctx, r.name, patch); err != nil {
				return restarted, "", fmt.Errorf("restarting %s: %w", r, err)
			}
			missing = r.String()
		}
		if missing == "" && !r.up {
			missing = r.String()
		}
	}
	return restarted, missing, nil
}

// reader is what runs pods that read the Secret. up says that all of them are of its present
// template.
type reader struct {
	kind, name string
	template   corev1.PodTemplateSpec
	up         bool
	patch      func(ctx context.Context, name string, patch []byte) error
}

func (r reader) String() string { return r.kind + " " + r.name }

func readersIn(ctx context.Context, client kubernetes.Interface, namespace string) (all []reader, err error) {
	apps := client.AppsV1()
	deployments, err := apps.Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing Deployments: %w", err)
	}
	for _, d := range deployments.Items {
		all = append(all, reader{"Deployment", d.Name, d.Spec.Template, deploymentUp(&d), func(ctx context.Context, name string, patch []byte) error {
			_, err := apps.Deployments(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			return err
		}})
	}
	sets, err := apps.DaemonSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing DaemonSets: %w", err)
	}
	for _, d := range sets.Items {
		s := d.Status
		up := s.ObservedGeneration >= d.Generation && s.UpdatedNumberScheduled == s.DesiredNumberScheduled && s.NumberAvailable == s.DesiredNumberScheduled
		all = append(all, reader{"DaemonSet", d.Name, d.Spec.Template, up, func(ctx context.Context, name string, patch []byte) error {
			_, err := apps.DaemonSets(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			return err
		}})
	}
	return onlyReaders(all), nil
}

// deploymentUp reports whether no pod of a former template is ready, and all of the present
// one are. One without a ready pod, as on a cluster without workers, has nothing to wait for:
// a pod that starts later reads what is there then.
func deploymentUp(d *appsv1.Deployment) bool {
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	s := d.Status
	if s.ObservedGeneration < d.Generation {
		return false
	}
	return s.ReadyReplicas == 0 || s.UpdatedReplicas == wanted && s.Replicas == wanted && s.AvailableReplicas == wanted
}

// onlyReaders keeps those whose pods mount the Secret.
func onlyReaders(all []reader) (readers []reader) {
	for _, r := range all {
		for _, volume := range r.template.Spec.Volumes {
			if volume.Secret != nil && volume.Secret.SecretName == Secret {
				readers = append(readers, r)
				break
			}
		}
	}
	return readers
}
