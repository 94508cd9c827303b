package janitor

import (
	"context"
	"fmt"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// outcome is how an attempt ended: nothing is left, or why something is.
type outcome struct {
	done            bool
	reason, message string
	left            int
}

// attempt checks the project once and asks for the deletion of what is to be deleted. It never
// waits: the next attempt finds what still exists.
func (r *reconciler) attempt(ctx context.Context, t target, opened *cloud.Cloud, token cloud.Token) (outcome, error) {
	rivals, err := r.rivals(ctx, &t, placeOf(opened, token))
	if err != nil {
		return outcome{}, err
	}
	s := survey{cloud: opened, project: token.ProjectID, target: t, volumes: t.deletesVolumes(r.options)}
	listing := s.run(ctx) // what was seen can be deleted even if a service fails
	p := decide(s.resources, rivals)
	if r.dry(t) || t.object.GetDeletionTimestamp() == nil { // nothing of a living cluster is ever deleted
		if listing != nil {
			return outcome{}, listing
		}
		report := newReport(t.name, p, rivals)
		return outcome{reason: ReasonDryRun, message: fmt.Sprintf("%d resources would be deleted; see annotation %s", report.Counts["delete"], ReportAnnotation)},
			r.write(ctx, t, report)
	}
	err = purge(ctx, opened, p.remove, func(resource Resource) { r.meters.removed.WithLabelValues(resource.Kind).Inc() })
	if listing != nil {
		err = listing
	}
	return judge(p, rivals), err
}

// judge says what is left to be done according to a plan.
func judge(p plan, rivals []string) outcome {
	doomed := append(append([]Resource{}, p.wait...), p.remove...)
	switch {
	case len(doomed) > 0:
		return outcome{reason: ReasonDeleting, left: len(doomed), message: fmt.Sprintf("%d left: %s", len(doomed), names(doomed))}
	case len(p.refuse) > 0:
		return outcome{reason: ReasonNameConflict, left: len(p.refuse), message: conflict(p, rivals)}
	}
	return outcome{done: true, reason: ReasonCleaned, message: summary(p)}
}

func conflict(p plan, rivals []string) string {
	why := "the project has another cluster with this name"
	if len(rivals) > 0 {
		why += " (" + rivals[0] + ")"
	} else if len(p.foreign) > 0 {
		why += " (" + p.foreign[0].String() + " is its)"
	}
	return fmt.Sprintf("%s, and only the name shows who owns these: %s; delete the ones you do not need by hand, then annotate with %s=true",
		why, names(p.refuse), ReleaseAnnotation)
}

func summary(p plan) string {
	text := "nothing is left"
	if len(p.keep) > 0 {
		text += fmt.Sprintf(" except what is kept: %s", names(p.keep))
	}
	if len(p.foreign) > 0 {
		text += fmt.Sprintf("; kept for another cluster with this name: %s", names(p.foreign))
	}
	return text
}
