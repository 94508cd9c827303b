package down

import (
	"context"
	"fmt"

	"github.com/slipway-sh/slipway/internal/cli/target"
)

// listUnclear lists the credentials that stay because nobody can tell in which region their
// environment is: the state, which would know, is lost or never had them.
func (r *result) listUnclear(ctx context.Context, t *target.Target) (err error) {
	r.Unclear, err = t.Inventory.UnclearCredentials(ctx, t.Name())
	return err
}

// unclearLines say how to revoke them.
func (r result) unclearLines() []string {
	var lines []string
	for _, thing := range r.Unclear {
		lines = append(lines, fmt.Sprintf("application credential %s stays: it names no region, and the cloud has several. If no environment %s of another region "+
			"uses it, revoke it with openstack application credential delete %s", thing.Name, r.Environment, thing.ID))
	}
	return lines
}
