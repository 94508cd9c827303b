// Package boundaries holds the page on security to what is tested, and the rooms of
// the code to what they may import.
package boundaries

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every attempt that docs/design/security.md names is a test or a fuzz target,
// in a package that the page names with it.
func TestThePageNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "design", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string][]string{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	goFiles(t, func(path string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range declared.FindAllSubmatch(text, -1) {
			there[string(match[1])] = append(there[string(match[1])], filepath.ToSlash(filepath.Dir(path)))
		}
	})
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 40 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, match := range named {
		found := false
		for _, folder := range there[match[1]] {
			found = found || strings.Contains(string(page), "("+folder+")")
		}
		if !found {
			t.Errorf("%s is in %v, which the page does not name", match[1], there[match[1]])
		}
	}
}
