package devstack

import (
	"context"
	"errors"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// The entries of devstack's clouds.yaml that are used: the user of the demo project, and
// the administrator.
const (
	member = "devstack"
	admin  = "devstack-admin"
)

func newPrepare(streams ui.Streams) *cobra.Command {
	return step("prepare", "Create flavor and application credential; list image and template",
		`Creates the flavor of nodes if it is missing, and an application credential of the user
demo for clusters that are created with kubectl. Writes the lists for `+"`slipway image sync`"+`
and `+"`slipway template sync`"+`, and prints their paths.`, "  slipway devstack prepare",
		func(ctx context.Context, s devstack.Settings) error {
			node, err := nodeImage(s)
			if err != nil {
				return err
			}
			if err := flavor(ctx, s); err != nil {
				return err
			}
			if err := credential(ctx, s); err != nil {
				return err
			}
			if err := s.Catalog(node); err != nil {
				return err
			}
			_, err = fmt.Fprintf(streams.Out, "%s\n%s\n", s.ImagesFile(), s.TemplatesFile())
			return err
		})
}

// nodeImage needs the bundle only where the image is the bundle's.
func nodeImage(s devstack.Settings) (devstack.NodeImage, error) {
	if s.Image.URL != "" {
		return s.NodeImage(""), nil
	}
	folder, err := bundle.Open(s.Bundle)
	if err != nil {
		return devstack.NodeImage{}, err
	}
	return s.NodeImage(component.VersionsIn(folder.Bill()).Kubernetes), nil
}

func flavor(ctx context.Context, s devstack.Settings) error {
	c, err := open(ctx, admin)
	if err != nil {
		return err
	}
	defer c.Close()
	compute, err := c.Compute()
	if err != nil {
		return err
	}
	_, err = s.EnsureFlavor(ctx, compute)
	return err
}

func credential(ctx context.Context, s devstack.Settings) error {
	return asMember(ctx, func(identity *gophercloud.ServiceClient, userID string) error {
		_, err := s.EnsureCredential(ctx, identity, userID)
		return err
	})
}

// asMember calls with a client of Keystone of the user demo, and the user's ID.
func asMember(ctx context.Context, do func(identity *gophercloud.ServiceClient, userID string) error) error {
	c, err := open(ctx, member)
	if err != nil {
		return err
	}
	defer c.Close()
	userID, err := userOf(c)
	if err != nil {
		return err
	}
	identity, err := c.Identity()
	if err != nil {
		return err
	}
	return do(identity, userID)
}

func userOf(c *cloud.Cloud) (string, error) {
	result, ok := c.Provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return "", errors.New("reading the user of the token: it is not of Keystone v3")
	}
	user, err := result.ExtractUser()
	if err != nil {
		return "", fmt.Errorf("reading the user of the token: %w", err)
	}
	return user.ID, nil
}

func newTempest(streams ui.Streams) *cobra.Command {
	return step("tempest", "Print the options of Tempest's section [magnum]",
		"Prints one option per line: its name, a space, its value.", "  slipway devstack tempest",
		func(ctx context.Context, s devstack.Settings) error {
			node, err := nodeImage(s)
			if err != nil {
				return err
			}
			c, err := open(ctx, admin)
			if err != nil {
				return err
			}
			defer c.Close()
			compute, noCompute := c.Compute()
			image, noImage := c.Image()
			if err := errors.Join(noCompute, noImage); err != nil {
				return err
			}
			options, err := s.Tempest(ctx, compute, image, node)
			for _, option := range options {
				fmt.Fprintf(streams.Out, "%s %s\n", option.Key, option.Value)
			}
			return err
		})
}
