package kubernetes

import (
	"context"
	"errors"
	"fmt"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
)

// itselfHas reports whether a cluster has the objects that it consists of. One that does not
// answer is an error; without a kubeconfig it never was.
func itselfHas(ctx context.Context, w Way, kubeconfig, namespace, name string) (bool, error) {
	if kubeconfig == "" {
		return false, nil
	}
	itself, err := reach(w, kubeconfig)
	if err != nil {
		return false, err
	}
	asking, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	return clusterapi.Exists(asking, itself.Kube.Dynamic, namespace, name)
}

// forCluster returns the kubeconfig of the local seed that a cluster is to be settled on;
// empty if the cluster manages itself. A cluster that was made before and that nobody manages
// now must not be made a second time.
func (s *LocalSeeds) forCluster(ctx context.Context, w Way, in ClusterInputs, before ClusterState) (string, error) {
	tell := func(text string) { status(ctx, text) }
	seed, err := s.Find(ctx, in.Local, tell)
	switch {
	case err != nil:
		return "", err
	case seed != "" || before.AdminKubeconfig == "":
		return s.Bring(ctx, in.Local, tell)
	}
	there, err := itselfHas(ctx, w, before.AdminKubeconfig, in.Namespace, in.Name)
	if err != nil {
		return "", fault.New("cluster "+in.Name, fmt.Errorf("there is no local seed on this machine, and the cluster itself does not answer: %w", err),
			"make sure that this machine reaches the cluster's API; if a run was killed on another machine, run slipway up there; if the cluster is gone for good, run slipway down, then slipway up")
	}
	if !there {
		return "", fault.New("cluster "+in.Name, errors.New("its Cluster API objects are neither on the cluster itself nor on a local seed of this machine"),
			"a run was killed before they were moved: run slipway up on the machine where it ran; if its local seed is gone, run slipway down, then slipway up")
	}
	return "", nil
}

// forMove returns the kubeconfig of the local seed that objects are to be pivoted from; empty
// if that has been done: then nothing is left to do.
func (s *LocalSeeds) forMove(ctx context.Context, w Way, in ManagementMoveInputs) (string, error) {
	tell := func(text string) { status(ctx, text) }
	seed, err := s.Find(ctx, in.Local, tell)
	if err != nil || seed != "" {
		return seed, err
	}
	there, err := itselfHas(ctx, w, in.ManagementKubeconfig, in.Namespace, in.Name)
	if err != nil {
		return "", fmt.Errorf("asking the management cluster for its own objects: %w", err)
	}
	if there {
		return "", nil
	}
	return s.Bring(ctx, in.Local, tell)
}

// ForMoveBack returns the kubeconfig of the local seed that objects are to be pivoted back to,
// made if there is none; empty if there is none and the cluster is gone.
func (s *LocalSeeds) ForMoveBack(ctx context.Context, w Way, in ManagementMoveInputs, tell func(string)) (string, error) {
	seed, err := s.Find(ctx, in.Local, tell)
	if err != nil || seed != "" {
		return seed, err
	}
	if there, err := itselfHas(ctx, w, in.ManagementKubeconfig, in.Namespace, in.Name); err != nil || !there {
		return "", nil // a cluster that does not answer counts as gone, as one of another seed does
	}
	return s.Bring(ctx, in.Local, tell)
}
