package cloud

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// tackerFolder is where Tacker lies in the cloud's root.
const tackerFolder = "opt/tacker"

// tackerMigrations is Tacker's program for its database, which Debian does not have either.
const tackerMigrations = `#!/bin/sh
PYTHONPATH=/` + tackerFolder + ` exec python3 -c 'import sys; from tacker.db.migration.cli import main; sys.exit(main())' "$@"
`

// orchestrator is Tacker: its API, and the conductor that reads packages.
func orchestrator() []service {
	server := worker("tacker-server", "tacker.cmd.eventlet.tacker_server", "/etc/tacker/tacker.conf")
	server.port, server.ready = 9890, "/"
	conductor := worker("tacker-conductor", "tacker.cmd.eventlet.conductor", "/etc/tacker/tacker.conf")
	for _, s := range []*service{&server, &conductor} {
		s.environment = map[string]string{"PYTHONPATH": "/" + tackerFolder}
	}
	return []service{server, conductor}
}

// writeTacker installs what Tacker needs beside its modules. Its paths and its pipelines are
// those of the folder that the user gave.
func (c *Cloud) writeTacker(folder string) error {
	if c.Tacker == "" {
		return nil
	}
	if err := c.checkTacker(); err != nil {
		return err
	}
	pipelines, err := os.ReadFile(filepath.Join(c.Tacker, "etc/tacker/api-paste.ini"))
	if err != nil {
		return fmt.Errorf("reading Tacker's pipelines: %w", err)
	}
	if err := writeFile(filepath.Join(folder, "etc/tacker/api-paste.ini"), string(pipelines)); err != nil {
		return err
	}
	program := filepath.Join(folder, "usr/local/bin/tacker-db-manage")
	if err := writeFile(program, tackerMigrations); err != nil {
		return err
	}
	return os.Chmod(program, 0o755)
}

// checkTacker tells what is missing in the folder before something in the cloud does.
func (c *Cloud) checkTacker() error {
	var missing []error
	for what, pattern := range map[string]string{
		"Tacker":                       "tacker/cmd/eventlet/tacker_server.py",
		"Tacker's pipelines":           "etc/tacker/api-paste.ini",
		"Tacker's entry points":        "tacker-*-info/entry_points.txt",
		"heat-translator":              "translator/hot/tosca_translator.py",
		"tosca-parser's definitions":   "toscaparser/elements/TOSCA_definition.yaml",
		"tosca-parser's NFV extension": "toscaparser/extensions/nfv/TOSCA_nfv_definition_1_0_0.yaml",
	} {
		if found, _ := filepath.Glob(filepath.Join(c.Tacker, pattern)); len(found) == 0 {
			missing = append(missing, fmt.Errorf("%s: there is no %s", what, pattern))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("folder %s has no Tacker as pip installs it with --target: %w", c.Tacker, errors.Join(missing...))
	}
	return nil
}
