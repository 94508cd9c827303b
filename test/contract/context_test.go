package contract_test

import (
	"context"
	"testing"
	"time"
)

// cleanup is a context for t.Cleanup, whose functions run when that of the
// test has ended.
func cleanup(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	time.AfterFunc(time.Minute, cancel)
	return ctx
}
