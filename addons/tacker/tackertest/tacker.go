// Package tackertest stands in for OpenStack Tacker in tests: it takes packages as its
// package management does, and runs them on a real API server as its Kubernetes and Helm
// drivers (v2 API) and its management scripts do. It reads nothing of a package but what
// Tacker reads, and knows nothing of Slipway or Cluster API.
package tackertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/kube"
)

// Failure is how something ends that does not complete.
type Failure struct {
	Status int
	Detail string
}

func (f Failure) Error() string { return fmt.Sprintf("%d %s", f.Status, f.Detail) }

func fail(status int, format string, args ...any) error {
	return Failure{status, fmt.Sprintf(format, args...)}
}

// Status is that of a failure, 0 of all else.
func Status(err error) int {
	var f Failure
	if errors.As(err, &f) {
		return f.Status
	}
	return 0
}

// The states of a package.
const (
	Created    = "CREATED"
	Uploading  = "UPLOADING"
	Processing = "PROCESSING"
	Onboarded  = "ONBOARDED"
	Enabled    = "ENABLED"
	Disabled   = "DISABLED"
	NotInUse   = "NOT_IN_USE"
	InUse      = "IN_USE"
)

// Package is one of the package management.
type Package struct {
	Onboarding, Operational string
	// VNFD is what the definitions say, once it is onboarded.
	VNFD *VNFD
	// users are the instances that have it.
	users int
	// was are the onboarding states until now.
	was   []string
	files map[string][]byte
	// folder is the conductor's copy, from which scripts run.
	folder string
	// listed are the artifacts in TOSCA.meta.
	listed map[string]bool
}

// States are the onboarding states in the order in which they were.
func (p *Package) States() []string { return p.was }

func (p *Package) enter(state string) { p.Onboarding, p.was = state, append(p.was, state) }

// Tacker is one that has one VIM.
type Tacker struct {
	// Python runs scripts; empty is python3.
	Python string
	// Hidden are texts that no script may show.
	Hidden func() []string
	// broken begins the names of Pods that do not run.
	broken atomic.Value

	config     *rest.Config
	kube       *kube.Cluster
	typed      kubernetes.Interface
	kubeconfig string
	// folder has the conductor's copies.
	folder   string
	token    string
	mu       sync.Mutex
	packages []*Package
}

// New makes one whose VIM is an API server without nodes. It stands in for the kubelet too:
// Pods run as soon as they exist.
func New(t *testing.T, config *rest.Config, kubeconfig []byte) *Tacker {
	t.Helper()
	k := WithNodes(t, config, kubeconfig)
	k.pods(t)
	return k
}

// WithNodes makes one whose VIM is a cluster, with an account of its own there.
func WithNodes(t *testing.T, config *rest.Config, kubeconfig []byte) *Tacker {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	folder := t.TempDir()
	k := &Tacker{config: config, folder: folder, kubeconfig: filepath.Join(folder, "kubeconfig"), Hidden: func() []string { return nil }}
	var err error
	if k.kube, err = kube.New(config); err == nil {
		k.typed, err = kubernetes.NewForConfig(config)
	}
	if err == nil {
		err = os.WriteFile(k.kubeconfig, kubeconfig, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	k.token = k.account(t)
	return k
}

// Store makes one without a VIM, which can onboard packages and no more.
func Store(t *testing.T) *Tacker { return &Tacker{folder: t.TempDir()} }

// Token is the account's, by which scripts log in to the VIM.
func (k *Tacker) Token() string { return k.token }

// Break keeps new Pods from running whose names begin so; "" lets all run.
func (k *Tacker) Break(prefix string) { k.broken.Store(prefix) }

// Create is POST /vnf_packages.
func (k *Tacker) Create() *Package {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := &Package{Operational: Disabled}
	p.enter(Created)
	k.packages = append(k.packages, p)
	return p
}

// Upload is PUT package_content: afterwards the package is ONBOARDED and ENABLED, or
// CREATED as before.
func (k *Tacker) Upload(t *testing.T, p *Package, content []byte) error {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.Onboarding != Created {
		return fail(409, "onboardingState is %s", p.Onboarding)
	}
	p.enter(Uploading)
	files, err := unpack(content)
	if err != nil {
		p.enter(Created)
		return fail(400, "%v", err)
	}
	p.enter(Processing)
	p.files = files
	if err := k.process(p); err != nil {
		p.files, p.VNFD = nil, nil
		p.enter(Created)
		return fail(400, "%v", err)
	}
	if p.folder, err = os.MkdirTemp(k.folder, "csar-"); err != nil {
		t.Fatal(err)
	}
	for name, text := range p.files {
		path := filepath.Join(p.folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p.enter(Onboarded)
	p.Operational = Enabled
	return nil
}

// Usage is the usageState of a package.
func (k *Tacker) Usage(p *Package) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.users > 0 {
		return InUse
	}
	return NotInUse
}

func (k *Tacker) use(p *Package, change int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.users += change
}

// Onboard does both, and ends the test if it fails.
func (k *Tacker) Onboard(t *testing.T, content []byte) *Package {
	t.Helper()
	p := k.Create()
	if err := k.Upload(t, p, content); err != nil {
		t.Fatal(err)
	}
	return p
}

// Delete is DELETE of a package.
func (k *Tacker) Delete(p *Package) error {
	usage := k.Usage(p)
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.Operational != Disabled || usage != NotInUse {
		return fail(409, "operationalState is %s, usageState %s", p.Operational, usage)
	}
	for i, one := range k.packages {
		if one == p {
			k.packages = append(k.packages[:i], k.packages[i+1:]...)
			return nil
		}
	}
	return fail(404, "there is no such package")
}

// Shorten sets members of a JSON file in the conductor's copy of a package, such as how
// long a script waits: a test has less time than a cluster.
func (p *Package) Shorten(t *testing.T, file string, members map[string]any) {
	t.Helper()
	path, all := filepath.Join(p.folder, file), map[string]any{}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	for name, value := range members {
		all[name] = value
	}
	if err == nil {
		text, err = json.Marshal(all)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
