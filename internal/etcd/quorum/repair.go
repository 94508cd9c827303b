package quorum

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
)

// Host is the machine of the member; *remote.Machine is one.
type Host interface {
	// Run runs a program as root and returns its output; *remote.Failure if that failed.
	Run(ctx context.Context, program string, args ...string) (string, error)
	// Pipe runs a program as root between two streams.
	Pipe(ctx context.Context, in io.Reader, out io.Writer, program string, args ...string) error
}

// The places of the static pod. A manifest that is held is out of the kubelet's sight,
// on the same file system, so that a rename moves it whole or not at all.
const (
	manifest = "/etc/kubernetes/manifests/etcd.yaml"
	held     = "/etc/kubernetes/slipway-etcd.yaml"
	socket   = "unix:///run/containerd/containerd.sock"
)

// Repair is one repair.
type Repair struct {
	Host Host
	// Root is put in front of the paths on the machine; "" is the machine's own root.
	Root string
	// Snapshot replaces the member's own data; nil keeps those.
	Snapshot io.Reader
	// Patience is how long etcd may take to stop, and to start; 0 is 5 minutes.
	Patience time.Duration
	// Pause is between two looks; 0 is 2 s.
	Pause time.Duration
	// Progress receives what is being done; nil is nobody.
	Progress func(string)
}

// Result is what a repair found and did.
type Result struct {
	Member string
	// Before is the folder with the data of before.
	Before string
	// Resumed says that a former run had begun it.
	Resumed bool
}

// Run makes the member a cluster of its own. It refuses a member that still reads by
// consensus. It can be ended anywhere and run again: the kubelet starts etcd with
// either the old data or the new, and the old stay beside them.
func (r Repair) Run(ctx context.Context) (Result, error) {
	r.defaults()
	m, resumed, err := r.find(ctx)
	if err != nil {
		return Result{}, err
	}
	result := Result{Member: m.Name, Resumed: resumed}
	if !resumed {
		if err := r.admit(ctx, m); err != nil {
			return result, err
		}
		if err := r.run(ctx, "mv", "-T", r.at(manifest), r.at(held)); err != nil {
			return result, err
		}
	}
	r.Progress("stopping etcd")
	if err := r.stopped(ctx); err != nil {
		return result, err
	}
	if result.Before, err = r.replace(ctx, m); err != nil {
		return result, err
	}
	if err := r.run(ctx, "mv", "-T", r.at(held), r.at(manifest)); err != nil {
		return result, err
	}
	// It forgets how often the API server has failed without etcd, and starts it at once.
	if err := r.run(ctx, "systemctl", "restart", "kubelet.service"); err != nil {
		return result, err
	}
	r.Progress("starting etcd")
	return result, r.started(ctx, m)
}

func (r *Repair) defaults() {
	if r.Patience == 0 {
		r.Patience = 5 * time.Minute
	}
	if r.Pause == 0 {
		r.Pause = 2 * time.Second
	}
	if r.Progress == nil {
		r.Progress = func(string) {}
	}
}

func (r Repair) at(p string) string { return path.Join("/", r.Root, p) }

// find reads the manifest: the held one if a former run has begun.
func (r Repair) find(ctx context.Context) (m Member, resumed bool, err error) {
	isHeld, err := r.there(ctx, r.at(held))
	if err != nil {
		return m, false, err
	}
	isPlaced, err := r.there(ctx, r.at(manifest))
	switch {
	case err != nil:
		return m, false, err
	case isHeld && isPlaced:
		return m, false, fault.New(r.at(manifest), fmt.Errorf("somebody put it back beside %s while a repair was under way", r.at(held)), "find out which of the two is right, remove the other, then run the same command again")
	case !isHeld && !isPlaced:
		return m, false, fault.New(r.at(manifest), errors.New("the machine has no static pod of etcd"), "choose a machine of the control plane that kubeadm made")
	}
	from := manifest
	if isHeld {
		from = held
	}
	text, err := r.Host.Run(ctx, "cat", r.at(from))
	if err != nil {
		return m, isHeld, fmt.Errorf("reading the manifest of etcd: %w", err)
	}
	m, err = ParseManifest(text)
	return m, isHeld, err
}

// admit refuses what is not lost: a member that reads by consensus has a quorum, and
// would be torn out of it.
func (r Repair) admit(ctx context.Context, m Member) error {
	healthy, err := r.healthy(ctx, m)
	if err != nil {
		return err
	}
	if healthy {
		return fault.New("etcd member "+m.Name, errors.New("it reads by consensus, so the quorum is not lost"), "nothing was changed: see with slipway why what is wrong")
	}
	return nil
}

// healthy asks etcd in its container. One that does not run, or does not answer, is not.
func (r Repair) healthy(ctx context.Context, m Member) (bool, error) {
	id, err := r.container(ctx)
	if err != nil || id == "" {
		return false, err
	}
	words := []string{"--runtime-endpoint", socket, "exec", "--sync", id, "etcdctl", "--command-timeout=10s", "--endpoints=" + m.ClientURL}
	if m.Authority != "" {
		words = append(words, "--cacert="+m.Authority, "--cert="+m.Certificate, "--key="+m.Key)
	}
	_, err = r.Host.Run(ctx, "crictl", append(words, "endpoint", "health")...)
	if failed := (*remote.Failure)(nil); errors.As(err, &failed) {
		return false, nil
	}
	return err == nil, err
}

// container is the ID of etcd's running container; "" is none.
func (r Repair) container(ctx context.Context) (string, error) {
	out, err := r.Host.Run(ctx, "crictl", "--runtime-endpoint", socket, "ps", "--quiet", "--name", "^etcd$")
	if err != nil {
		return "", fmt.Errorf("looking for etcd's container: %w", err)
	}
	id, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return id, nil
}

// stopped waits until the kubelet has stopped etcd.
func (r Repair) stopped(ctx context.Context) error {
	return r.until(ctx, "the kubelet has not stopped etcd", func() (bool, error) {
		id, err := r.container(ctx)
		return id == "", err
	})
}

// started waits until etcd reads by consensus: its own.
func (r Repair) started(ctx context.Context, m Member) error {
	return r.until(ctx, "etcd does not answer", func() (bool, error) { return r.healthy(ctx, m) })
}

func (r Repair) until(ctx context.Context, late string, done func() (bool, error)) error {
	for end := time.Now().Add(r.Patience); ; {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fault.New("etcd", fmt.Errorf("%s for %s", late, r.Patience), "look at the kubelet on the machine with journalctl -u kubelet, then run the same command again: it continues from here")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(r.Pause):
		}
	}
}

// run runs a program that must succeed.
func (r Repair) run(ctx context.Context, program string, args ...string) error {
	if _, err := r.Host.Run(ctx, program, args...); err != nil {
		return fault.New("control plane machine", err, "fix the cause on the machine, then run the same command again: it continues from here")
	}
	return nil
}

// there reports whether a path exists.
func (r Repair) there(ctx context.Context, p string) (bool, error) {
	_, err := r.Host.Run(ctx, "test", "-e", p)
	if failed := (*remote.Failure)(nil); errors.As(err, &failed) && failed.Status == 1 {
		return false, nil
	}
	return err == nil, err
}
