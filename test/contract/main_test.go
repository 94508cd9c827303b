// Package contract says what OpenStack's API reference promises of all that
// Slipway, the Cluster API provider and the cloud controllers use. It runs
// against the cloud that OS_CLOUD names, with the administrator's cloud in
// OS_ADMIN_CLOUD (by default the same name with "-admin"), and against an
// in-process sandbox when OS_CLOUD is empty.
package contract_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox"
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run starts a sandbox if no cloud is named, and points the environment at it
// as a user would.
func run(m *testing.M) (code int, err error) {
	if os.Getenv("OS_CLOUD") != "" {
		return m.Run(), nil
	}
	if code, done, err := isolated(); done || err != nil {
		return code, err
	}
	dir, err := os.MkdirTemp("", "contract-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	events := &event.Recorder{}
	host, end, err := machines(os.Getenv(driverVariable), dir, events)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, end()) }()
	cloud, err := sandbox.Open(sandbox.Options{Dir: filepath.Join(dir, "cloud"), Listen: "127.0.0.1:0", HashCost: bcrypt.MinCost, Host: host, Events: events})
	if err != nil {
		return 1, err
	}
	defer cloud.Close()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- cloud.Serve(ctx) }()
	if err := reachable(cloud.URL()); err != nil {
		stop()
		tell(events)
		return 1, errors.Join(err, <-served)
	}
	os.Setenv("OS_CLOUD", "sandbox")
	os.Setenv("OS_CLIENT_CONFIG_FILE", cloud.CloudsYAML())
	code = m.Run()
	stop()
	tell(events)
	return code, <-served
}

func tell(events *event.Recorder) {
	for _, e := range events.Events() {
		fmt.Fprintf(os.Stderr, "sandbox: %s: %s%s\n", e.Step, e.Message, e.Error)
	}
}
