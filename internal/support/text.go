package support

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/cause"
)

// Text is the answer for people. Of a cause that many clusters have it names a few.
func (r Answers) Text() string { return r.text(false) }

// Wide is the answer for people with all names.
func (r Answers) Wide() string { return r.text(true) }

func (r Answers) text(wide bool) string {
	var b strings.Builder
	causes := r.shared()
	for _, s := range causes {
		s.write(&b, wide)
	}
	if len(causes) == 0 {
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
	name := "cluster " + a.Namespace + "/" + a.Cluster
	if a.Title != "" {
		name += ", " + a.Title + " in the Magnum API"
	}
	return name
}

// shown is how many objects, lines of evidence and consequences are printed.
const shown = 5

// write prints one cause. wide names all clusters and objects.
func (s *Shared) write(b *strings.Builder, wide bool) {
	f, most := s.all[0], shown
	if wide {
		most = math.MaxInt
	}
	fmt.Fprintf(b, "%s\n", f.Line())
	var others []string
	for _, o := range s.all[1:] {
		others = append(others, o.Object.String())
	}
	if wide {
		others = append(others, s.others...)
	}
	list(b, "also", others, most)
	var chain []string
	if s.first.Cluster == "" {
		chain = append(chain, "environment")
	}
	for _, r := range f.Chain {
		chain = append(chain, r.String())
	}
	fmt.Fprintf(b, "  reason:   %s (%s)\n", f.Reason, s.where(wide))
	fmt.Fprintf(b, "  chain:    %s\n", strings.Join(chain, " → "))
	list(b, "evidence", f.Evidence, most)
	list(b, "then", f.Consequences, most)
	if f.Ending == cause.Final {
		b.WriteString("  state:    Cluster API does not try again by itself\n")
	}
	fmt.Fprintf(b, "  fix:      %s\n\n", f.Fix)
}

// where names the clusters that have the cause: the first few, with their number, or all.
func (s *Shared) where(wide bool) string {
	n := len(s.Clusters)
	if n < 2 {
		return s.first.name()
	}
	named := s.Clusters
	if !wide {
		named = named[:min(n, shown)]
	}
	text := fmt.Sprintf("%d clusters: %s", n, strings.Join(named, ", "))
	if more := n - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more (--wide names all)", more)
	}
	return text
}

func list(b *strings.Builder, heading string, lines []string, most int) {
	for i, line := range lines {
		if i == most {
			fmt.Fprintf(b, "            and %d more (--wide shows all)\n", len(lines)-most)
			return
		}
		if i == 0 {
			fmt.Fprintf(b, "  %-9s %s\n", heading+":", line)
		} else {
			fmt.Fprintf(b, "            %s\n", line)
		}
	}
}
