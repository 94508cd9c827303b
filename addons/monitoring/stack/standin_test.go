package stack_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ownAddress is an address of this machine that is not loopback.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if network, ok := a.(*net.IPNet); ok && network.IP.To4() != nil && !network.IP.IsLoopback() && !network.IP.IsLinkLocalUnicast() {
			return network.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback")
	return ""
}

// standIn serves metrics in the place of a program that does not run here. What asks who
// reads it asks the API server, as Cluster API's managers and kubelets do.
type standIn struct {
	namespace, name, ip, port string
	labels, annotations       map[string]string
	container                 corev1.Container
	// may is what a reader must have the right to; nil serves everybody.
	may func(*authorizationv1.SubjectAccessReviewSpec)
}

func port(name string, number int32) []corev1.ContainerPort {
	return []corev1.ContainerPort{{Name: name, ContainerPort: number}}
}

// readsMetrics is the right that Cluster API's managers ask for.
func readsMetrics(s *authorizationv1.SubjectAccessReviewSpec) {
	s.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}
}

// readsNodes is the right that kubelets ask for.
func readsNodes(s *authorizationv1.SubjectAccessReviewSpec) {
	s.ResourceAttributes = &authorizationv1.ResourceAttributes{Resource: "nodes", Subresource: "metrics", Name: "n1", Verb: "get"}
}

// standIns are one for each job that has no program here.
func standIns() []standIn {
	return []standIn{
		{namespace: "slipway-system", name: "slipway-backup", ip: "127.77.0.11", port: "8080", labels: map[string]string{"app.kubernetes.io/part-of": "slipway"}, container: corev1.Container{Ports: port("metrics", 8080)}},
		{namespace: "capi-system", name: "capi-controller-manager", ip: "127.77.0.12", port: "8443", container: corev1.Container{Ports: port("metrics", 8443)}, may: readsMetrics},
		{namespace: "orc-system", name: "orc-controller-manager", ip: "127.77.0.13", port: "8443", labels: map[string]string{"control-plane": "controller-manager"}, container: corev1.Container{Name: "manager"}, may: readsMetrics},
		{namespace: "cert-manager", name: "cert-manager", ip: "127.77.0.14", port: "9402", container: corev1.Container{Ports: port("http-metrics", 9402)}},
		{namespace: "kube-system", name: "etcd-n1", ip: "127.77.0.15", port: "2381", labels: map[string]string{"component": "etcd"}},
		{namespace: "kube-system", name: "coredns", ip: "127.77.0.16", port: "9153", labels: map[string]string{"k8s-app": "kube-dns"}, container: corev1.Container{Ports: port("metrics", 9153)}},
		{namespace: "velero", name: "velero", ip: "127.77.0.17", port: "8085", labels: map[string]string{"deploy": "velero"}, container: corev1.Container{Ports: port("metrics", 8085)}},
	}
}

// stand makes the pod of a stand-in and serves what text tells.
func (w *world) stand(s standIn, text func() string) {
	w.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	_, _ = w.on.Typed.CoreV1().Namespaces().Create(w.Context(), namespace, metav1.CreateOptions{}) // it may be there
	if s.container.Name == "" {
		s.container.Name = "main"
	}
	s.container.Image = "none"
	off := false
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name, Labels: s.labels, Annotations: s.annotations},
		Spec: corev1.PodSpec{NodeName: "n1", AutomountServiceAccountToken: &off, Containers: []corev1.Container{s.container}}}
	w.until("making "+s.name, func() (err error) {
		made, err := w.on.Typed.CoreV1().Pods(s.namespace).Create(w.Context(), pod, metav1.CreateOptions{})
		if err == nil {
			w.running(made, s.ip)
		}
		return err
	})
	if s.port != "" {
		w.serve(net.JoinHostPort(s.ip, s.port), s.may, text)
	}
}

// serve serves metrics at an address, by TLS if a reader needs a right.
func (w *world) serve(address string, may func(*authorizationv1.SubjectAccessReviewSpec), text func() string) {
	w.Helper()
	listener, err := net.Listen("tcp", address)
	w.fine(err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if may != nil && !w.allowed(r, may) {
			http.Error(out, "forbidden", http.StatusForbidden)
			return
		}
		out.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(out, text())
	}))
	server.Listener.Close()
	server.Listener = listener
	if may != nil {
		server.StartTLS()
	} else {
		server.Start()
	}
	w.Cleanup(server.Close)
}

// allowed asks the API server who has the token of a request, and what that one may.
func (w *world) allowed(r *http.Request, may func(*authorizationv1.SubjectAccessReviewSpec)) bool {
	who, err := w.on.Typed.AuthenticationV1().TokenReviews().Create(r.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}}, metav1.CreateOptions{})
	if err != nil || !who.Status.Authenticated {
		return false
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: who.Status.User.Username, Groups: who.Status.User.Groups}}
	may(&review.Spec)
	answer, err := w.on.Typed.AuthorizationV1().SubjectAccessReviews().Create(r.Context(), review, metav1.CreateOptions{})
	return err == nil && answer.Status.Allowed
}

// beat writes the status of a node as its kubelet does.
func (w *world) beat(name string, status corev1.NodeStatus) error {
	node, err := w.on.Typed.CoreV1().Nodes().Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	node.Status = status
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}
	_, err = w.on.Typed.CoreV1().Nodes().UpdateStatus(w.Context(), node, metav1.UpdateOptions{})
	return err
}

// around makes what the stack watches: a node with its kubelet, the API server itself, and
// the stand-ins. etcd has a leader while leader says so.
func (w *world) around(leader *atomic.Bool) {
	w.Helper()
	node, err := w.on.Typed.CoreV1().Nodes().Create(w.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}}, metav1.CreateOptions{})
	w.fine(err)
	status := corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.77.0.10"}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}}}
	w.until("the node's status", func() error { return w.beat(node.Name, status) })
	// Without a heartbeat Kubernetes takes the node for lost, and its pods out of Services.
	ctx := w.Context()
	go func() {
		for ctx.Err() == nil {
			_ = w.beat(node.Name, status) // again in a moment
			time.Sleep(10 * time.Second)
		}
	}()
	w.serve("127.77.0.10:10250", readsNodes, func() string {
		return lines("kubelet_running_pods 3", `container_network_receive_bytes_total{id="/",interface="eth0"} 7`, `container_fs_usage_bytes{id="/"} 7`)
	})
	for _, s := range standIns() {
		w.stand(s, func() string {
			if s.labels["component"] != "etcd" {
				return lines("stand_in 1")
			}
			if leader.Load() {
				return lines("etcd_server_has_leader 1")
			}
			return lines("etcd_server_has_leader 0")
		})
	}
	api, err := url.Parse(w.server.Config.Host)
	w.fine(err)
	w.stand(standIn{namespace: "kube-system", name: "kube-apiserver-n1", ip: "127.0.0.1", labels: map[string]string{"component": "kube-apiserver"},
		annotations: map[string]string{"kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": api.Host}}, nil)
}
