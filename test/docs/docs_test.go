package docs

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	root     = "../.."
	maxWidth = 100
)

func pages(t *testing.T) []Page {
	t.Helper()
	all, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("found %d pages only", len(all))
	}
	return all
}

// TestLinks follows every relative link to its file and heading.
func TestLinks(t *testing.T) {
	t.Parallel()
	byPath := map[string]Page{}
	all := pages(t)
	for _, page := range all {
		byPath[page.Path] = page
	}
	for _, page := range all {
		for _, link := range page.Links() {
			if wrong := follow(page, link.Target, byPath); wrong != "" {
				t.Errorf("%s:%d: link to %s: %s", page.Path, link.Line, link.Target, wrong)
			}
		}
	}
}

// follow returns what is wrong with a link, or nothing.
func follow(from Page, target string, pages map[string]Page) string {
	file, anchor, hasAnchor := strings.Cut(target, "#")
	to := from.Path
	if file != "" {
		to = path.Join(path.Dir(from.Path), file)
	}
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		return "there is no such file"
	}
	if page, isPage := pages[to]; hasAnchor && isPage && !page.Anchors()[anchor] {
		return "the page has no such heading"
	}
	return ""
}

// TestEveryPageIsInTheIndex holds docs/README.md against the folder, and
// design/README.md against the decisions: each index has a page once.
func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	linked := map[string]bool{"README.md": true, "docs/README.md": true}
	all := pages(t)
	for _, page := range all {
		if page.Path == "docs/README.md" || page.Path == "docs/design/README.md" {
			listed := map[string]bool{}
			for _, link := range page.Links() {
				file, _, _ := strings.Cut(link.Target, "#")
				to := path.Join(path.Dir(page.Path), file)
				if listed[to] {
					t.Errorf("%s:%d: %s is listed before", page.Path, link.Line, to)
				}
				listed[to], linked[to] = true, true
			}
		}
	}
	for _, page := range all {
		if !linked[page.Path] && !strings.HasPrefix(page.Path, "docs/reference/slipway_") {
			t.Errorf("%s is in no index", page.Path)
		}
	}
}

// TestLinesAreShort allows long lines in code and tables only, and in what
// programs write. Code between backquotes is on one line, so that it can be
// searched for.
func TestLinesAreShort(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, line := range page.Lines {
			if width := utf8.RuneCountInString(line.Text); line.Kind == Prose && width > maxWidth && !page.Reference() {
				t.Errorf("%s:%d: %d characters", page.Path, line.Number, width)
			}
			if line.Kind == Prose && strings.Count(line.Text, "`")%2 != 0 {
				t.Errorf("%s:%d: a backquote without another on its line", page.Path, line.Number)
			}
		}
	}
}

var makeTarget = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)

// TestTargetsOfMake looks up every `make X` in the Makefile.
func TestTargetsOfMake(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, found := range makeTarget.FindAllStringSubmatch(string(text), -1) {
		targets[found[1]] = true
	}
	seen := 0
	for _, page := range pages(t) {
		for _, command := range page.Commands("make") {
			for _, word := range command.Words[1:] {
				if seen++; !targets[word] && !strings.Contains(word, "=") {
					t.Errorf("%s:%d: the Makefile has no target %s", page.Path, command.Line, word)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("found only %d targets in the pages", seen)
	}
}

// TestADemoInstallsOnlyWhatItNeeds: the packages of tests are a hundred times those of a build.
// Whatever tests, and CI, has them as before.
func TestADemoInstallsOnlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	const build, tests = "internal/bundle/source/hostpackages.txt", "test/e2e/packages.txt"
	for target, all := range map[string]bool{"up": false, "build-deps": false, "up DRIVER=qemu": true, "deps": true, "bundle": true, "devcloud-up": true} {
		cmd := exec.CommandContext(t.Context(), "make", append([]string{"-n"}, strings.Fields(target)...)...)
		cmd.Dir = root
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", target, err, said)
		}
		if !strings.Contains(string(said), build) || strings.Contains(string(said), tests) != all {
			t.Errorf("make %s: packages of tests %t, want %t:\n%s", target, !all, all, said)
		}
	}
	if ci, err := os.ReadFile(filepath.Join(root, ".ci", "run")); err != nil || !strings.Contains(string(ci), "\nstep make deps\n") {
		t.Errorf("CI does not run make deps first (%v)", err)
	}
}

// mention is a path of a page in the code: not a part of an address or of a
// longer path.
var mention = regexp.MustCompile(`(?:^|[\s"'(` + "`" + `])((?:\.\./)*docs/[\w./-]+\.(?:md|yaml|yml|json))\b`)

// TestPathsInTheCode holds what errors, help and comments name against docs/.
func TestPathsInTheCode(t *testing.T) {
	t.Parallel()
	seen := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			if file != root && (strings.HasPrefix(name, ".") || name == "bundle" && filepath.Dir(file) == root || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		} else if filepath.Ext(name) != ".go" && name != "Makefile" && name != "values.yaml" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, found := range mention.FindAllStringSubmatch(string(text), -1) {
			seen++
			if _, err := os.Stat(filepath.Join(root, strings.TrimLeft(found[1], "./"))); err != nil {
				t.Errorf("%s names %s, which does not exist", file, found[1])
			}
		}
		return nil
	})
	if err != nil || seen < 20 {
		t.Errorf("%d mentions, %v", seen, err)
	}
}
