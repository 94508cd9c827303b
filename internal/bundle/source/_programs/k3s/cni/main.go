// Command cni starts the CNI plugin that it is called as. k3s expects one
// program with a link for each plugin; upstream's plugins are one program each.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

func main() {
	err := run()
	fmt.Fprintln(os.Stderr, "cni:", err)
	os.Exit(1)
}

func run() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	plugin := filepath.Join(filepath.Dir(self), "plugins", filepath.Base(os.Args[0]))
	return fmt.Errorf("starting %s: %w", plugin, syscall.Exec(plugin, os.Args, os.Environ()))
}
