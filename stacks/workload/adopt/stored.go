package adopt

import (
	"log/slog"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/helm"
)

// stored are the releases in Secrets of a cluster.
type stored struct{ config *rest.Config }

func (s stored) in(namespace string) (*helm.Client, error) {
	return helm.New(s.config, namespace, slog.New(slog.DiscardHandler))
}

// Last is the latest revision of a release, nil if there is none.
func (s stored) Last(namespace, name string) (*helmrelease.Release, error) {
	c, err := s.in(namespace)
	if err != nil {
		return nil, err
	}
	return c.Last(name)
}

// TakeOver writes the revision after last.
func (s stored) TakeOver(last *helmrelease.Release, t helm.Takeover) error {
	c, err := s.in(last.Namespace)
	if err != nil {
		return err
	}
	_, err = c.TakeOver(last, t)
	return err
}

// Settle completes a takeover that was interrupted.
func (s stored) Settle(r *helmrelease.Release) error {
	c, err := s.in(r.Namespace)
	if err != nil {
		return err
	}
	return c.Settle(r)
}

// GiveBack undoes a takeover.
func (s stored) GiveBack(r *helmrelease.Release) error {
	c, err := s.in(r.Namespace)
	if err != nil {
		return err
	}
	return c.GiveBack(r)
}
