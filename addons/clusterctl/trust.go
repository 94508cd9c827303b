package clusterctl

import (
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// trustName is the name of the ConfigMap in each namespace with controllers that get the
	// bundle.
	trustName = "slipway-trust"
	trustPath = "/etc/slipway/trust"
)

// trust gives the Deployments among objects a bundle of certificates besides the system's, and
// returns them with the ConfigMaps that hold it. It is for controllers that learn of an authority
// in no other way: CAPO and ORC read the authority of the cloud from the Secret of each login.
func trust(objects []*unstructured.Unstructured, bundle string) ([]*unstructured.Unstructured, error) {
	if bundle == "" {
		return objects, nil
	}
	var all []*unstructured.Unstructured
	done := map[string]bool{}
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			if err := mount(object, bundle); err != nil {
				return nil, err
			}
			if namespace := object.GetNamespace(); !done[namespace] {
				done[namespace] = true
				all = append(all, trustIn(namespace, bundle))
			}
		}
		all = append(all, object)
	}
	return all, nil
}

func trustIn(namespace, bundle string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": trustName, "namespace": namespace}, "data": map[string]any{"ca.crt": bundle}}}
}

// mount mounts the bundle into every container of a Deployment. The bundle's digest is on the pods,
// because programs read certificates only once.
func mount(deployment *unstructured.Unstructured, bundle string) error {
	path := []string{"spec", "template"}
	text, _, err := unstructured.NestedMap(deployment.Object, path...)
	if err != nil {
		return err
	}
	var template corev1.PodTemplateSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(text, &template); err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(bundle))
	metav1.SetMetaDataAnnotation(&template.ObjectMeta, "slipway.sh/trust", hex.EncodeToString(digest[:]))
	template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: trustName,
		VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: trustName}}}})
	for n := range template.Spec.Containers {
		c := &template.Spec.Containers[n]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: trustName, MountPath: trustPath, ReadOnly: true})
		// Directories are read besides the system's file of certificates.
		c.Env = append(c.Env, corev1.EnvVar{Name: "SSL_CERT_DIR", Value: "/etc/ssl/certs:" + trustPath})
	}
	changed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&template)
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(changed, "metadata", "creationTimestamp") // null; nobody's to set
	return unstructured.SetNestedMap(deployment.Object, changed, path...)
}
