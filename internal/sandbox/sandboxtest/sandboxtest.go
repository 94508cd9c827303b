// Package sandboxtest starts a cloud inside a test.
package sandboxtest

import (
	"context"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/crypto/bcrypt"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox"
)

// Cloud is a cloud that ends with its test.
type Cloud struct {
	*sandbox.Cloud
	// Member and Admin are clients of the users demo and admin, each on the
	// project of the same name.
	Member, Admin Clients
	// Events are what went wrong inside.
	Events *event.Recorder

	options sandbox.Options
	stop    func() error
}

// Start starts a cloud with factor 0, driver none and a state of its own;
// options may change that.
func Start(t testing.TB, options ...func(*sandbox.Options)) *Cloud {
	t.Helper()
	events := &event.Recorder{}
	c := &Cloud{Events: events, options: sandbox.Options{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Events: events, HashCost: bcrypt.MinCost,
	}}
	for _, option := range options {
		option(&c.options)
	}
	c.start(t)
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Errorf("stopping the sandbox: %v", err)
		}
	})
	return c
}

func (c *Cloud) start(t testing.TB) {
	t.Helper()
	cloud, err := sandbox.Open(c.options)
	if err != nil {
		t.Fatalf("opening the sandbox: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- cloud.Serve(ctx) }()
	c.Cloud = cloud
	c.stop = func() error {
		cancel()
		if err := <-served; err != nil {
			return err
		}
		return cloud.Close()
	}
	passwords := cloud.Passwords()
	c.Member = c.Login(t, User("demo", passwords.Demo, "demo"))
	c.Admin = c.Login(t, User("admin", passwords.Admin, "admin"))
}

// Restart stops the cloud and opens it again at another port, from what is in
// its file; clients are new.
func (c *Cloud) Restart(t testing.TB) {
	t.Helper()
	if err := c.stop(); err != nil {
		t.Fatalf("stopping the sandbox: %v", err)
	}
	c.start(t)
}

// User are the options to log in by password in the default domain.
func User(name, password, project string) gophercloud.AuthOptions {
	return gophercloud.AuthOptions{Username: name, Password: password, DomainID: "default",
		Scope: &gophercloud.AuthScope{ProjectName: project, DomainID: "default"}, AllowReauth: true}
}
