package machine

import (
	"context"
	"errors"
	"io"
)

// Pauser is what drivers add to Machines that can halt a machine and let it
// go on where it was. With others a paused server goes on running.
type Pauser interface {
	Pause(ctx context.Context, id string) error
	Unpause(ctx context.Context, id string) error
}

// Snapshotter is what drivers add to Machines that can read the disk of a
// machine as the bytes of a raw image. With others, and after ErrNoDisk, an image of
// a server is that which the server was made from.
type Snapshotter interface {
	Snapshot(ctx context.Context, id string) (io.ReadCloser, error)
}

// ErrNoDisk is what Snapshot returns for a machine whose disk it cannot read.
var ErrNoDisk = errors.New("the machine has no disk that can be read")

// Resizer is what drivers add to Machines that can give a stopped machine the
// CPUs, memory and disk of a spec; the machine is started after that. With
// others a resized server runs on as it was.
type Resizer interface {
	Resize(ctx context.Context, spec Spec) error
}

// Rescuer is what drivers add to Machines that can keep a machine and its disk while
// another one runs under its id, which boots a rescue image. With others a rescued
// server loses its disk.
type Rescuer interface {
	// SetAside ends the machine and keeps it.
	SetAside(ctx context.Context, id string) error
	// BringBack removes the machine that runs in its place, and has the kept one again,
	// without the ports and volumes that the spec does not have. It does not start it.
	BringBack(ctx context.Context, spec Spec) error
}

// Ender is what drivers add to Host whose machines outlive the process.
// Shutdown ends all that is on the host, within the context's time, and tries
// everything whatever fails on the way; disks and volumes stay.
type Ender interface {
	Shutdown(ctx context.Context) error
}
