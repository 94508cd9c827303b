package localseed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/vain"
)

// Name is the name of an environment's local seed. It never changes: a seed that a killed
// run left is found by it.
func Name(environment string) string { return "slipway-" + environment }

// Owner is the mark of an environment in a project of a cloud. Two environments of one name
// in different clouds have different marks.
func Owner(environment, authURL, projectID string) string {
	sum := sha256.Sum256([]byte(authURL + "\n" + projectID))
	return environment + "@" + hex.EncodeToString(sum[:6])
}

// Settings are what a local seed is made of. They are part of the state, so that it can be
// made again on any machine.
type Settings struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
	// Image is the reference of the node's image.
	Image       string `json:"image"`
	PodCIDR     string `json:"podCIDR"`
	ServiceCIDR string `json:"serviceCIDR"`
}

// Seed is one local seed.
type Seed struct {
	Settings
	Provider Provider
	// Dir is a folder of this machine for the mark.
	Dir string
	// NodeImage returns an archive with the node's image, for a runtime that lacks it; nil
	// if the runtime is to fetch it.
	NodeImage func() (io.ReadCloser, error)
	// Tell receives what is done.
	Tell func(string)
	// answers asks whether the API of a kubeconfig is ready; another one in tests.
	answers func(ctx context.Context, kubeconfig string) error
}

// answerTime is how long the API of a seed that was found may take to answer: its container
// may have been started just now.
const answerTime = 3 * time.Minute

// Find returns the kubeconfig of the seed, or an empty one if there is none that was made
// to its end. A cluster of the name that belongs to another environment is an error.
func (s Seed) Find(ctx context.Context) (kubeconfig string, err error) {
	found, err := s.own(ctx)
	if err != nil || found == nil || !found.Finished {
		return "", err
	}
	if kubeconfig, err = s.Provider.Kubeconfig(ctx, s.Name); err != nil {
		return "", err
	}
	return kubeconfig, s.await(ctx, kubeconfig)
}

// Bring returns the kubeconfig of the seed and makes it if there is none. One that a killed
// run left half made holds nothing yet, and is made again.
func (s Seed) Bring(ctx context.Context) (kubeconfig string, err error) {
	found, err := s.own(ctx)
	if err != nil {
		return "", err
	}
	if found != nil && !found.Finished {
		s.Tell("deleting what a killed run left of the local seed")
		if err := s.Provider.Delete(ctx, s.Name); err != nil {
			return "", err
		}
		found = nil
	}
	if found == nil {
		if err := s.create(ctx); err != nil {
			return "", err
		}
	}
	if kubeconfig, err = s.Provider.Kubeconfig(ctx, s.Name); err != nil {
		return "", err
	}
	return kubeconfig, s.await(ctx, kubeconfig)
}

// Remove deletes the seed.
func (s Seed) Remove(ctx context.Context) error {
	found, err := s.own(ctx)
	if err != nil || found == nil {
		return err
	}
	if err := s.Provider.Delete(ctx, s.Name); err != nil {
		return err
	}
	return os.RemoveAll(s.ownerFile())
}

// own finds the cluster and refuses another environment's. A half-made one whose mark cannot
// be read is taken for the environment's: nothing depends on it.
func (s Seed) own(ctx context.Context) (*Cluster, error) {
	found, err := s.Provider.Find(ctx, s.Name)
	if err != nil || found == nil {
		return nil, err
	}
	if found.Owner != s.Owner && (found.Owner != "" || found.Finished) {
		return nil, Foreign(s.Name, found.Owner, s.Owner)
	}
	return found, nil
}

// Foreign is the error about a cluster of the seed's name that belongs to another
// environment.
func Foreign(name, owner, own string) error {
	if owner == "" {
		owner = "nobody known"
	}
	return fault.New("kind cluster "+name, fmt.Errorf("it belongs to %s, not to this environment (%s)", owner, own),
		"if nobody needs it, delete it with kind delete cluster --name "+name+"; else finish with that environment first: slipway up or slipway down there deletes it")
}

func (s Seed) create(ctx context.Context) error {
	has, err := s.Provider.HasImage(ctx, s.Image)
	if err != nil {
		return err
	}
	if !has && s.NodeImage != nil {
		s.Tell("loading the node image " + s.Image)
		if err := s.loadNode(ctx); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("writing the mark of the local seed: %w", err)
	}
	if err := os.WriteFile(s.ownerFile(), []byte(s.Owner+"\n"), 0o644); err != nil {
		return fmt.Errorf("writing the mark of the local seed: %w", err)
	}
	wanted := Wanted{Name: s.Name, Image: s.Image, Owner: s.Owner, OwnerFile: s.ownerFile(), PodCIDR: s.PodCIDR, ServiceCIDR: s.ServiceCIDR}
	if err := s.Provider.Create(ctx, wanted, s.Tell); err != nil {
		return err
	}
	return s.Provider.Finish(ctx, s.Name)
}

func (s Seed) loadNode(ctx context.Context) error {
	archive, err := s.NodeImage()
	if err != nil {
		return err
	}
	defer archive.Close()
	return s.Provider.LoadImage(ctx, archive)
}

func (s Seed) ownerFile() string { return filepath.Join(s.Dir, "local-seed-owner") }

// await waits until the API answers.
func (s Seed) await(ctx context.Context, kubeconfig string) error {
	ask := s.answers
	if ask == nil {
		ask = ready
	}
	waiting, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var hopeless vain.Watch
	for {
		err := ask(waiting, kubeconfig)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if hopeless.Ends(err) {
			return fault.New("kind cluster "+s.Name, err, "another cluster answers at its address: see kind get clusters, and delete it with kind delete cluster --name "+s.Name+"; then run the same command again")
		}
		s.Tell("waiting for Kubernetes on the local seed: " + err.Error())
		select {
		case <-waiting.Done():
			return fault.New("kind cluster "+s.Name, fmt.Errorf("its Kubernetes does not answer after %s: %w", answerTime, err),
				"see kind export logs --name "+s.Name+". If it is lost, delete it with kind delete cluster --name "+s.Name+
					"; clusters that were not moved to the management cluster yet are then only in the cloud: run slipway down, then slipway up")
		case <-time.After(time.Second):
		}
	}
}

// ready asks the API server that a kubeconfig names whether it is ready. Its health needs no
// login.
func ready(ctx context.Context, kubeconfig string) error {
	at, transport, err := server(kubeconfig)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		var network *net.OpError
		if errors.As(err, &network) {
			return network
		}
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}
