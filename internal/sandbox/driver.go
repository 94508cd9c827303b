package sandbox

import (
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// Drivers are the names of what can stand behind servers.
func Drivers() []string { return []string{"none"} }

// NewHost makes the driver of a name, with its files below the folder.
func NewHost(name, dir string) (machine.Host, error) {
	switch name {
	case "none":
		return machine.NewNone(), nil
	}
	return nil, fmt.Errorf("unknown driver %q (one of %s)", name, strings.Join(Drivers(), ", "))
}
