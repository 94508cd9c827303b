package main

import (
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// brings is who needs modules, by how their paths begin.
type brings struct {
	owner    string
	prefixes []string
}

// owners are asked in turn; what none has is "others".
func owners() []brings {
	return []brings{
		{"Slipway", []string{"github.com/slipway-sh/"}},
		{"Go's standard library", []string{"std", "golang.org/"}},
		{"Kubernetes, Cluster API, Helm, kind", []string{"k8s.io/", "sigs.k8s.io/", "helm.sh/", "oras.land/", "github.com/google/gnostic-models", "github.com/google/cel-go",
			"github.com/gogo/protobuf", "github.com/json-iterator/", "github.com/google/go-github", "github.com/onsi/", "github.com/Masterminds/"}},
		{"clients of S3, Google and Azure, for states", []string{"github.com/aws/", "github.com/Azure/", "github.com/AzureAD/", "cloud.google.com/", "google.golang.org/",
			"github.com/googleapis/", "github.com/GoogleCloudPlatform/", "github.com/envoyproxy/", "github.com/cncf/", "gocloud.dev"}},
		{"Pulumi", []string{"github.com/pulumi/", "github.com/pgavlin/", "github.com/hashicorp/", "github.com/zclconf/", "github.com/go-git/", "github.com/git-pkgs/", "github.com/bazelbuild/",
			"github.com/pb33f/", "github.com/charmbracelet/", "github.com/segmentio/", "github.com/xeipuuv/", "github.com/ProtonMail/", "github.com/cloudflare/"}},
	}
}

// printOwners shares all the program out by the symbols of each: the tables, which are half of
// it, grow with them.
func printOwners(w io.Writer, sizes map[string]int64, program int64) {
	shares, total := map[string]int64{}, int64(0)
	for module, size := range sizes {
		if module == "(other)" {
			continue // strings and tables of all
		}
		total += size
		shares[ownerOf(module)] += size
	}
	names := make([]string, 0, len(shares))
	for name := range shares {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(shares[y], shares[x]), cmp.Compare(x, y)) })
	fmt.Fprintf(w, "%10s  %5s  %s\n", "MB", "SHARE", "WHO BRINGS IT")
	for _, name := range names {
		share := float64(shares[name]) / float64(total)
		fmt.Fprintf(w, "%10.0f  %4.1f%%  %s\n", share*float64(program)/1e6, 100*share, name)
	}
	fmt.Fprintln(w)
}

func ownerOf(module string) string {
	for _, one := range owners() {
		if slices.ContainsFunc(one.prefixes, func(prefix string) bool { return strings.HasPrefix(module, prefix) }) {
			return one.owner
		}
	}
	return "others"
}

// content is what of a program's file is loaded: without what only debuggers read.
type content struct {
	size  int64
	empty func(address uint64) bool // in memory that begins empty
}

func readContent(program string) (content, error) {
	file, err := elf.Open(program)
	if err != nil { // a program for another system: its symbols say what is empty
		info, err := os.Stat(program)
		if err != nil {
			return content{}, err
		}
		return content{size: info.Size(), empty: func(uint64) bool { return false }}, nil
	}
	defer file.Close()
	sections := file.Sections
	c := content{empty: func(address uint64) bool {
		return slices.ContainsFunc(sections, func(s *elf.Section) bool {
			return s.Type == elf.SHT_NOBITS && s.Addr <= address && address < s.Addr+s.Size
		})
	}}
	for _, s := range sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS {
			c.size += int64(s.Size)
		}
	}
	return c, nil
}
