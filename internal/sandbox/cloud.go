// Package sandbox is a cloud in a box: OpenStack's APIs in one process, on one
// listener of the loopback interface, over one model.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/compute"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/identity"
	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/keymanager"
	"github.com/slipway-sh/slipway/internal/sandbox/loadbalancer"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/network"
	"github.com/slipway-sh/slipway/internal/sandbox/objectstore"
	"github.com/slipway-sh/slipway/internal/sandbox/placement"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
	"github.com/slipway-sh/slipway/internal/sandbox/transition"
	"github.com/slipway-sh/slipway/internal/sandbox/volume"
)

// services returns the APIs of the cloud except Keystone; a new one is one more line.
func services(env *api.Env) []*api.Service {
	return []*api.Service{
		compute.New(env),
		placement.New(env),
		image.New(env),
		network.New(env),
		volume.New(env),
		loadbalancer.New(env, network.NewCore(env)),
		keymanager.New(env),
		objectstore.New(env),
	}
}

// Cloud is a running sandbox.
type Cloud struct {
	// Env has what the services work on: the model, the clock, the faults.
	Env *api.Env
	// Faults are the rules in force.
	Faults *faultinject.Rules

	options  Options
	secrets  Secrets
	listener net.Listener
	door     net.Listener // nil without machines
	server   *http.Server
	services []*api.Service
}

// Open opens the cloud in the folder, or begins a new one, and listens. Calls are answered from
// Serve on. It writes clouds.yaml and passwords into the folder, mode 0600.
func Open(o Options) (*Cloud, error) {
	c := &Cloud{options: o.complete()}
	if err := Prepare(o.Dir); err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.release())
	}
	return c, nil
}

func (c *Cloud) open() (err error) {
	if err := c.environment(); err != nil {
		return err
	}
	if c.listener, err = listen(c.options.Listen); err != nil {
		return err
	}
	if c.secrets, err = loadSecrets(filepath.Join(c.options.Dir, "secrets.json")); err != nil {
		return err
	}
	keystone, err := identity.New(c.Env, identity.Options{Key: c.secrets.Key, HashCost: c.options.HashCost, TokenLife: c.options.TokenLife})
	if err != nil {
		return err
	}
	c.services = append([]*api.Service{keystone.Service()}, services(c.Env)...)
	if err := keystone.Bootstrap(c.secrets.Passwords); err != nil {
		return fmt.Errorf("making the first users: %w", err)
	}
	if err := network.Bootstrap(c.Env, network.Options{}); err != nil {
		return fmt.Errorf("making the external network: %w", err)
	}
	if err := c.openDoor(context.Background()); err != nil {
		return err
	}
	for _, service := range c.services {
		if service.Bootstrap == nil {
			continue
		}
		if err := c.Env.Store.Update(service.Bootstrap); err != nil {
			return fmt.Errorf("making what %s begins with: %w", service.Name, err)
		}
	}
	if err := keystone.Register(c.services); err != nil {
		return fmt.Errorf("making the catalog: %w", err)
	}
	handler, err := api.NewServer(c.Env, keystone.Authenticate, c.services...)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.Handle(controlPath, c.control())
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: quietLog()}
	return writeCloudsYAML(c.CloudsYAML(), c.URL(), c.secrets.Passwords)
}

func (c *Cloud) environment() error {
	records, err := store.Open(filepath.Join(c.options.Dir, "state.db"))
	if err != nil {
		return err
	}
	o := c.options
	c.Env = &api.Env{Store: records, Host: o.Host, Events: o.Events, Dir: o.Dir, Region: Region,
		Timing: transition.Timing{Clock: o.Clock, Factor: o.Factor}}
	if c.Env.Model, err = model.New(records); err != nil {
		return err
	}
	c.Faults, err = faultinject.Open(filepath.Join(o.Dir, "faults.json"))
	c.Env.Faults = c.Faults
	return err
}

// listen refuses addresses that other hosts could reach.
func listen(address string) (net.Listener, error) {
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", address, err)
	}
	if !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("address %s: the sandbox listens on loopback addresses only", address)
	}
	return net.Listen("tcp", tcp.String())
}

// Serve answers calls and runs the background work until the context ends; then it waits for calls
// under way, at most five seconds.
func (c *Cloud) Serve(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	for _, service := range c.services {
		if service.Run != nil {
			work.Go(func() { service.Run(running) })
		}
	}
	failed := make(chan error, 2)
	go func() { failed <- c.server.Serve(c.listener) }()
	if c.door != nil {
		go func() { failed <- c.server.Serve(c.door) }()
	}
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = c.shutdown(ctx)
	}
	stop()
	work.Wait()
	return err
}

func (c *Cloud) shutdown(ctx context.Context) error {
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := c.server.Shutdown(patience); err != nil {
		return c.server.Close()
	}
	return nil
}

// Close releases listeners and state; call it after Serve has returned. Machines that outlive the
// process keep running.
func (c *Cloud) Close() error { return c.release() }

// Stop is like Close, but ends machines too and leaves the host as it was. The machines come back
// with the next start.
func (c *Cloud) Stop(ctx context.Context) error {
	var err error
	if host, ok := c.options.Host.(machine.Ender); ok {
		err = host.Shutdown(ctx)
	}
	return errors.Join(err, c.release())
}

func (c *Cloud) release() error {
	var errs []error
	if c.server != nil {
		errs = append(errs, c.server.Close())
	}
	for _, l := range []net.Listener{c.listener, c.door} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if c.Env != nil {
		errs = append(errs, c.options.Host.Close(), c.Env.Store.Close())
	}
	return errors.Join(errs...)
}

// CloudsYAML is the path of the file for OpenStack's clients, with the clouds
// sandbox (a member) and sandbox-admin.
func (c *Cloud) CloudsYAML() string { return filepath.Join(c.options.Dir, "clouds.yaml") }

// Passwords returns the passwords of the users that the cloud began with.
func (c *Cloud) Passwords() identity.Passwords { return c.secrets.Passwords }
