package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kubeversion"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/payload"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// tellEvery is how often the progress of a transfer is told.
const tellEvery = 2 * time.Second

// equip makes a machine of another's image what one of the bundle's image is. It returns
// the facts of the machine, and whether anything was brought that k3s reads at its start.
func (h host) equip(ctx context.Context, folder *bundle.Folder, networks []string) (facts seed.Facts, brought bool, err error) {
	brings, missing := payload.Of(folder)
	facts, err = h.facts(ctx, networks, seed.NeededPrograms())
	if err != nil || facts.Own {
		return facts, false, err
	}
	if missing != nil {
		return facts, false, missing
	}
	if err := facts.Problems(needs(folder.Bill())); err != nil {
		return facts, false, err
	}
	status(ctx, "reading the bundle")
	uploads, err := brings.Uploads(ctx)
	if err != nil {
		return facts, false, err
	}
	// Marked first: a machine with half of it is not one of the bundle's image.
	if brought, err = h.write(ctx, brings.Files()); err != nil {
		return facts, false, err
	}
	for i, upload := range uploads {
		sent, err := h.Send(ctx, upload, sending(ctx, upload, fmt.Sprintf("%d/%d", i+1, len(uploads))))
		if err != nil {
			return facts, false, err
		}
		if sent && !brought {
			if _, err := h.Run(ctx, "touch", restartDue); err != nil {
				return facts, false, fmt.Errorf("writing %s: %w", restartDue, err)
			}
		}
		brought = brought || sent
	}
	if brings.BringsIptables() {
		if _, err := h.Run(ctx, "sh", "-c", payload.UnpackIptables); err != nil {
			return facts, false, fmt.Errorf("unpacking iptables: %w", err)
		}
	}
	return facts, brought, nil
}

// needs are what the programs of a bundle need of a machine.
func needs(bill *bundle.Bill) seed.Needs {
	_, architecture, _ := strings.Cut(bill.Platform, "/")
	names := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
	return seed.Needs{Architecture: names[architecture], CgroupV2: kubeversion.AtLeast(component.VersionsIn(bill).K3s, 1, 35)}
}

// facts asks the machine what it is.
func (h host) facts(ctx context.Context, networks, programs []string) (seed.Facts, error) {
	status(ctx, "checking the machine")
	pods, services := "", ""
	if len(networks) == 2 {
		pods, services = networks[0], networks[1]
	}
	args := append([]string{"-c", seed.MachineFacts, "machine-facts", "", pods, services}, programs...)
	out, err := h.look(ctx, "sh", args...)
	if err != nil {
		return seed.Facts{}, fmt.Errorf("checking the machine: %w", err)
	}
	return seed.ParseFacts(out)
}

// sending tells how far the transfer of a file is, and outlasts a lost connection.
func sending(ctx context.Context, u remote.Upload, place string) remote.Sending {
	begun, told := time.Now(), time.Time{}
	name := path.Base(u.Path)
	return remote.Sending{Lost: lost, Pause: lookSlowly,
		Tell: func(done, total int64) {
			if now := time.Now(); now.Sub(told) >= tellEvery {
				told = now
				status(ctx, fmt.Sprintf("bringing %s (%s): %s of %s, since %s", name, place, ui.Bytes(done), ui.Bytes(total), begun.Format(time.TimeOnly)))
			}
		},
		Again: func(why error) { status(ctx, "connecting again for "+name+": "+why.Error()) },
	}
}

// start loads the settings of the payload and starts its units, k3s anew if what it
// reads has changed.
func (h host) start(ctx context.Context, changed bool) error {
	if changed {
		status(ctx, "stopping k3s") // pods run on
		if _, err := h.Run(ctx, "systemctl", "stop", k3sUnit); err != nil && !failed(err) {
			return err
		}
	}
	for _, command := range [][]string{
		{"systemctl", "daemon-reload"},
		{"systemctl", "enable", "slipway-container.service", dataUnit, k3sUnit},
		// Not loaded before the boot, as they are on a machine that has them in its image.
		{"systemctl", "restart", "systemd-modules-load.service"},
		{"systemctl", "start", "slipway-container.service"},
		{"sysctl", "--quiet", "--ignore", "--load", "/etc/sysctl.d/90-slipway-network.conf", "/etc/sysctl.d/90-slipway-seed.conf"},
		{"systemctl", "start", "--no-block", k3sUnit},
	} {
		_, err := h.Run(ctx, command[0], command[1:]...)
		// In a container the host loads modules, and its kernel refuses settings.
		if failed(err) && (command[0] == "sysctl" || command[1] == "restart") {
			continue
		}
		if err != nil {
			return fmt.Errorf("starting k3s: %s: %w", strings.Join(command, " "), err)
		}
	}
	return nil
}

// failed tells a program that failed from a connection that did.
func failed(err error) bool {
	failure := (*remote.Failure)(nil)
	return errors.As(err, &failure)
}

// rootless explains a login that works and a sudo that does not; other errors stay.
func rootless(user string, err error) error {
	if !failed(err) {
		return err
	}
	return fault.New("user "+user+" of the seed's image", fmt.Errorf("it cannot become root: %w", err),
		"use an image whose login user may run sudo without a password and without a terminal, or name that user in spec.seed.ssh.user")
}

// denied adds to the error of k3s what SELinux refused, which k3s' own log does not tell.
func (h host) denied(ctx context.Context, facts seed.Facts, err error) error {
	if err == nil || facts.SELinux != "enforcing" {
		return err
	}
	out, readErr := h.Run(ctx, "journalctl", "--boot", "--no-pager", "--output", "cat", "--lines", "1", "--grep", "avc: +denied")
	if readErr != nil || strings.TrimSpace(out) == "" {
		return err
	}
	return fault.New("SELinux on the seed's machine", fmt.Errorf("it is enforcing and refused: %s; %w", strings.TrimSpace(out), err),
		"use an image with the package k3s-selinux, or one where SELinux is permissive")
}
