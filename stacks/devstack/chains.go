package devstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
)

// ofK3s are the prefixes of chains that k3s makes: kube-proxy and network policies, the CNI
// plugin portmap, and flannel. k3s leaves them when it ends.
var ofK3s = [...]string{"KUBE-", "CNI-", "FLANNEL-"}

func byK3s(chain string) bool {
	return slices.ContainsFunc(ofK3s[:], func(prefix string) bool { return strings.HasPrefix(chain, prefix) })
}

// unchain removes the chains with the prefixes of k3s, and the rules that lead to them; all other
// chains stay. If another Kubernetes runs on the host, its chains of these names go too: its
// kube-proxy creates them again.
func unchain(ctx context.Context, run Runner) error {
	var failed []error
	for _, program := range []string{"iptables", "ip6tables"} {
		for _, table := range []string{"filter", "nat", "mangle"} {
			text, err := run(ctx, program, "-w", "-t", table, "-S")
			if err != nil {
				continue // a kernel without it has no chains there
			}
			steps, err := unchaining(text)
			for _, step := range steps {
				if err != nil {
					break
				}
				_, err = run(ctx, program, append([]string{"-w", "-t", table}, step...)...)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("removing chains of k3s from table %s of %s: %w", table, program, err))
			}
		}
	}
	return errors.Join(failed...)
}

// unchaining are the arguments that take the chains out of a table, which -S has printed:
// first what leads to them, then their rules, then they.
func unchaining(table string) (steps [][]string, err error) {
	var chains [][]string
	for line := range strings.Lines(table) {
		// -S prints a rule as the arguments that add it, comments in quotes.
		fields, err := shellquote.Split(line)
		if err != nil {
			return nil, fmt.Errorf("reading rule %q: %w", strings.TrimSpace(line), err)
		}
		switch {
		case len(fields) < 2:
		case fields[0] == "-N" && byK3s(fields[1]):
			chains = append(chains, []string{"-F", fields[1]})
		case fields[0] == "-A" && !byK3s(fields[1]) && byK3s(target(fields)):
			fields[0] = "-D"
			steps = append(steps, fields)
		}
	}
	steps = append(steps, chains...)
	for _, flush := range chains {
		steps = append(steps, []string{"-X", flush[1]})
	}
	return steps, nil
}

// target is where a rule leads.
func target(fields []string) string {
	for i, field := range fields[:len(fields)-1] {
		if field == "-j" || field == "-g" {
			return fields[i+1]
		}
	}
	return ""
}
