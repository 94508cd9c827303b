package cause

import (
	"fmt"
	"slices"
	"strings"
)

// All returns every rule, with the one of last resort, by id.
func All() []Rule {
	all := append(Rules(), controllerSays(), onlyWaits())
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Reference is the page docs/reference/reasons.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Reasons

Every cause that [` + "`slipway why`" + `](slipway_why.md) names has a reason id. The ids do not change;
use them in scripts and alerts. The same ids are in ` + "`slipway cluster describe -o json`" + `.

What becomes of a cause if nobody acts: *passing* causes end by themselves, *outside* ones only
when somebody changes something outside the cluster, and after a *final* one Cluster API has given
up on the machine. Any cause is final once its controller has given up.

| reason | where | meaning | fix | if nobody acts |
|---|---|---|---|---|
`)
	for _, r := range All() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.ID, r.Layer, cell(r.Meaning), cell(sentence(r.Fix)), r.outcome())
	}
	return b.String()
}

// outcome is what becomes of the rule's causes if nobody acts.
func (r Rule) outcome() string {
	if r.lasts > 0 {
		return fmt.Sprintf("passing, %s after %.0f minutes", r.Ending, r.lasts.Minutes())
	}
	return string(r.Ending)
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
