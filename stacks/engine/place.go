package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// place is where the engine's process runs, and with what.
type place struct {
	command
	workdir string
	// leave removes what was temporary.
	leave func()
}

// enter returns the place of an operation on a state that exists, or errNoStack if there
// certainly is none. It creates nothing that stays: what the engine needs for itself
// is in a temporary folder until a state is created from this folder.
func (e *Engine) enter(ctx context.Context, environ ...string) (place, error) {
	if e.local != "" {
		if _, err := os.Stat(filepath.Join(e.local, ".pulumi")); errors.Is(err, fs.ErrNotExist) {
			return place{}, errNoStack
		}
	}
	if e.server != nil {
		if err := e.onServer(ctx); err != nil {
			return place{}, err
		}
	}
	passphrase, err := e.options.Passphrase(ctx, false)
	if errors.Is(err, errNoPassphrase) {
		return place{}, e.without(ctx, err)
	}
	if err != nil {
		return place{}, err
	}
	return e.at(passphrase, environ...)
}

// onServer returns errNoStack if the server has no state, and what is wrong with the server
// before a process of the engine starts.
func (e *Engine) onServer(ctx context.Context) error {
	exists, err := e.server.Exists(ctx)
	if err != nil {
		return ofServer(err)
	}
	if !exists {
		return errNoStack
	}
	return nil
}

// without returns why an operation has no passphrase: there is no state yet, or the
// passphrase of the state is lost.
func (e *Engine) without(ctx context.Context, missing error) error {
	p, err := e.at([]byte("none"))
	if err != nil {
		return err
	}
	defer p.leave()
	// An export without secrets decrypts nothing.
	if _, err := p.pulumi(ctx, nil, "stack", "export", "--stack", e.options.Environment); err != nil {
		return err
	}
	return missing
}

// at returns a place with a passphrase; a store without metadata gets none.
func (e *Engine) at(passphrase []byte, environ ...string) (place, error) {
	// Without this even a read gives an empty store its metadata (pkg/backend/diy/meta.go).
	environ = append(environ, "PULUMI_DIY_BACKEND_LEGACY_LAYOUT=true")
	home, leave := filepath.Join(e.options.Folder, "engine"), func() {}
	if _, err := os.Stat(filepath.Join(home, e.options.Environment)); errors.Is(err, fs.ErrNotExist) {
		if home, err = os.MkdirTemp("", "slipway-engine-"); err != nil {
			return place{}, fmt.Errorf("creating a folder for the engine: %w", err)
		}
		leave = func() { _ = os.RemoveAll(home) }
	}
	p, err := e.in(home, passphrase, environ)
	if err != nil {
		leave()
	}
	p.leave = leave
	return p, err
}

// settle creates what a state needs on this machine: folders and passphrase.
func (e *Engine) settle(ctx context.Context) (place, error) {
	if e.local != "" {
		if err := os.MkdirAll(e.local, 0o700); err != nil {
			return place{}, fmt.Errorf("creating the state folder: %w", err)
		}
	}
	if err := os.MkdirAll(e.options.Folder, 0o700); err != nil {
		return place{}, fmt.Errorf("creating the engine's folder: %w", err)
	}
	if err := os.Chmod(e.options.Folder, 0o700); err != nil {
		return place{}, fmt.Errorf("setting the mode of the state folder: %w", err)
	}
	passphrase, err := e.options.Passphrase(ctx, true)
	if err != nil {
		return place{}, err
	}
	p, err := e.in(filepath.Join(e.options.Folder, "engine"), passphrase, nil)
	p.leave = func() {}
	return p, err
}

// in returns the place in a folder of the engine. The child starts with an empty
// environment.
func (e *Engine) in(home string, passphrase []byte, environ []string) (place, error) {
	workdir := filepath.Join(home, e.options.Environment)
	if err := os.MkdirAll(workdir, 0o700); err != nil {
		return place{}, fmt.Errorf("creating the engine's folder: %w", err)
	}
	if err := writeProject(workdir); err != nil {
		return place{}, fmt.Errorf("writing the project: %w", err)
	}
	return place{workdir: workdir, command: command{executable: e.options.Executable, passphrase: passphrase, notes: e.notes(), environ: slices.Concat([]string{
		"HOME=" + home,
		"PULUMI_HOME=" + home,
		"PULUMI_BACKEND_URL=" + e.options.Backend,
		"PULUMI_SKIP_UPDATE_CHECK=true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true",
		"TMPDIR=" + os.TempDir(),
	}, e.options.Environ, environ)}}, nil
}

// writeProject writes the project file of the engine's folder. Runs that start at the
// same time must not read half of it.
func writeProject(workdir string) error {
	path := filepath.Join(workdir, "Pulumi.yaml")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	file, err := os.CreateTemp(workdir, "new-") // mode 0600
	if err != nil {
		return err
	}
	_, err = file.WriteString("name: " + Project + "\nruntime: go\n")
	return errors.Join(err, file.Close(), os.Rename(file.Name(), path))
}
