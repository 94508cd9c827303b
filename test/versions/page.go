package main

import (
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/internal/component"
)

const head = `# What is supported with what

` + "`make versions-page`" + ` writes this page from the rules that commands check, and from the files that
tests read. ` + "`make verify`" + ` refuses a page that does not fit them.

## Parts of a bundle

` + "`slipway bundle pull --set part=version`" + ` refuses what does not go together by these rules, which are
the projects' own statements. A bundle that is built from source has the tested versions.

| part | goes together with | tested | why |
|---|---|---|---|
`

const steps = `
## Upgrades

` + "`slipway up`" + ` refuses an upgrade that takes more in one step, and plans the steps in between.
Downgrades are refused.

| parts | minor versions in one step | why |
|---|--:|---|
`

// page is the whole page.
func page(t tested) string {
	var b strings.Builder
	b.WriteString(head)
	for _, p := range component.Pairs() {
		fmt.Fprintf(&b, "| %s %s | %s %s | %s | %s |\n", p.Part, p.Version, p.With, reach(p), p.Tested, p.Why)
	}
	b.WriteString(steps)
	for _, s := range component.Strides() {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", strings.Join(s.Parts, ", "), s.Minors, s.Why)
	}
	fmt.Fprintf(&b, "\n## OpenStack\n\nTests run on the [sandbox](../guides/sandbox.md), and on a [devcloud](../devcloud.md):\nOpenStack %s as Debian 13 packages it. Other releases are not tested; databases of\nMagnum are read [from more of them](../guides/migrating.md).\n\n", t.release)
	b.WriteString("| service | version |\n|---|---|\n")
	for _, s := range t.services {
		fmt.Fprintf(&b, "| %s | %s |\n", s.name, s.version)
	}
	b.WriteString("\n## Clients\n\n| client | version | tested by |\n|---|---|---|\n")
	for _, c := range t.debian12 {
		by := "make e2e"
		if !strings.HasSuffix(c.name, "client") {
			by = "make clients-test"
		}
		fmt.Fprintf(&b, "| %s of Debian 12 | %s | `%s` |\n", c.name, c.version, by)
	}
	for _, c := range t.newer {
		if !strings.HasSuffix(c.name, "client") {
			continue // a driver of Magnum
		}
		fmt.Fprintf(&b, "| %s of Debian 13 | %s | `make devcloud-moving` |\n", c.name, c.version)
	}
	fmt.Fprintf(&b, "| gophercloud | %s | `make test`, [its own tests](gophercloud.md) |\n", t.gophercloud)
	fmt.Fprintf(&b, "| OpenTofu | %s | [the provider's tests](opentofu.md) |\n| its OpenStack provider | %s | [its own tests](opentofu.md) |\n", t.tofu, t.provider)
	return b.String()
}

// reach are the versions of the other part that go together with one.
func reach(p component.Pair) string {
	switch {
	case p.From == "" && p.To == "":
		return "in any version"
	case p.From == p.To:
		return p.From
	case p.To == "":
		return p.From + " and later"
	case p.From == "":
		return "up to " + p.To
	}
	return p.From + " to " + p.To
}
