// Package localseed makes and finds the disposable seed on the operator's machine: a
// cluster of one node in a container, by the library of kind. What runs on a seed is not
// its business; package kubernetes of the stacks installs the same on every seed.
package localseed

import (
	"context"
	"io"
)

// Provider makes clusters of one node in containers of this machine. Every method can be
// called again after a run that was killed.
type Provider interface {
	// Find returns the cluster of a name, started if it was stopped; nil if there is none.
	Find(ctx context.Context, name string) (*Cluster, error)
	// Create makes it from an image that the runtime has or can fetch. tell receives what
	// is done. A cluster that fails on the way is deleted again.
	Create(ctx context.Context, wanted Wanted, tell func(string)) error
	// Finish notes that the cluster was made to its end.
	Finish(ctx context.Context, name string) error
	// Kubeconfig returns the administrator's kubeconfig, for clients on this machine.
	Kubeconfig(ctx context.Context, name string) (string, error)
	// HasImage reports whether the runtime has an image; LoadImage gives it the images of
	// an archive.
	HasImage(ctx context.Context, ref string) (bool, error)
	LoadImage(ctx context.Context, archive io.Reader) error
	// Import gives the node the images of an archive.
	Import(ctx context.Context, name string, archive io.Reader) error
	// Delete deletes the cluster with all that belongs to it; that there is none is no
	// error.
	Delete(ctx context.Context, name string) error
}

// Cluster is a cluster that was found.
type Cluster struct {
	// Owner is the Wanted.Owner that it was made with; empty if it cannot be read.
	Owner string
	// Finished says that it was made to its end: clusters may depend on it.
	Finished bool
}

// Wanted is a cluster to be made.
type Wanted struct {
	Name string
	// Image is the node's image.
	Image string
	// Owner marks the environment that it belongs to, as Owner returns it.
	Owner string
	// OwnerFile is a file of this machine that holds Owner; the node sees it, so that a
	// cluster tells whose it is from its first moment on.
	OwnerFile string
	// PodCIDR and ServiceCIDR are the networks of the cluster.
	PodCIDR, ServiceCIDR string
}
