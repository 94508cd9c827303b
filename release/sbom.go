package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/licensecheck"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// htmx is the version in internal/console/frame/assets.
const htmx = "4.0.1"

// bill writes what is compiled into the programs as SPDX 2.3: the modules with
// their versions and licences, as the linker recorded them.
func (r *release) bill(ctx context.Context) error {
	modules, goVersion, err := r.modules()
	if err != nil {
		return err
	}
	doc := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: r.program + " " + r.version,
		DocumentNamespace: fmt.Sprintf("https://github.com/slipway-sh/slipway/releases/%s/%s", r.version, r.source.commit),
		CreationInfo:      &v2_3.CreationInfo{Created: r.source.time.Format(time.RFC3339), Creators: []common.Creator{{CreatorType: "Tool", Creator: "slipway-release"}}},
	}
	doc.Packages = append(doc.Packages,
		r.described(r.program, r.program, r.version, "Apache-2.0", nil),
		r.described("go", "Go", strings.TrimPrefix(goVersion, "go"), "BSD-3-Clause", []string{"pkg:golang/std@" + strings.TrimPrefix(goVersion, "go")}),
		// Files of the console (internal/console/frame/assets), which no linker records.
		r.described("htmx.org", "htmx.org", htmx, "0BSD", []string{"pkg:npm/htmx.org@" + htmx}))
	doc.Relationships = append(doc.Relationships, relation("DOCUMENT", "DESCRIBES", r.program), relation(r.program, "DEPENDS_ON", "go"), relation(r.program, "CONTAINS", "htmx.org"))
	for _, m := range modules {
		license, err := r.license(ctx, m)
		if err != nil {
			return err
		}
		id := identifier(m.path + "-" + m.version)
		doc.Packages = append(doc.Packages, r.described(id, m.path, m.version, license, []string{"pkg:golang/" + m.path + "@" + m.version}))
		doc.Relationships = append(doc.Relationships, relation(r.program, "DEPENDS_ON", id))
	}
	file, err := os.Create(r.file("_sbom.spdx.json"))
	if err != nil {
		return err
	}
	defer file.Close()
	return spdxjson.Write(doc, file, spdxjson.Indent(" "))
}

// module is one that is compiled in. That of a replacement is the replacement.
type module struct{ path, version string }

// modules are those of any platform, sorted.
func (r *release) modules() (all []module, goVersion string, err error) {
	seen := map[module]bool{}
	for _, p := range r.targets {
		info, err := buildinfo.ReadFile(r.binaries[p])
		if err != nil {
			return nil, "", fmt.Errorf("reading the program of %s: %w", p, err)
		}
		goVersion = info.GoVersion
		for _, dep := range info.Deps {
			if dep.Replace != nil {
				dep = dep.Replace
			}
			m := module{dep.Path, dep.Version}
			if strings.HasPrefix(m.path, ".") || seen[m] { // a folder of this repository
				continue
			}
			seen[m] = true
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(x, y module) int { return strings.Compare(x.path+"@"+x.version, y.path+"@"+y.version) })
	return all, goVersion, nil
}

func (r *release) described(id, name, version, license string, purls []string) *v2_3.Package {
	p := &v2_3.Package{PackageName: name, PackageSPDXIdentifier: common.ElementID(id), PackageVersion: version, PackageDownloadLocation: "NOASSERTION",
		PackageLicenseConcluded: license, PackageLicenseDeclared: "NOASSERTION", PackageCopyrightText: "NOASSERTION"}
	for _, purl := range purls {
		p.PackageExternalReferences = append(p.PackageExternalReferences, &v2_3.PackageExternalReference{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: purl})
	}
	return p
}

func relation(from, kind, to string) *v2_3.Relationship {
	return &v2_3.Relationship{RefA: common.MakeDocElementID("", from), RefB: common.MakeDocElementID("", to), Relationship: kind}
}

var notInIdentifier = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// identifier is a name of SPDX for a module: two never share one.
func identifier(text string) string {
	return fmt.Sprintf("%s-%x", notInIdentifier.ReplaceAllString(text, "-"), sha256.Sum256([]byte(text)))[:min(len(text)+9, 120)]
}

var licenseName = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([.-].*)?$`)

// license reads the licence's text of a module, which is in Go's cache since it
// was compiled. NOASSERTION is what SPDX says for a text that nobody knows.
func (r *release) license(ctx context.Context, m module) (string, error) {
	dir, err := output(ctx, r.root, "go", "list", "-m", "-f", "{{.Dir}}", m.path+"@"+m.version)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		if entry.IsDir() || !licenseName.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		if found := licensecheck.Scan(text); found.Percent >= 75 && len(found.Match) > 0 {
			return found.Match[0].ID, nil
		}
	}
	return "NOASSERTION", nil
}
