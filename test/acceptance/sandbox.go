package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/crypto/bcrypt"

	"github.com/slipway-sh/slipway/internal/sandbox"
)

// factor is how long operations take. Some tests look once a second for a state
// that passes, such as REBOOT, and would never see it at factor 0.
const factor = 0.5

// openSandbox starts a sandbox in dir.
func openSandbox(ctx context.Context, dir string) (*cloud, error) {
	opened, err := sandbox.Open(sandbox.Options{Dir: dir, Listen: "127.0.0.1:0", Factor: factor, HashCost: bcrypt.MinCost})
	if err != nil {
		return nil, fmt.Errorf("opening the sandbox: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- opened.Serve(running) }()
	c := &cloud{url: opened.URL() + "/identity", passwords: map[string]string{"admin": opened.Passwords().Admin, "demo": opened.Passwords().Demo},
		balancers: "amphora", close: func() error {
			stop()
			return errors.Join(<-served, opened.Close())
		}}
	if err := c.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing the sandbox: %w", err), c.close())
	}
	return c, nil
}
