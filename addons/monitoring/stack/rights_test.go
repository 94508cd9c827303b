package stack_test

import (
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/addons/monitoring/stack"
)

// as is a client with the rights of a ServiceAccount of the stack.
func (w *world) as(name string) kubernetes.Interface {
	w.Helper()
	token, err := w.on.Typed.CoreV1().ServiceAccounts(stack.Namespace).CreateToken(w.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	w.fine(err)
	config := rest.AnonymousClientConfig(w.server.Config)
	config.BearerToken = token.Status.Token
	client, err := kubernetes.NewForConfig(config)
	w.fine(err)
	return client
}

// bind gives a claim a volume of a class that lets it grow, as Cinder's driver does.
func (w *world) bind(name string) {
	w.Helper()
	grows := true
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "grows"}, Provisioner: "test", AllowVolumeExpansion: &grows}
	_, err := w.on.Typed.StorageV1().StorageClasses().Create(w.Context(), class, metav1.CreateOptions{})
	w.fine(err)
	claims := w.on.Typed.CoreV1().PersistentVolumeClaims(stack.Namespace)
	claim, err := claims.Get(w.Context(), name, metav1.GetOptions{})
	w.fine(err)
	claim.Spec.StorageClassName, claim.Spec.VolumeName = &class.Name, "pv"
	_, err = claims.Update(w.Context(), claim, metav1.UpdateOptions{})
	w.fine(err)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{StorageClassName: "grows", AccessModes: claim.Spec.AccessModes,
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}, ClaimRef: &corev1.ObjectReference{Namespace: stack.Namespace, Name: name},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "test", VolumeHandle: "v"}}}}
	_, err = w.on.Typed.CoreV1().PersistentVolumes().Create(w.Context(), volume, metav1.CreateOptions{})
	w.fine(err)
	w.until("bound", func() error {
		claim, err := claims.Get(w.Context(), name, metav1.GetOptions{})
		if err == nil && claim.Status.Phase != corev1.ClaimBound {
			err = fmt.Errorf("it is %s", claim.Status.Phase)
		}
		return err
	})
}
