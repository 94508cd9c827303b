package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/localseed"
)

// LocalSettings are what a local seed is, and what runs on it: the same as on a server.
type LocalSettings struct {
	localseed.Settings
	// Providers are clusterctl.Settings by label, as JSON.
	Providers   string            `json:"providers"`
	TrustBundle string            `json:"trustBundle,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	// ControllersImage is the image of Slipway's own controllers.
	ControllersImage string `json:"controllersImage"`
}

// LocalSeeds brings local seeds, one at a time. Its settings are LocalSettings as JSON.
type LocalSeeds struct {
	// Provider opens the runtime of this machine when it is needed.
	Provider func(context.Context) (localseed.Provider, error)
	// Dir is a folder of the environment on this machine.
	Dir string
	// Bundle has the images; nil if there is no bundle.
	Bundle *bundle.Folder

	mu sync.Mutex
	// equipped are the kubeconfigs of the seeds that this process brought, by name.
	equipped map[string]string
	// install puts on a seed what is on every seed; another one in tests.
	install func(ctx context.Context, kubeconfig string, s LocalSettings, tell func(string)) error
}

func (s *LocalSeeds) open(ctx context.Context, text string, tell func(string)) (localseed.Seed, LocalSettings, error) {
	var settings LocalSettings
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		return localseed.Seed{}, settings, fmt.Errorf("reading the settings of the local seed: %w", err)
	}
	if s.Provider == nil {
		return localseed.Seed{}, settings, fault.New("local seed", errors.New("this command cannot use one"), "run slipway up")
	}
	provider, err := s.Provider(ctx)
	if err != nil {
		return localseed.Seed{}, settings, err
	}
	seed := localseed.Seed{Settings: settings.Settings, Provider: provider, Dir: s.Dir, Tell: tell}
	if item := s.nodeImage(settings.Image); item != nil {
		seed.NodeImage = func() (io.ReadCloser, error) { return s.archive(ctx, *item), nil }
	}
	return seed, settings, nil
}

// Find returns the kubeconfig of the local seed; empty if there is none on this machine.
func (s *LocalSeeds) Find(ctx context.Context, settings string, tell func(string)) (kubeconfig string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seed, _, err := s.open(ctx, settings, tell)
	if err != nil {
		return "", err
	}
	return seed.Find(ctx)
}

// Bring returns the kubeconfig of the local seed, made if there was none, with Cluster API
// and Slipway's controllers running on it.
func (s *LocalSeeds) Bring(ctx context.Context, settings string, tell func(string)) (kubeconfig string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seed, all, err := s.open(ctx, settings, tell)
	if err != nil {
		return "", err
	}
	if kubeconfig, err = seed.Bring(ctx); err != nil || s.equipped[seed.Name] == kubeconfig {
		return kubeconfig, err
	}
	if s.Bundle == nil {
		return "", fault.New("bundle", errors.New("there is none, and the local seed gets its images from it"), "name the bundle's folder in spec.bundle, or run slipway bundle build")
	}
	tell("importing images on the local seed")
	archive := s.archive(ctx, s.images()...)
	defer archive.Close()
	if err := seed.Provider.Import(ctx, seed.Name, archive); err != nil {
		return "", err
	}
	install := s.install
	if install == nil {
		install = s.equip
	}
	if err := install(ctx, kubeconfig, all, tell); err != nil {
		return "", err
	}
	if s.equipped == nil {
		s.equipped = map[string]string{}
	}
	s.equipped[seed.Name] = kubeconfig
	return kubeconfig, nil
}

// Remove deletes the local seed.
func (s *LocalSeeds) Remove(ctx context.Context, settings string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	seed, _, err := s.open(ctx, settings, func(string) {})
	if err != nil {
		return err
	}
	delete(s.equipped, seed.Name)
	return seed.Remove(ctx)
}

// equip installs Cluster API and Slipway's controllers, and waits for them.
func (s *LocalSeeds) equip(ctx context.Context, kubeconfig string, settings LocalSettings, tell func(string)) error {
	in := ClusterAPIInputs{Kubeconfig: kubeconfig, Settings: settings.Providers, TrustBundle: settings.TrustBundle, Environment: settings.Environment, Alone: true}
	bounded, patiently, stop := patiently(ctx, installTime, "not all controllers are available", tell)
	defer stop()
	patiently("waiting for the node")
	on, err := Reach(Direct{}, kubeconfig)
	if err != nil {
		return err
	}
	if err := nodeReady(bounded, on, settings.Name+"-control-plane"); err != nil {
		return err
	}
	if err := installClusterAPI(bounded, Direct{}, s.Bundle, in, patiently); err != nil {
		return err
	}
	options := controllers.Options{Image: settings.ControllersImage, Alone: true, TrustBundle: settings.TrustBundle, Environment: settings.Environment}
	return applyControllersTelling(bounded, on, options, patiently)
}

// images are those that the seed runs besides Kubernetes.
func (s *LocalSeeds) images() []bundle.Item {
	var list []bundle.Item
	bill := s.Bundle.Bill()
	for _, c := range component.SeedComponents() {
		if item := bill.Item(c.Name); item != nil && item.Kind == bundle.Image {
			list = append(list, *item)
		}
	}
	if own := bill.Item(component.SlipwayImage); own != nil {
		list = append(list, *own)
	}
	return list
}

// nodeImage is the bundle's node image, if it is the one of a reference.
func (s *LocalSeeds) nodeImage(ref string) *bundle.Item {
	if s.Bundle == nil {
		return nil
	}
	if item := s.Bundle.Bill().Item(component.KindNode); item != nil && item.Ref == ref {
		return item
	}
	return nil
}

// archive writes images as one archive while it is read.
func (s *LocalSeeds) archive(ctx context.Context, images ...bundle.Item) io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(s.Bundle.WriteImageArchive(ctx, w, images)) }()
	return r
}
