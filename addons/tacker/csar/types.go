package csar

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/slipway-sh/slipway/internal/fault"
)

// elsewhere is an import of the common definitions from a server.
var elsewhere = regexp.MustCompile(`(?m)^([ \t]*-[ \t]+)["']?https?://\S*/` + regexp.QuoteMeta(commonTypes) + `["']?[ \t\r]*$`)

// ReadTypes reads ETSI's SOL001 definitions from a folder. Version 2.6.1 is what Tacker
// takes; ETSI publishes it at forge.etsi.org. ETSI's file imports the other from there, which
// Tacker would do with each package, and refuse it without a way to ETSI: both are in the
// package, so one imports the other from it.
func ReadTypes(folder string) (map[string][]byte, error) {
	types := map[string][]byte{}
	var wrong []error
	for _, name := range []string{commonTypes, vnfdTypes} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			wrong = append(wrong, fault.Usage(name, err, "get ETSI's SOL001 2.6.1 definitions and name their folder with --types"))
		}
		types[name] = elsewhere.ReplaceAll(text, []byte("${1}"+commonTypes))
	}
	return types, errors.Join(wrong...)
}

func (o Options) check() error {
	var wrong []error
	if o.Variant != Helm && o.Variant != Raw {
		wrong = append(wrong, fault.Usage("variant", fmt.Errorf("there is no variant %q", o.Variant), "use helm or raw"))
	}
	for _, name := range []string{commonTypes, vnfdTypes} {
		if len(o.Types[name]) == 0 {
			wrong = append(wrong, fault.Usage("types", fmt.Errorf("%s is missing or empty", name), "get ETSI's SOL001 2.6.1 definitions"))
		}
	}
	return errors.Join(wrong...)
}
