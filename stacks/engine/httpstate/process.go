package httpstate

import (
	"os"
	"os/user"
	"time"
)

// project is the engine's name for the folder of all environments.
const project = "slipway"

// ThisProcess returns this process as the holder of a lock.
func ThisProcess() Holder {
	h := Holder{User: "somebody", PID: os.Getpid(), Since: time.Now()}
	if u, err := user.Current(); err == nil {
		h.User = u.Username
	}
	h.Host, _ = os.Hostname() // an empty one is told as such
	return h
}
