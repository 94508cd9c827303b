package openstackapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
)

// Recover keeps a panic of a request from ending the process: it is logged with its stack, and
// failed gets an error that says nothing of it to the caller. Defer it. http.ErrAbortHandler
// passes, which is how net/http wants a connection to be dropped.
func Recover(log *slog.Logger, requestID string, failed func(error)) {
	problem := recover()
	if problem == nil {
		return
	}
	if problem == http.ErrAbortHandler {
		panic(problem)
	}
	log.Error("panic", "request_id", requestID, "panic", fmt.Sprint(problem), "stack", string(debug.Stack()))
	failed(errors.New("panic"))
}
