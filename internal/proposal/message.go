package proposal

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// Newest is the newest version that is proposed: the release, where one is.
func (p Proposal) Newest() string {
	newest := ""
	for _, c := range p.Changes {
		if c.Kind != Kubernetes && semver.Compare(c.To, newest) > 0 {
			newest = c.To
		}
	}
	if newest != "" {
		return newest
	}
	for _, c := range p.Changes {
		if semver.Compare(c.To, newest) > 0 {
			newest = c.To
		}
	}
	return "kubernetes-" + newest
}

// Message is that of the commit.
func (p Proposal) Message() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Update to %s\n\n", strings.Replace(p.Newest(), "kubernetes-", "Kubernetes ", 1))
	for _, c := range p.Changes {
		of := c.Repository
		if of == "" {
			of = "Kubernetes"
		}
		fmt.Fprintf(&text, "%s:%d: %s %s to %s\n", c.File, c.Line, of, c.Version, c.To)
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&text, "\n%s\n", note)
	}
	text.WriteString("\nslipway plan tells what an environment replaces.\n")
	return text.String()
}
