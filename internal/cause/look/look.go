// Package look asks the cloud on behalf of the engine of causes: one list per kind for a
// whole project, however many clusters it has, and details only of what is sick.
package look

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// patience bounds one look at a cloud.
const patience = 20 * time.Second

var errPatience = fmt.Errorf("the cloud did not answer within %s", patience)

// consoleLines is how much of a console is read: the kubelet logs more lines after
// kubeadm's.
const consoleLines = 1000

// Take reads the project of a login. What cannot be read is in Missing.
func Take(ctx context.Context, c *cloud.Cloud) (*cause.Cloud, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	at := time.Now()
	s, err := c.Diagnosis(ctx)
	if err != nil {
		return nil, err
	}
	taken := From(s)
	taken.At = at
	return taken.Indexed(), nil
}

// Refusal is a failed login as the engine reads it.
func Refusal(err error) *cause.Refusal {
	r := &cause.Refusal{Words: err.Error()}
	var answer *cloud.Error
	if errors.As(err, &answer) {
		r.Status = answer.Status
	}
	r.Malformed = r.Status == 0 && !ofNetwork(err)
	return r
}

// ofNetwork reports whether an error is of a call that had no answer.
func ofNetwork(err error) bool {
	if errors.As(err, new(*fs.PathError)) {
		return false // a file that clouds.yaml names; its error number is a net.Error, too
	}
	return errors.As(err, new(*url.Error)) || errors.As(err, new(net.Error)) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errPatience)
}
