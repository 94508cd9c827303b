package inside

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
)

func object(text string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(err)
	}
	return o
}

// serving is the request of a kubelet for its serving certificate; that of w2 is signed.
func serving(name, node string, created time.Time, conditions ...certificatesv1.CertificateSigningRequestCondition) *certificatesv1.CertificateSigningRequest {
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(created), Annotations: map[string]string{reason: "not its address"}},
		Spec:   certificatesv1.CertificateSigningRequestSpec{SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:" + node},
		Status: certificatesv1.CertificateSigningRequestStatus{Conditions: conditions}}
	switch node {
	case "":
		csr.Spec.Username = "alice"
	case "w2":
		csr.Status.Certificate = []byte("certificate")
	}
	return csr
}

// TestListsAreRead as the engine needs them, and nothing of settings or of tenants.
func TestListsAreRead(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(now)}
	}
	crashes := &corev1.Pod{ObjectMeta: meta("kube-system", "coredns-7f-x"), Spec: corev1.PodSpec{NodeName: "w1", Containers: []corev1.Container{{Name: "dns", Env: []corev1.EnvVar{{Name: "KEY", Value: "hidden"}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "dns", Image: "dns:1", RestartCount: 4,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}}}}}}
	crashes.Labels = map[string]string{"pod-template-hash": "7f", "app.kubernetes.io/instance": "dns"}
	crashes.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "coredns-7f", Controller: ptr.To(true)}}
	theirs := crashes.DeepCopy()
	theirs.Namespace = "shop"
	runs := &corev1.Pod{ObjectMeta: meta("kube-system", "proxy"), Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	evicted := &corev1.Pod{ObjectMeta: meta("kube-system", "evicted"), Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on ephemeral-storage"}}
	waits := &corev1.Pod{ObjectMeta: meta("kube-system", "waits"), Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no room"}}}}
	warning := func(name, namespace, reason, message string) *corev1.Event {
		return &corev1.Event{ObjectMeta: meta(namespace, name), Type: corev1.EventTypeWarning, Reason: reason, Message: message, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "p"}, LastTimestamp: metav1.NewTime(now)}
	}
	client := fake.NewClientset(
		&corev1.Namespace{ObjectMeta: meta("", "kube-system")}, &corev1.Namespace{ObjectMeta: meta("", "shop")},
		crashes, theirs, runs, evicted, waits,
		&corev1.Node{ObjectMeta: meta("", "w1"), Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}, NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.34.4"}}},
		&coordinationv1.Lease{ObjectMeta: meta("kube-node-lease", "w1"), Spec: coordinationv1.LeaseSpec{RenewTime: ptr.To(metav1.NewMicroTime(now))}},
		&coordinationv1.Lease{ObjectMeta: meta("kube-system", "kube-scheduler"), Spec: coordinationv1.LeaseSpec{RenewTime: ptr.To(metav1.NewMicroTime(now))}},
		&coordinationv1.Lease{ObjectMeta: meta("kube-system", "of-an-addon"), Spec: coordinationv1.LeaseSpec{RenewTime: ptr.To(metav1.NewMicroTime(now))}},
		warning("a", "kube-system", "BackOff", "Back-off"), warning("b", "shop", "BackOff", "Back-off of a tenant"), warning("c", "shop", "FailedScheduling", "node(s) exceed max volume count"),
		&storagev1.VolumeAttachment{ObjectMeta: meta("", "va"), Spec: storagev1.VolumeAttachmentSpec{NodeName: "w1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pv")}},
			Status: storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{Message: "too many volumes"}}},
		serving("old", "w1", now.Add(-time.Hour), certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateDenied, Message: "of before"}),
		serving("new", "w1", now), serving("signed", "w2", now, certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateApproved}),
		serving("of-a-user", "", now),
		&storagev1.VolumeAttachment{ObjectMeta: meta("", "done"), Status: storagev1.VolumeAttachmentStatus{Attached: true, AttachError: &storagev1.VolumeError{Message: "earlier"}}})
	a := &asked{client: client}
	a.all(t.Context())
	if len(a.Missing) > 0 {
		t.Errorf("missing %v", a.Missing)
	}
	text, err := json.Marshal(a.Inside)
	check(t, err)
	for _, want := range []string{`"seen":4`, `{"kind":"Deployment","name":"coredns"}`, `"instance":"dns"`, `OOMKilled, exit code 137`, `"restarts":4`, `"words":"fake logs"`, `Evicted: low on ephemeral-storage`, `"waits":"no room"`,
		`"name":"kube-scheduler"`, `"version":"v1.34.4"`, `exceed max volume count`, `"volume":"pv"`, `"uncertified":[{"name":"new","node":"w1"`, `"words":"not its address"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	for _, not := range []string{"hidden", "of a tenant", `"namespace":"shop","name"`, "of-an-addon", "earlier", `"proxy"`, "of before", `"signed"`, "of-a-user"} {
		if strings.Contains(string(text), not) {
			t.Errorf("%s is in %s", not, text)
		}
	}
	if len(a.Pods) != 3 || len(a.Warnings) != 2 || len(a.Nodes) != 1 || !a.Nodes[0].Renewed.Equal(now) {
		t.Errorf("%d pods, %d warnings, nodes %v", len(a.Pods), len(a.Warnings), a.Nodes)
	}
}
