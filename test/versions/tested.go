package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// versioned is a program or a package, and its version.
type versioned struct{ name, version string }

// tested is what the tests run with, from the files that they themselves read.
type tested struct {
	// release is OpenStack's in a devcloud, as "2025.1".
	release  string
	services []versioned
	// debian12 are the clients of CI, newer those of devclouds.
	debian12, newer []versioned
	// gophercloud, tofu and provider are versions of modules.
	gophercloud, tofu, provider string
}

// files of the tests, below the folder of the repository.
const (
	devcloudFolder = "test/devcloud/cloud/image"
	debian12File   = "test/versions/debian12.txt"
	acceptanceFile = "test/acceptance/opentofu.go"
)

func readTested(root string) (t tested, err error) {
	comment, services, err := readVersions(filepath.Join(root, devcloudFolder, "versions.txt"))
	if err != nil {
		return t, err
	}
	if t.release, err = find(comment, `OpenStack (\d{4}\.\d)`); err != nil {
		return t, err
	}
	for _, s := range services {
		if name, ok := service(s.name); ok {
			t.services = append(t.services, versioned{name, s.version})
		}
	}
	if _, t.debian12, err = readVersions(filepath.Join(root, debian12File)); err != nil {
		return t, err
	}
	if _, t.newer, err = readVersions(filepath.Join(root, devcloudFolder, "clusters-versions.txt")); err != nil {
		return t, err
	}
	for _, one := range []struct {
		file, pattern string
		to            *string
	}{
		{"go.mod", `github.com/gophercloud/gophercloud/v2 (v\S+)`, &t.gophercloud},
		{acceptanceFile, `"github.com/opentofu/opentofu", "(v[^"]+)"`, &t.tofu},
		{acceptanceFile, `terraform-provider-openstack/v3", "(v[^"]+)"`, &t.provider},
	} {
		text, err := os.ReadFile(filepath.Join(root, one.file))
		if err != nil {
			return t, err
		}
		if *one.to, err = find(string(text), one.pattern); err != nil {
			return t, fmt.Errorf("%s: %w", one.file, err)
		}
	}
	return t, nil
}

// service is what people call the service of a package.
func service(name string) (string, bool) {
	short, ok := strings.CutPrefix(name, "python3-")
	if !ok {
		return "", false // a database, a queue
	}
	return strings.ToUpper(short[:1]) + short[1:], true
}

// readVersions reads lines of a name and a version, and the comments before them.
func readVersions(file string) (comment string, all []versioned, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
			comment += line
		case len(fields) == 2:
			all = append(all, versioned{fields[0], fields[1]})
		case len(fields) > 0:
			return "", nil, fmt.Errorf("%s: %q is not a name and a version", file, strings.TrimSpace(line))
		}
	}
	if len(all) == 0 {
		return "", nil, fmt.Errorf("%s names nothing", file)
	}
	return comment, all, nil
}

func find(text, pattern string) (string, error) {
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("nothing fits %s", pattern)
	}
	return found[1], nil
}
