package devstack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Runner runs a program and returns what it printed.
type Runner func(ctx context.Context, program string, args ...string) (string, error)

// Tag is the comment of all rules of the plugin, by which they are found again (row D-16).
const Tag = "slipway-devstack"

// rule is one rule of iptables.
type rule struct{ table, chain, match, target string }

func (r rule) args(action string) []string {
	args := append([]string{"-w", "-t", r.table, action, r.chain}, strings.Fields(r.match)...)
	return append(args, "-m", "comment", "--comment", Tag, "-j", r.target)
}

// rules open the host to what runs on it: devstack's hosts often drop what is not known.
// Pods reach the APIs on the host, and floating IPs behind its bridge; nodes of clusters
// come out of FLOATING_RANGE.
func (s Settings) rules() []rule {
	rules := append(podRules(s.Pods.String()), rule{"filter", "INPUT", "-s " + s.FloatingRange.String(), "ACCEPT"})
	if s.FixedRange.IsValid() {
		rules = append(rules, rule{"filter", "INPUT", "-s " + s.FixedRange.String(), "ACCEPT"})
	}
	return rules
}

// podRules let the pods of a network reach what is on the host, and what it routes to.
func podRules(pods string) []rule {
	return []rule{
		{"filter", "INPUT", "-s " + pods, "ACCEPT"},
		{"filter", "FORWARD", "-s " + pods, "ACCEPT"},
		{"filter", "FORWARD", "-d " + pods, "ACCEPT"},
		{"nat", "POSTROUTING", "-s " + pods + " ! -d " + pods, "MASQUERADE"},
	}
}

// OpenToPods adds the rules of a pod network that is not SLIPWAY_POD_CIDR: a cluster that
// somebody else made on this host has networks of its own.
func OpenToPods(ctx context.Context, run Runner, pods string) error {
	return add(ctx, run, podRules(pods)...)
}

// Open adds the rules that are missing, before all others.
func (s Settings) Open(ctx context.Context, run Runner) error { return add(ctx, run, s.rules()...) }

func add(ctx context.Context, run Runner, rules ...rule) error {
	for _, r := range rules {
		if _, err := run(ctx, "iptables", r.args("-C")...); err == nil {
			continue
		}
		if _, err := run(ctx, "iptables", r.args("-I")...); err != nil {
			return fault.New("iptables "+strings.Join(r.args("-I"), " "), err, "run the plugin as a user who may use sudo, on a kernel with iptables")
		}
	}
	return nil
}

// OpenTo lets a container of the host reach the APIs on it: what pods of mode kind send
// comes from the address of their node.
func (s Settings) OpenTo(ctx context.Context, run Runner, address string) error {
	return add(ctx, run, rule{"filter", "INPUT", "-s " + address, "ACCEPT"})
}

// Shut removes all rules with the tag, also those of earlier settings.
func Shut(ctx context.Context, run Runner) error {
	var failed []error
	for _, table := range []string{"filter", "nat"} {
		text, err := run(ctx, "iptables", "-w", "-t", table, "-S")
		if err != nil {
			failed = append(failed, fmt.Errorf("listing the rules of table %s: %w", table, err))
			continue
		}
		for line := range strings.Lines(text) {
			// -S prints a rule as the arguments that add it.
			fields := strings.Fields(line)
			if len(fields) < 2 || fields[0] != "-A" || !tagged(fields) {
				continue
			}
			fields[0] = "-D"
			if _, err := run(ctx, "iptables", append([]string{"-w", "-t", table}, fields...)...); err != nil {
				failed = append(failed, fmt.Errorf("removing rule %s: %w", strings.TrimSpace(line), err))
			}
		}
	}
	return errors.Join(failed...)
}

func tagged(fields []string) bool {
	for i, field := range fields {
		if field == "--comment" && i+1 < len(fields) && strings.Trim(fields[i+1], `"`) == Tag {
			return true
		}
	}
	return false
}
