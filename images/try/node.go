package try

import (
	"fmt"
	"strings"
)

// Node is what an image has of a node of Kubernetes that kubeadm sets up; empty texts are
// what it does not have.
type Node struct {
	// Kubeadm and Kubelet are versions, such as v1.34.4.
	Kubeadm string `json:"kubeadm,omitempty"`
	Kubelet string `json:"kubelet,omitempty"`
	// Runtime is "containerd/" with its version, or cri-o.
	Runtime string `json:"runtime,omitempty"`
}

// String is for people.
func (n Node) String() string {
	if n.Kubeadm == "" {
		return "no kubeadm: this is no image for nodes"
	}
	return fmt.Sprintf("kubeadm %s, kubelet %s, %s", n.Kubeadm, n.Kubelet, n.Runtime)
}

// lack says why an image with kubeadm is no node after all. One without kubeadm is meant
// for something else.
func (n Node) lack() string {
	var lacks []string
	if n.Kubelet == "" {
		lacks = append(lacks, "kubelet")
	}
	if n.Runtime == "" {
		lacks = append(lacks, "containerd")
	}
	switch {
	case n.Kubeadm == "":
		return ""
	case len(lacks) > 0:
		return fmt.Sprintf("it has kubeadm %s, but no %s", n.Kubeadm, strings.Join(lacks, " and no "))
	case n.Kubelet != n.Kubeadm:
		return fmt.Sprintf("it has kubeadm %s, but kubelet %s", n.Kubeadm, n.Kubelet)
	}
	return ""
}
