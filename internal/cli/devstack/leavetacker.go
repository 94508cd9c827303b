package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/onboard"
	"github.com/slipway-sh/slipway/addons/tacker/receiver"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// tackerPackagesFile has the vnfdIds of the packages that Tacker has, in the plugin's folder.
const tackerPackagesFile = "tacker-packages"

// noteTacker adds packages to those that Tacker has: of an earlier stack.sh it may have others.
func noteTacker(s devstack.Settings, packages []*csar.Package) error {
	noted, err := notedTacker(s)
	if err != nil {
		return err
	}
	for _, p := range packages {
		if !slices.Contains(noted, p.ID) {
			noted = append(noted, p.ID)
		}
	}
	return s.Write(tackerPackagesFile, strings.Join(noted, "\n")+"\n")
}

func notedTacker(s devstack.Settings) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(s.Dir, tackerPackagesFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading which packages Tacker has: %w", err)
	}
	return strings.Fields(string(text)), nil
}

// leaveTacker takes back what Tacker got: the VIM, whose cluster is about to end, the packages,
// which are of no use without it, and the token.
func leaveTacker(ctx context.Context, streams ui.Streams, s devstack.Settings) error {
	token := filepath.Join(s.Dir, tackerTokenFile)
	if _, err := os.Stat(token); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	left := emptyTacker(ctx, s)
	if stopped(left) {
		fmt.Fprintln(streams.Err, "Tacker does not answer: its VIM and packages stay until the next stack.sh, which makes a new database")
		left = nil
	}
	// Also of a Tacker that keeps it the token is worth nothing from now on.
	if err := errors.Join(left, revokeTacker(ctx, s)); err != nil {
		return err
	}
	return errors.Join(removed(token), removed(filepath.Join(s.Dir, tackerPackagesFile)))
}

func emptyTacker(ctx context.Context, s devstack.Settings) error {
	c, err := open(ctx, member)
	if err != nil {
		return err
	}
	defer c.Close()
	tacker, err := receiver.NewTacker(c.Provider, c.Endpoint, true)
	if gone := (*gophercloud.ErrEndpointNotFound)(nil); errors.As(err, &gone) {
		return nil // it is not in the catalog any more
	}
	if err != nil {
		return err
	}
	noted, err := notedTacker(s)
	if err != nil {
		return err
	}
	store := onboard.Store{Client: tacker.Client, Pause: time.Second}
	noVIM := tacker.Remove(ctx, vimName)
	if stopped(noVIM) {
		return noVIM // asking for packages too would only take as long again
	}
	if err := errors.Join(noVIM, store.Remove(ctx, noted)); err != nil {
		return fault.New("Tacker", err, "terminate and delete the VNF instances of Slipway's packages, then run unstack.sh again")
	}
	return nil
}

// stopped says whether an error is that of a Tacker that has ended. unstack.sh calls the plugins
// in the order in which stack.sh does, and Tacker's comes first.
func stopped(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || gophercloud.ResponseCodeIs(err, http.StatusBadGateway) || gophercloud.ResponseCodeIs(err, http.StatusServiceUnavailable)
}

// revokeTacker deletes Tacker's account on the management cluster, unless that has ended.
func revokeTacker(ctx context.Context, s devstack.Settings) error {
	if _, err := os.Stat(s.Kubeconfig); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return fault.Usage("kubeconfig "+s.Kubeconfig, err, "give a file that kubectl --kubeconfig accepts")
	}
	config.Timeout = 30 * time.Second
	on, err := kube.New(config)
	if err != nil {
		return err
	}
	return on.RemoveAccount(ctx, tackerAccount())
}
