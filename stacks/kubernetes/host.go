package kubernetes

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	p "github.com/pulumi/pulumi-go-provider"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// host is the machine of the seed.
type host struct{ *remote.Machine }

const (
	// lookSoon is how soon starting units are checked again, and lookSlowly how often after a
	// while: each look is a login of sudo and processes, which slow machines feel, and
	// lines on the console, of which Nova keeps only the last.
	lookSoon   = 250 * time.Millisecond
	lookSlowly = 3 * time.Second
	// lost is how long a machine may not answer when it is looked at again.
	lost = 5 * time.Minute
)

// settle waits for the first boot, brings what the image does not have, and then reconciles
// the files and the file system.
func (h host) settle(ctx context.Context, in K3sInputs, files []seed.File, folder *bundle.Folder) error {
	if err := h.booted(ctx, in.User, in.Payload != ""); err != nil {
		return err
	}
	facts, brought, err := h.equip(ctx, folder, in.Networks)
	if err != nil {
		return err
	}
	restart, err := h.write(ctx, files)
	if err != nil {
		return err
	}
	if err := h.grow(ctx, in.VolumeGiB); err != nil {
		return err
	}
	if !facts.Own {
		if err := h.start(ctx, restart || brought); err != nil {
			return err
		}
		if err := h.restarted(ctx); err != nil {
			return err
		}
		return h.denied(ctx, facts, h.active(ctx))
	}
	if restart {
		status(ctx, "restarting k3s with its new settings")
		if _, err := h.Run(ctx, "systemctl", "daemon-reload"); err != nil {
			return err
		}
		if _, err := h.Run(ctx, "systemctl", "restart", k3sUnit); err != nil {
			return h.journal(ctx, k3sUnit, err)
		}
		if err := h.restarted(ctx); err != nil {
			return err
		}
	}
	return h.active(ctx)
}

// restartDue is there from before a file is changed that k3s reads only when it starts, or from when
// a program or an archive was brought, until k3s is started again: a run that ends between does not
// leave k3s as it was. A boot, which starts k3s too, removes it.
const restartDue = "/run/slipway-restart-k3s"

func (h host) restarted(ctx context.Context) error {
	if _, err := h.Run(ctx, "rm", "-f", restartDue); err != nil {
		return fmt.Errorf("removing %s: %w", restartDue, err)
	}
	return nil
}

// isRestartDue looks whether a former run left that to do.
func (h host) isRestartDue(ctx context.Context) (bool, error) {
	_, err := h.look(ctx, "test", "-e", restartDue)
	if failure := (*remote.Failure)(nil); errors.As(err, &failure) {
		return false, nil
	}
	return err == nil, err
}

// look runs a program that changes nothing, and again if the connection is lost: a slow
// machine that starts much at once may not answer for a minute.
func (h host) look(ctx context.Context, program string, args ...string) (string, error) {
	for end := time.Now().Add(lost); ; {
		out, err := h.Run(ctx, program, args...)
		failure := (*remote.Failure)(nil)
		if err == nil || errors.As(err, &failure) || ctx.Err() != nil || time.Now().After(end) {
			return out, err
		}
		status(ctx, "connecting again: "+err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(lookSlowly):
		}
	}
}

// booted waits for cloud-init, which writes the files and starts the units. On a machine
// to which all is brought (brings), it may fail at what Slipway does not need: another's
// image may configure clocks and packages, and what is needed is settled over SSH.
func (h host) booted(ctx context.Context, user string, brings bool) error {
	if _, err := h.look(ctx, "true"); err != nil {
		return rootless(user, err)
	}
	status(ctx, "waiting for cloud-init")
	out, err := h.look(ctx, "cloud-init", "status", "--wait", "--long")
	var failure *remote.Failure
	switch {
	case err == nil, errors.As(err, &failure) && failure.Status == 2: // done, with warnings
		return nil
	case failure != nil && strings.Contains(out, "status: error"):
		_, detail, _ := strings.Cut(out, "detail:")
		if brings {
			p.GetLogger(ctx).Warning("cloud-init on the seed failed at something; Slipway continues without it: " + strings.Join(strings.Fields(detail), " "))
			return nil
		}
		return fault.New("cloud-init", fmt.Errorf("the first boot failed: %s", strings.Join(strings.Fields(detail), " ")),
			"see slipway ssh -- sudo cat /var/log/cloud-init-output.log")
	case failure != nil && failure.Status == 127: // an image without cloud-init is refused earlier
		return fault.New("seed image", errors.New("it has no cloud-init"), "choose another image, or leave spec.seed.image empty to use the bundle's")
	}
	return err
}

