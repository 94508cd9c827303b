package target

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/slipway-sh/slipway/addons"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// equipment reads what the seed is given from the files that the environment
// names.
func (t *Target) equipment() (stacks.Equipment, error) {
	spec := t.Environment.Spec
	folder, err := bundle.Open(string(spec.Bundle))
	if err != nil {
		return stacks.Equipment{}, err
	}
	bill := folder.Bill()
	k3s := bill.Item("k3s")
	if k3s == nil {
		return stacks.Equipment{}, fault.New("bundle "+string(spec.Bundle), errors.New("it has no k3s"), "slipway bundle build --dir "+string(spec.Bundle))
	}
	e := stacks.Equipment{K3sDigest: k3s.SHA256, Versions: addons.VersionsIn(bill), Registries: map[string]seed.Registry{}}
	if text, err := read(spec.CABundle); err != nil {
		return e, err
	} else if text != "" {
		e.Authorities = []string{text}
	}
	if spec.Seed.SSH.KeyPair != "" {
		if spec.Seed.SSH.IdentityFile == "" {
			return e, fault.Usage("spec.seed.ssh.identityFile", errors.New("it is needed with a key pair of your own: the seed is set up by SSH"),
				"name the file of the private key, or leave out keyPair and one is made")
		}
		if e.PrivateKey, err = read(spec.Seed.SSH.IdentityFile); err != nil {
			return e, err
		}
	}
	for host, r := range spec.Registries {
		if e.Registries[host], err = registry(r); err != nil {
			return e, err
		}
	}
	return e, nil
}

func registry(r config.Registry) (seed.Registry, error) {
	out := seed.Registry{Mirrors: r.Mirrors, Rewrite: r.Rewrite, Username: r.Username}
	var err error
	if out.Authority, err = read(r.CAFile); err != nil {
		return out, err
	}
	out.Password, err = read(r.PasswordFile)
	out.Password = strings.TrimRight(out.Password, "\r\n")
	return out, err
}

// read is the content of a file that the environment may name.
func read(path config.File) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(string(path))
	if err != nil {
		return "", fault.Usage(string(path), fmt.Errorf("reading: %w", err), "see the path in the environment file")
	}
	return string(text), nil
}
