// Package quorum makes a single member of an etcd cluster that lost its quorum a
// cluster of its own again, on the member's machine, so that others can join it
// (docs/design/0032-quorum-loss.md).
package quorum

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Member is a member as its static pod's manifest has it, which kubeadm wrote.
type Member struct {
	// Image is the container image, with etcdctl and etcdutl beside etcd.
	Image string
	// Name is the member's, DataDir its folder.
	Name, DataDir string
	// PeerURL is what other members reach it by, ClientURL what clients on the machine do.
	PeerURL, ClientURL string
	// Authority, Certificate and Key are files that a client on the machine uses.
	Authority, Certificate, Key string
}

// ParseManifest reads the manifest of the static pod. It names all that is missing in it at once.
func ParseManifest(text string) (Member, error) {
	var pod corev1.Pod
	if err := yaml.Unmarshal([]byte(text), &pod); err != nil {
		return Member{}, fmt.Errorf("reading the manifest of etcd: %w", err)
	}
	if len(pod.Spec.Containers) != 1 {
		return Member{}, fmt.Errorf("the manifest of etcd has %d containers instead of one", len(pod.Spec.Containers))
	}
	container, flags := pod.Spec.Containers[0], map[string]string{}
	for _, word := range append(container.Command, container.Args...) {
		if name, value, ok := strings.Cut(word, "="); ok {
			flags[name] = value
		}
	}
	m := Member{Image: container.Image, Name: flags["--name"], DataDir: flags["--data-dir"], PeerURL: flags["--initial-advertise-peer-urls"],
		Authority: flags["--trusted-ca-file"], Certificate: flags["--cert-file"], Key: flags["--key-file"]}
	m.ClientURL, _, _ = strings.Cut(flags["--listen-client-urls"], ",")
	var lacks []error
	for what, value := range map[string]string{"image": m.Image, "--name": m.Name, "--data-dir": m.DataDir, "--initial-advertise-peer-urls": m.PeerURL, "--listen-client-urls": m.ClientURL} {
		if value == "" {
			lacks = append(lacks, fmt.Errorf("the manifest of etcd has no %s", what))
		}
	}
	if m.DataDir != "" && !strings.HasPrefix(m.DataDir, "/") {
		lacks = append(lacks, fmt.Errorf("the manifest of etcd has the relative --data-dir %s", m.DataDir))
	}
	return m, errors.Join(lacks...)
}
