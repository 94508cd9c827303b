package backup

import (
	"context"
	"fmt"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
)

// generation is that of the cluster that is backed up. It is not known before the controllers
// on it have looked at the cloud, where a former environment of the name may have left one.
type generation struct {
	ours  int
	known bool
}

// check is ErrFenced if a rebuild has replaced the cluster: its backup would be the newest one,
// and lack what the new management cluster has. Who cannot read the fence makes a backup all the
// same: the cloud may be what is broken.
func (g generation) check(ctx context.Context, f fence.Fence) error {
	if !g.known {
		return nil
	}
	now, err := f.Generation(ctx)
	if err != nil || now <= g.ours {
		return nil //nolint:nilerr // see above
	}
	return fault.New("management cluster of "+f.Environment, fmt.Errorf("%w: its generation is %d, that of this one is %d", fence.ErrFenced, now, g.ours),
		"run it where the environment was rebuilt, or give --kubeconfig of the new management cluster; delete the servers of this one")
}
