package support

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/cause"
)

// Text is the answer for people.
func (r Answers) Text() string {
	var b strings.Builder
	causes := 0
	for _, a := range r.Answers {
		causes += len(a.Findings)
		for _, same := range grouped(a.Findings) {
			write(&b, a, same)
		}
	}
	if causes == 0 {
		b.WriteString(r.nothing())
		for _, a := range r.Answers {
			if len(a.Well) > 0 {
				fmt.Fprintf(&b, "looked at %s:\n", a.name())
				for _, line := range a.Well {
					b.WriteString("  " + line + "\n")
				}
			}
		}
	}
	if unseen := r.unseen(); len(unseen) > 0 {
		b.WriteString("not seen:\n")
		for _, u := range unseen {
			fmt.Fprintf(&b, "  %s: %s\n", u.What, u.Why)
		}
	}
	return b.String()
}

// unseen is what was not seen of all, what is the same of several clusters in one line.
func (r Answers) unseen() []cause.Unseen {
	all := slices.Clone(r.Unseen)
	at, more := map[cause.Unseen]int{}, map[int]int{}
	for _, a := range r.Answers {
		own := map[cause.Unseen]bool{}
		for _, u := range a.Unseen {
			i, told := at[u]
			switch {
			case own[u]:
			case told:
				more[i]++
			default:
				at[u] = len(all)
				all = append(all, cause.Unseen{What: a.name() + ": " + u.What, Why: u.Why})
			}
			own[u] = true
		}
	}
	for i, n := range more {
		name, what, _ := strings.Cut(all[i].What, ": ")
		all[i].What = fmt.Sprintf("%s and %d more: %s", name, n, what)
	}
	return all
}

// nothing is the line without a cause.
func (r Answers) nothing() string {
	what := "environment " + r.Environment
	if r.Asked != "" {
		what = r.Asked
	}
	if len(r.Answers) == 0 {
		return "nothing of " + what + " could be looked at\n"
	}
	return "no cause found for " + what + "\n"
}

func (a Answer) name() string {
	if a.Cluster == "" {
		return "the environment's servers"
	}
	return "cluster " + a.Namespace + "/" + a.Cluster
}

// grouped puts findings together that say the same of several objects.
func grouped(findings []cause.Finding) [][]cause.Finding {
	var groups [][]cause.Finding
	for _, f := range findings {
		i := slices.IndexFunc(groups, func(g []cause.Finding) bool { return g[0].Reason == f.Reason && g[0].Cause == f.Cause })
		if i < 0 {
			groups = append(groups, []cause.Finding{f})
		} else {
			groups[i] = append(groups[i], f)
		}
	}
	return groups
}

// shown is how many objects, lines of evidence and consequences are printed.
const shown = 5

func write(b *strings.Builder, a Answer, same []cause.Finding) {
	f := same[0]
	fmt.Fprintf(b, "%s\n", f.Line())
	var others []string
	for _, o := range same[1:] {
		others = append(others, o.Object.String())
	}
	list(b, "also", others)
	var chain []string
	if a.Cluster == "" {
		chain = append(chain, "environment")
	}
	for _, r := range f.Chain {
		chain = append(chain, r.String())
	}
	fmt.Fprintf(b, "  reason:   %s (%s)\n  chain:    %s\n", f.Reason, a.name(), strings.Join(chain, " → "))
	list(b, "evidence", f.Evidence)
	list(b, "then", f.Consequences)
	if f.Ending == cause.Final {
		b.WriteString("  state:    Cluster API does not try again by itself\n")
	}
	fmt.Fprintf(b, "  fix:      %s\n\n", f.Fix)
}

func list(b *strings.Builder, heading string, lines []string) {
	for i, line := range lines {
		if i == shown {
			fmt.Fprintf(b, "            and %d more (-o json shows all)\n", len(lines)-shown)
			return
		}
		if i == 0 {
			fmt.Fprintf(b, "  %-9s %s\n", heading+":", line)
		} else {
			fmt.Fprintf(b, "            %s\n", line)
		}
	}
}