// write writes the files that differ, deletes those that are not wanted any more, and reports
// whether k3s must be restarted to read them.
func (h host) write(ctx context.Context, files []seed.File) (restart bool, err error) {
	if restart, err = h.isRestartDue(ctx); err != nil {
		return false, err
	}
	due := func() error {
		if restart {
			return nil
		}
		restart = true
		_, err := h.Run(ctx, "touch", restartDue)
		return err
	}
	there, err := h.digests(ctx, files)
	if err != nil {
		return false, err
	}
	if err := h.drop(ctx, files, due); err != nil {
		return restart, err
	}
	for _, f := range files {
		if there[f.Path] == fmt.Sprintf("%x", sha256.Sum256([]byte(f.Content))) {
			continue
		}
		if f.Restarts {
			if err := due(); err != nil {
				return restart, err
			}
		}
		err := h.Pipe(ctx, strings.NewReader(f.Content), nil, "install", "-D", "-m", f.Mode, "-o", "root", "-g", "root", "/dev/stdin", f.Path)
		if err != nil {
			return restart, fmt.Errorf("writing %s: %w", f.Path, err)
		}
	}
	return restart, nil
}

// digests are the SHA-256 of the files on the machine, by path; those that are not there are left
// out.
func (h host) digests(ctx context.Context, files []seed.File) (map[string]string, error) {
	args := []string{"--"}
	for _, f := range files {
		args = append(args, f.Path)
	}
	out, err := h.look(ctx, "sha256sum", args...)
	if failure := (*remote.Failure)(nil); err != nil && !errors.As(err, &failure) {
		return nil, err
	}
	there := map[string]string{}
	for _, line := range strings.Split(out, "\n") {
		if digest, path, ok := strings.Cut(line, "  "); ok {
			there[path] = digest
		}
	}
	return there, nil
}

// drop deletes what seed.OptionalFiles lists and files do not have: settings that were left out,
// such as a proxy, or a registry with its password. due is called before.
func (h host) drop(ctx context.Context, files []seed.File, due func() error) error {
	out, err := h.look(ctx, "cat", seed.OptionalFiles)
	if failure := (*remote.Failure)(nil); errors.As(err, &failure) {
		return nil // there never were any
	}
	if err != nil {
		return err
	}
	listed := strings.Fields(out)
	former := slices.DeleteFunc(append(listed, seed.OptionalFiles), func(path string) bool {
		return slices.ContainsFunc(files, func(f seed.File) bool { return f.Path == path })
	})
	if len(former) == 0 {
		return nil
	}
	if err := due(); err != nil {
		return err
	}
	if _, err := h.Run(ctx, "rm", append([]string{"-f", "--"}, former...)...); err != nil {
		return fmt.Errorf("deleting former settings: %w", err)
	}
	return nil
}

// grow grows the data volume's file system to the size of the volume (row F17), which has
// been extended before.
func (h host) grow(ctx context.Context, gib int) error {
	size, err := h.look(ctx, "findmnt", "--noheadings", "--bytes", "--output", "SIZE", seed.DataDir)
	if failure := (*remote.Failure)(nil); errors.As(err, &failure) {
		return nil // not mounted yet: mounting it grows it too
	}
	if err != nil {
		return err
	}
	var bytes int64
	if _, err := fmt.Sscan(size, &bytes); err != nil {
		return fmt.Errorf("reading the size of %s: %w", seed.DataDir, err)
	}
	if bytes > int64(gib)<<30*9/10 { // a file system keeps some for itself
		return nil
	}
	status(ctx, "growing the file system of the data volume")
	_, err = h.Run(ctx, "sh", "-c", growData)
	if failure := (*remote.Failure)(nil); errors.As(err, &failure) && failure.Status == refusedWhileMounted {
		p.GetLogger(ctx).Warning("the data volume was extended, but its file system grows only when the seed boots next: " +
			"this server cannot grow a mounted one. Reboot it when k3s can be down for a minute.")
		return nil
	}
	if err != nil {
		return fault.New(dataUnit, err, "see its log with slipway ssh -- sudo journalctl -u "+dataUnit)
	}
	return nil
}

// growData runs the program of the data volume's unit; systemctl reload would report only
// success or failure.
const growData = `. /etc/slipway/data-volume && exec /usr/local/sbin/slipway-data-volume "$DATA_VOLUME"`

// refusedWhileMounted is its exit status if only an unmounted file system can be grown, as
// in a container without CAP_SYS_RESOURCE.
const refusedWhileMounted = 75

// containers returns the IDs of the running containers. While containerd is starting it
// cannot be asked.
func (h host) containers(ctx context.Context) ([]string, error) {
	for {
		out, err := h.look(ctx, "/usr/local/bin/k3s", "crictl", "ps", "--quiet", "--no-trunc")
		failure := (*remote.Failure)(nil)
		if err == nil {
			return strings.Fields(out), nil
		}
		if !errors.As(err, &failure) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("listing containers: %w: %w", context.Cause(ctx), err)
		case <-time.After(4 * lookSoon):
		}
	}
}

// kubeconfig returns the administrator's kubeconfig, with the seed's public address.
func (h host) kubeconfig(ctx context.Context, address string) (string, error) {
	text, err := h.look(ctx, "cat", "/etc/rancher/k3s/k3s.yaml")
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return strings.ReplaceAll(text, "https://"+apiAddress, "https://"+address+":6443"), nil
}
